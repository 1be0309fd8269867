"""What the system gives no more of: memory, open files, threads, disk. It is told in a sentence, with what to do."""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corpus_sql.errors import CorpusError, LimitError, Problem

# how the loader, C++ and Python's threads say that there is no memory
_NO_MEMORY = (
    "annot allocate memory", "bad_alloc", "bad allocation", "malloc of size", "realloc of size", "Unable to allocate",
    "failed to map segment", "Could not find/load shared object",
    "start new thread", "Failed to create thread", "Resource temporarily unavailable",
)  # fmt: skip


def of(error: BaseException | None) -> LimitError | None:
    """Return what says which limit was met, where an error, or one that led to it, comes from one; None for others."""
    while error is not None:
        text, number = str(error), getattr(error, "errno", None)
        if number in (errno.EMFILE, errno.ENFILE) or "Too many open files" in text:
            fix = "Raise `ulimit -n`, and run again."
            return LimitError(Problem("corpus-sql", "this process may open too few files", fix))
        if isinstance(error, MemoryError) or number == errno.ENOMEM or any(sign in text for sign in _NO_MEMORY):
            fix = "Raise `ulimit -v`, or free some memory, and run again."
            return LimitError(Problem("corpus-sql", "the system gives this process too little memory", fix))
        error = error.__cause__ or error.__context__
    return None


@contextmanager
def told() -> Iterator[None]:
    """Turn what meeting a limit of the system ends in into LimitError."""
    try:
        yield
    except CorpusError:
        raise
    except Exception as error:
        if met := of(error):
            raise met from error
        raise


# how the system and the engine say that a disk takes no more, or that a file may not grow: what to do
_DISK = ("No space left", "Disk quota exceeded", "max_temp_directory_size")
_GROWN = "File too large"
_NUMBERS = (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)


def disk(error: Exception, folder: Path | str, otherwise: str = "") -> LimitError | None:
    """Return what says that a folder takes no more, where an error says so; None for others.

    folder: where was written, for most errors do not say. otherwise: what helps besides, such as ", or … elsewhere".
    """
    number = error.errno if isinstance(error, OSError) else None
    text = os.strerror(number) if number in _NUMBERS else str(error).strip()
    if _GROWN not in text and not any(sign in text for sign in _DISK):
        return None
    if any(frame.f_globals["__name__"] == "numba.core.caching" for frame, _ in traceback.walk_tb(error.__traceback__)):
        folder, otherwise = os.environ.get("NUMBA_CACHE_DIR", folder), ", or give another folder as XDG_CACHE_HOME"
    fix = "Raise `ulimit -f`" if _GROWN in text else f"Free some disk there{otherwise}"
    what = f"takes no more: {text.partition(chr(10))[0]}"
    return LimitError(Problem(str(folder), what, f"{fix}, and run again."))


@contextmanager
def writing(folder: Path, otherwise: str = "") -> Iterator[None]:
    """Turn what writing into a folder that takes no more ends in into LimitError."""
    try:
        yield
    except OSError as error:
        if met := disk(error, folder, otherwise):
            raise met from error
        raise
