"""The only reader of raw files: each line of each file becomes a document, a quarantine row, or is counted as blank.

A line ends at a line feed and nowhere else; a carriage return before it is dropped, and so is a byte order mark at the
very start of a file. The last line may lack its line feed; one at the very end starts no new line. A line that the end
of a file cuts is not joined with the next file's first. A blank line holds nothing but spaces, tabs and carriage
returns. What makes a line a document is in `raw_line` and `raw_fields`, what makes a file readable in `raw_stream`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from corpus_sql.raw_fields import Document, Fault
from corpus_sql.raw_line import parse
from corpus_sql.raw_stream import RawFile, ahead, chunks

__all__ = ["DOCUMENTS", "FILES", "QUARANTINE", "RawFile", "in_order", "read"]

T = TypeVar("T")
BOM = b"\xef\xbb\xbf"
HEAD = 64 << 10  # bytes of a bad line that are kept
BATCH_ROWS, BATCH_BYTES = 8192, 16 << 20

_PLACE = [("file", pa.string()), ("line", pa.int64()), ("byte_offset", pa.int64())]

# id: source_id:k; k: the line's place among all lines of the source, from 0; file: RawFile.name; line: from 1, in its
# file; byte_offset: of the line's first byte in the decompressed stream (after a byte order mark); n_chars: code points
DOCUMENTS = pa.schema(
    [
        ("id", pa.string()),
        ("source_id", pa.string()),
        ("k", pa.int64()),
        ("url", pa.string()),
        ("fetched_at", pa.string()),
        ("license_spdx", pa.string()),
        ("text", pa.large_string()),
        ("source_record_id", pa.string()),
        ("parent_ids", pa.list_(pa.string())),
        ("group_id", pa.string()),
        ("extra", pa.large_string()),
        *_PLACE,
        ("n_chars", pa.int32()),
    ]
)
# raw: the line without its line end, its first 64 KiB; detail: what is wrong, then the whole line's length and SHA-256
QUARANTINE = pa.schema(
    [
        ("id", pa.string()),
        ("source_id", pa.string()),
        ("k", pa.int64()),
        *_PLACE,
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("raw", pa.binary()),
    ]
)
# lines = documents + quarantined + blank; bytes: of the compressed file; bom: 1 where a byte order mark was dropped
FILES = pa.schema(
    [
        ("file", pa.string()),
        ("source_id", pa.string()),
        ("sha256", pa.string()),
        ("bytes", pa.int64()),
        ("lines", pa.int64()),
        ("documents", pa.int64()),
        ("quarantined", pa.int64()),
        ("blank", pa.int64()),
        ("bom", pa.int64()),
    ]
)


def in_order(files: Sequence[RawFile]) -> list[RawFile]:
    """Return the files source by source, as the sources first appear, and by the bytes of their names in each."""
    rank = {source: i for i, source in enumerate(dict.fromkeys(file.source_id for file in files))}
    return sorted(files, key=lambda file: (rank[file.source_id], file.name.encode()))


def first_sha256(files: Sequence[RawFile], max_line_bytes: int, first: int) -> str:
    """Return the SHA-256 of what `read` makes of the first lines of each source; raises DataError as it does.

    A first look hashes no file, so that it need not read them to their ends; it is known by what it read.
    """
    digest = hashlib.sha256()
    for _, batch in read(files, max_line_bytes, first=first):
        digest.update(repr(batch.to_pydict()).encode())
    return digest.hexdigest()


def read(
    files: Sequence[RawFile],
    max_line_bytes: int,
    progress: Callable[[int], None] | None = None,
    *,
    first: int | None = None,
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield ("documents" | "quarantine" | "files", a batch of that schema), in the order of `in_order` and of lines.

    A batch holds at most 8,192 rows and ends with the row that reaches 16 MiB, whatever files it came from. A line of
    more than `max_line_bytes` bytes is quarantined, and never held whole. `progress` is told the compressed bytes read
    so far, of all files. `first`: no more than so many lines of each source are read; a file behind them is not opened
    and has 0 lines. Memory: a batch, three chunks of 2 MiB, the longest line, zstd's window.

    Raises DataError when it comes to a file that is damaged or not the one in the ledger, with all such files in it;
    rows of the first one may be out already, so nothing of this call may be used then.
    """
    ordered = in_order(files)
    documents, bad, done = _Batch("documents", DOCUMENTS), _Batch("quarantine", QUARANTINE), _Batch("files", FILES)
    next_k: dict[str, int] = {}
    full = set()  # sources of which enough was read
    for index, group in groupby(ahead(chunks(ordered, lambda file: file.source_id in full)), key=lambda item: item[0]):
        file = ordered[index]
        source, name, first_k = file.source_id, file.name, next_k.get(file.source_id, 0)
        counts = {"documents": 0, "quarantined": 0, "blank": 0}
        line = 0
        offset, pieces = _after_bom(_told(group, progress))
        lines = _lines(pieces, offset, max_line_bytes)
        for line, (byte_offset, content) in enumerate(_until(lines, first, first_k), start=1):
            k = first_k + line - 1
            if type(content) is bytes:
                if not content.strip(b" \t\r"):
                    counts["blank"] += 1
                    continue
                found = parse(content, file.license_spdx)
            else:
                found = Fault("oversize_line", f"longer than max_line_bytes = {max_line_bytes}")
            place = (name, line, byte_offset)
            if type(found) is Document:
                counts["documents"] += 1
                row = (f"{source}:{k}", source, k, *found, *place, len(found.text))
                if documents.add(row, len(content)):
                    yield documents.flush()
            else:
                counts["quarantined"] += 1
                long = content if type(content) is _Long else _Long.of(content)
                detail = f"{found.detail}; the line has {long.length} bytes, SHA-256 {long.sha256}"
                row = (f"{source}:{k}", source, k, *place, found.reason, detail, long.head)
                if bad.add(row, len(long.head)):
                    yield bad.flush()
        next_k[source] = first_k + line
        if next_k[source] == first:
            full.add(source)
        row = (name, source, file.sha256, file.bytes, line, *counts.values(), int(offset > 0))
        if done.add(row, 0):
            yield done.flush()
    for batch in (documents, bad, done):
        if batch.rows:
            yield batch.flush()


class _Batch:
    """Rows of one schema until there are enough for a batch."""

    def __init__(self, kind: str, schema: pa.Schema):
        self.kind, self.schema = kind, schema
        self.rows: list[tuple[Any, ...]] = []
        self.bytes = 0

    def add(self, row: tuple[Any, ...], size: int) -> bool:
        """Take a row of about `size` bytes; True when the batch is full."""
        self.rows.append(row)
        self.bytes += size
        return self.bytes >= BATCH_BYTES or len(self.rows) >= BATCH_ROWS

    def flush(self) -> tuple[str, pa.RecordBatch]:
        columns = zip(*self.rows, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        self.rows, self.bytes = [], 0
        return self.kind, pa.RecordBatch.from_arrays(arrays, schema=self.schema)


class _Long(NamedTuple):
    """A line that is not kept whole: its length in bytes, its SHA-256 (hex) and its first 64 KiB."""

    length: int
    sha256: str
    head: bytes

    @classmethod
    def of(cls, line: bytes) -> _Long:
        return cls(len(line), hashlib.sha256(line).hexdigest(), line[:HEAD])


class _Begun:
    """A line whose end is not read yet: its pieces, or beyond the limit only what `_Long` needs."""

    def __init__(self, limit: int):
        self.limit, self.length, self.pieces = limit, 0, []
        self.sha256, self.head, self.cr = None, b"", b""

    def add(self, piece: bytes) -> None:
        self.length += len(piece)
        if self.sha256 is None and self.length <= self.limit + 1:  # + 1: the last byte may be a \r, which is dropped
            self.pieces.append(piece)
            return
        if self.sha256 is None:
            piece = b"".join([*self.pieces, piece])
            self.sha256, self.pieces = hashlib.sha256(), []
        self.head += piece[: HEAD - len(self.head)]
        if piece:
            self.sha256.update(self.cr)
            self.cr = piece[-1:] if piece.endswith(b"\r") else b""
            self.sha256.update(memoryview(piece)[: len(piece) - len(self.cr)])

    def end(self, has_newline: bool) -> bytes | _Long:
        if self.sha256 is None:
            return _whole(b"".join(self.pieces), has_newline, self.limit)
        length = self.length - len(self.cr) if has_newline else self.length
        if not has_newline:
            self.sha256.update(self.cr)
        return _Long(length, self.sha256.hexdigest(), self.head[:length])


def _whole(line: bytes, has_newline: bool, limit: int) -> bytes | _Long:
    if has_newline and line.endswith(b"\r"):
        line = line[:-1]
    return line if len(line) <= limit else _Long.of(line)


def _lines(pieces: Iterable[bytes], offset: int, limit: int) -> Iterator[tuple[int, bytes | _Long]]:
    """Yield (offset of its first byte, line without its line end) for a stream that comes in any pieces."""
    begun = _Begun(limit)
    for piece in pieces:
        *whole, tail = piece.split(b"\n")
        if whole and begun.length:
            begun.add(whole.pop(0))
            yield offset, begun.end(True)
            offset += begun.length + 1
            begun = _Begun(limit)
        for line in whole:
            yield offset, _whole(line, True, limit)
            offset += len(line) + 1
        begun.add(tail)
    if begun.length:
        yield offset, begun.end(False)


def _until(lines: Iterator[T], first: int | None, before: int) -> Iterator[T]:
    """The lines of a file up to the last that is asked for; `before` of them stand in the source's files before it."""
    return lines if first is None else islice(lines, max(first - before, 0))


def _after_bom(pieces: Iterator[bytes]) -> tuple[int, Iterator[bytes]]:
    """Return (bytes dropped: 3 or 0, the pieces after them); pieces end with an empty one."""
    first = b""
    while len(first) < len(BOM) and (piece := next(pieces, b"")):
        first += piece
    offset = len(BOM) if first.startswith(BOM) else 0
    return offset, chain([first[offset:]], pieces)


def _told(group: Iterable[tuple[int, bytes, int]], progress: Callable[[int], None] | None) -> Iterator[bytes]:
    for _, piece, compressed in group:
        if progress:
            progress(compressed)
        yield piece
