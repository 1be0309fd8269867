"""What the system gives no more of: memory, open files, threads. It is told in a sentence, with what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from corpus_sql.errors import CorpusError, DataError, Problem

# how the loader, C++ and Python's threads say that there is no memory
_NO_MEMORY = (
    "annot allocate memory", "bad_alloc", "bad allocation", "malloc of size", "realloc of size", "Unable to allocate",
    "failed to map segment", "Could not find/load shared object",
    "start new thread", "Failed to create thread", "Resource temporarily unavailable",
)  # fmt: skip


def of(error: BaseException | None) -> DataError | None:
    """Return what says which limit was met, where an error, or one that led to it, comes from one; None for others."""
    while error is not None:
        text, number = str(error), getattr(error, "errno", None)
        if number in (errno.EMFILE, errno.ENFILE) or "Too many open files" in text:
            fix = "Raise `ulimit -n`, and run again."
            return DataError(Problem("corpus-sql", "this process may open too few files", fix))
        if isinstance(error, MemoryError) or number == errno.ENOMEM or any(sign in text for sign in _NO_MEMORY):
            fix = "Raise `ulimit -v`, or free some memory, and run again."
            return DataError(Problem("corpus-sql", "the system gives this process too little memory", fix))
        error = error.__cause__ or error.__context__
    return None


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
