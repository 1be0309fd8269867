"""Parquet, CSV and TSV, row by row."""

from __future__ import annotations

import base64
import csv
import datetime
import decimal
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_sql import packed
from corpus_sql.import_inputs import Bad, Blank, Record
from corpus_sql.packed import Count
from corpus_sql.validation import nearest, shown

_ROWS = 4  # read at a time of a file that is not trusted: one value of a dictionary may stand in each of them
_AS_TEXT = ("STRING", "NONE", "JSON", "ENUM", "BSON")  # logical types of bytes; a decimal is none


def parquet(path: Path, max_bytes: int, count: Count | None) -> Iterator[Record | Bad]:
    """Rows of a Parquet file.

    What they unpack to is counted as they are decoded, for dictionaries and run lengths make a row of no bytes. Texts
    in lists stay in their dictionaries until they are counted: one row may hold a million times the same. What a binary
    column holds stays bytes, for only its name says whether it is a text.
    """
    number = 0
    with pq.ParquetFile(path, pre_buffer=False) as file:
        metadata, names = file.metadata, file.schema_arrow.names
        repeated = _repeated(file) if count else []
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        yield Bad(None, f"has the column {twice[0]} twice")
        return
    if count:
        _at_least(metadata, count.limits, path)
    with pq.ParquetFile(path, pre_buffer=False, metadata=metadata, read_dictionary=repeated) as file:
        for batch in file.iter_batches(batch_size=_ROWS if count else 256, use_threads=False):
            if count:
                count.add(_size(batch.to_struct_array()))
            for row in batch.to_pylist(maps_as_pydicts=None):
                number += 1
                yield Record(number, {name: _cell(value) for name, value in row.items()})


def _repeated(file: pq.ParquetFile) -> list[str]:
    """The columns of texts and bytes that lie in lists or maps."""
    found = [file.schema.column(i) for i in range(len(file.schema))]
    return [
        one.path
        for one in found
        if one.max_repetition_level and one.physical_type == "BYTE_ARRAY" and one.logical_type.type in _AS_TEXT
    ]


def _at_least(metadata: pq.FileMetaData, limits: packed.Limits, path: Path) -> None:
    """Refuse a file that says itself that it is too large; a value in a list is one byte at least."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    packed.Count(path, limits).add(sum(group.total_byte_size for group in groups))
    values = packed.Count(path, limits)
    for i in range(metadata.num_columns):
        column = metadata.schema.column(i)
        if column.max_repetition_level:
            values.add(max(1, column.length) * sum(group.column(i).num_values for group in groups))


def _size(array: pa.Array) -> int:
    """Return about how many bytes the values of an array take as JSON: their own, one for each, and fields' names."""
    kind = array.type
    match array:
        case pa.ExtensionArray():
            return _size(array.storage)
        case pa.DictionaryArray() if pa.types.is_primitive(kind.value_type):
            return _size(array.dictionary_decode())
        case pa.DictionaryArray():
            lengths = pc.binary_length(array.dictionary.cast(pa.large_binary()))
            return len(array) + (pc.sum(pc.take(lengths, array.indices)).as_py() or 0)
        case pa.StructArray():
            names = len(array) * sum(len(kind.field(i).name.encode()) + 1 for i in range(kind.num_fields))
            return names + sum(map(_size, array.flatten()))
        case pa.MapArray():  # its keys and items are those of all rows
            first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
            return len(array) + sum(_size(part.slice(first, last - first)) for part in (array.keys, array.items))
        case pa.ListArray() | pa.LargeListArray() | pa.FixedSizeListArray():
            return len(array) + _size(array.flatten())
    return len(array) + array.nbytes


def text_fault(path: Path, name: str) -> str:
    """Say why a column of a Parquet file can't hold texts, and which is nearest to its name; "" where it can.

    Also "" where there is no such column and where the file cannot be read: then its rows say so.
    """
    try:
        schema = pq.read_schema(path)
    except packed.DAMAGED:
        return ""
    at = schema.get_field_index(name)
    if at < 0 or _is_text(schema.types[at]) or pa.types.is_null(schema.types[at]):
        return ""
    others = [one.name for one in schema if _is_text(one.type)]
    hint = f"the nearest column of text is {shown(nearest(name, others, 0))}" if others else "it has no column of text"
    return f"the column {shown(name)} is {schema.types[at]}, not text; {hint}"


def _is_text(kind: pa.DataType) -> bool:
    """Whether a type is text or bytes, which may be text."""
    if isinstance(kind, pa.BaseExtensionType):
        return _is_text(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return any(
        of(kind)
        for of in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_fixed_size_binary,
            pa.types.is_binary_view,
        )
    )


def _cell(value: Any) -> Any:
    return value if type(value) is bytes else _plain(value)


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: times in ISO 8601 (UTC as Z), decimals as text, bytes as base64."""
    match value:
        case datetime.datetime() if value.tzinfo is not None:
            return value.astimezone(datetime.UTC).replace(tzinfo=None).isoformat() + "Z"
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return value.total_seconds()
        case decimal.Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case float() if not math.isfinite(value):
            return None  # JSON has no form for NaN and the infinities
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
    return value


def separated(path: Path, max_bytes: int, count: Count | None, *, tabs: bool) -> Iterator[Record | Bad | Blank]:
    """CSV as RFC 4180 has it, or TSV, in which nothing is quoted; the first line names the columns.

    A record's number is the line where its row begins, from 1. An empty cell is null.
    """
    csv.field_size_limit(max(max_bytes, csv.field_size_limit()))  # one for all readers: never lowered
    form = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None} if tabs else {"strict": True}
    unpacked = packed.unpacked(path, count)
    with io.TextIOWrapper(unpacked, encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
        rows = csv.reader(_lines(text, max_bytes), **form)
        number, names = 1, None
        try:
            for row in rows:
                begins, number = number, rows.line_num + 1
                if names is None:
                    names = row
                    if wrong := _header(row):
                        yield Bad(begins, wrong)
                        return
                elif not row:
                    yield Blank(begins)
                elif len(row) != len(names):
                    yield Bad(begins, f"has {len(row)} cells, the first line names {len(names)} columns")
                elif sum(map(len, row)) > max_bytes:
                    yield Bad(begins, _too_long(max_bytes))
                else:
                    if count:  # each row of two bytes has all the names again
                        count.add(sum(map(len, names)))
                    yield Record(begins, {name: cell or None for name, cell in zip(names, row, strict=True)})
        except csv.Error as error:
            too_long = "larger than field limit" in str(error)
            yield Bad(number, _too_long(max_bytes) if too_long else f"is not {'TSV' if tabs else 'CSV'}: {error}")
        except _BadLine as error:
            yield Bad(rows.line_num + 1, str(error))


def _too_long(max_bytes: int) -> str:
    return f"is longer than {max_bytes} bytes (max_line_bytes of the config)"


class _BadLine(Exception):
    """A line that is not UTF-8 or too long to be read at all; the message says which."""


def _lines(text: io.TextIOWrapper, max_bytes: int) -> Iterator[str]:
    """Yield the lines, in which a byte that is none of UTF-8 is a lone surrogate; raises _BadLine at the first.

    With all its quotes doubled, a row of max_bytes takes twice as many: a longer line is not held.
    """
    while line := text.readline(2 * max_bytes + 2):
        if len(line) > 2 * max_bytes and not line.endswith(("\r", "\n")):
            raise _BadLine(_too_long(max_bytes))
        try:
            line.isascii() or line.encode()
        except UnicodeEncodeError as error:
            at = len(line[: error.start].encode())
            raise _BadLine(f"is not UTF-8: byte {at} (0x{ord(line[error.start]) - 0xDC00:02x}) of the line") from None
        yield line


def _header(names: list[str]) -> str:
    if not all(names) or not names:
        return "names no column" if not any(names) else "has a column without a name"
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    return f"names the column {twice[0]} twice" if twice else ""
