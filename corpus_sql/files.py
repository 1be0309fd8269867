"""What makes a file or folder final: flush to disk, one rename, one lock."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corpus_sql.errors import ConfigError, Problem


def reports(build: Path) -> Path:
    """Return the folder for what is said about a build: corpus/<dataset>/reports/<version>."""
    build = Path(build).resolve()
    return build.parent / "reports" / build.name


def sync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write(path: Path, content: bytes | str) -> None:
    """Write a file whole and flush it."""
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())


def publish(building: Path, final: Path) -> None:
    """Give a finished folder its name by one rename; an earlier one under that name stays until then.

    The earlier one is set aside as .<name>.replaced and removed afterwards; `recover` mends a kill in between.
    """
    sync(building)
    aside = final.parent / f".{final.name}.replaced"
    if final.exists():
        os.rename(final, aside)
    os.rename(building, final)
    sync(final.parent)
    shutil.rmtree(aside, ignore_errors=True)


def recover(final: Path) -> None:
    """Undo what a killed run left: an unfinished folder goes, a version that was set aside comes back."""
    aside = final.parent / f".{final.name}.replaced"
    if aside.exists() and not final.exists():
        os.rename(aside, final)
    for leftover in (aside, final.parent / f".{final.name}.building"):
        if leftover.exists():
            shutil.rmtree(leftover)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; raises ConfigError when another run holds it. No file is left behind."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                Problem(
                    str(folder),
                    "another run is working here",
                    "Wait for it, or give this run another folder ([paths] work) and version.",
                )
            ) from None
        yield
    finally:
        os.close(handle)
