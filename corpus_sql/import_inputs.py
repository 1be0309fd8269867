"""What `import` and `fetch` read: files of all formats, record by record. The one table of formats.

A record is what a file says, before anything of it is renamed or added; a `Bad` is a place that cannot be read. Each
reader (corpus_sql/convert_*.py) holds one record, or one batch of a Parquet file, at a time.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from corpus_sql import packed
from corpus_sql.errors import ConfigError, Problem
from corpus_sql.packed import Count
from corpus_sql.written_urls import written

# Names that a folder or an archive is searched for; a file that is named itself may be called anything
SUFFIXES = {
    "jsonl": (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst"),
    "json": (".json", ".json.gz", ".json.zst"),
    "parquet": (".parquet",),
    "csv": (".csv", ".csv.gz", ".csv.zst"),
    "tsv": (".tsv", ".tsv.gz", ".tsv.zst"),
    "text": (".txt", ".md"),
    "lines": (".txt", ".txt.gz", ".txt.zst"),
    "markdown": (".md", ".markdown"),
    "html": (".html", ".htm", ".xhtml"),
    "warc": (".warc", ".warc.gz", ".arc", ".arc.gz"),
    "wet": (".wet", ".wet.gz"),
    "oscar": (".txt.gz", ".jsonl.gz"),  # of folders alone, and only what has a name of the layout
}
WHOLE = ("text", "markdown", "html")  # one document a file


class Input(NamedTuple):
    """A file to read. name: its path from the folder that all inputs have in common, with slashes."""

    path: Path
    name: str


class Record(NamedTuple):
    """number: the line or row, from 1, or None where the file is one document; fields: as the file has them.

    A field is what JSON can hold, or the bytes of a binary column.
    """

    number: int | None
    fields: dict[str, Any]


@dataclass(frozen=True)
class Bad:
    """A line, row or file (number None) that cannot be read, and why. line: its bytes, where it is one line.

    cut: the file ends within it, without a line end.
    left_out: the import goes on without it and says so, as with a page of HTML that cannot be decoded.
    """

    number: int | None
    what: str
    line: bytes | None = field(default=None, compare=False)
    cut: bool = field(default=False, compare=False)
    left_out: bool = field(default=False, compare=False)


class Blank(NamedTuple):
    """A line with nothing on it."""

    number: int


class Other(NamedTuple):
    """A record that is no document by its kind, such as a WARC record of type request."""

    number: int
    what: str


def find(kind: str, paths: list[Path]) -> tuple[list[Input], list[str]]:
    """Return the files to read and the names passed over: in the order given, in folders by the bytes of their paths.

    In folders, names that begin with a dot are not looked at. Raises ConfigError for a path that is not there, a folder
    without a file of the format, a file that is named twice, and a name that is not UTF-8.
    """
    if kind == "oscar":
        from corpus_sql import oscar  # it reads its metadata by way of this module

        return oscar.find(paths)
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
        elif url := re.match(r"([a-z][a-z0-9+]+):/+", str(path)):
            named = written(f"{url[1]}://{str(path)[url.end() :]}")
            problems.append(Problem(named, "is a URL, not a file", "`corpus-sql fetch` downloads it by a recipe."))
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


def fingerprints(kind: str, inputs: list[Input]) -> list[tuple[str, str, int]]:
    """Return name, SHA-256 (hex) and size in bytes of every file that is read for the inputs.

    Raises ConfigError where the input brings checksums, as oscar does, and they differ.
    """
    if kind != "oscar":
        return [(one.name, *fingerprint(one.path)) for one in inputs]
    from corpus_sql import oscar

    files = oscar.files(inputs)
    found = [(one.name, *fingerprint(one.path)) for one in files]
    oscar.verify(files, [sha256 for _, sha256, _ in found])
    return found


def records(
    kind: str, path: Path, max_bytes: int, count: Count | None = None
) -> Iterator[Record | Bad | Blank | Other]:
    """Read one file. max_bytes: of a line or of a text, more is Bad. count: of what
    comes out of it, None for a file that is trusted.

    Raises packed.Refused where the limits are reached, ConfigError where a format's library is not installed.
    """
    try:
        yield from _reader(kind)(path, max_bytes, count)
    except packed.DAMAGED as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        yield Bad(None, f"cannot be read: {reason}")


def text_fault(kind: str, path: Path, name: str) -> str:
    """Say why no field of this name in a file can be a text, as far as the file says types; "" for nothing."""
    if kind != "parquet":
        return ""
    from corpus_sql import convert_tables

    return convert_tables.text_fault(path, name)


def _reader(kind: str) -> Callable[..., Iterator[Record | Bad | Blank | Other]]:
    """Return what reads a format; its module is loaded when it is needed."""
    match kind:
        case "jsonl" | "json":
            from corpus_sql import convert_json

            return convert_json.jsonl if kind == "jsonl" else convert_json.array
        case "parquet" | "csv" | "tsv":
            from corpus_sql import convert_tables

            return (
                convert_tables.parquet if kind == "parquet" else partial(convert_tables.separated, tabs=kind == "tsv")
            )
        case "text" | "markdown" | "lines":
            from corpus_sql import convert_text

            return convert_text.by_line if kind == "lines" else convert_text.whole
        case "html":
            from corpus_sql import convert_html

            return convert_html.read
        case "warc" | "wet":
            from corpus_sql import convert_warc

            return convert_warc.read
        case "oscar":
            from corpus_sql import oscar

            return lambda path, max_bytes, _count: oscar.read(path, max_bytes)
    raise KeyError(kind)
