"""Compressed files and archives, opened with limits on what comes out of them.

A file that unpacks to far more than it should is refused while it is read, before memory or disk is full. An archive's
members are named by whoever made it: a name that leads out of the folder, or a link, refuses the archive as a whole.
"""

from __future__ import annotations

import gzip
import io
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst")
RATIO_FROM = 64 << 20  # unpacked bytes from which on the ratio is judged: below, a bomb does no harm
# What reading any of them raises where it is damaged
DAMAGED = (OSError, EOFError, zlib.error, pa.ArrowException, tarfile.TarError, zipfile.BadZipFile, UnicodeDecodeError)


class Limits(NamedTuple):
    """Bytes that one file may unpack to, and how many times its own size that may be.

    Text packs to a fifth to a tenth, logs to a fiftieth; gzip reaches 1,032 at most, zstd far more.
    """

    max_unpacked_bytes: int = 64 << 30
    max_ratio: int = 200


class Refused(ValueError):
    """A file that is not unpacked any further; the message says why."""


class Count:
    """The bytes that came out of one file so far: of the file, of its members and of what is packed inside these."""

    def __init__(self, path: Path, limits: Limits):
        self.packed, self.limits, self.unpacked = max(1, path.stat().st_size), limits, 0

    def add(self, size: int) -> None:
        """Count so many bytes more. Raises Refused where they are more than the limits allow."""
        self.unpacked += size
        most = self.limits.max_unpacked_bytes
        if self.unpacked > most:
            raise Refused(f"unpacks to more than {most} bytes (max_unpacked_bytes of the recipe)")
        times = self.limits.max_ratio
        if self.unpacked > RATIO_FROM and self.unpacked > times * self.packed:
            raise Refused(f"{self.packed} bytes unpack to more than {times} times as many (max_ratio of the recipe)")


class _Judged(io.RawIOBase):
    """A stream of which everything that comes out is counted."""

    def __init__(self, stream: BinaryIO, count: Count):
        self.stream, self.count = stream, count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        data = self.stream.read(len(buffer))
        self.count.add(len(data))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.stream.close()
        super().close()


def unpacked(path: Path, count: Count | None = None) -> BinaryIO:
    """Open a plain, gzip or zstd file, told apart by their first bytes. count: None for a file that is trusted."""
    with open(path, "rb") as file:
        head = file.read(4)
    if head == b"\x28\xb5\x2f\xfd":
        # pyarrow notices a truncated frame, python-zstandard does not
        stream = pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")
    elif head[:2] == b"\x1f\x8b":
        stream = gzip.open(path)
    else:
        return open(path, "rb", buffering=1 << 20)
    if count is not None:
        stream = _Judged(stream, count)
    return io.BufferedReader(stream, 1 << 20)


def is_archive(name: str) -> bool:
    """Whether a file is an archive, by its name."""
    return name.lower().endswith(ARCHIVES)


def members(
    path: Path, name: str, folder: Path, fits: Callable[[str], bool], count: Count
) -> Iterator[tuple[str, Path | None]]:
    """Yield the files of an archive in its order: their names, each with a path that is gone after the next step.

    name: of the archive, says which kind it is; fits: whether a member is to be unpacked, its path is None else.
    Raises Refused for names that lead out, links, devices and encrypted members, before the first one is yielded where
    the archive has a directory (zip); one of `DAMAGED` where it is that.
    """
    target = folder / "member"
    if name.lower().endswith(".zip"):
        yield from _zipped(path, target, fits, count)
        return
    with unpacked(path, count) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for one in archive:
            _safe(one.name)
            if one.isdir():
                continue
            if not one.isreg():
                raise Refused(f"holds {one.name!r}, which is a link or a device, not a file")
            if not fits(one.name):
                yield one.name, None
                continue
            with archive.extractfile(one) as source, open(target, "wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
            yield one.name, target
            target.unlink()


def _zipped(path: Path, target: Path, fits: Callable[[str], bool], count: Count) -> Iterator[tuple[str, Path | None]]:
    with zipfile.ZipFile(path) as archive:
        found = archive.infolist()
        for one in found:
            _safe(one.orig_filename)
            if stat.S_ISLNK(one.external_attr >> 16):
                raise Refused(f"holds {one.orig_filename!r}, which is a link or a device, not a file")
            if one.flag_bits & 1:
                raise Refused(f"holds {one.orig_filename!r}, which is encrypted")
        count.add(sum(one.file_size for one in found))
        for one in found:
            if one.is_dir():
                continue
            if not fits(one.filename):
                yield one.filename, None
                continue
            with archive.open(one) as source, open(target, "wb") as copy:  # reads no more than the directory says
                shutil.copyfileobj(source, copy, 1 << 20)
            yield one.filename, target
            target.unlink()


def _safe(name: str) -> None:
    """A name that is a path below where one stands, on every system, and can be printed."""
    outside = name.startswith("/") or ".." in name.split("/") or re.match("[A-Za-z]:", name)
    if outside or not name or "\\" in name or not name.isprintable():
        raise Refused(f"holds {name!r}, a name that leads out of its folder")
