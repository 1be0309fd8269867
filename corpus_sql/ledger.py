"""The ledger of sources and the provenance gate.

The only place that says which raw file may be opened. The gate judges the rows first and opens nothing; then it
compares what lies in corpus/raw/ with what the rows list; then it hashes the listed files. Customer and evaluation data
is refused by its class, unconditionally: no flag, key or reviewer changes that.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_sql import files, raw_files, spdx
from corpus_sql.config import Config
from corpus_sql.errors import ConfigError, Problem, RefusedError
from corpus_sql.raw_files import Progress, Unread, is_date, is_day
from corpus_sql.validation import cut, did_you_mean, findings, nearest, shown
from corpus_sql.written_urls import written

if TYPE_CHECKING:
    from corpus_sql.raw import RawFile

LEDGER = "LEDGER.jsonl"  # in corpus/
TRAINABLE = ("public", "licensed", "synthetic", "self-written")
FORBIDDEN = ("customer", "customer-derived", "evaluation-only")
# A source or file that is called so is not read before a person has looked at it
SUSPICIOUS = frozenset(
    "customer customers client clients crm ticket tickets private confidential internal pii "
    "eval evaluation benchmark test testset holdout gold answers".split()
)

_SURROGATE = re.compile("[\ud800-\udfff]")
_SCALARS = ("source_id", "url", "license_spdx", "data_class", "retrieved", "revision", "reviewer")


@dataclass(frozen=True)
class LedgerFile:
    """A raw file of a row. path: relative to corpus/raw/; sha256: 64 hex digits; bytes: of the compressed file."""

    path: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Upstream:
    """A file as it was fetched; SHA-256 and bytes are None where unknown."""

    url: str
    sha256: str | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Source:
    """One ledger row. retrieved: yyyy-mm-dd; line: where it stands in the ledger, from 1, None for a new row."""

    source_id: str
    url: str
    license_spdx: str | None
    data_class: str | None
    retrieved: str
    revision: str | None = None
    reviewer: str | None = None
    files: tuple[LedgerFile, ...] = ()
    superseded: tuple[LedgerFile, ...] = ()
    upstream: tuple[Upstream, ...] = ()
    recipe: dict[str, Any] | None = None  # what `fetch` was asked for, see the schema; None for other rows
    line: int | None = field(default=None, compare=False)

    def to_json(self) -> str:
        """Return the row as one line of the ledger, without the line end; empty optional lists are left out."""
        row: dict[str, Any] = {key: getattr(self, key) for key in _SCALARS}
        row["files"] = [vars(one) for one in self.files]
        for key in ("superseded", "upstream"):
            if getattr(self, key):
                row[key] = [vars(one) for one in getattr(self, key)]
        if self.recipe is not None:
            row["recipe"] = self.recipe
        return json.dumps(row, ensure_ascii=False)


@dataclass(frozen=True)
class Gate:
    """What passed: the raw files to read in order of source and path, what else lies there, and the ledger's rows."""

    files: list[RawFile]
    ignored: list[Unread]
    superseded: list[Unread]
    sources: list[Source]


def read_ledger(path: Path) -> dict[str, Source]:
    """Return the rows of a ledger by source id, in the order of the file.

    Raises RefusedError where there is no ledger, ConfigError with every problem in it, each with its line. Whether a
    source may be used is for `gate` to say.
    """
    rows, problems = _read_rows(Path(path))
    if problems:
        raise ConfigError(problems)
    return {row["source_id"]: _source(row, line) for line, row in rows}


def gate(config: Config, *, threads: int = 1, progress: Progress | None = None, hashed: bool = True) -> Gate:
    """Judge the sources of a config, compare the raw files with the ledger, and hash them where that is asked for.

    progress: called as (file, bytes just hashed, bytes of all files), from several threads where threads > 1.
    Raises RefusedError with every refused source before anything but the ledger is opened; ConfigError when the ledger
    is malformed, when a listed file is missing or differs in size or SHA-256, or when an unlisted one lies there.
    """
    path = config.corpus / LEDGER
    rows, problems = _read_rows(path)
    refused = []
    for source_id in config.sources:
        own = [(line, row) for line, row in rows if row.get("source_id") == source_id]
        if not own:
            known = [row["source_id"] for _, row in rows if isinstance(row.get("source_id"), str)]
            fix = f"Did you mean {nearest(source_id, known)}? " if nearest(source_id, known) else ""
            fix += "`corpus-sql fetch` writes it by a recipe, `corpus-sql import` for your own data."
            refused.append(Problem(source_id, f"refused: has no row in {path}", fix))
        for line, row in own:
            refused += [Problem(source_id, f"refused: {what}", f"{path}:{line}{fix}") for what, fix in _refusals(row)]
    if refused:
        raise RefusedError(refused + problems)
    if problems:
        raise ConfigError(problems)
    by_id = {row["source_id"]: _source(row, line) for line, row in rows}
    sources = [by_id[source_id] for source_id in config.sources]
    files, ignored, superseded = raw_files.compare(config.corpus / "raw", sources, path)
    if hashed:
        raw_files.check_hashes(files, threads=threads, progress=progress)
    return Gate(files, ignored, superseded, sources)


def refusals(source: Source) -> list[tuple[str, str]]:
    """Return why a source may not be trained on, each with what to do; an empty list when it may."""
    found = _refusals(json.loads(source.to_json()))
    return [(what, fix[2:3].upper() + fix[3:]) for what, fix in found]


def write_source(path: Path, source: Source, before: Collection[str] = ()) -> None:
    """Put a row into a ledger: in place of the one with its id, else at the end; every other line stays as it is.

    before: ids of sources; a new row goes before the first of theirs, so that the order in which sources are finished
    does not show.

    The file is replaced by one rename, under a lock that other writers wait for. Raises ConfigError when the ledger or
    the row is malformed; then nothing is written.
    """
    path = Path(os.path.realpath(path))
    problems = _row_problems(json.loads(source.to_json()), source.source_id)
    if problems:
        raise ConfigError(problems)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent / f".{path.name}.lock"):
        lines, rows = [], []
        if path.exists():
            lines = path.read_bytes().splitlines(keepends=True)
            rows, problems = _read_rows(path)
            if problems:
                raise ConfigError(problems)
        new = source.to_json().encode() + b"\n"
        at = next((line for line, row in rows if row["source_id"] == source.source_id), None)
        first = next((line for line, row in rows if row["source_id"] in before), None)
        if at is not None:
            lines[at - 1] = new
        elif first is not None:
            mark = b"\xef\xbb\xbf" if first == 1 and lines[0].startswith(b"\xef\xbb\xbf") else b""
            lines[first - 1] = mark + new + lines[first - 1].removeprefix(mark)
        else:
            if lines and not lines[-1].endswith(b"\n"):
                lines[-1] += b"\n"
            lines.append(new)
        files.write(path, b"".join(lines))
        files.sync(path.parent)


# reading


@cache
def _schema() -> dict[str, Any]:
    from corpus_sql.project import builtin

    return json.loads((builtin() / "schemas" / "corpus-ledger.schema.json").read_text("utf-8"))


class _NotARow(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    twice = next((key for i, key in enumerate(keys) if key in keys[:i]), None)
    if twice is not None:
        raise _NotARow(f"names the key {shown(twice)} twice")
    return dict(pairs)


def _constant(name: str) -> Any:
    raise _NotARow(f"{name} is not JSON")


def _read_rows(path: Path) -> tuple[list[tuple[int, dict[str, Any]]], list[Problem]]:
    """Return the objects of a ledger with their line numbers, and everything that is wrong with any line."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        fix = "`corpus-sql fetch` writes it by recipes, `corpus-sql import` for your own data."
        raise RefusedError(Problem(str(path), "there is no ledger", fix)) from None
    except OSError as error:
        raise ConfigError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    rows, problems, first = [], [], {}
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        where = f"{path}:{number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant)
        except UnicodeDecodeError as error:
            problems.append(Problem(where, f"byte {error.start} of the line (0x{line[error.start]:02x}) is not UTF-8"))
            continue
        except json.JSONDecodeError as error:
            fix = "Each line is one JSON object."
            problems.append(Problem(f"{where}:{error.colno}", f"is not JSON: {error.msg}", fix))
            continue
        except ValueError as error:
            problems.append(Problem(where, str(error)))
            continue
        except RecursionError:
            problems.append(Problem(where, "is nested too deeply"))
            continue
        if not isinstance(row, dict):
            problems.append(Problem(where, f"is {shown(row)}, not a JSON object"))
            continue
        if _SURROGATE.search(json.dumps(row, ensure_ascii=False)):
            problems.append(Problem(where, "holds a lone surrogate escape, which is no text"))
            continue
        rows.append((number, row))
        problems += _row_problems(row, where)
        source_id = row.get("source_id")
        if isinstance(source_id, str) and first.setdefault(source_id, number) != number:
            what = f"source_id {shown(source_id)} has a row already, in line {first[source_id]}"
            problems.append(Problem(where, what, "A source has one row."))
    return rows, problems


def _row_problems(row: dict[str, Any], where: str) -> list[Problem]:
    """Return what is malformed in one row. A missing licence or data class is for the gate to refuse."""
    problems = []
    for finding in findings(_schema(), row):
        if finding.what == "is missing" and finding.path[0] in ("license_spdx", "data_class"):
            continue
        problems.append(Problem(where, f"{_named(finding.path)} {finding.what}", finding.fix))
    if problems:
        return problems
    license_spdx = row.get("license_spdx")
    if license_spdx and (wrong := spdx.problem(license_spdx)):
        problems.append(Problem(where, f"license_spdx {wrong[0]}", wrong[1]))
    if not is_date(row["retrieved"]):
        problems.append(Problem(where, f"retrieved is {shown(row['retrieved'])}, which is no date"))
    seen: set[str] = set()
    for key in ("files", "superseded"):
        for one in row.get(key, ()):
            path = one["path"]
            source_id, day, _ = path.split("/")
            if source_id != row["source_id"]:
                what = f"{key} names {cut(path)}, which is not of the source {cut(row['source_id'])}"
                problems.append(Problem(where, what))
            elif not is_day(day):
                problems.append(Problem(where, f"{key} names {cut(path)}, and {day} is no date"))
            elif path in seen:
                fix = "A file is listed once, in files or in superseded."
                problems.append(Problem(where, f"{key} names {cut(path)} again", fix))
            seen.add(path)
    return problems


def _named(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{cut(part)}" for part in path).lstrip(".") or "the row"


def _source(row: dict[str, Any], line: int) -> Source:
    """Return a row as a build tells of it: of URLs that were written by hand, what signs or opens them stays behind."""
    recipe = row.get("recipe")
    return Source(
        **{key: row.get(key) for key in _SCALARS} | {"url": written(row["url"])},
        files=tuple(LedgerFile(**one) for one in row["files"]),
        superseded=tuple(LedgerFile(**one) for one in row.get("superseded", ())),
        upstream=tuple(Upstream(**one | {"url": written(one["url"])}) for one in row.get("upstream", ())),
        recipe=recipe and recipe | {"url": [written(url) for url in recipe["url"]]},
        line=line,
    )


# judging


def _refusals(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Why a row may not be trained on, each with what to do; the forbidden classes first and with no way round."""
    data_class = row.get("data_class")
    if isinstance(data_class, str) and re.sub(r"[\s_-]+", "-", data_class.strip().lower()) in FORBIDDEN:
        return [(f"{data_class.strip()} data is never trained on", "")]
    found = []
    if data_class is None or data_class == "":
        found.append(("untagged: the row has no data_class", f": write one of {', '.join(TRAINABLE)}, if it is one."))
    elif data_class not in TRAINABLE:
        fix = did_you_mean(data_class, TRAINABLE)
        found.append((f"the data_class {shown(data_class)} is unknown", f": {fix}"))
    if not row.get("license_spdx"):
        found.append(("the row has no license_spdx", ": write the SPDX licence of the source."))
    reviewer = row.get("reviewer")
    if not (isinstance(reviewer, str) and reviewer.strip()) and (words := _suspicious(row)):
        named = ", ".join(f'"{word}" in {place}' for word, place in words)
        what = f"looks like customer or evaluation data ({named}) and has no reviewer"
        found.append((what, ": a person has to look at it and put their name there."))
    return found


def _suspicious(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the suspicious words and where each was found first: in the source id or in a file's path."""
    places = [row.get("source_id")]
    for key in ("files", "superseded"):
        files = row.get(key)
        places += [one.get("path") for one in files if isinstance(one, dict)] if isinstance(files, list) else []
    found: dict[str, str] = {}
    for place in places:
        for word in re.split(r"[./_-]", place.lower()) if isinstance(place, str) else ():
            if word in SUSPICIOUS:
                found.setdefault(word, place)
    return list(found.items())


# writing


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
