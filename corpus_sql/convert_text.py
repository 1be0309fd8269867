"""Plain text and Markdown: one document a file, or one a line. Markdown stays as it is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corpus_sql import packed
from corpus_sql.convert_json import BOM
from corpus_sql.convert_json import lines as _lines
from corpus_sql.import_inputs import Bad, Blank, Record
from corpus_sql.packed import Count


def whole(path: Path, max_bytes: int, count: Count | None) -> Iterator[Record | Bad]:
    """The whole file is the text."""
    content = content_of(path, max_bytes, count)
    if isinstance(content, Bad):
        yield content
        return
    try:
        yield Record(None, {"text": content.decode("utf-8")})
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        yield Bad(None, f"is not UTF-8: byte {error.start} (0x{content[error.start]:02x}), on line {line}")


def content_of(path: Path, max_bytes: int, count: Count | None, keep_mark: bool = False) -> bytes | Bad:
    """Return the bytes of a file, unpacked, without a byte order mark; more than max_bytes are Bad."""
    with packed.unpacked(path, count) as file:
        content = file.read(max_bytes + 1 + len(BOM))
    if len(content) > max_bytes:
        size = f"{path.stat().st_size} bytes, more than" if file_is_plain(path) else "more bytes than"
        return Bad(None, f"has {size} {max_bytes} (max_line_bytes of the config)")
    return content if keep_mark else content.removeprefix(BOM)


def file_is_plain(path: Path) -> bool:
    """Whether a file is neither gzip nor zstd."""
    with open(path, "rb") as file:
        return not file.read(4).startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))


def by_line(path: Path, max_bytes: int, count: Count | None) -> Iterator[Record | Bad | Blank]:
    """Each line is a text; lines end at \\n alone."""
    for one in _lines(path, max_bytes, count):
        if isinstance(one, (Bad, Blank)):
            yield one
            continue
        number, line, has_end = one
        try:
            yield Record(number, {"text": line.decode("utf-8")})
        except UnicodeDecodeError as error:
            is_cut = not has_end and error.reason == "unexpected end of data"
            yield Bad(number, f"invalid_utf8: byte 0x{line[error.start]:02x} at byte {error.start}", line, is_cut)
