"""Every line of a build found again in its raw file: place, bytes, fields, and the text from raw to shard.

A second reader, apart from the one that built: standard json and hashlib, one line after the other. Only what json
cannot read, a line nested nearly as deep as the limit, is read by the scan of `raw_line`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpus_sql import first_look, ledger, raw_line
from corpus_sql.files import sha256_file
from corpus_sql.findings import Say, Unchecked
from corpus_sql.opened import Opened
from corpus_sql.raw_fields import Document, nfc
from corpus_sql.report_queries import query
from corpus_sql.validation import counted

_CHUNK = 1 << 20
_HEAD = 64 << 10  # bytes of a quarantined line that are kept
_BOM = b"\xef\xbb\xbf"
_FIELDS = ("url", "fetched_at", "license_spdx", "source_record_id", "parent_ids", "group_id")


def raw(build: Opened, say: Say) -> str:
    """Each document and quarantined line is found again where the build says, with the same bytes."""
    home = build.corpus / "raw"
    files = build.rows("select file, sha256, bytes, lines, blank, bom from files where status = 'read' order by file")
    if not home.is_dir():
        raise Unchecked(f"raw is not here: it would be {home}")
    superseded = _superseded(build)
    first = first_look.lines_of(build.record)
    count = gone = 0
    for file, sha256, size, lines, blank, bom in files:
        path = home / file
        if not path.is_file():
            if file in superseded:
                gone += 1
            else:
                say.error(
                    f"{file} is not in raw any more",
                    "No build can be made again without it; `corpus-sql fetch` gets it where its upstream is known.",
                )
            continue
        if path.stat().st_size != size or sha256_file(path) != sha256:
            say.error(
                f"{file} has changed since the build read it",
                "Restore it, or build another version from what lies there now.",
            )
            continue
        wrong: dict[str, list[str]] = {}
        found = _compare(build, file, path, wrong, lines if first else None)
        for what, examples in wrong.items():
            say.many(f"{file}: {what}", examples)
        if found["lines"] != lines or found["blank"] != blank or (found["bom"] != bom and (lines or not first)):
            stated = f"{lines:,} lines, {blank:,} blank, {bom} byte order marks"
            say.error(
                f"{file}: {stated} in the audit table; "
                f"the file has {found['lines']:,}, {found['blank']:,}, {found['bom']}"
            )
        count += found["found"]
    if gone:
        say.notice(f"superseded files that are not in raw any more, their documents were not checked: {gone:,}")
    return f"{counted(count, 'line')} in {counted(len(files) - gone, 'file')}"


def _superseded(build: Opened) -> set[str]:
    path = build.corpus / ledger.LEDGER
    if not path.is_file():
        return set()
    return {one.path for source in ledger.read_ledger(path).values() for one in source.superseded}


def _compare(build: Opened, file: str, path: Path, wrong: dict[str, list[str]], most: int | None) -> dict[str, int]:
    """Walk a file and what the build says of its lines side by side; return how much of it was found.

    most: lines of it that were read, None for all.
    """
    expected = build.stream(query("verify_raw_lines"), [file])
    wanted = next(expected, None)
    number = blank = found = 0
    start, lines = _lines(path)
    for number, (offset, line) in enumerate(islice(lines, most), 1):
        while wanted and wanted[0] < number:  # a second row for one line
            wrong.setdefault("more than one row for a line", []).append(wanted[2])
            wanted = next(expected, None)
        if wanted is None or wanted[0] != number:
            if line.strip(b" \t\r"):
                wrong.setdefault("lines that are neither blank nor in the build", []).append(f"line {number:,}")
            else:
                blank += 1
            continue
        id = wanted[2]
        if wanted[1] != offset:
            wrong.setdefault("another offset", []).append(f"{id} (byte {wanted[1]:,}, the line begins at {offset:,})")
        for what in _unlike_quarantined(line, wanted) if wanted[14] else _unlike(line, wanted):
            wrong.setdefault(what, []).append(id)
        found += 1
        wanted = next(expected, None)
    while wanted:
        wrong.setdefault("lines that the file does not have", []).append(f"{wanted[2]} (line {wanted[0]:,})")
        wanted = next(expected, None)
    return {"lines": number, "blank": blank, "bom": int(start > 0), "found": found}


def _lines(path: Path) -> tuple[int, Iterator[tuple[int, bytes]]]:
    """Return (bytes of the byte order mark, offset and bytes of each line without its line end)."""
    stream = pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd")
    first = stream.read(_CHUNK)
    start = len(_BOM) if first.startswith(_BOM) else 0

    def walk() -> Iterator[tuple[int, bytes]]:
        offset, rest, piece = start, b"", first[start:]
        while piece:
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                yield offset, line.removesuffix(b"\r")
                offset += len(line) + 1
            piece = stream.read(_CHUNK)
        if rest:
            yield offset, rest

    return start, walk()


def _unlike(line: bytes, wanted: tuple) -> Iterator[str]:
    """Say in what a document is not its raw line."""
    (_, _, _, n_chars, content_hash64, *fields, extra, final_sha256, spans, _, _, _) = wanted
    try:
        found, text, same_others = _read(line, extra)
    except RecursionError:  # Python's limit of 1,000 calls is below the reader's of 1,024 levels
        document = raw_line.parse_exactly(line, fields[_FIELDS.index("license_spdx")])
        if not isinstance(document, Document):
            yield "lines that are no documents"
            return
        found, text, same_others = [getattr(document, name) for name in _FIELDS], document.text, document.extra == extra
    except (ValueError, KeyError, TypeError, AttributeError):
        yield "lines that are no documents"
        return
    for name, value, stated in zip(_FIELDS, found, fields, strict=True):
        if value != stated:
            yield f"another {name}"
    if not same_others and not (extra is None and final_sha256 is None):
        yield "other fields than `extra` holds"
    if len(text) != n_chars:
        yield "another number of characters"
    if int.from_bytes(hashlib.sha256(match_form(text).encode()).digest()[:8], "big", signed=True) != content_hash64:
        yield "another content hash"
    if final_sha256 is not None and hashlib.sha256(replaced(text, spans or []).encode()).digest() != bytes(
        final_sha256
    ):
        yield "the text is not the raw text with its placeholders"


def _number(literal: str) -> tuple[str]:
    """A number as it was written, which is what `extra` keeps; Python converts no integer of more than 4,300 digits."""
    return (literal,)


_JSON = json.JSONDecoder(parse_int=_number, parse_float=_number)


def _read(line: bytes, extra: str | None) -> tuple[list[Any], str, bool]:
    """Return a line's values of _FIELDS, its text in NFC, and whether `extra` holds its other fields.

    Raises RecursionError for a line that is nested too deep for Python, and other errors where it is no document.
    """
    document = _JSON.decode(line.decode())
    others = {key: value for key, value in document.items() if key not in (*_FIELDS, "text")}
    same = others == (_JSON.decode(extra) if extra is not None else {})
    return [document.get(name) for name in _FIELDS], nfc(document["text"]), same


def _unlike_quarantined(line: bytes, wanted: tuple) -> Iterator[str]:
    detail, raw = wanted[15], wanted[16]
    if detail is not None and not detail.endswith(f"SHA-256 {hashlib.sha256(line).hexdigest()}"):
        yield "quarantined lines with other bytes"
    elif raw is not None and bytes(raw) != line[:_HEAD]:
        yield "quarantined lines with other bytes"


def match_form(text: str) -> str:
    """The matching normalisation: unified line ends, no white space at line ends, no blank lines outside."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    filled = [number for number, line in enumerate(lines) if line]
    return "\n".join(lines[filled[0] : filled[-1] + 1]) if filled else ""


def replaced(text: str, spans: list[dict[str, Any]]) -> str:
    """A text with the placeholders of its spans, which are given in its code points."""
    parts, at = [], 0
    for span in spans:
        parts += [text[at : span["from"]], f"<{span['kind'].upper()}>"]
        at = span["to"]
    return "".join([*parts, text[at:]])
