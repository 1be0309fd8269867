"""How results look in a terminal: the end of a run, the story of one id. Lines of text, no decisions."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich.cells import cell_len, set_cell_size

from corpus_sql.pii_shown import without_pii
from corpus_sql.validation import counted, size_of

if TYPE_CHECKING:
    from corpus_sql.build import Outcome
    from corpus_sql.explain import Story

# What a terminal acts on, or what hides or turns around text: C0 and C1 controls (0x9b begins a sequence as ESC [
# does), marks, embeddings and isolates of direction, spaces and separators that are not seen, tags, and surrogates,
# which no terminal can be sent. The joiners U+200C and U+200D stay: scripts and emoji are written with them.
_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


_LANGUAGES = 10  # lines of the table at the end of a run
WIDTH = 100  # columns that a line of a story takes, where it can be kept short
_LEAST = 8  # columns that a column of text keeps in a narrow terminal
ITEMS = 5  # protected items that a story names


def plain(text: str, keep: str = "\n\t") -> str:
    """Return a text that may be sent to a terminal: what it would act on is escaped, but for the characters of keep."""
    return _ACTING.sub(lambda m: m[0] if m[0] in keep else m[0].encode("unicode_escape").decode(), text)


def as_json(value: Any, indent: int | None = None) -> str:
    """Return JSON that may be sent to a terminal: what it would act on is an escape, and no text is lost."""
    return json_plain(dumps(value, indent))


def dumps(value: Any, indent: int | None = None) -> str:
    """Return JSON, which knows no NaN and no infinity: they are null."""
    return json.dumps(_finite(value), ensure_ascii=False, indent=indent, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def json_plain(text: str) -> str:
    """Escape in a JSON text what a terminal would act on, but for its own line ends and tabs."""
    return _ACTING.sub(lambda m: m[0] if m[0] in "\n\r\t" else json.dumps(m[0])[1:-1], text)


def columns(stream: TextIO) -> int | None:
    """Return how many columns a terminal has; None for a file or a pipe, which get lines and tables in full."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def folded(line: str, width: int | None) -> Iterator[str]:
    """Break a line at spaces where it is wider than that, each further part below its first word, four to the right."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    while width and cell_len(line) > width:
        cut = max(
            (m.start() for m in re.finditer(r"(?<=\S) ", line) if cell_len(line[: m.start()]) <= width), default=0
        )
        if not cut:  # a word as wide as the terminal, such as a path
            break
        yield line[:cut]
        line = indent + line[cut:].lstrip()
    yield line


def table(head: tuple[str, ...], rows: list[tuple], left: int = 1) -> Iterator[str]:
    """Lay rows out in columns; the first `left` columns are text, the others numbers. Wide characters count double.

    In a terminal that is narrower, the widest columns of text are cut.
    """
    cells = [[*head], *([spelled(value) for value in row] for row in rows)]
    widths = [max(cell_len(row[i]) for row in cells) for i in range(len(head))]
    room = columns(sys.stdout) or sum(widths) + 2 * len(widths)
    for row in cells:
        for i, width in enumerate(_narrowed(widths, left, room - 2 * (len(widths) - 1))):
            row[i] = _cut_to(row[i], width)
    widths = [max(cell_len(row[i]) for row in cells) for i in range(len(head))]
    for row in cells:
        parts = []
        for i, value in enumerate(row):
            gap = " " * (widths[i] - cell_len(value))
            parts.append(value + gap if i < left else gap + value)
        yield "  ".join(parts).rstrip()


def _narrowed(widths: list[int], left: int, room: int) -> list[int]:
    """Return widths that fit into the room: what is too much is taken from the widest columns of text.

    The first one stays as it is: what stands there, such as an id, is what can be asked for.
    """
    found = list(widths)
    while sum(found) > room and (widest := max(found[1:left], default=0)) > _LEAST:
        found[found.index(widest, 1)] -= 1
    return found


def _cut_to(value: str, width: int) -> str:
    return value if cell_len(value) <= width else set_cell_size(value, width - 1).rstrip() + "…"


def spelled(value: Any) -> str:
    """Spell one value of a table: integers grouped, null as nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return number(value)
    return str(value)


def number(value: float) -> str:
    """Spell a measured value: whole numbers plainly, others with six significant digits; nan and inf by name."""
    return (
        f"{value}"
        if not math.isfinite(value)
        else f"{int(value):,}"
        if value == int(value) and abs(value) < 1e15
        else f"{value:.6g}"
    )


def planned(found: Outcome, verbose: bool) -> Iterator[str]:
    """What a run would do: by parts, or by relations where it is verbose."""
    from corpus_sql.parts import parts

    todo = found.steps if verbose else parts(found.steps).values()
    rows = [(one.name, "run" if one.why else "reuse", one.why) for one in todo]
    yield from table(("relation" if verbose else "part", "", ""), rows, left=3)
    yield ""


def outcome(found: Outcome, verbose: bool = False) -> Iterator[str]:
    """What a run says last."""
    if found.status == "planned":
        yield from planned(found, verbose)
        sizes = ", ".join(f"{key} {size_of(size)}" for key, size in found.estimate.items())
        yield f"disk, at most about: {sizes}"
        held, most = (size_of(found.cache[key]) for key in ("held", "cache_max"))
        yield f"earlier results: {held} held; beyond cache_max, {most}, the oldest go"
        return
    written = found.written
    if found.status == "hashes":
        for key, value in written.hashes.items():
            yield f"{key} {value}"
        return
    yield from table(("stage", "entered", "kept", "rejected", "quarantined", "blank"), written.reconciliation)
    yield ""
    rows = [(lang, documents, kept, f"{100 * kept / documents:.1f} %") for lang, documents, kept in written.languages]
    yield from table(("language", "documents", "kept", "share kept"), rows[:_LANGUAGES])
    if len(rows) > _LANGUAGES:
        yield f"and {counted(len(rows) - _LANGUAGES, 'more language')}"
    yield ""
    folder = _from_here(found.folder)
    if found.status == "same":
        yield f"{folder} holds this very build already; nothing was changed."
    else:
        manifest = written.manifest
        yield f"{counted(manifest['n_docs'], 'document')} in {counted(manifest['n_shards'], 'shard')}: {folder}"
    yield "Ask it:"
    yield f"  corpus-sql sql {folder} \\"
    yield '    "select stage, reason, count(*) from rejected group by all order by all"'
    yield f"  corpus-sql why {folder} {_an_id(found)}"


def _from_here(path: Path) -> str:
    """Spell a path as a shell here takes it: below the current folder without that folder."""
    here = os.path.relpath(path)
    return shlex.quote(str(path) if here.startswith(os.pardir) else here)


def _an_id(found: Outcome) -> str:
    from corpus_sql.explain import open_build

    with open_build(found.folder) as connection:
        for table_name in ("rejected", "quarantine", "documents"):
            row = connection.execute(f"select min(id) from {table_name}").fetchone()
            if row and row[0]:
                return row[0]
    return "SOURCE:0"


def story(found: Story) -> Iterator[str]:
    """The story of one id, as a person reads it; what a terminal would act on is escaped."""
    return (plain(line, keep="") for line in _story(found))


def _story(found: Story) -> Iterator[str]:
    line = found.document or found.quarantined
    yield f"{found.id}  {line['file']}, line {line['line']:,}, byte {line['byte_offset']:,}"
    if found.document:
        yield f"  {without_pii(line['url'])}  {line['license_spdx']}, fetched {line['fetched_at']}"
        yield f"  {line['lang']}, {line['n_chars']:,} characters"
    width = max(len(d["stage"]) for d in found.decisions)
    for decision in found.decisions:
        hits = decision["hits"] or []
        told = _hit(decision) or _passed(decision, WIDTH - width - 16)
        yield f"  {decision['stage']:<{width}}  {decision['verdict']:<10}  {told}".rstrip()
        for hit in hits[1:]:
            yield f"  {'':<{width}}  {'also':<10}  {_hit(hit)}"
    for step in found.path:
        jaccard = f"Jaccard {step['jaccard']:.4f}" if step["jaccard"] is not None else "the same text"
        yield f"  {step['from']} - {step['to']}: {jaccard}"
    yield from _stead(found)
    yield from _relatives(found)
    yield from _shared(found)
    if found.quarantined:
        yield f"  {without_pii(line['detail'])}"
        if line["raw"] is not None:
            yield f"  bytes: {_bytes(bytes(line['raw']))}"
    for span in found.redactions:
        yield f"  scrubbed: {span['kind']} at characters {span['start_char']:,} to {span['end_char']:,}"
    if found.document and found.document["verdict"] == "keep":
        yield f"  kept: {line['shard']}, row {line['shard_row']:,}, split {line['split']}"


def _stead(found: Story) -> Iterator[str]:
    """What became of the witnesses of a copy, where one was itself dropped, to the end."""
    for one in found.witnesses:
        whom = f" -> {one['witness']}" if one["witness"] is not None else ""
        yield f"  {one['id']} was itself dropped by {one['stage']} as {one['reason']}{whom}"
    if found.witnesses:
        survivor = found.document["survivor"]
        yield "  no copy is in the corpus" if survivor is None else f"  in the corpus in its stead: {survivor}"


def _shared(found: Story) -> Iterator[str]:
    """What a document has in common with protected items: how much, the first n-gram of it, and where that stands."""
    for one in found.contamination[:ITEMS]:
        yield f"  shares {one['n_shared']:,} of {one['n_ngrams']:,} n-grams with {one['item']}, the first of them at"
        ngram = (
            "" if one["ngram"] is None else f": {without_pii(one['ngram'])!r}"
        )  # none where rejected texts are not kept
        yield (
            f"    characters {one['start_char']:,} to {one['end_char']:,}, in the item {one['item_start_char']:,} to "
            f"{one['item_end_char']:,}{ngram}"
        )
    if len(found.contamination) > ITEMS:
        yield f"  and some with {len(found.contamination) - ITEMS:,} more; the table contamination lists them"


def _relatives(found: Story) -> Iterator[str]:
    """The group of a document, if it is not alone in it, and what ties it there."""
    for one in found.parents:
        missing = {"quarantined": "a line that could not be read", "dangling": "in no raw file"}
        said = one["parent"] or missing[one["status"]]
        circle = ", of which this one is a parent or ancestor in turn" if one["status"] == "circle" else ""
        yield f"  parent: {without_pii(one['named'])}" + ("" if said == one["named"] else f" ({said})") + circle
    if found.n_children:
        yield f"  children: {_first(found.children, found.n_children)}"
    if found.n_members:
        yield f"  group {found.document['relation_group']}, with {_first(found.members, found.n_members)}"


def _first(names: list[str], n: int) -> str:
    return ", ".join(names) + (f" and {n - len(names):,} more" if n > len(names) else "")


def _passed(decision: dict[str, Any], width: int) -> str:
    """The values that were nearest to their thresholds, as many as have room; of a value with two, the nearer one."""
    nearest: dict[str, tuple[float, str]] = {}
    for rule in decision["passed"]:
        value, threshold = rule["value"], rule["threshold"]
        if value is None:
            continue
        apart = abs(value - threshold) / (max(abs(value), abs(threshold)) or 1)
        end = "max" if rule["reason"].startswith("high_") else "min"
        told = f"{rule['metric']} {number(value)} ({end} {number(threshold)})"
        nearest[rule["metric"]] = min(nearest.get(rule["metric"], (apart, told)), (apart, told))
    text = ""
    for _, told in sorted(nearest.values()):
        longer = f"{text}, {told}" if text else told
        if text and len(longer) > width:
            break
        text = longer
    return text


def _hit(hit: dict[str, Any]) -> str:
    if not hit["reason"]:
        return ""
    text = hit["reason"]
    if hit["metric"] is not None:
        value = "not measured" if hit["value"] is None else number(hit["value"])
        text += f"  {hit['metric']} {value}"
        if hit["threshold"] is not None:
            text += f", threshold {number(hit['threshold'])}"
    if hit["witness"] is not None:
        text += f"  -> {hit['witness']}"
    return text


def _bytes(raw: bytes, limit: int = 400) -> str:
    """Show bytes as text where they are text, with escapes where a terminal would act on them."""
    head = raw[:limit]
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode()
        for c in without_pii(head.decode("utf-8", "backslashreplace"), cut=len(raw) > limit)
    )
    return shown + (
        f" … ({len(raw):,} bytes, sha256 {hashlib.sha256(raw).hexdigest()[:12]}…)" if len(raw) > limit else ""
    )


def story_dict(found: Story) -> dict[str, Any]:
    """The story as JSON, no personal data in what it quotes: bytes as text with escapes, hashes as whole numbers."""
    quarantined = dict(found.quarantined) if found.quarantined else None
    if quarantined and quarantined["raw"] is not None:
        quarantined["raw"] = without_pii(bytes(quarantined["raw"]).decode("utf-8", "backslashreplace"))
    return {
        "id": found.id,
        "document": found.document,
        "quarantined": quarantined,
        "decisions": found.decisions,
        "path": found.path,
        "witnesses": found.witnesses,
        "contamination": [{**one, "ngram": one["ngram"] and without_pii(one["ngram"])} for one in found.contamination],
        "redactions": found.redactions,
        "parents": [{**one, "named": without_pii(one["named"])} for one in found.parents],
        "children": {"n": found.n_children, "first": found.children},
        "members": {"n": found.n_members, "first": found.members},
    }
