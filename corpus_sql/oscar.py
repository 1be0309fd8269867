"""The OSCAR 21.09 layout, read: a folder a language, with texts, metadata and checksums.

    xx/xx.txt.gz   xx/xx_meta.jsonl.gz   xx/xx_sha256.txt              one part
    xx/xx_part_1.txt.gz   xx/xx_meta_part_1.jsonl.gz   ...             several, each with offsets of its own

A line of metadata says which lines of the text file are its text. Lines end at \\n alone, as they were counted by the
writer of the corpus: a text may hold \\r, and readers that end lines there got everything after it wrong. Where all
lines of a text file end in \\r\\n, as on a copy from another system, the \\r belongs to the line's end. Nothing is
taken on trust: lines that belong to no record must be blank, and where two records meet without a blank line between
them, neither may have a blank line at that end. A count or an offset that is wrong by one breaks one of these rules.

The older layout has no metadata: blank lines separate the documents, and their places are all that is known of them.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from corpus_sql.errors import ConfigError, DataError, Problem
from corpus_sql.import_inputs import Bad, Blank, Input, Record, records
from corpus_sql.project import builtin
from corpus_sql.validation import cut, findings, shown

_NAME = re.compile(r"(.+?)(_meta)?(?:_part_([1-9][0-9]*))?\.(txt|jsonl)\.gz")
_LANGUAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # als, bat-smg
_SUM = re.compile(r"([0-9A-Fa-f]{64}) [ *]?(?:\./)?([^/]+)")
_SUMMED = "Every file of a language has its SHA-256 in there: nothing is read that was not verified."
# what becomes a field of its own; all headers are kept besides
_FIELDS = {"warc-target-uri": "url", "warc-date": "fetched_at", "warc-record-id": "source_record_id"}


class _Name(NamedTuple):
    language: str
    is_metadata: bool
    part: int | None


def text_name(language: str, part: int | None) -> str:
    """Return the name of a text file; part: from 1, or None for the only one."""
    return f"{language}.txt.gz" if part is None else f"{language}_part_{part}.txt.gz"


def metadata_name(language: str, part: int | None) -> str:
    """Return the name of the metadata of a text file."""
    return f"{language}_meta.jsonl.gz" if part is None else f"{language}_meta_part_{part}.jsonl.gz"


def sums_name(language: str) -> str:
    """Return the name of the checksum file."""
    return f"{language}_sha256.txt"


def _parse(name: str, language: str) -> _Name | None:
    match = _NAME.fullmatch(name)
    if not match or match[1] != language or (match[4] == "jsonl") != bool(match[2]):
        return None
    return _Name(language, bool(match[2]), int(match[3]) if match[3] else None)


def find(paths: list[Path]) -> tuple[list[Input], list[str]]:
    """Return an input for each part and the names passed over: languages in byte order, parts in the order of numbers.

    paths: folders of language folders, or language folders. The input's path is the metadata file, in the older layout
    the text file. Raises ConfigError for a folder without the layout, for files that lack their counterpart, and for
    checksum files that are missing, cannot be read, or list other files than there are.
    """
    try:
        return _find(paths)
    except OSError as error:
        raise ConfigError(Problem(str(error.filename), f"cannot be read: {error.strerror}")) from error


def _find(paths: list[Path]) -> tuple[list[Input], list[str]]:
    folders, passed, problems = [], [], []
    for path in paths:
        if not path.is_dir():
            what = "is no folder" if path.exists() else "there is no such folder"
            problems.append(Problem(str(path), what, "OSCAR is a folder with one folder for each language."))
            continue
        inside = [path] if _is_language(path) else [one for one in _listed(path) if one.is_dir() and _is_language(one)]
        if not inside:
            fix = "Looked for a folder xx with xx.txt.gz, xx_meta.jsonl.gz and xx_sha256.txt for each language xx."
            problems.append(Problem(str(path), "holds no language of the OSCAR layout", fix))
        elif inside != [path]:
            passed += [_text(one) for one in _listed(path) if one not in inside]
        folders += inside
    base = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])
    real = [os.path.realpath(folder) for folder in folders]
    twice = [folder for i, folder in enumerate(folders) if real[i] in real[:i]]
    problems += [Problem(str(folder), "is named twice", "Each language is read once.") for folder in twice]
    fix = "Rename it: it becomes part of a url."
    strange = [path for path in paths if _text(path.absolute()) != str(path.absolute())]
    problems += [Problem(_text(path), "has a name that is not UTF-8", fix) for path in strange]
    parts: list[Path] = []
    for folder in folders:
        found, others, wrong = _language(folder)
        parts += found
        passed += others
        problems += wrong
    problems += _mixed(parts)
    if problems:
        raise ConfigError(problems)
    return [Input(part, os.path.relpath(os.path.abspath(part), base).replace(os.sep, "/")) for part in parts], passed


def _listed(folder: Path) -> list[Path]:
    inside = [one for one in folder.iterdir() if not one.name.startswith(".")]
    return sorted(inside, key=lambda one: os.fsencode(one.name))


def _text(path: Path) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_language(folder: Path) -> bool:
    language = folder.absolute().name
    return _LANGUAGE.fullmatch(language) is not None and any(
        one.name == sums_name(language) or _parse(one.name, language) for one in folder.iterdir()
    )


def _language(folder: Path) -> tuple[list[Path], list[str], list[Problem]]:
    """The parts of one language, the names passed over, and what is wrong."""
    language = folder.absolute().name
    names = {one.name: _parse(one.name, language) for one in _listed(folder)}
    texts = sorted((n.part for n in names.values() if n and not n.is_metadata), key=lambda part: part or 0)
    metas = sorted((n.part for n in names.values() if n and n.is_metadata), key=lambda part: part or 0)
    others = [_text(folder / name) for name, n in names.items() if n is None and name != sums_name(language)]
    problems = []
    if None in texts and len(texts) > 1:
        what = f"holds {text_name(language, None)} and {text_name(language, texts[1])}"
        problems.append(Problem(str(folder), what, "A language is one file or numbered parts."))
    for part in metas:
        if part not in texts:
            what = "there is no such file, but there is its metadata"
            problems.append(Problem(str(folder / text_name(language, part)), what))
    for part in texts if metas else ():
        if part not in metas:
            what = "there is no such file, but other parts have metadata"
            problems.append(Problem(str(folder / metadata_name(language, part)), what))
    problems += _sums_fit(folder, language, [name for name, n in names.items() if n])
    name = metadata_name if metas else text_name
    return [folder / name(language, part) for part in texts], others, problems


def _mixed(parts: list[Path]) -> list[Problem]:
    """Metadata that is there for some languages alone was lost for the others: their urls would be lost silently."""
    bare = sorted({part.parent for part in parts if part.name.endswith(".txt.gz")})
    if len(bare) == len({part.parent for part in parts}):
        return []
    fix = "Import what has no metadata from a folder of its own."
    return [Problem(str(folder), "has no metadata, but other languages have", fix) for folder in bare]


def read_sums(path: Path) -> tuple[dict[str, str], list[Problem]]:
    """Return {file name: SHA-256, lower-case hex} of a checksum file, and its lines that say no such thing.

    One or two spaces, or a space and the * of binary mode, stand between the two; `\\r` before the line end is dropped.
    """
    try:
        lines = path.read_bytes().decode("utf-8", "backslashreplace").split("\n")
    except OSError as error:
        what = "there is no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        return {}, [Problem(str(path), what, _SUMMED)]
    sums: dict[str, str] = {}
    problems = []
    for number, line in enumerate(lines, 1):
        line = line.removesuffix("\r")
        match = _SUM.fullmatch(line)
        if match and sums.setdefault(match[2], match[1].lower()) != match[1].lower():
            problems.append(Problem(f"{path}:{number}", f"gives {match[2]} another SHA-256 than a line above"))
        elif not match and line.strip():
            fix = "A line is 64 hex digits, two spaces and a file name, as sha256sum writes it."
            problems.append(Problem(f"{path}:{number}", f"is {shown(line)}, no checksum", fix))
    return sums, problems


def _sums_fit(folder: Path, language: str, names: list[str]) -> list[Problem]:
    path = folder / sums_name(language)
    sums, problems = read_sums(path)
    if problems:
        return problems
    for name in sums:
        if name not in names:
            there = "there is no such file" if _parse(name, language) else "that is no name of the layout"
            fix = "Fetch it anew, or take its line out." if _parse(name, language) else ""
            problems.append(Problem(str(path), f"lists {name}, but {there}", fix))
    return problems + [Problem(str(path), f"does not list {name}", _SUMMED) for name in names if name not in sums]


def files(inputs: list[Input]) -> list[Input]:
    """Return every file that is read for the inputs: each metadata file is followed by its text file."""
    found = []
    for one in inputs:
        found.append(one)
        text = text_path(one.path)
        if text != one.path:
            found.append(Input(text, one.name.removesuffix(one.path.name) + text.name))
    return found


def verify(found: list[Input], sums: list[str]) -> None:
    """Compare the SHA-256 (hex) of the files with the checksum files; raises ConfigError with all that differ."""
    problems = []
    listings: dict[Path, dict[str, str]] = {}
    for one, is_now in zip(found, sums, strict=True):
        path = one.path.parent / sums_name(one.path.absolute().parent.name)
        if path not in listings:
            listings[path] = read_sums(path)[0]
        listed = listings[path].get(one.path.name)
        if listed != is_now:
            fix = "It is not what was published: fetch it anew."
            problems.append(Problem(str(one.path), f"has the SHA-256 {is_now}, {path.name} says {listed}", fix))
    if problems:
        raise ConfigError(problems)


def text_path(path: Path) -> Path:
    """Return the text file that belongs to a metadata file; a text file is its own."""
    name = _parse(path.name, path.absolute().parent.name)
    if name is None:
        raise DataError(Problem(str(path), "is no file of the OSCAR layout"))
    return path.with_name(text_name(name.language, name.part))


def read(path: Path, max_bytes: int) -> Iterator[Record | Bad | Blank]:
    """Read one part: a metadata file and its text file, or a text file of the older layout.

    A record's number is its line of metadata; in the older layout, the first line of its text. Its fields: text, the
    three of `_FIELDS` as far as there are headers for them, headers (all of them), oscar_language (the folder's name)
    and, where metadata has members beyond the layout's, oscar_metadata. A Bad is the last that is read of the part.
    max_bytes: of a text, more is Bad.
    """
    language = path.absolute().parent.name
    text = text_path(path)
    end = b"\r\n" if _ends_in_crlf(text) else b"\n"
    with gzip.open(text) as packed:
        lines = _Lines(io.BufferedReader(packed, 1 << 20), max_bytes, end)
        found = _plain(lines) if text == path else _with_metadata(path, text.name, lines, max_bytes)
        try:
            for record in found:
                if isinstance(record, Record):
                    record.fields["oscar_language"] = language
                yield record
                if isinstance(record, Bad):
                    return
        except _Misfit as misfit:
            yield Bad(misfit.number, str(misfit))
        except (OSError, EOFError, zlib.error) as error:
            yield Bad(None, f"cannot be read: {text.name}: {error}")


class _Misfit(ValueError):
    """number: the line of metadata, or of the text in the older layout; None for the whole file."""

    def __init__(self, number: int | None, what: str):
        super().__init__(what)
        self.number = number


class _Lines:
    """The lines of a text file; done: how many were read so far. Their end, \\n or \\r\\n, is not part of them."""

    def __init__(self, file: BinaryIO, max_bytes: int, end: bytes):
        self.file, self.max_bytes, self.end, self.done = file, max_bytes, end, 0

    def next(self) -> bytes | None:
        """Return the next line, at most max_bytes + 1 bytes of it, or None at the end of the file."""
        line = self.file.readline(self.max_bytes + 2)
        if not line:
            return None
        self.done += 1
        if line.endswith(b"\n"):
            return line.removesuffix(self.end)
        if len(line) > self.max_bytes:
            while (more := self.file.readline(1 << 20)) and not more.endswith(b"\n"):
                pass
        return line[: self.max_bytes + 1]


def _ends_in_crlf(path: Path) -> bool:
    """Whether all lines of a text file end in \\r\\n; what is damaged is told when it is read.

    Reading stops with the first megabyte that says no, so that only files with \\r\\n are read twice.
    """
    found, before = False, b""
    try:
        with gzip.open(path) as file:
            while chunk := file.read(1 << 20):
                ends = chunk.count(b"\n")
                if ends != chunk.count(b"\r\n") + (before == b"\r" and chunk.startswith(b"\n")):
                    return False
                found, before = found or ends > 0, chunk[-1:]
    except (OSError, EOFError, zlib.error):
        pass
    return found


def _is_blank(line: bytes) -> bool:
    return line in (b"", b"\r")


class _Before(NamedTuple):
    """The record before: its line of metadata, and whether its last line is blank."""

    number: int
    ends_blank: bool


def _with_metadata(path: Path, name: str, lines: _Lines, max_bytes: int) -> Iterator[Record | Bad | Blank]:
    """name: of the text file, for messages."""
    before: _Before | None = None
    for line in records("jsonl", path, max_bytes):
        if not isinstance(line, Record):
            yield line
            continue
        number, metadata = line
        if wrong := _fault(metadata):
            raise _Misfit(number, wrong)
        offset, count = metadata["offset"], metadata["nb_sentences"]
        if offset < lines.done:
            what = f"offset is {offset}, but the records above take {name} up to line {lines.done}"
            raise _Misfit(number, what)
        touches = before is not None and offset == lines.done
        _skip(lines, offset, number, before, name)
        text, first, last = _take(lines, count, number, offset, name)
        if touches and count and before.ends_blank:
            what = f"ends with line {offset} of {name}, the blank line before the next record"
            raise _Misfit(before.number, what)
        if touches and count and _is_blank(first):
            what = f"begins with line {offset + 1} of {name}, the blank line after the record before"
            raise _Misfit(number, what)
        if count:
            before = _Before(number, _is_blank(last))
        yield Record(number, {"text": text, **_fields(metadata)})
    end = lines.done
    while (line := lines.next()) is not None:
        if not _is_blank(line):
            _orphan(lines.done, end, None, before, name)
    if before and before.ends_blank and lines.done == end:
        what = f"ends with line {end} of {name}, the blank line after the last record"
        raise _Misfit(before.number, what)


def _skip(lines: _Lines, offset: int, number: int, before: _Before | None, name: str) -> None:
    """Read on to where a record begins; what lies between two records must be blank."""
    end = lines.done
    while lines.done < offset:
        line = lines.next()
        if line is None:
            raise _Misfit(number, f"offset is {offset}, but {name} has {lines.done} lines")
        if not _is_blank(line):
            _orphan(lines.done, end, number, before, name)


def _orphan(at: int, end: int, number: int | None, before: _Before | None, name: str) -> None:
    """Text without a record: right after one, that one is too short; later, the next one begins too late."""
    what = f"line {at} of {name} is text that belongs to no record"
    if before and at == end + 1:
        raise _Misfit(before.number, f"{what}: it follows this record's last line, {end}")
    raise _Misfit(number, what if number is None else f"{what}: it comes before this record")


def _take(lines: _Lines, count: int, number: int, offset: int, name: str) -> tuple[str, bytes, bytes]:
    """Return the text of the next `count` lines, and the first and the last of them."""
    taken: list[bytes] = []
    size = -1
    for _ in range(count):
        line = lines.next()
        if line is None:
            ends = f"offset {offset} and nb_sentences {count} go to line {offset + count}"
            raise _Misfit(number, f"{ends}, but {name} has {lines.done} lines")
        taken.append(line)
        size += len(line) + 1
        if size > lines.max_bytes:
            raise _Misfit(number, _too_long(lines))
    return _decoded(taken, number, offset + 1, name), taken[0] if taken else b"", taken[-1] if taken else b""


def _decoded(taken: list[bytes], number: int, first: int, name: str) -> str:
    try:
        return b"\n".join(taken).decode()
    except UnicodeDecodeError:
        for at, line in enumerate(taken, first):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                what = f"line {at} of {name} is not UTF-8: byte 0x{line[error.start]:02x} at byte {error.start}"
                raise _Misfit(number, what) from None
        raise


def _too_long(lines: _Lines) -> str:
    return f"has a text of more than {lines.max_bytes} bytes (max_line_bytes of the config)"


def _plain(lines: _Lines) -> Iterator[Record]:
    taken: list[bytes] = []
    size = -1
    while True:
        line = lines.next()
        first = lines.done - len(taken) + (line is None)
        if line is not None and not _is_blank(line):
            taken.append(line)
            size += len(line) + 1
            if size > lines.max_bytes:
                raise _Misfit(first, _too_long(lines))
            continue
        if taken:
            yield Record(first, {"text": _decoded(taken, first, first, "the file")})
        if line is None:
            return
        taken, size = [], -1


def _fault(metadata: dict[str, Any]) -> str:
    """Say in what a line of metadata differs from schemas/oscar-metadata.schema.json; "" for nothing."""
    headers = metadata.get("headers")
    whole = all(type(metadata.get(key)) is int and metadata[key] >= 0 for key in ("offset", "nb_sentences"))
    if whole and type(headers) is dict and all(type(value) is str for value in headers.values()):
        return ""  # the schema says no more than that, and takes a hundred times as long to say it
    found = findings(_schema(), metadata)
    return "; ".join(f"{'.'.join(cut(str(part)) for part in one.path) or 'metadata'} {one.what}" for one in found)


@cache
def _schema() -> dict[str, Any]:
    return json.loads((builtin() / "schemas" / "oscar-metadata.schema.json").read_text("utf-8"))


def _fields(metadata: dict[str, Any]) -> dict[str, Any]:
    headers = metadata["headers"]
    fields = {field: headers[header] for header, field in _FIELDS.items() if header in headers}
    others = {key: value for key, value in metadata.items() if key not in ("headers", "offset", "nb_sentences")}
    return {**fields, "headers": headers, **({"oscar_metadata": others} if others else {})}
