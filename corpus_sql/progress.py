"""What a run says while it works: bars on a terminal, plain lines elsewhere; always on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from corpus_sql.shown import plain


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f} {task.fields['unit']}/s" if task.speed else "")


class Report:
    """Where messages and steps go. quiet: say nothing."""

    def __init__(self, quiet: bool = False):
        self.console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        self.seconds: dict[str, float] = {}  # step -> seconds, for run.json

    def line(self, text: str) -> None:
        """Print one line; what a terminal would act on is escaped."""
        self.console.print(plain(text), markup=False)

    @contextmanager
    def step(self, name: str, total: int | None, unit: str = "documents") -> Iterator:
        """Time a step and show how far it is; yields `advance(n)`, which any thread may call."""
        start = time.perf_counter()
        try:
            if self.console.is_terminal and sys.stderr.isatty():
                columns = (
                    TextColumn("{task.description:<24}"),
                    BarColumn(24),
                    TextColumn("{task.completed:>12,.0f}"),
                    _Rate(),
                    TimeRemainingColumn(compact=True),
                )
                with Progress(*columns, console=self.console, transient=True) as bar:
                    task = bar.add_task(name, total=total, unit=unit)
                    yield lambda n: bar.advance(task, n)
            else:
                yield lambda n: None
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
