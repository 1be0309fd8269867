"""The raw files of the sources: what lies there against what the ledger lists, and their hashes."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from corpus_sql.errors import ConfigError, Problem

if TYPE_CHECKING:
    from corpus_sql.ledger import LedgerFile, Source
    from corpus_sql.raw import RawFile

_PART = re.compile(r"([0-9]{8})/part-[0-9]{5}\.jsonl\.zst")  # below the source's folder
_CHUNK = 1 << 20
_CHANGED = "It changed since it was listed: fetch or import it again."
_LINKED = "Copy it there, or point [paths] artifacts at the other place."

Progress = Callable[[str, int, int], None]


class Unread(NamedTuple):
    """A file in a source's folder that is not read. name: relative to corpus/raw/; bytes: its size."""

    source_id: str
    name: str
    bytes: int


def is_date(text: str) -> bool:
    """Whether a text is a day of the calendar, yyyy-mm-dd."""
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def is_day(name: str) -> bool:
    """Whether the name of a folder is a day of the calendar, yyyymmdd: 20261332 is none."""
    return is_date(f"{name[:4]}-{name[4:6]}-{name[6:]}")


def compare(raw: Path, sources: Iterable[Source], ledger: Path) -> tuple[list[RawFile], list[Unread], list[Unread]]:
    """Compare the sources' folders with their rows, opening no file; return files to read, ignored, superseded.

    Raises ConfigError with every listed file that is missing, no regular file, of another size or reached by a link
    out of its source's folder, and every file of the right form that no row names.
    """
    from corpus_sql.raw import RawFile

    files, ignored, superseded, problems = [], [], [], []
    for source in sources:
        where = f"{ledger}:{source.line}"
        home = os.path.join(os.path.realpath(raw), source.source_id)
        if not source.files:
            fix = "`corpus-sql fetch` or `corpus-sql import` gets them."
            problems.append(Problem(where, f"{source.source_id} has no raw files", fix))
        for listed in sorted(source.files, key=lambda one: one.path.encode()):
            path = raw / listed.path
            if wrong := _unlike(path, listed, home):
                problems.append(Problem(listed.path, *wrong))
                continue
            files.append(
                RawFile(
                    source_id=source.source_id,
                    name=listed.path,
                    path=path,
                    sha256=listed.sha256,
                    bytes=listed.bytes,
                    license_spdx=source.license_spdx,
                )
            )
        current, earlier = ({one.path for one in listed} for listed in (source.files, source.superseded))
        for name, size in _walk(raw, source.source_id, home, problems):
            if name in current:
                continue
            elif name in earlier:
                superseded.append(Unread(source.source_id, name, size))
            elif _is_part(name.partition("/")[2]):
                fix = f"List it in files or in superseded of {where}, or move it away."
                problems.append(Problem(name, "lies among the raw files, but the ledger does not name it", fix))
            else:
                ignored.append(Unread(source.source_id, _as_text(name), size))
    if problems:
        raise ConfigError(problems)
    return files, ignored, superseded


def _as_text(name: str) -> str:
    """A name whose bytes are not UTF-8 can't be printed or written; show those bytes as \\xNN."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _is_part(name: str) -> bool:
    match = _PART.fullmatch(name)
    return match is not None and is_day(match[1])


def _unlike(path: Path, listed: LedgerFile, home: str) -> tuple[str, str] | None:
    """Return how a listed file differs from its row and what to do, as far as can be seen unopened."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return "is listed in the ledger, but missing", "`corpus-sql fetch` gets it again where its upstream is known."
    except OSError as error:
        return f"cannot be read: {error.strerror}", ""
    real = os.path.realpath(path)
    if not real.startswith(home + os.sep):
        return f"is a symbolic link out of its source's folder, to {_as_text(real)}", _LINKED
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file", ""
    if status.st_size != listed.bytes:
        return f"has {status.st_size} bytes, the ledger says {listed.bytes}", _CHANGED
    return None


def _walk(raw: Path, folder: str, home: str, problems: list[Problem]) -> Iterator[tuple[str, int]]:
    """Yield path relative to raw and size of all that lies below a folder, in byte order; hidden files too.

    A linked folder is entered only where it is a day's, and only inside its source's folder: no walk ends in a circle.
    """
    try:
        with os.scandir(raw / folder) as found:
            entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
    except FileNotFoundError:
        return
    except OSError as error:
        problems.append(Problem(_as_text(folder), f"cannot be listed: {error.strerror}"))
        return
    for entry in entries:
        name = f"{folder}/{entry.name}"
        is_linked_day = entry.is_symlink() and entry.is_dir() and name.count("/") == 1 and is_day(entry.name)
        if is_linked_day and not os.path.realpath(entry.path).startswith(home + os.sep):
            real = _as_text(os.path.realpath(entry.path))
            problems.append(Problem(name, f"is a symbolic link out of its source's folder, to {real}", _LINKED))
        elif is_linked_day or entry.is_dir(follow_symlinks=False):
            yield from _walk(raw, name, home, problems)
        else:
            yield name, entry.stat(follow_symlinks=False).st_size


def check_hashes(files: list[RawFile], *, threads: int = 1, progress: Progress | None = None) -> None:
    """Read every file once and compare its SHA-256 with the ledger's; raises ConfigError with all that differ."""
    total = sum(file.bytes for file in files)

    def compare_one(file: RawFile) -> Problem | None:
        digest = hashlib.sha256()
        try:
            with open(file.path, "rb") as stream:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
                    if progress:
                        progress(file.name, len(chunk), total)
        except OSError as error:
            return Problem(file.name, f"cannot be read: {error.strerror}")
        found = digest.hexdigest()
        if found == file.sha256:
            return None
        return Problem(file.name, f"has the SHA-256 {found}, the ledger says {file.sha256}", _CHANGED)

    with ThreadPoolExecutor(max(1, threads)) as pool:
        problems = [problem for problem in pool.map(compare_one, files) if problem]
    if problems:
        raise ConfigError(problems)
