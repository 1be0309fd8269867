"""What warcio reads WARC and ARC from, with bounds on what a header and a packed body may take."""

from __future__ import annotations

from typing import Any, BinaryIO

from warcio.bufferedreaders import BufferedReader, ChunkedDataReader
from warcio.limitreader import LimitReader

MAX_HEADER = 1 << 20  # bytes of a record's headers and those of HTTP; servers and browsers stop at 256 KiB
_CHUNKS = 4  # times as many bytes as a text may have may come in chunks: warcio holds a chunk as a whole


class HeaderTooLong(ValueError):
    """A header longer than MAX_HEADER."""


class Lines(BufferedReader):
    """The stream of a file; header_bytes: read by lines since the last read of a body, or since it was set to 0."""

    def __init__(self, stream: BinaryIO):
        super().__init__(stream)
        self.header_bytes = 0

    def read(self, length: int | None = None) -> bytes:
        self.header_bytes = 0
        return super().read(length)

    def readline(self, length: int | None = None) -> bytes:
        """Read a line, as warcio does, but in linear time: there, each 16 KiB more copy all of it."""
        parts, left = [], length
        while left is None or left > 0:
            self._fillbuff()
            if self.empty():
                break
            parts.append(self.buff.readline(-1 if left is None else left))
            self.header_bytes += len(parts[-1])
            if self.header_bytes > MAX_HEADER:
                raise HeaderTooLong(f"has a header of more than {MAX_HEADER} bytes")
            if parts[-1].endswith(b"\n"):
                break
            left = None if left is None else left - len(parts[-1])
        return b"".join(parts)


class _Capped:
    """A decompressor that gives so many bytes at most, and no more after them."""

    def __init__(self, inner: Any, most: int):
        self.inner, self.left = inner, most

    @property
    def unused_data(self) -> bytes:
        return self.inner.unused_data

    def decompress(self, data: bytes) -> bytes:
        found = self.inner.decompress(data, self.left) if self.left else b""  # to zlib, 0 is no limit
        self.left -= len(found)
        return found


class _Body(BufferedReader):
    def __init__(self, stream: Any, packing: str | None, most: int):
        self.most = most
        super().__init__(stream, decomp_type=packing)

    def _init_decomp(self, decomp_type: str | None) -> None:
        super()._init_decomp(decomp_type)
        if self.decompressor:
            self.decompressor = _Capped(self.decompressor, self.most)


class _Chunked(_Body, ChunkedDataReader):
    def __init__(self, stream: Any, packing: str | None, most: int):
        self.most = most
        ChunkedDataReader.__init__(self, stream, decomp_type=packing)


def content(record: Any, packing: str | None, most: int) -> Any:
    """Return a stream of the body of a record, of which `most` bytes can be had; packing: gzip, deflate or None."""
    stream, http = record.raw_stream, record.http_headers
    if http and (http.get_header("Transfer-Encoding") or "").strip().lower() == "chunked":
        if getattr(stream, "limit", 0) > _CHUNKS * most:
            return LimitReader(stream, most)
        return _Chunked(stream, packing, most)
    return _Body(stream, packing, most) if packing else stream
