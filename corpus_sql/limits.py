"""What the system gives no more of: memory, open files, threads. It is told in a sentence, with what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from corpus_sql.errors import CorpusError, DataError, Problem

# how messages of the engine, of Arrow and of the system tell it
_MEMORY = (
    *(
        "bad_alloc",
        "bad allocation",
        "malloc of size",
        "realloc of size",
        "Cannot allocate memory",
        "Unable to allocate",
    ),
    *("start new thread", "Resource temporarily unavailable", "Failed to create thread"),
)
_HANDLES = ("Too many open files",)


def of(error: BaseException) -> DataError | None:
    """Return the error that says which limit was met; None where it was none."""
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    number = getattr(error, "errno", None)
    if number in (errno.EMFILE, errno.ENFILE) or any(sign in str(error) for sign in _HANDLES):
        return DataError(Problem("open files", text, "Allow more of them (ulimit -n), and run again."))
    if isinstance(error, MemoryError) or number == errno.ENOMEM or any(sign in str(error) for sign in _MEMORY):
        what = f"the system gives no more memory or threads: {text}"
        fix = "Raise the limits of the process (ulimit -v, ulimit -u), or give less with --memory and --threads."
        return DataError(Problem("memory", what, fix))
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
