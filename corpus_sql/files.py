"""What makes a file or folder final: flush to disk, one rename, one lock; and what may stand in its way."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from corpus_sql.errors import ConfigError, Problem

_HELD_WITHIN = 60  # seconds in which a process that made a folder has surely taken hold of it


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


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hex digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(path: Path, content: bytes | str) -> None:
    """Write a file whole or not at all, and flush it; one that is there keeps its rights.

    An OSError names the file, which the system does not where the disk is full.
    """
    aside = path.parent / f".{path.name}.new"  # one name: who is killed leaves it, and the next takes it over
    left = memoryview(content.encode() if isinstance(content, str) else content)
    with _taken(aside) as file:
        try:
            file.truncate()
            while left:
                left = left[file.write(left) :]
            if path.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            os.fsync(file.fileno())
            os.replace(aside, path)
        except BaseException as error:
            aside.unlink(missing_ok=True)
            if isinstance(error, OSError) and error.errno:
                error.filename = str(path)
            raise


def _taken(path: Path) -> FileIO:
    """Open a file that no other process is writing; who waits for one that gets another name meanwhile asks again."""
    while True:
        file = open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)  # noqa: SIM115
        fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        file.close()


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """Give a temporary folder, and take away those of killed processes, which nobody holds any more."""
    for old in Path(tempfile.gettempdir()).glob("corpus-sql-*-*"):
        _sweep(old)
    with tempfile.TemporaryDirectory(prefix=f"corpus-sql-{purpose}-") as folder:
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(folder)
        finally:
            os.close(handle)


def _sweep(folder: Path) -> None:
    with suppress(OSError):  # another user's, or gone meanwhile
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            made = os.fstat(handle)
            if made.st_uid == os.geteuid() and time.time() - made.st_ctime > _HELD_WITHIN:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
        finally:
            os.close(handle)


def publish(building: Path, final: Path) -> None:
    """Give a finished folder its name in one step; an earlier one under that name stays until then, and goes after.

    Where the system cannot exchange two folders, the earlier one is set aside as .<name>.replaced by a rename of its
    own, and `recover` mends a kill in between.
    """
    sync(building)
    aside = final.parent / f".{final.name}.replaced"
    if final.exists() and exchange(building, final):
        aside = building
    else:
        if final.exists():
            os.rename(final, aside)
        os.rename(building, final)
    sync(final.parent)
    shutil.rmtree(aside, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Let two paths of one file system change places in one step; return whether the system could."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2  # Linux, with a C library that has it
    except (OSError, AttributeError):
        return False
    here, exchanged = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return renameat2(here, os.fsencode(one), here, os.fsencode(other), exchanged) == 0


def recover(final: Path) -> None:
    """Undo what a killed run left: an unfinished folder goes, a version that was set aside comes back."""
    aside = final.parent / f".{final.name}.replaced"
    if (aside.is_dir() or aside.is_symlink()) and not os.path.lexists(final):
        os.rename(aside, final)
    for leftover in (aside, final.parent / f".{final.name}.building"):
        if leftover.is_symlink():  # never what it leads to
            leftover.unlink()
        elif leftover.is_dir():
            shutil.rmtree(leftover)


def in_the_way(final: Path) -> list[Problem]:
    """Return what keeps a version from being written under its name: anything there that no run made."""
    building, aside = (final.parent / f".{final.name}.{end}" for end in ("building", "replaced"))
    found = []
    for path in (building, aside):
        if path.is_file() and not path.is_symlink():
            fix = f"A run makes {final.name} under this name: move the file away."
            found.append(Problem(str(path), "is a file, where a folder belongs", fix))
    fix = "Nothing but a build is ever replaced: move it away, or give the build another version."
    if final.is_symlink() and not final.exists():
        found.append(Problem(str(final), f"is a link to {os.readlink(final)}, which is not there", fix))
    elif final.exists() and not final.is_dir():
        found.append(Problem(str(final), "is a file, where the folder of a version belongs", fix))
    elif final.is_dir() and not _is_build(final) and (names := sorted(os.listdir(final))):
        held = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        found.append(Problem(str(final), f"is no build; it holds {held}", fix))
    return found


def linked(final: Path) -> list[Problem]:
    """Return what keeps a version from being replaced: a link is not the folder that it leads to."""
    if not final.is_symlink():
        return []
    fix = "Remove the link, or give the build another version."
    return [Problem(str(final), f"is a link to {os.readlink(final)}, and is not replaced", fix)]


def _is_build(folder: Path) -> bool:
    """Whether a folder is a build, a damaged one too."""
    audit = folder / "_audit"
    signs = (folder / "_MANIFEST.json", audit / "build.json", audit / "SHA256SUMS")
    return audit.is_dir() and any(sign.is_file() for sign in signs)


def unwritable(*folders: Path) -> list[Problem]:
    """Return a problem for each folder that cannot be made or written into, told before any work is done for it."""
    found: dict[Problem, None] = {}
    for folder in folders:
        there = folder
        while not os.path.lexists(there) and there != there.parent:
            there = there.parent
        if there.is_symlink() and not there.exists():
            what, fix = f"is a link to {os.readlink(there)}, which is not there", "Mend the link."
        elif not there.is_dir():
            what, fix = "is a file, where a folder belongs", "Move it away, or choose another folder."
        elif not os.access(there, os.W_OK | os.X_OK):
            what, fix = "cannot be written into", "Mend its rights, or choose another folder."
        else:
            continue
        found[Problem(str(there), what, fix)] = None
    return list(found)


def must_be_writable(*folders: Path) -> None:
    """Raise ConfigError for the folders that cannot be made or written into."""
    if problems := unwritable(*folders):
        raise ConfigError(problems)


def private(work: Path) -> str:
    """Make the work folder, which holds texts, for its owner alone; return a notice where others may still read it.

    One that is there is narrowed if all that lies in it is ours: [paths] work may name a folder that has other uses.
    """
    if not work.exists():
        work.parent.mkdir(parents=True, exist_ok=True)
        work.mkdir(mode=0o700, exist_ok=True)
    if not work.stat().st_mode & 0o077:
        return ""
    if all(name in ("spill", "fetch") or ".duckdb" in name for name in os.listdir(work)):
        with suppress(OSError):  # it belongs to another user
            work.chmod(0o700)
            return ""
    return f"{work}: holds texts, and other users may enter it; chmod 700 keeps them out"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; raises ConfigError when another run holds it. No file is left behind."""
    must_be_writable(folder)
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
