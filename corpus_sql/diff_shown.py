"""How the difference between two builds reads: lines for a terminal, and CHANGES.md. No decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus_sql import inputs
from corpus_sql.diffing import Diff
from corpus_sql.pii_shown import without_pii
from corpus_sql.shown import number, table

_CAUSES, _TOTALS, _EXAMPLES, _DOCUMENTS = 30, 30, 3, 30  # rows shown; the Parquet file has all
_WIDEST = 40  # characters of an old or new value
_COUNTS = ("documents", "characters", "shingle_tokens")
_HEAD = ("source", "language", "documents", "now", "by", "characters", "now", "by", "shingle tokens", "now", "by")
_NOT_COUNTED = "not counted"


def human(found: Diff, parquet: Path | None = None) -> Iterator[str]:
    """The difference as a person reads it; the documents themselves are in the Parquet file."""
    summary = found.summary
    yield f"{_name(summary['before'])} -> {_name(summary['after'])}"
    yield ""
    if not any(summary["changes"].values()):
        yield "No document differs."
    else:
        yield from table(("change", "documents"), list(summary["changes"].items()))
        yield ""
        rows = [(*_cause(one), one["documents"]) for one in summary["causes"]]
        yield from table(("change", "at", "cause", "what", "old", "new", "documents"), rows[:_CAUSES], left=6)
        yield from _more(len(rows), _CAUSES, "causes")
        yield ""
        shown = [
            (one["id"], one["change"], *(_value(one[when] or "") for when in ("was", "now")), _short_cause(one))
            for one in found.examples(_EXAMPLES)
        ]
        yield from table(("for example", "change", "was", "now", "because of"), shown[:_DOCUMENTS], left=5)
        yield from _more(sum(summary["changes"].values()), min(len(shown), _DOCUMENTS), "changes")
    if summary["ledger"]:
        yield ""
        yield from table(("cause", "what", "old", "new"), _ledger(summary)[:_CAUSES], left=4)
        yield from _more(len(summary["ledger"]), _CAUSES, "fields of the ledger")
    moved = _moved(summary)
    if moved:
        yield ""
        yield from table(_HEAD, [_row(one) for one in moved[:_TOTALS]], left=2)
        yield from _more(len(moved), _TOTALS, "sources and languages")
    yield ""
    yield from table(head=("all", "before", "now", "by"), rows=_whole(summary))
    yield ""
    for folder in ("measures", "stages"):
        again, same = (
            [name.split(".")[1] for name in summary["relations"][kind] if name.startswith(folder + ".")]
            for kind in ("rebuilt", "reused")
        )
        yield f"{folder}: made anew {', '.join(again) or 'none'}; reused {', '.join(same) or 'none'}"
    if summary["out_of_date"]:
        yield ""
        yield "out of date:"
        for one in summary["out_of_date"]:
            yield f"  {one['product']}: {one['why']}"
    if parquet is not None:
        yield ""
        yield f"every change: {parquet}"


def as_json(found: Diff) -> Iterator[str]:
    """The difference as one JSON object, {"summary", "changes"}, a line for each change."""
    yield '{"summary": ' + json.dumps(found.summary, ensure_ascii=False, indent=1) + ","
    yield '"changes": ['
    before = ""
    for one in found.changes():
        if before:
            yield before + ","
        before = json.dumps(one, ensure_ascii=False)
    if before:
        yield before
    yield "]}"


def note(found: Diff) -> str:
    """CHANGES.md: what changed since the predecessor, in Markdown."""
    summary = found.summary
    before, after = summary["before"], summary["after"]
    lines = [f"# {after['dataset']} {after['version']}: changes since {before['version']}", ""]
    same = not any(summary["changes"].values())
    if same:
        lines += ["No document differs.", ""]
    else:
        said = [f"{n:,} {change}" for change, n in summary["changes"].items() if n]
        lines += [f"Documents by change: {', '.join(said)}.", ""]
        lines += _markdown(
            ("change", "at", "cause", "what", "old", "new", "documents"),
            [(*_cause(one), one["documents"]) for one in summary["causes"][:_CAUSES]], 6,
        )  # fmt: skip
        lines += [*_more(len(summary["causes"]), _CAUSES, "causes"), ""]
        if kept := sum(one["newly_kept"] for one in summary["causes"]):
            lines += [f"Kept now and not before: {kept:,} documents.", ""]
        if dropped := sum(one["newly_dropped"] for one in summary["causes"]):
            lines += [f"Dropped now and kept before: {dropped:,} documents.", ""]
    if summary["ledger"]:
        lines += ["## Ledger", "", *_markdown(("cause", "what", "old", "new"), _ledger(summary), 4), ""]
    lines += ["## Totals", "", *_markdown(("", "before", "now", "by"), _whole(summary), 1), ""]
    if moved := _moved(summary):
        lines += [*_markdown(_HEAD, [_row(one) for one in moved], 2), ""]
    if not same:
        lines += ["## Out of date", ""] if summary["out_of_date"] else []
        lines += [f"- {one['product']}: {one['why']}" for one in summary["out_of_date"]]
        lines += [""] if summary["out_of_date"] else []
    lines += ["## Builds", ""]
    keys = ("version", "n_docs", "corpus_build_hash", "filtered_build_hash", "filter_config_sha256", "ledger_sha256")
    lines += _markdown(("", "before", "now"), [(key, f"{before[key]}", f"{after[key]}") for key in keys], 3)
    return "\n".join(lines) + "\n"


def _name(build: dict[str, Any]) -> str:
    return f"{build['dataset']} {build['version']} ({build['n_docs']:,} documents)"


def _cause(one: dict[str, Any]) -> tuple[str, ...]:
    kind = one["change"]
    if kind == "verdict" and one["newly_kept"] == one["documents"]:
        kind = "verdict: kept now"
    elif kind == "verdict" and one["newly_dropped"] == one["documents"]:
        kind = "verdict: dropped now"
    old, new = ("", "") if one["cause"] == "several" else (_value(one["old"]), _value(one["new"]))
    return kind, one["stage"], one["cause"], one["key"] or "not told by the records", old, new


def _ledger(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """What the ledger says otherwise of the sources, a row a field."""
    spelled = [
        (one["key"], *(_cut(without_pii(inputs.spelled(one[part]))) for part in ("old", "new")))
        for one in summary["ledger"]
    ]
    return [("ledger", *row) for row in spelled]


def _short_cause(one: dict[str, Any]) -> str:
    detail = one["detail"]
    if "causes" in detail:
        text = "; ".join(f"{cause['cause']} {cause['key']}" for cause in detail["causes"]) or "not told by the records"
    else:
        text = f"{one['cause']} {detail['key']}: {_value(detail['old'])} -> {_value(detail['new'])}"
    return text + "".join(f" <- {step}" for step in detail.get("via", ()))


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return value[:12] + "…" if len(value) == 64 and set(value) <= set("0123456789abcdef") else _cut(value)
    if isinstance(value, float):
        return number(value)
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _more(n: int, limit: int, what: str) -> Iterator[str]:
    if n > limit:
        yield f"and {n - limit:,} more {what}"


def _moved(summary: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        one for one in summary["totals"] if any(_moves(one[f"{what}_before"], one[f"{what}_after"]) for what in _COUNTS)
    ]


def _moves(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and before != after


def _row(one: dict[str, Any]) -> tuple:
    counts = [_counted(one[f"{what}_before"], one[f"{what}_after"]) for what in _COUNTS]
    return one["source_id"], one["lang"], *(cell for cells in counts for cell in cells)


def _whole(summary: dict[str, Any]) -> list[tuple]:
    found = []
    for what in _COUNTS:
        sums = [_sum([one[f"{what}_{when}"] for one in summary["totals"]]) for when in ("before", "after")]
        found.append((what.replace("_", " "), *_counted(*sums)))
    return found


def _sum(counts: list[int | None]) -> int | None:
    return None if None in counts else sum(counts)


def _counted(before: int | None, after: int | None) -> tuple:
    cells = (_NOT_COUNTED if one is None else one for one in (before, after))
    return *cells, "" if before is None or after is None else _by(before, after)


def _by(before: int, after: int) -> str:
    if before == after:
        return "0"
    share = f" ({100 * (after - before) / before:+.1f} %)" if before else ""
    return f"{after - before:+,}{share}"


def _markdown(head: tuple[str, ...], rows: list[tuple], left: int) -> list[str]:
    def cell(value: Any) -> str:
        text = f"{value:,}" if isinstance(value, int) else str(value)
        return text.replace("|", "\\|").replace("\n", " ")

    lines = [
        "| " + " | ".join(head) + " |",
        "|" + "|".join(" --- " if i < left else " ---: " for i in range(len(head))) + "|",
    ]
    return lines + ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
