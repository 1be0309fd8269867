"""The decompressed bytes of raw files, or an error that says how a file is damaged.

A raw file is one stream: its zstd frames in order, skippable ones and empty ones passed over. pyarrow reads it, for it
notices a truncated frame (python-zstandard and DuckDB return what was readable, without an error). What pyarrow says
is short, so a damaged file is looked at again by `_damage`, which walks the frames by their headers (RFC 8878, 3.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

import pyarrow as pa

from corpus_sql.errors import DataError, Problem

CHUNK = 2 << 20  # decompressed bytes a read; 1 MiB and 4 MiB were no faster
MAX_WINDOW = 128 << 20  # the largest window that zstd reads without being told to (window log 27)
_ZSTD, _SKIPPABLE = b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18"
_TRUNCATED, _PREFIX = "Truncated compressed stream", "ZSTD decompress failed: "
_OTHERS = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\0": "xz", b"BZh": "bzip2", b"PK\3\4": "zip", b"\4\x22\x4d\x18": "lz4"}
T = TypeVar("T")


@dataclass(frozen=True)
class RawFile:
    """A raw file that the ledger lists, to be read.

    name: its path relative to corpus/raw, with slashes: "demo/20261009/part-00000.jsonl.zst"; path: where it lies;
    sha256 (hex) and bytes: of the compressed file, by the ledger; license_spdx: of the source's ledger row.
    """

    source_id: str
    name: str
    path: Path
    sha256: str
    bytes: int
    license_spdx: str


class _Span:
    """The bytes of a file between two offsets as a file object for pyarrow; hashes and counts what passes."""

    closed = False

    def __init__(self, raw: BinaryIO, start: int = 0, end: int | None = None):
        raw.seek(start)
        self.raw, self.left, self.sha256, self.count = raw, None if end is None else end - start, hashlib.sha256(), 0

    def read(self, n: int) -> bytes:
        data = self.raw.read(n if self.left is None else min(n, self.left - self.count))
        self.sha256.update(data)
        self.count += len(data)
        return data

    def close(self) -> None:
        self.closed = True


def chunks(
    files: Sequence[RawFile], enough: Callable[[RawFile], bool] = lambda _: False
) -> Iterator[tuple[int, bytes, int]]:
    """Yield (index of the file, decompressed bytes, compressed bytes read so far in all files), file after file.

    Each file ends with one empty chunk, which comes only when the whole file was read, all of its frames were complete,
    their checksums were right and size and SHA-256 are those of the ledger. Of a file of which there is `enough`, which
    is asked before each chunk, no more is read, and none of this is known. Holds one chunk and zstd's window.

    Raises DataError for a file that cannot be opened, is damaged, or is not the one the ledger lists; the files after
    it are read to their ends first, so that one run names all of them.
    """
    before = 0
    for index, file in enumerate(files):
        try:
            for chunk, count in _chunks(file) if not enough(file) else ():
                yield index, chunk, before + count
                if enough(file):
                    break
            if enough(file):
                yield index, b"", before
        except DataError as error:
            further = [problem for later in files[index + 1 :] for problem in _problems(later)]
            raise DataError(error.problems + further) from error
        before += file.bytes


def _problems(file: RawFile) -> list[Problem]:
    try:
        for _ in _chunks(file):
            pass
    except DataError as error:
        return error.problems
    return []


def _chunks(file: RawFile) -> Iterator[tuple[bytes, int]]:
    """Yield (decompressed bytes, compressed bytes read so far) of one file, an empty chunk last; raise DataError."""
    try:
        raw = open(file.path, "rb", buffering=0)
    except OSError as error:
        raise DataError(Problem(file.name, f"cannot be opened: {error.strerror}")) from error
    with raw:
        span = _Span(raw)
        stream = pa.CompressedInputStream(pa.PythonFile(span, mode="r"), "zstd")
        try:
            while chunk := stream.read(CHUNK):
                yield chunk, span.count
        except OSError as error:
            raise DataError(_damage(file, str(error))) from error
    if not span.count:
        raise DataError(_damage(file, ""))
    if (span.sha256.hexdigest(), span.count) != (file.sha256, file.bytes):
        what = (
            f"{span.count} bytes with SHA-256 {span.sha256.hexdigest()} were read, the ledger lists "
            f"{file.bytes} bytes with SHA-256 {file.sha256}"
        )
        fix = "It was changed while it was read, or since the ledger was written: restore it, or import it anew."
        raise DataError(Problem(file.name, what, fix))
    yield b"", span.count


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the same items while a thread makes the next one: zstd and SHA-256 run beside the JSON parser."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item


def _damage(file: RawFile, said: str) -> Problem:
    """Say what is wrong with a file that zstd refused with the words `said`, and where; decodes it once more."""
    restore = "No line of this file was used: restore it from its source, or import it anew."
    size = file.path.stat().st_size
    if size == 0:
        return Problem(file.name, "is empty: 0 bytes hold no zstd frame", restore)
    with open(file.path, "rb") as raw:
        head = raw.read(8)
        if other := next((kind for magic, kind in _OTHERS.items() if head.startswith(magic)), None):
            return Problem(file.name, f"is {other}, not zstd", "Compress its content with zstd, and list that file.")
        start = readable = 0
        while start < size:
            end, window, kind = _frame(raw, start, size)
            if kind == "none" and start == 0:
                return Problem(file.name, f"is not zstd: it begins with the bytes {head[:4].hex(' ')}", restore)
            if kind == "none":
                what = f"holds {size - start} bytes after its last zstd frame, from byte {start} on, that are no frame"
                return Problem(file.name, what, restore)
            if window > MAX_WINDOW:
                what = f"the zstd frame at byte {start} needs a window of {window} bytes, more than {MAX_WINDOW}"
                fix = "Compress it anew without --long, or with --long=27 at most, and list the new file in the ledger."
                return Problem(file.name, what, fix)
            count, error = _decode(raw, start, end)
            readable += count
            so_far = f"; {readable} decompressed bytes can be read before that"
            if kind == "cut" and error == _TRUNCATED:
                what = f"is truncated: the zstd frame at byte {start} does not end within the file's {size} bytes"
                return Problem(file.name, what + so_far, restore)
            if error:
                what = f"is damaged in the zstd frame at byte {start}: {error.removeprefix(_PREFIX)}"
                return Problem(file.name, what + so_far, restore)
            start = end
    return Problem(file.name, f"cannot be decompressed: {said.removeprefix(_PREFIX)}", restore)


def _decode(raw: BinaryIO, start: int, end: int) -> tuple[int, str]:
    """Return how many bytes of the frame between two offsets can be decompressed, in steps of 4 KiB, and the error."""
    count = 0
    stream = pa.CompressedInputStream(pa.PythonFile(_Span(raw, start, end), mode="r"), "zstd")
    try:
        while step := stream.read(4096):
            count += len(step)
    except OSError as error:
        return count, str(error)
    return count, ""


def _frame(raw: BinaryIO, start: int, size: int) -> tuple[int, int, str]:
    """Return (end offset, window in bytes, kind) of the frame at `start`; kind is zstd, skippable, cut or none.

    cut: the headers lead beyond the end of the file (where a block header is damaged, perhaps wrongly). RFC 8878, 3.1.
    """

    def number(at: int, width: int) -> int:
        raw.seek(at)
        data = raw.read(width)
        if len(data) < width:
            raise EOFError
        return int.from_bytes(data, "little")

    raw.seek(start)
    magic = raw.read(4)
    is_skippable = magic[1:] == _SKIPPABLE[1:][: len(magic) - 1] and 0x50 <= magic[0] <= 0x5F
    if not is_skippable and not _ZSTD.startswith(magic):
        return start, 0, "none"
    window = 0
    try:
        if is_skippable:
            end = start + 8 + number(start + 4, 4)
            return min(end, size), 0, "skippable" if end <= size else "cut"
        descriptor = number(start + 4, 1)
        single, at = descriptor >> 5 & 1, start + 5
        if not single:
            exponent, mantissa = divmod(number(at, 1), 8)
            window = (1 << 10 + exponent) // 8 * (8 + mantissa)
            at += 1
        at += (0, 1, 2, 4)[descriptor & 3]  # a dictionary's id
        width = (single, 2, 4, 8)[descriptor >> 6]
        if single:
            window = number(at, width)  # the content's size; 2 bytes say 256 less, which is far from the limit
        at += width
        last = 0
        while not last:
            last, kind, length = (header := number(at, 3)) & 1, header >> 1 & 3, header >> 3
            at += 3 + (1 if kind == 1 else length)
        at += 4 * (descriptor >> 2 & 1)  # the checksum
    except EOFError:
        return size, window, "cut"
    return min(at, size), window, "zstd" if at <= size else "cut"
