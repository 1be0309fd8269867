"""What a section of a report is made of: paragraphs, tables, charts; and the few shapes that several sections share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from corpus_sql import charts

MOST = 12  # bars of a chart; tables hold the rest
TABLE = 40  # rows of a table


@dataclass(frozen=True)
class Table:
    """Rows under a head; the first `left` columns are text. Integers are grouped, None is an empty cell."""

    head: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    left: int = 1
    caption: str = ""
    note: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart that is drawn when it is asked for. legend: (text, variable of the page that colours it)."""

    title: str
    draw: Callable[[], str]
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Section:
    """text: paragraphs; items: a list under them."""

    id: str
    title: str
    text: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def cut(rows: list[tuple], limit: int = TABLE) -> tuple[list[tuple], str]:
    """The first rows, and a note of how many are left out, empty where none is."""
    return rows[:limit], f"and {len(rows) - limit:,} more" if len(rows) > limit else ""


def shift(of: str, rows: list[tuple[str, int, int]]) -> list[Chart]:
    """A chart of each one's share before and after, the largest first; none where there is only one."""
    shown = sorted(rows, key=lambda row: (-max(row[1], row[2]), row[0]))[:MOST]
    before, after = sum(row[1] for row in rows), sum(row[2] for row in rows)
    if len(rows) < 2:
        return []
    title = f"Share of the documents, {of}"
    return [
        Chart(
            title + ("" if len(rows) <= MOST else f", the largest {MOST}"),
            partial(
                charts.shares,
                title,
                [row[0] for row in shown],
                [100 * row[1] / before if before else 0 for row in shown],
                [100 * row[2] / after if after else 0 for row in shown],
            ),
            (("as read", "before"), ("as kept", "c0")),
        )
    ]
