"""What the system gives no more of: memory, open files, threads. It is told in a sentence, with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from corpus_sql.errors import CorpusError, DataError, starved


def of(error: BaseException) -> DataError | None:
    """Return the error that says which limit was met; None where it was none."""
    problem = starved(error)
    return DataError(problem) if problem else None


@contextmanager
def told() -> Iterator[None]:
    """Turn what meeting a limit of the system ends in into DataError."""
    try:
        yield
    except CorpusError:
        raise
    except Exception as error:
        if met := of(error):
            raise met from error
        raise
