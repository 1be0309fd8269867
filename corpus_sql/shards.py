"""The only writer of shards: rows in id order -> ordered Parquet files whose bytes depend on the rows alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_sql.errors import DataError, Problem
from corpus_sql.files import sha256_file, sync

ROW_GROUP_BYTES = 63 << 20  # the contract's 64 MiB, less 1 MiB for page headers and statistics
_FIXED_BYTES = 4 * 7 + 4 + 32 + 8 + 4  # lengths of the seven strings, n_chars, sha256, minhash_cluster, pii_redactions
# the columns that are written as dictionaries
DICTIONARY = ["source_id", "license_spdx", "lang", "split"]
_TYPES = {"string": pa.string(), "int32": pa.int32(), "int64": pa.int64(), "fixed_size_binary[32]": pa.binary(32)}
_WRITERS = 2  # shards compressed at once
_WAITING = 0  # row groups that may wait for a writer besides the one being cut; each takes some 130 MiB


@dataclass(frozen=True)
class Shard:
    """One file that was written: its name, the SHA-256 of its bytes in hex, and its rows."""

    name: str
    sha256: str
    rows: int


def schema(schemas: Path) -> pa.Schema:
    """Return the Arrow schema of a shard, read from schemas/clean-shard.json; no column may be null."""
    columns = json.loads((schemas / "clean-shard.json").read_text("utf-8"))
    return pa.schema([pa.field(c["name"], _TYPES[c["type"]], nullable=False) for c in columns])


def write_shards(
    batches: Iterable[pa.RecordBatch],
    n_rows: int,
    *,
    folder: Path,
    shape: pa.Schema,
    shard_rows: int,
    advance: Callable[[int], None] = lambda rows: None,
) -> list[Shard]:
    """Write n_rows rows, sorted by id, into shards of shard_rows rows; an empty corpus is one empty shard.

    A row group holds at most ROW_GROUP_BYTES of values; a single longer row stands alone in one. Raises DataError when
    ids are not strictly ascending in byte order, when a value is null, or when the number of rows is another.
    """
    n_shards = max(1, -(-n_rows // shard_rows))
    names = [f"shard-{i:05d}-of-{n_shards:05d}.parquet" for i in range(n_shards)]
    lanes = [ThreadPoolExecutor(1) for _ in range(_WRITERS)]
    room = BoundedSemaphore(_WRITERS + _WAITING)
    pending: list[Future] = []
    writers: dict[int, pq.ParquetWriter] = {}

    def put(shard: int, table: pa.Table | None, last: bool) -> None:
        """Runs in the lane of a shard, in the order of submission."""
        try:
            if shard not in writers:
                writers[shard] = pq.ParquetWriter(
                    folder / names[shard],
                    shape,
                    compression="zstd",
                    compression_level=3,
                    use_dictionary=DICTIONARY,
                    version="2.6",
                    data_page_version="1.0",
                )
            if table is not None:
                writers[shard].write_table(table, row_group_size=max(1, table.num_rows))
            if last:
                writers.pop(shard).close()
        finally:
            room.release()

    def submit(shard: int, table: pa.Table | None, last: bool) -> None:
        room.acquire()
        pending.append(lanes[shard % _WRITERS].submit(put, shard, table, last))
        while pending and pending[0].done():
            pending.pop(0).result()

    try:
        parts: list[pa.RecordBatch] = []  # rows of the row group being cut
        size, in_shard, shard, total = 0, 0, 0, 0
        previous: bytes | None = None

        def close(last: bool) -> None:
            nonlocal parts, size
            table = None
            if parts:
                table = pa.Table.from_batches(parts).combine_chunks().cast(shape)
            submit(shard, table, last)
            parts, size = [], 0

        for batch in batches:
            previous = _check_order(batch, previous)
            sizes = row_bytes(batch)
            start = 0
            for row in range(batch.num_rows):
                full = in_shard == shard_rows
                if full or (size and size + sizes[row] > ROW_GROUP_BYTES):
                    if row > start:
                        parts.append(batch.slice(start, row - start))
                        start = row
                    close(full)
                    if full:
                        shard, in_shard = shard + 1, 0
                size += sizes[row]
                in_shard += 1
            if start < batch.num_rows:
                parts.append(batch.slice(start))
            total += batch.num_rows
            advance(batch.num_rows)
        if total != n_rows:
            raise DataError(Problem("shards", f"{total} rows came where {n_rows} were counted"))
        close(True)
        for future in pending:
            future.result()
    finally:
        for lane in lanes:
            lane.shutdown(cancel_futures=True)
    found = []
    for name in names:
        sync(folder / name)
        rows = pq.ParquetFile(folder / name).metadata.num_rows
        found.append(Shard(name, sha256_file(folder / name), rows))
    return found


def row_bytes(batch: pa.RecordBatch) -> list[int]:
    """Return the bytes of each row before compression, by which row groups are cut: the same however it is batched."""
    lengths = None
    for column in batch.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            one = pc.cast(pc.binary_length(column), pa.int64())
            lengths = one if lengths is None else pc.add(lengths, one)
    return pc.add(lengths, _FIXED_BYTES).to_pylist()


def _check_order(batch: pa.RecordBatch, previous: bytes | None) -> bytes | None:
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if column.null_count:
            row = column.is_null().index(True).as_py()
            raise DataError(Problem(f"shards: {batch.column(0)[row]}", f"{name} is null"))
    for one in batch.column(0).to_pylist():
        key = one.encode()
        if previous is not None and key <= previous:
            raise DataError(Problem(f"shards: {one}", f"the id comes after {previous.decode()!r}: not ascending"))
        previous = key
    return previous
