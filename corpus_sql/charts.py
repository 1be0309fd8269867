"""Charts of a report as SVG to stand in a page: drawn by matplotlib, coloured and lettered by the page's own CSS.

Every chart is 360 units wide, so that on a phone one fills the width and its letters keep their size. Colours are the
page's variables (`var(--fg)`, …), so light and dark need no second drawing; the fonts are the page's. The same numbers
give the same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from corpus_sql.report_facts import Histogram

WIDTH = 360
_SIZE = 10  # of letters, in the same units
# matplotlib wants colours; these stand for the page's variables and are put back in the SVG
_PAGE = ("fg", "muted", "grid", "bad", "limit", "before", *(f"c{i}" for i in range(10)))
_COLOURS = {name: f"#0102{i:02x}" for i, name in enumerate(_PAGE)}


def installed() -> bool:
    """Return whether there is a matplotlib to draw with."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def colour(name: str) -> str:
    """Return the colour that stands for a variable of the page."""
    return _COLOURS[name]


def _figure(height: float, left: float, bottom: float = 30, top: float = 8, rows: int = 1) -> tuple[Any, list[Any]]:
    """A figure of so many units with its axes below each other; margins in units."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / 72, height / 72))
    FigureCanvasSVG(figure)
    grid = figure.add_gridspec(
        rows, 1, left=left / WIDTH, right=1 - 20 / WIDTH, bottom=bottom / height, top=1 - top / height, hspace=0.25
    )
    axes = []
    for i in range(rows):
        one = figure.add_subplot(grid[i, 0], sharex=axes[0] if axes else None)
        one.set_facecolor("none")
        for side, spine in one.spines.items():
            spine.set_visible(side == "bottom")
            spine.set_color(colour("muted"))
        one.tick_params(colors=colour("muted"), labelcolor=colour("fg"), labelsize=_SIZE, length=3)
        axes.append(one)
    figure.patch.set_alpha(0)
    return figure, axes


def _svg(figure: Any, title: str) -> str:
    """Return the SVG without prolog, ids and fonts of its own; `title` is what a screen reader says."""
    import matplotlib

    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": title, "path.simplify": False}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.S)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.S)
    svg = re.sub(r"font: ([^;\"]*?px) '[^;\"]*", r"font: \1 var(--sans)", svg)
    svg = re.sub(r"font-family: [^;\"]*", "font-family: var(--sans)", svg)
    for name, code in _COLOURS.items():
        svg = svg.replace(code, f"var(--{name})")
    head, body = svg.split(">", 1)
    head = re.sub(r' (width|height|xmlns:xlink|version)="[^"]*"', "", head)
    said = title.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return f'{head} xmlns:xlink="http://www.w3.org/1999/xlink" role="img" aria-label="{said}">{body}'.strip()


def _left(labels: Sequence[str]) -> tuple[list[str], float]:
    """Labels cut to what fits, and the margin they need; 5.6 units are a letter's usual width at this size."""
    cut = [label if len(label) <= 26 else label[:25] + "…" for label in labels]
    return cut, 12 + 5.6 * max(map(len, cut), default=0)


def short(value: float) -> str:
    """A count in few letters: 950, 12k, 3.4M."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:g}"


def _counted(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(4, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def bars(
    title: str, labels: Sequence[str], parts: Sequence[tuple[str, Sequence[float]]], *, share: bool = False
) -> str:
    """Horizontal bars, one a label, made of parts (colour, values) one after the other; share: each bar is 100 %."""
    from matplotlib.ticker import FuncFormatter

    cut, left = _left(labels)
    figure, (axes,) = _figure(46 + 18 * max(len(labels), 1), left)
    places = range(len(labels))
    totals = [sum(values[i] for _, values in parts) for i in places]
    start = [0.0] * len(labels)
    for name, values in parts:
        widths = [(100 * v / t if t else 0) if share else v for v, t in zip(values, totals, strict=True)]
        axes.barh(list(places), widths, left=start, height=0.72, color=colour(name), linewidth=0)
        start = [a + b for a, b in zip(start, widths, strict=True)]
    axes.set_yticks(list(places), cut)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(0, 100 if share else max([*start, 1]))
    axes.grid(axis="x", color=colour("grid"), linewidth=0.8)
    axes.set_axisbelow(True)
    if share:
        axes.set_xticks([0, 25, 50, 75, 100])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    else:
        _counted(axes.xaxis)
    return _svg(figure, title)


def shares(title: str, labels: Sequence[str], before: Sequence[float], after: Sequence[float]) -> str:
    """Two bars a label: its share before and after, in percent."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    cut, left = _left(labels)
    figure, (axes,) = _figure(46 + 26 * max(len(labels), 1), left)
    places = list(range(len(labels)))
    axes.barh([p - 0.2 for p in places], before, height=0.36, color=colour("before"), linewidth=0)
    axes.barh([p + 0.2 for p in places], after, height=0.36, color=colour("c0"), linewidth=0)
    axes.set_yticks(places, cut)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(0, max([*before, *after, 1]))
    axes.grid(axis="x", color=colour("grid"), linewidth=0.8)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    return _svg(figure, title)


def columns(
    title: str,
    labels: Sequence[str],
    values: Sequence[float],
    *,
    note: str,
    log: bool = False,
    limit: float | None = None,
) -> str:
    """Upright bars with their counts above; note: what the labels are; limit: a line at this place, in bars from 0."""
    figure, (axes,) = _figure(170, 16, bottom=42, top=20)
    places = list(range(len(labels)))
    axes.bar(places, values, width=0.8, color=colour("c0"), linewidth=0)
    if log:
        axes.set_yscale("log")
        axes.set_ylim(0.5, max([*values, 1]) * 1.5)
    axes.yaxis.set_visible(False)
    if len(labels) <= 12:
        for place, value in zip(places, values, strict=True):
            axes.annotate(
                short(value), (place, max(value, 0.5)), (0, 3), textcoords="offset points", ha="center", fontsize=_SIZE,
                color=colour("fg"),
            )  # fmt: skip
    every = max(1, -(-len(labels) // 10))
    axes.set_xticks(places[::every], list(labels)[::every])
    axes.set_xlim(-0.8, max(len(labels) - 0.2, 0.8))
    if limit is not None:
        axes.axvline(limit, color=colour("limit"), linewidth=1.4, dashes=(4, 2))
    axes.set_xlabel(note, fontsize=_SIZE, color=colour("muted"))
    return _svg(figure, title)


def lengths(title: str, edges: Sequence[float], before: Sequence[float], after: Sequence[float], note: str) -> str:
    """Two outlines over the same steps of powers of ten: before and after."""
    figure, (axes,) = _figure(190, 40, bottom=42, top=10)
    axes.stairs(before, edges, fill=True, color=colour("before"), linewidth=0)
    axes.stairs(after, edges, fill=True, color=colour("c0"), linewidth=0)
    axes.set_xscale("log")
    axes.set_xlim(edges[0], edges[-1])
    _powers(axes.xaxis)
    _counted(axes.yaxis)
    axes.grid(axis="y", color=colour("grid"), linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel(note, fontsize=_SIZE, color=colour("muted"))
    return _svg(figure, title)


def _powers(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(10, numticks=8))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def histogram(title: str, found: Histogram) -> str:
    """The values of one measure, a row for each language, its thresholds as lines; what a rule drops is coloured.

    The counts are on a scale of powers of ten, or the few documents beyond a threshold could not be seen.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    n = len(found.counts)
    figure, rows = _figure(46 + 62 * n, 34, bottom=38, rows=n)
    most = max(max(counts) for counts, _ in found.counts.values())
    edges = [1 + edge for edge in found.edges] if found.log else found.edges
    shift = 1 if found.log else 0
    for axes, (lang, (counts, beyond)) in zip(rows, found.counts.items(), strict=True):
        axes.stairs([max(c, 0.5) for c in counts], edges, baseline=0.5, fill=True, color=colour("c0"), linewidth=0)
        axes.stairs([max(b, 0.5) for b in beyond], edges, baseline=0.5, fill=True, color=colour("bad"), linewidth=0)
        for limit in found.rule.limits[lang]:
            if limit is not None:
                axes.axvline(limit + shift, color=colour("limit"), linewidth=1.4, dashes=(4, 2))
        axes.set_yscale("log")
        axes.set_ylim(0.5, max(2, most * 1.6))
        axes.set_yticks([])
        axes.minorticks_off()
        axes.set_ylabel(lang, rotation=0, ha="right", va="center", fontsize=_SIZE, color=colour("fg"), labelpad=8)
        axes.tick_params(axis="x", labelbottom=axes is rows[-1])
    last = rows[-1]
    if found.log:
        last.set_xscale("log")
        _powers(last.xaxis)
    else:
        last.xaxis.set_major_locator(MaxNLocator(5, integer=found.edges[0] % 1 == 0.5 and found.edges[-1] % 1 == 0.5))
        last.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    last.set_xlim(edges[0], edges[-1])
    last.set_xlabel(
        found.rule.measure + (", higher values in the last bar" if found.open_end else ""),
        fontsize=_SIZE,
        color=colour("muted"),
    )
    return _svg(figure, title)
