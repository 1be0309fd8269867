"""What `import` reads: files and folders of the formats jsonl, parquet and text, record by record.

A record is what a file says, before anything of it is renamed or added; a `Bad` is a place that cannot be read. Each
reader holds one record, or one batch of a Parquet file, at a time.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import gzip
import hashlib
import io
import json
import math
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_sql import raw_fields, raw_line
from corpus_sql.errors import ConfigError, Problem

# Names that a folder is searched for; a file that is named itself may be called anything
SUFFIXES = {
    "jsonl": (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst"),
    "parquet": (".parquet",),
    "text": (".txt", ".md"),
}
_BOM = b"\xef\xbb\xbf"
# The reasons of raw_line that concern the line as JSON, not its fields
_UNREADABLE = ("invalid_utf8", "invalid_json", "too_deep", "lone_surrogate", "not_an_object", "duplicate_key")


class Input(NamedTuple):
    """A file to read. name: its path from the folder that all inputs have in common, with slashes."""

    path: Path
    name: str


class Record(NamedTuple):
    """number: the line or row, from 1, or None where the file is one document; fields: as the file has them."""

    number: int | None
    fields: dict[str, Any]


class Bad(NamedTuple):
    """A line, row or file (number None) that cannot be read, and why."""

    number: int | None
    what: str


class Blank(NamedTuple):
    """A line with nothing on it."""

    number: int


def find(kind: str, paths: list[Path]) -> tuple[list[Input], list[str]]:
    """Return the files to read and the names passed over: in the order given, in folders by the bytes of their paths.

    In folders, names that begin with a dot are not looked at. Raises ConfigError for a path that is not there, a folder
    without a file of the format, a file that is named twice, and a name that is not UTF-8.
    """
    found: list[Path] = []
    passed: list[str] = []
    problems = []
    for path in paths:
        if path.is_dir():
            inside = sorted(_walk(path), key=lambda one: os.fsencode(one.relative_to(path).as_posix()))
            fitting = [one for one in inside if one.name.lower().endswith(SUFFIXES[kind])]
            if not fitting:
                fix = f"Looked for names that end in {', '.join(SUFFIXES[kind])}."
                problems.append(Problem(str(path), f"holds no file of the format {kind}", fix))
            found += fitting
            passed += [str(one) for one in inside if one not in set(fitting)]
        elif path.is_file():
            found.append(path)
        else:
            what = "is neither a file nor a folder" if path.exists() else "there is no such file or folder"
            problems.append(Problem(str(path), what))
    real = [Path(os.path.realpath(path)) for path in found]
    for i, path in enumerate(real):
        if path in real[:i]:
            problems.append(Problem(str(found[i]), "is named twice", "Each file is read once."))
    roots = {os.path.dirname(os.path.abspath(path)) for path in paths}
    base = os.path.commonpath(roots) if roots else ""
    inputs = [Input(path, os.path.relpath(os.path.abspath(path), base).replace(os.sep, "/")) for path in found]
    for one in inputs:
        if not _is_utf8(one.name):
            where = os.fsencode(one.path).decode("utf-8", "backslashreplace")
            problems.append(Problem(where, "has a name that is not UTF-8", "Rename it: it becomes part of a url."))
    if problems:
        raise ConfigError(problems)
    return inputs, passed


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(parent) / name for name in names if not name.startswith("."))
        yield from (path for path in paths if path.is_file())


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def fingerprint(path: Path) -> tuple[str, int]:
    """Return SHA-256 (hex) and size in bytes of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), os.fstat(file.fileno()).st_size


def records(kind: str, path: Path, max_bytes: int) -> Iterator[Record | Bad | Blank]:
    """Read one file. max_bytes: of a line or of a text, more is Bad."""
    try:
        yield from {"jsonl": _jsonl, "parquet": _parquet, "text": _text}[kind](path, max_bytes)
    except (OSError, EOFError, zlib.error, pa.ArrowException, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        yield Bad(None, f"cannot be read: {reason}")


def _open(path: Path) -> BinaryIO:
    """Open a plain, gzip or zstd file, told apart by their first bytes."""
    with open(path, "rb") as file:
        head = file.read(4)
    if head == b"\x28\xb5\x2f\xfd":
        # pyarrow notices a truncated frame, python-zstandard does not
        return io.BufferedReader(pa.CompressedInputStream(pa.OSFile(str(path)), "zstd"), 1 << 20)
    if head[:2] == b"\x1f\x8b":
        return io.BufferedReader(gzip.open(path), 1 << 20)
    return open(path, "rb", buffering=1 << 20)


def _jsonl(path: Path, max_bytes: int) -> Iterator[Record | Bad | Blank]:
    with _open(path) as file:
        number = 0
        while line := file.readline(max_bytes + 2):
            number += 1
            if number == 1:
                line = line.removeprefix(_BOM)
            if len(line.rstrip(b"\r\n")) > max_bytes:
                while line and not line.endswith(b"\n"):
                    line = file.readline(1 << 20)
                yield Bad(number, f"is longer than {max_bytes} bytes (max_line_bytes of the config)")
                continue
            line = line.removesuffix(b"\n").removesuffix(b"\r")
            yield Blank(number) if not line.strip(b" \t\r") else _line(number, line)


def _line(number: int, line: bytes) -> Record | Bad:
    """Let the reader of raw lines judge whether this is JSON; what fields it has is for the import to judge."""
    fault = raw_line.parse(line, "")
    if isinstance(fault, raw_fields.Fault) and fault.reason in _UNREADABLE:
        return Bad(number, f"{fault.reason}: {fault.detail}")
    try:
        # the standard library keeps integers of any length
        return Record(number, json.loads(line.decode(), parse_float=_finite))
    except (ValueError, RecursionError) as error:
        return Bad(number, str(error))


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("holds a number that is larger than any double")
    return value


def _text(path: Path, max_bytes: int) -> Iterator[Record | Bad]:
    size = path.stat().st_size
    if size > max_bytes:
        yield Bad(None, f"has {size} bytes, more than {max_bytes} (max_line_bytes of the config)")
        return
    content = path.read_bytes().removeprefix(_BOM)
    try:
        yield Record(None, {"text": content.decode("utf-8")})
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        yield Bad(None, f"is not UTF-8: byte {error.start} (0x{content[error.start]:02x}), on line {line}")


def _parquet(path: Path, max_bytes: int) -> Iterator[Record | Bad]:
    number = 0
    with pq.ParquetFile(path, pre_buffer=False) as file:
        names = file.schema_arrow.names
        if twice := [name for i, name in enumerate(names) if name in names[:i]]:
            yield Bad(None, f"has the column {twice[0]} twice")
            return
        for batch in file.iter_batches(batch_size=256, use_threads=False):
            for row in batch.to_pylist(maps_as_pydicts=None):
                number += 1
                yield Record(number, {name: _plain(value) for name, value in row.items()})


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: times in ISO 8601 (UTC as Z), decimals as text, bytes as base64."""
    match value:
        case datetime.datetime() if value.tzinfo is not None:
            return value.astimezone(datetime.UTC).replace(tzinfo=None).isoformat() + "Z"
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return value.total_seconds()
        case decimal.Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case float() if not math.isfinite(value):
            return None  # JSON has no form for NaN and the infinities
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
    return value
