"""Ctrl-C, SIGTERM and a closed pipe: one line or none, and the exit code that a shell expects.

The first signal raises Stopped in the main thread, so that what is half-written is taken away. That exception gets lost
where an engine makes an error of its own of it or a destructor swallows it, and it waits while a library works without
looking up. So the signal is remembered: whatever a command ends in after it is the stop. And GRACE seconds later, or at
the second signal, the process ends where it is, which spoils no more than a kill does.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress

TYPE_CHECKING = False  # this module is the first: what else it imported, a signal could end with a traceback
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn

LINE = "stopped; what was finished is kept, run again to go on"
GRACE = 5.0  # seconds: to remove an unfinished folder of some gigabytes takes one or two
SIGNALS = (signal.SIGINT, signal.SIGTERM)
PIPE_CLOSED = 128 + signal.SIGPIPE  # what a shell says of `yes` in `yes | head`

_stopped: list[int] = []  # the signal, once it came
_ending = threading.Lock()


class Stopped(BaseException):
    """A signal asks the command to end; no KeyboardInterrupt, which libraries turn into answers of their own."""


def guarded(command: Callable[[], int]) -> NoReturn:
    """Run a command and end the process with the code that it returns, or as a signal or a closed pipe wants it."""
    code = 1
    try:
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as of a job that a script put into the background
                signal.signal(number, _stop)
        # it says where there are too few handles, before two of them are taken
        from corpus_sql import limits  # noqa: F401

        _listen()
        code = command()
        sys.stdout.flush()
    except SystemExit as error:  # the command line makes this of a closed pipe too
        closed = isinstance(error.__context__, BrokenPipeError)
        code = PIPE_CLOSED if closed else error.code if isinstance(error.code, int) else int(error.code is not None)
    except BrokenPipeError:
        code = PIPE_CLOSED
    except BaseException:
        if not _stopped:
            sys.excepthook(*sys.exc_info())
    _end(code)


def _listen() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=[reader], daemon=True).start()
    sys.unraisablehook = _unless_stopped(sys.unraisablehook)
    threading.excepthook = _unless_stopped(threading.excepthook)


def _watch(reader: int) -> None:
    """End the process some seconds after the first signal, even where the main thread never gets to see it."""
    while (number := os.read(reader, 1)[0]) not in SIGNALS:
        pass
    time.sleep(GRACE)
    _stopped.append(number)
    _end(0)


def _stop(number: int, _: FrameType | None) -> None:
    _stopped.append(number)
    if len(_stopped) > 1:
        _end(0)
    raise Stopped


def _end(code: int) -> NoReturn:
    """End the process, once; threads, destructors and what is left in a buffer for a closed pipe have no more say."""
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
    if not _ending.acquire(blocking=False):
        time.sleep(60)  # another thread is at it
    if _stopped:
        code = 128 + _stopped[0]
        # a bar hides the cursor, and what it had written stands on the line
        clear = "\r\x1b[K\x1b[?25h" if os.isatty(2) else ""
        with suppress(OSError):
            os.write(2, f"{clear}{LINE}\n".encode())
    elif code != PIPE_CLOSED:
        code = max(code, *map(_flushed, (sys.stdout, sys.stderr)))
    os._exit(code)


def _flushed(stream) -> int:
    """Flush a stream; return the exit code that this leads to."""
    try:
        stream.flush()
    except BrokenPipeError:
        return PIPE_CLOSED
    except (OSError, ValueError):
        return 1
    return 0


def _unless_stopped(hook: Callable) -> Callable:
    return lambda *args: None if _stopped else hook(*args)
