"""`corpus-sql report`: COMPOSITION.md and a self-contained report.html of a build, beside its version folder.

The page reaches no network, needs no script and asks for no font; all that came out of documents is escaped, and
characters that act on a page are made visible. The same build gives the same bytes, but for the part on resource use,
which tells of the run.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from corpus_sql import charts, files
from corpus_sql.card import cell
from corpus_sql.pii_shown import without_pii
from corpus_sql.report_facts import Facts, facts
from corpus_sql.report_problems import percent
from corpus_sql.report_sections import lead, sections
from corpus_sql.shown import number, spelled

# What a browser would act on or hide: controls but tab and line feed, marks of direction, the byte order mark,
# interlinear annotation, noncharacters. They are shown as U+ and their number.
_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufdd0-\ufdef\ufeff\ufff9-\ufffb"
    + "".join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17))
    + "\U000e0001-\U000e007f]"
)


def report(build: Path) -> list[Path]:
    """Write the report of a version folder to reports/<version>/ beside it; return the files written.

    Without matplotlib the page has everything but its charts, and says so; `charts.installed` tells beforehand.
    Raises ConfigError when the folder is no build. The build is only read.
    """
    build = Path(build).resolve()
    target = files.reports(build)
    files.must_be_writable(target)
    found = facts(build)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in (("COMPOSITION.md", composition(found)), ("report.html", page(found))):
        files.write(target / name, content)
        written.append(target / name)
    return written


def composition(found: Facts) -> str:
    """Return the report as Markdown: the numbers, without charts and texts."""
    environment = _environment()
    environment.filters["cell"] = lambda value: cell(_ACTING.sub(lambda m: f"U+{ord(m[0]):04X}", spelled(value)))
    template = environment.get_template("composition.md.jinja")
    return template.render(facts=found, lead=lead(found), sections=sections(found))


def page(found: Facts) -> str:
    """Return the report as one HTML page with charts and samples of what was dropped."""
    environment = _environment(autoescape=True)
    environment.filters["t"] = lambda value: visible(spelled(value))
    return environment.get_template("report.html.jinja").render(
        facts=found,
        lead=lead(found),
        sections=sections(found),
        samples=_samples(found),
        drawn=charts.installed(),
        where=f"corpus/{found.manifest['dataset']}/{found.manifest['version']}",
    )


def _environment(autoescape: bool = False) -> jinja2.Environment:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=autoescape,
    )
    environment.filters["svg"] = lambda chart: Markup(chart.draw())
    return environment


def visible(text: str) -> Markup:
    """Escape a text for HTML, and show every character that a browser would act on or hide as U+ and its number."""
    parts, end = [], 0
    for match in _ACTING.finditer(text):
        parts += [escape(text[end : match.start()]), Markup(f'<span class="x">U+{ord(match[0]):04X}</span>')]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def _samples(found: Facts) -> list[dict[str, Any]]:
    """The sampled texts and quarantined lines, by stage and reason in the order of the build."""
    hits = {row["id"]: row for row in found.rows["hits"]}
    groups = []
    for reason in found.rows["reasons"]:
        key = (reason["stage"], reason["reason"])
        group: dict[str, Any] = {"stage": key[0], "reason": key[1], "documents": reason["documents"], "texts": []}
        for row in found.rows["samples"]:
            if (row["stage"], row["reason"]) == key:
                rest = None if row["text"] is None else row["n_chars"] - len(row["text"])
                text = row["text"] if rest is None else without_pii(row["text"], cut=rest > 0)
                said = _said(hits.get(row["id"]))
                group["texts"].append({**row, "text": text, "said": said, "rest": max(rest or 0, 0)})
        for row in found.rows["quarantine"] if key[0] == "read" else ():
            if row["reason"] == key[1]:
                group["texts"].append({**row, "lang": "", "text": None, "said": without_pii(row["detail"]), "rest": 0})
        if group["texts"]:
            group["share"] = percent(reason["documents"], found.documents)
            groups.append(group)
    return groups


def _said(hit: dict[str, Any] | None) -> str:
    """Metric, value, threshold and witness of the rule that decided."""
    if not hit:
        return ""
    text = ""
    if hit["metric"]:
        text = f"{hit['metric']} {'not measured' if hit['value'] is None else number(hit['value'])}"
        text += f", threshold {number(hit['threshold'])}" if hit["threshold"] is not None else ""
    return text + (f" → {hit['witness']}" if hit["witness"] else "")
