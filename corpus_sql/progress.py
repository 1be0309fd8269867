"""What a run says while it works: one bar over the whole on a terminal, plain lines elsewhere; always on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from corpus_sql.shown import plain

_MOST = 0.99  # of a step or of the whole, while it is not done
_SETTLED = 0.05, 5.0  # share and seconds before which nothing is said of the time that is left
# columns: what runs, the bar, its share, how fast, what is left; with the blanks between them 79, since a terminal of
# 80 columns wraps a line that fills it
_WIDTHS = (22, 16, 6, 16, 15)


class Bar:
    """How far the whole is: each step has a weight, and fills its share as it advances. It never goes back.

    clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter):
        self.clock, self.lock = clock, Lock()
        self.weights: Mapping[str, float] = {}
        self.ended: set[str] = set()
        self.shown = 0.0  # share of the whole
        self.began = clock()
        self.name = self.called = self.unit = ""
        self.total: int | None = None
        self.count, self.since = 0, self.began

    def plan(self, weights: Mapping[str, float]) -> None:
        """Say what is to be done, and how much each step weighs; what was done so far still counts."""
        with self.lock:
            self.weights = weights

    def start(self, name: str, total: int | None, unit: str, called: str = "") -> None:
        """Begin a step of so many units, None where their number is not known; called: what is shown for its name."""
        with self.lock:
            self.name, self.called, self.unit, self.total = name, called or name, unit, total
            self.count, self.since = 0, self.clock()

    def advance(self, n: int) -> None:
        """Count units of the step that runs; any thread may call it."""
        with self.lock:
            self.count += n

    def end(self) -> None:
        """End the step that runs."""
        with self.lock:
            self.ended.add(self.name)
            self.name, self.total, self.count = "", None, 0  # between two steps the bar says what was done last

    def share(self) -> float:
        """Return the share of the whole that is done, below 1."""
        with self.lock:
            own = min(self.count / self.total, _MOST) if self.total else 0.0
            whole, so_far = sum(self.weights.values()), sum(self.weights.get(name, 0.0) for name in self.ended)
            so_far += 0.0 if self.name in self.ended else self.weights.get(self.name, 0.0) * own
            self.shown = max(self.shown, min(so_far / whole, _MOST) if whole else 0.0)
            return self.shown

    def rate(self) -> str:
        """Spell how fast the step goes, empty before its first second is over."""
        seconds = self.clock() - self.since
        if seconds < 1 or not self.count:
            return ""
        if self.unit == "bytes":
            return f"{self.count / seconds / 1e6:,.1f} MB/s"
        return f"{self.count / seconds:,.0f} docs/s"

    def left(self) -> str:
        """Spell the time that the rest will take if it goes on like this."""
        seconds = self.clock() - self.began
        if self.shown < _SETTLED[0] or seconds < _SETTLED[1]:
            return ""
        return f"{_time(seconds * (1 - self.shown) / self.shown)} left"

    def __rich__(self) -> Table:
        """Return the bar as one line of at most 79 columns."""
        share, known = self.share(), self.total is not None or len(self.weights) > 1
        table = Table.grid(padding=(0, 1))
        for width, justify in zip(_WIDTHS, ("left", "left", "right", "right", "right"), strict=True):
            table.add_column(width=width, justify=justify, no_wrap=True, overflow="ellipsis")
        bar = ProgressBar(1.0, share, width=_WIDTHS[1], pulse=not known)
        percent = f"{int(100 * share)} %" if known else ""
        table.add_row(self.called or "prepare", bar, percent, self.rate(), self.left() if known else "")
        return table


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


class Report:
    """Where messages and steps go. quiet: say nothing; verbose: say every relation."""

    def __init__(self, quiet: bool = False, verbose: bool = False):
        self.console = Console(stderr=True, quiet=quiet, highlight=False)
        self.verbose = verbose
        self.seconds: dict[str, float] = {}  # step -> seconds, for run.json
        self._bar: Bar | None = None

    def line(self, text: str) -> None:
        """Print one line; what a terminal would act on is escaped, and a terminal's width is held by words."""
        self.console.print(plain(text), markup=False, soft_wrap=not self.console.is_terminal)

    def detail(self, text: str) -> None:
        """Print one line where everything is to be said."""
        if self.verbose:
            self.line(text)

    def plan(self, weights: Mapping[str, float]) -> None:
        """Tell the bar over the whole what is to be done; see `Bar.plan`."""
        if self._bar:
            self._bar.plan(weights)

    @contextmanager
    def whole(self, weights: Mapping[str, float]) -> Iterator[None]:
        """Show one bar over all steps of these names, on a terminal."""
        self._bar = bar = Bar()
        bar.plan(weights)
        try:
            if not (self.console.is_terminal and sys.stderr.isatty()):
                yield
                return
            # rich would send what goes to stdout to this console, also where stdout is a file
            with Live(
                bar, console=self.console, transient=True, refresh_per_second=8, redirect_stdout=sys.stdout.isatty()
            ):
                yield
        finally:
            self._bar = None

    @contextmanager
    def step(
        self, name: str, total: int | None, unit: str = "documents", called: str = ""
    ) -> Iterator[Callable[[int], None]]:
        """Time a step and show how far it is; yields `advance(n)`, which any thread may call.

        called: what is shown for its name. A step outside of `whole` has a bar of its own.
        """
        if self._bar is None:
            with self.whole({name: 1.0}), self.step(name, total, unit, called) as advance:
                yield advance
            return
        bar, start = self._bar, time.perf_counter()
        bar.start(name, total, unit, called)
        try:
            yield bar.advance
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
            bar.end()
