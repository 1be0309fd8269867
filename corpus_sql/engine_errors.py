"""What an error of the engine means: a full disk, a damaged work file, too little memory, or a wrong query."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import duckdb

from corpus_sql import limits
from corpus_sql.errors import CorpusError, DataError, LimitError, ModelError, Problem

# how messages tell that the disk takes no more, and that what lies in the work file cannot be read
_DISK = ("No space left", "File too large", "Disk quota exceeded", "Could not write")
_DAMAGE = (
    "Corrupt database",
    "not a valid DuckDB database",
    "computed checksum",
    "Could not read enough bytes",
    "Serialization Error",
    "Failure while replaying WAL",
    "Trying to read a database file with version number",
)


class DamagedWorkFile(DataError):
    """The work file cannot be read. It holds only what can be made again, so a build starts over without it."""


def meaning(error: Exception, folder: str) -> CorpusError:
    """Return what an error of the engine means. folder: the one of the work file."""
    text = first_line(error)
    if any(sign in text for sign in _DAMAGE):
        return damaged(text, folder)
    if met := limits.of(error):
        return met
    if full := limits.disk(error, folder, ", or point [paths] work elsewhere"):
        return full
    if isinstance(error, duckdb.OutOfMemoryException):
        return LimitError(Problem("--memory", text, "Give more with --memory."))
    if isinstance(error, duckdb.IOException) or any(sign in text for sign in _DISK):
        return LimitError(Problem(folder, text, "Free some disk, or point [paths] work elsewhere, and run again."))
    return ModelError(Problem("SQL", str(error).strip()))


def damaged(text: str, folder: str) -> DamagedWorkFile:
    """Say that the work file cannot be read."""
    fix = "It holds only what can be made again: delete it and run again."
    return DamagedWorkFile(Problem(folder, f"the work file is damaged: {text}", fix))


def not_opened(error: Exception, database: Path) -> CorpusError:
    """Say why the work file cannot be opened: what its rights forbid is no fault of the disk."""
    told = meaning(error, str(database.parent))
    if isinstance(told, DamagedWorkFile) or limits.of(error) or any(sign in str(error) for sign in _DISK):
        return told
    what = f"the work file cannot be opened: {first_line(error)}"
    return DataError(Problem(str(database), what, "Mend its rights, or point [paths] work elsewhere."))


def first_line(error: Exception) -> str:
    """Return what an error says first."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


class Transaction:
    """All or nothing; an error of the engine inside, or at the commit, comes out as what it means."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, told: Callable[[duckdb.Error], CorpusError]):
        self.connection, self.told = connection, told

    def __enter__(self) -> None:
        self.connection.execute("begin")

    def __exit__(self, kind: type | None, error: BaseException | None, _: object) -> None:
        if error is None:
            try:
                self.connection.execute("commit")
            except duckdb.Error as failed:
                raise self.told(failed) from failed
            return
        with suppress(duckdb.Error):  # after a failed write there may be nothing left to roll back
            self.connection.execute("rollback")
        if isinstance(error, duckdb.Error):
            raise self.told(error) from error
