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

import pyarrow.parquet as pq

from corpus_sql import packed
from corpus_sql.import_inputs import Bad, Blank, Record
from corpus_sql.packed import Limits


def parquet(path: Path, max_bytes: int, limits: Limits | None) -> Iterator[Record | Bad]:
    """Rows of a Parquet file; its text is packed, so what it unpacks to is judged by its own footer."""
    number = 0
    with pq.ParquetFile(path, pre_buffer=False) as file:
        if limits is not None:
            groups = (file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
            packed.check(sum(groups), path.stat().st_size, limits)
        names = file.schema_arrow.names
        if twice := [name for i, name in enumerate(names) if name in names[:i]]:
            yield Bad(None, f"has the column {twice[0]} twice")
            return
        for batch in file.iter_batches(batch_size=256, use_threads=False):
            for row in batch.to_pylist(maps_as_pydicts=None):
                number += 1
                yield Record(number, {name: _plain(value) for name, value in row.items()})


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


def separated(path: Path, max_bytes: int, limits: Limits | None, *, tabs: bool) -> Iterator[Record | Bad | Blank]:
    """CSV as RFC 4180 has it, or TSV, in which nothing is quoted; the first line names the columns.

    A record's number is the line where its row begins, from 1. An empty cell is null.
    """
    csv.field_size_limit(max(max_bytes, csv.field_size_limit()))  # one for all readers: never lowered
    form = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None} if tabs else {"strict": True}
    with io.TextIOWrapper(packed.unpacked(path, limits), encoding="utf-8-sig", newline="") as text:
        rows = csv.reader(text, **form)
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
                    yield Bad(begins, f"is longer than {max_bytes} bytes (max_line_bytes of the config)")
                else:
                    yield Record(begins, {name: cell or None for name, cell in zip(names, row, strict=True)})
        except csv.Error as error:
            yield Bad(number, f"is not {'TSV' if tabs else 'CSV'}: {error}")


def _header(names: list[str]) -> str:
    if not all(names) or not names:
        return "names no column" if not any(names) else "has a column without a name"
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    return f"names the column {twice[0]} twice" if twice else ""
