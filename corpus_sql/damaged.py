"""A version folder that is no longer as it was written: told by file, instead of by whatever reading it ends in."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from corpus_sql import limits
from corpus_sql.errors import CorpusError, DataError, Problem
from corpus_sql.files import sha256_file

SUMS = "_audit/SHA256SUMS"
_SUM_LINE = re.compile(r"([0-9a-f]{64})  (.+)")

# what reading a damaged file can end in, besides OSError
_ENDS = (
    duckdb.Error, pa.ArrowException, LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
    RecursionError,
)  # fmt: skip


def read_object(folder: Path, name: str) -> dict[str, Any]:
    """Return a JSON file of a build, such as _MANIFEST.json; raises DataError where it is not one JSON object."""
    try:
        value = json.loads((folder / name).read_bytes().decode("utf-8"))
    except OSError as error:
        what = "there is no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        raise DataError(problem(folder, name, what)) from error
    except UnicodeDecodeError as error:
        what = f"is damaged: it is no JSON: it is not UTF-8 at byte {error.start}"
        raise DataError(problem(folder, name, what)) from error
    except (ValueError, RecursionError) as error:
        raise DataError(problem(folder, name, f"is damaged: it is no JSON: {error}")) from error
    if not isinstance(value, dict):
        raise DataError(problem(folder, name, "is damaged: it is no JSON object"))
    return value


def lacks(folder: Path, name: str, what: str) -> DataError:
    """Return the error of a JSON file of a build that lacks something."""
    return DataError(problem(folder, name, f"is damaged: {what}"))


def missing(folder: Path) -> list[Problem]:
    """Return a problem for each file that SHA256SUMS lists and that is not there."""
    return [problem(folder, name, "there is no such file") for name in sums(folder) if not (folder / name).is_file()]


def unopened(folder: Path) -> list[Problem]:
    """Return a problem for each table that is missing or whose Parquet footer cannot be read; quick."""
    found = missing(folder)
    for path in sorted((folder / "_audit").rglob("*.parquet")) + sorted(folder.glob("shard-*.parquet")):
        try:
            pq.read_metadata(path)
        except (OSError, pa.ArrowException) as error:
            found.append(problem(folder, path.relative_to(folder).as_posix(), f"is damaged: {first_line(error)}"))
    return found


def whole(folder: Path) -> None:
    """Raise DataError where a file of the build is missing: who reads all tables would pass over it."""
    if problems := missing(folder):
        raise DataError(problems)


def changed(folder: Path) -> list[Problem]:
    """Return a problem for each file that is missing or has other bytes than SHA256SUMS says; this reads all files."""
    found = []
    for name, digest in sums(folder).items():
        path = folder / name
        if not path.is_file():
            found.append(problem(folder, name, "there is no such file"))
            continue
        try:
            if sha256_file(path) != digest:
                found.append(problem(folder, name, f"is damaged: its bytes are not those that {SUMS} lists"))
        except OSError as error:
            found.append(problem(folder, name, f"cannot be read: {error.strerror}"))
    return found


@contextmanager
def told(*folders: Path) -> Iterator[None]:
    """Turn what reading a damaged build ends in into DataError, which names each damaged file.

    Where every file is as it was written, an error of the engine becomes a DataError without a file; any other error
    is one of the product and is raised as it is.
    """
    try:
        yield
    except CorpusError:
        raise
    except (*_ENDS, OSError) as error:
        if isinstance(error, OSError) and not _of(error, folders):
            raise
        if full := limits.disk(error, tempfile.gettempdir(), ", or point TMPDIR elsewhere"):
            raise full from error
        from corpus_sql import forms  # it reads by this module

        builds = list(dict.fromkeys(map(Path, folders)))
        problems = [one for folder in builds for one in changed(folder)]
        problems = problems or [one for folder in builds for one in forms.problems(folder)]
        if not problems and isinstance(error, (duckdb.Error, pa.ArrowException)):
            what = f"cannot be read: {first_line(error)}"
            problems = [Problem(str(folder), what, _fix(folder)) for folder in folders[:1]]
        if not problems:
            raise
        raise DataError(problems) from error


def first_line(error: Exception) -> str:
    """Return what an error says first."""
    return str(error).strip().split("\n")[0] or type(error).__name__


def _of(error: OSError, folders: tuple[Path, ...]) -> bool:
    """Say whether an error is one of reading a build: Arrow's have no number, the system's name a file of it."""
    if error.filename is None:
        return error.errno is None
    path = Path(str(error.filename)).resolve()
    return any(Path(folder).resolve() in path.parents for folder in folders)


def sums(folder: Path) -> dict[str, str]:
    """Return file -> SHA-256 as SHA256SUMS states them, nothing where it cannot be read.

    run.json is left out: it tells of the run alone.
    """
    try:
        lines = (folder / SUMS).read_text("utf-8", "replace").split("\n")
    except OSError:
        return {}
    found = {match[2]: match[1] for line in lines if (match := _SUM_LINE.fullmatch(line))}
    found.pop("_audit/run.json", None)
    return found


def problem(folder: Path, name: str, what: str) -> Problem:
    """Return the problem of a file of a build."""
    return Problem(str(folder / name), what, _fix(folder))


def _fix(folder: Path) -> str:
    return f"corpus-sql verify {folder} says what is damaged."
