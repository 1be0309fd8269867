"""The one writer of shards: its bytes depend on the rows alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_sql import shards
from corpus_sql.errors import DataError
from corpus_sql.project import builtin

SHAPE = shards.schema(builtin() / "schemas")
# as they come from the engine: plain binary, 64-bit offsets
ENGINE = pa.schema([pa.field(f.name, pa.binary() if f.name == "sha256" else f.type) for f in SHAPE]).set(
    1, pa.field("text", pa.large_string())
)


def rows(texts: list[str], source: str = "s") -> pa.Table:
    """Return documents in byte order of their ids, as the engine gives them."""
    found = [
        {
            "id": f"{source}:{i}",
            "text": text,
            "source_id": source,
            "url": "https://example.org/a",
            "license_spdx": "CC0-1.0",
            "lang": "zh",
            "n_chars": len(text),
            "sha256": hashlib.sha256(text.encode()).digest(),
            "minhash_cluster": i,
            "pii_redactions": 0,
            "split": "train",
        }
        for i, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(sorted(found, key=lambda row: row["id"].encode()), schema=ENGINE)


def cut(table: pa.Table, size: int) -> list[pa.RecordBatch]:
    return table.combine_chunks().to_batches(max_chunksize=size)


def write(folder: Path, batches: list[pa.RecordBatch], n: int, shard_rows: int = 4) -> list[shards.Shard]:
    folder.mkdir(exist_ok=True)
    return shards.write_shards(batches, n, folder=folder, shape=SHAPE, shard_rows=shard_rows)


TEXTS = [f"第{i}篇 " + "水" * (i * 7 % 23) for i in range(30)]


def test_the_columns_of_a_shard(tmp_path: Path):
    write(tmp_path, cut(rows(TEXTS), 10), 30, shard_rows=50)
    schema = pq.read_schema(tmp_path / "shard-00000-of-00001.parquet")
    assert [(field.name, str(field.type), field.nullable) for field in schema] == [
        ("id", "string", False),
        ("text", "string", False),
        ("source_id", "string", False),
        ("url", "string", False),
        ("license_spdx", "string", False),
        ("lang", "string", False),
        ("n_chars", "int32", False),
        ("sha256", "fixed_size_binary[32]", False),
        ("minhash_cluster", "int64", False),
        ("pii_redactions", "int32", False),
        ("split", "string", False),
    ]


def test_rows_and_names(tmp_path: Path):
    found = write(tmp_path, cut(rows(TEXTS[:10]), 3), 10)
    assert [(one.name, one.rows) for one in found] == [
        ("shard-00000-of-00003.parquet", 4),
        ("shard-00001-of-00003.parquet", 4),
        ("shard-00002-of-00003.parquet", 2),
    ]
    for one in found:
        assert one.sha256 == hashlib.sha256((tmp_path / one.name).read_bytes()).hexdigest()
    read = pa.concat_tables([pq.read_table(tmp_path / one.name) for one in found])
    assert read.column("id").to_pylist() == [f"s:{i}" for i in range(10)]
    assert read.column("text").to_pylist() == TEXTS[:10]


def test_a_full_last_shard_is_followed_by_none(tmp_path: Path):
    assert [one.rows for one in write(tmp_path, cut(rows(TEXTS[:8]), 3), 8)] == [4, 4]


def test_no_rows_are_one_empty_shard(tmp_path: Path):
    (one,) = write(tmp_path, [], 0)
    assert (one.name, one.rows) == ("shard-00000-of-00001.parquet", 0)
    assert pq.read_schema(tmp_path / one.name).names == SHAPE.names


def test_ids_are_in_byte_order(tmp_path: Path):
    (one,) = write(tmp_path, cut(rows(TEXTS[:12]), 5), 12, shard_rows=50)
    assert pq.read_table(tmp_path / one.name).column("id").to_pylist()[:4] == ["s:0", "s:1", "s:10", "s:11"]


@pytest.mark.parametrize("size", [1, 2, 5, 7, 29])
@pytest.mark.parametrize("group_bytes", [1, 400, 1000, 63 << 20])
def test_the_cut_into_batches_never_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, group_bytes: int):
    monkeypatch.setattr(shards, "ROW_GROUP_BYTES", group_bytes)
    whole = write(tmp_path / "whole", cut(rows(TEXTS), 30), 30, shard_rows=11)
    pieces = write(tmp_path / "pieces", cut(rows(TEXTS), size), 30, shard_rows=11)
    assert pieces == whole


def test_a_row_group_is_full_at_its_limit_and_a_longer_document_is_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shards, "ROW_GROUP_BYTES", 2_000)
    texts = ["a" * 500, "b" * 500, "c" * 500, "d" * 5_000, "e" * 10, "f" * 10]
    (one,) = write(tmp_path, cut(rows(texts), 6), 6, shard_rows=50)
    file = pq.ParquetFile(tmp_path / one.name)
    groups = [file.read_row_group(i).column("id").to_pylist() for i in range(file.num_row_groups)]
    assert groups == [["s:0", "s:1", "s:2"], ["s:3"], ["s:4", "s:5"]]


def test_no_row_group_is_larger_than_the_contract_says(tmp_path: Path):
    texts = [f"{i:09d}" * 400_000 for i in range(40)]  # 3.6 MB each
    (one,) = write(tmp_path, cut(rows(texts), 3), 40, shard_rows=50)
    metadata = pq.ParquetFile(tmp_path / one.name).metadata
    sizes = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
    assert len(sizes) == 3 and max(sizes) <= 64 << 20


MISTAKES = {
    "an id twice": (["s:0", "s:1", "s:1"], "shards: s:1: the id comes after 's:1': not ascending"),
    "numbers in the order of people": (["s:2", "s:10"], "shards: s:10: the id comes after 's:2': not ascending"),
    "UTF-16 order": (
        ["s:\U0001f600", "s:\ufffd"],
        "shards: s:\ufffd: the id comes after 's:\U0001f600': not ascending",
    ),
}


@pytest.mark.parametrize(("ids", "message"), MISTAKES.values(), ids=list(MISTAKES))
@pytest.mark.parametrize("size", [1, 10])
def test_ids_that_do_not_ascend(tmp_path: Path, ids: list[str], message: str, size: int):
    table = rows(["x"] * len(ids)).set_column(0, "id", pa.array(ids))
    with pytest.raises(DataError) as error:
        write(tmp_path, cut(table, size), len(ids))
    assert str(error.value) == message


def test_a_null_is_named_with_its_row_and_column(tmp_path: Path):
    table = rows(["a", "b", "c"])
    table = table.set_column(5, "lang", pa.array(["zh", None, "en"]))
    with pytest.raises(DataError) as error:
        write(tmp_path, cut(table, 10), 3)
    assert str(error.value) == "shards: s:1: lang is null"


@pytest.mark.parametrize("n", [2, 4])
def test_another_number_of_rows_than_was_counted(tmp_path: Path, n: int):
    with pytest.raises(DataError) as error:
        write(tmp_path, cut(rows(["a", "b", "c"]), 10), n)
    assert str(error.value) == f"shards: 3 rows came where {n} were counted"


def test_an_error_while_rows_come_is_passed_on(tmp_path: Path):
    def failing() -> Iterator[pa.RecordBatch]:
        yield from cut(rows(TEXTS), 4)[:2]
        raise DataError([])

    with pytest.raises(DataError):
        write(tmp_path, failing(), 30)


def test_a_disk_that_takes_no_more(tmp_path: Path):
    with pytest.raises(OSError):
        shards.write_shards(cut(rows(TEXTS), 4), 30, folder=tmp_path / "nowhere", shape=SHAPE, shard_rows=4)


def test_progress_counts_every_row(tmp_path: Path):
    told: list[int] = []
    shards.write_shards(cut(rows(TEXTS), 7), 30, folder=tmp_path, shape=SHAPE, shard_rows=9, advance=told.append)
    assert told == [7, 7, 7, 7, 2]
