"""The engine's contract: a relation is stored whole or not at all, with the columns and types that were declared."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from corpus_sql import compile as compiling
from corpus_sql.compile import Compiled
from corpus_sql.engine_duckdb import LEAST_MEMORY, DuckDB
from corpus_sql.errors import DataError, ModelError
from corpus_sql.functions import StreamUdf, Udf
from corpus_sql.model import Model, identifier
from corpus_sql.parsed import parse

MADE = {"fingerprint": "f"}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DuckDB]:
    one = DuckDB(tmp_path / "work.duckdb", threads=2, memory=LEAST_MEMORY)
    yield one
    one.close()


def udf(name: str, function, returns: str, args: tuple[str, ...] = ("VARCHAR",)) -> Udf:
    return Udf(name, function, args, returns, (), __file__)


def store(engine: DuckDB, name: str, **columns: list) -> None:
    table = pa.table(columns)
    engine.store(name, table.schema, table.to_batches(), MADE)


# ------------------------------------------------------------------------------------------------------------- storing


def test_a_relation_is_there_when_the_work_file_is_opened_again(tmp_path: Path):
    one = DuckDB(tmp_path / "work.duckdb", threads=1, memory=LEAST_MEMORY)
    store(one, "read.documents", id=["a", "b"])
    one.close()
    again = DuckDB(tmp_path / "work.duckdb", threads=1, memory=LEAST_MEMORY)
    assert again.state() == {"read.documents": [(MADE, 2)]}
    again.use("read.documents", "f")
    assert again.values("select id from read.documents order by id") == [("a",), ("b",)]
    again.close()


def test_batches_that_fail_half_way_leave_what_was_there(engine: DuckDB):
    store(engine, "read.documents", id=["old"])

    def failing() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"id": ["new"]})
        raise DataError([])

    with pytest.raises(DataError):
        engine.store("read.documents", pa.schema([("id", pa.string())]), failing(), {"fingerprint": "g"})
    assert engine.values("select id from read.documents") == [("old",)]
    assert engine.state() == {"read.documents": [(MADE, 1)]}


def test_several_relations_from_one_stream(engine: DuckDB):
    schema = pa.schema([("n", pa.int64())])
    batches = [
        ("read.a", pa.record_batch({"n": [1]})),
        ("read.b", pa.record_batch({"n": [2, 3]})),
        ("read.a", pa.record_batch({"n": [4]})),
    ]
    assert engine.store_many({"read.a": schema, "read.b": schema, "read.c": schema}, batches, MADE) == {
        "read.a": 2,
        "read.b": 2,
        "read.c": 0,
    }
    assert engine.values("select n from read.a order by n") == [(1,), (4,)]


# ------------------------------------------------------------------------------------------------------------ building


def test_columns_get_the_declared_types(engine: DuckDB):
    """DuckDB makes a sum of INTEGER a HUGEINT and a count a BIGINT; another engine does not."""
    store(engine, "read.documents", id=["a"], n=pa.array([1], pa.int32()))
    columns = (("total", "BIGINT"), ("rows", "INTEGER"), ("ratio", "DOUBLE"))
    sql = "select sum(n) as total, count(*) as rows, 1 / nullif(0, 0) as ratio from read.documents"
    assert engine.build("measures.x", sql, columns, MADE) == 1
    kinds = engine.values("select typeof(total), typeof(rows), typeof(ratio) from measures.x")
    assert kinds == [("BIGINT", "INTEGER", "DOUBLE")]
    assert engine.values("select * from measures.x") == [(1, 1, None)]


def test_columns_that_are_not_those_declared(engine: DuckDB):
    with pytest.raises(ModelError) as error:
        engine.build("measures.x", "select 1 as b, 2 as a", (("a", "BIGINT"), ("b", "BIGINT")), MADE)
    assert str(error.value) == (
        "measures.x: declares the columns a, b but returns b, a\n"
        "    Make the `-- column:` lines and the select list agree, in order."
    )
    assert engine.state() == {}


def test_a_number_too_large_for_its_column(engine: DuckDB):
    with pytest.raises(ModelError, match="^SQL: Conversion Error: .*"):
        engine.build("measures.x", "select 3000000000 as n", (("n", "INTEGER"),), MADE)
    assert engine.state() == {}


def test_a_failed_build_leaves_the_earlier_one(engine: DuckDB):
    columns = (("n", "BIGINT"),)
    engine.build("measures.x", "select 1 as n", columns, MADE)
    with pytest.raises(ModelError):
        engine.build("measures.x", "select cast('x' as bigint) as n", columns, {"fingerprint": "g"})
    assert engine.values("select n from measures.x") == [(1,)]
    assert engine.state() == {"measures.x": [(MADE, 1)]}


def test_rows_are_numbered_in_byte_order(engine: DuckDB):
    """U+FFFD comes before U+1F600 in UTF-8, after it in UTF-16; s:10 comes before s:2."""
    ids = ["s:2", "s:\U0001f600", "s:10", "s:\ufffd", "s:é", "s:Z"]
    store(engine, "read.documents", id=ids)
    engine.build(
        "outputs.x", "select id from read.documents", (("id", "VARCHAR"), ("place", "BIGINT")), MADE, number="id"
    )
    found = engine.values("select id, place from outputs.x order by place")
    assert found == [(id, place) for place, id in enumerate(sorted(ids, key=str.encode))]


def test_a_streamed_function_sees_the_rows_in_order(engine: DuckDB):
    seen: list[int] = []

    def running_sum(batches: Iterator[pa.RecordBatch], start: int) -> Iterator[pa.RecordBatch]:
        total = start
        for batch in batches:
            for n in batch.column(0).to_pylist():
                seen.append(n)
                total += n
        yield pa.record_batch({"total": pa.array([total], pa.int64())})

    store(engine, "read.documents", k=list(range(9_999, -1, -1)))
    streamed = StreamUdf("x_sum", running_sum, (("total", "BIGINT"),), (), __file__)
    rows = engine.build(
        "measures.x",
        "select k from read.documents order by k",
        (("total", "BIGINT"),),
        MADE,
        stream=(streamed, {"start": 5}),
    )
    assert rows == 1
    assert seen == list(range(10_000))
    assert engine.values("select total from measures.x") == [(5 + sum(range(10_000)),)]


def test_what_a_streamed_function_yields_holds_no_nan(engine: DuckDB):
    def odd(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch({"n": pa.array([float(n) for n in batch.column(0).to_pylist()])})

    store(engine, "read.documents", text=["1", "nan", "-inf", "2"])
    streamed = StreamUdf("x_odd", odd, (("n", "DOUBLE"),), (), __file__)
    engine.build("measures.x", "select text from read.documents", (("n", "DOUBLE"),), MADE, stream=(streamed, {}))
    assert engine.values("select n from measures.x") == [(1.0,), (None,), (None,), (2.0,)]
    assert engine.not_finite() == [("measures.x", "n", 2)]


def test_a_relation_numbered_by_another_column_is_made_anew():
    """The line stands in the header, which the parser does not see."""
    model = Model("outputs.x", Path("x.sql"), "yours", "", "", (("a", "VARCHAR"),), {}, (), (), None, "a")
    prints = {
        compiling.fingerprint(Compiled(one, "select 1", "d", (), (), None), {}, {}, {"duckdb": "", "python": ""}, ())[
            "fingerprint"
        ]
        for one in (model, dataclasses.replace(model, number="b"), dataclasses.replace(model, number=None))
    }
    assert len(prints) == 3


def test_rows_come_in_the_order_of_the_query(engine: DuckDB):
    store(engine, "read.documents", k=[(i * 7919) % 20_000 for i in range(20_000)])
    found = [k for batch in engine.rows("select k from read.documents order by k") for k in batch.column(0).to_pylist()]
    assert found == list(range(20_000))


def test_an_export_has_the_declared_types_and_the_order(engine: DuckDB, tmp_path: Path):
    store(engine, "read.documents", id=["b", "a"], n=[1, None])
    path = tmp_path / "it's.parquet"
    engine.export("select id, n from read.documents", (("id", "VARCHAR"), ("n", "INTEGER")), "id", path)
    table = pq.read_table(path)
    assert table.to_pylist() == [{"id": "a", "n": None}, {"id": "b", "n": 1}]
    assert table.schema.field("n").type == pa.int32()


@pytest.mark.parametrize("name", ['a"b', "select", "a.b", "a'b", "größe", " ", "columns(*)"])
def test_a_column_of_any_name_is_stored_without_nan_and_exported(engine: DuckDB, tmp_path: Path, name: str):
    named = identifier(name)
    sql = f"select cast(v as double) as {named} from (values ('nan'), ('inf'), ('1.5')) as v(v)"
    engine.build("measures.odd", sql, ((name, "DOUBLE"),), {"fingerprint": "f"})
    engine.export("from measures.odd", ((name, "DOUBLE"),), named, tmp_path / "stored.parquet")
    engine.export(sql, ((name, "DOUBLE"),), named, tmp_path / "leaf.parquet")
    assert engine.not_finite() == [("measures.odd", name, 2)]
    for file in ("stored.parquet", "leaf.parquet"):
        assert pq.read_table(tmp_path / file).to_pydict() == {name: [1.5, None, None]}


def test_an_export_that_cannot_be_written_names_the_file(engine: DuckDB, tmp_path: Path):
    path = tmp_path / "nowhere" / "x.parquet"
    with pytest.raises(DataError) as error:
        engine.export("select 1 as n", (("n", "BIGINT"),), "n", path)
    assert str(error.value) == (
        f'{path}: IO Error: Cannot open file "{path}": No such file or directory\n'
        "    Nothing was published. Free some disk, and run again."
    )


def test_versions_name_engine_and_python(engine: DuckDB):
    assert {"duckdb", "python", "numpy"} <= set(engine.versions(["numpy"]))


# ---------------------------------------------------------------------------------------------------------------- UDFs


def test_a_udf_gets_one_plain_array_and_null_as_null(engine: DuckDB):
    seen: list[pa.Array] = []

    def length(texts: pa.Array) -> pa.Array:
        seen.append(texts)
        return pc.utf8_length(texts).cast(pa.int64())

    engine.register(udf("x_length", length, "BIGINT"))
    store(engine, "read.documents", id=["水", None, "ab"])
    engine.build(
        "measures.x", "select id, x_length(id) as n from read.documents", (("id", "VARCHAR"), ("n", "BIGINT")), MADE
    )
    assert engine.values("select id, n from measures.x order by id") == [("ab", 2), ("水", 1), (None, None)]
    assert all(isinstance(one, pa.Array) and not isinstance(one, pa.ChunkedArray) for one in seen)


def test_a_udf_is_called_once_a_row_though_its_fields_are_taken_apart(engine: DuckDB):
    rows: list[int] = []

    def pair(texts: pa.Array) -> pa.Array:
        rows.append(len(texts))
        n = pc.utf8_length(texts).cast(pa.int64())
        return pa.StructArray.from_arrays([n, n], names=["a", "b"])

    engine.register(udf("x_pair", pair, "STRUCT(a BIGINT, b BIGINT)"))
    store(engine, "read.documents", id=[str(i) for i in range(5_000)])
    made = "(select x_pair(id) as n from read.documents) as made"
    sql = f"select n.a as a, n.b as b, n.a / nullif(n.b, 0) as ratio from {made}"
    engine.build("measures.x", sql, (("a", "BIGINT"), ("b", "BIGINT"), ("ratio", "DOUBLE")), MADE)
    assert sum(rows) == 5_000


def test_constants_reach_a_udf(engine: DuckDB):
    def at_least(texts: pa.Array, n: pa.Array) -> pa.Array:
        return pc.greater_equal(pc.utf8_length(texts), n[0] if len(n) else 0)

    engine.register(udf("x_at_least", at_least, "BOOLEAN", ("VARCHAR", "INTEGER")))
    store(engine, "read.documents", id=["a", "abc"])
    found = engine.values("select id, x_at_least(id, 2) from read.documents order by id")
    assert found == [("a", False), ("abc", True)]


@pytest.mark.parametrize("name", ["sha256", "lower"])
def test_the_name_of_a_built_in_is_refused(engine: DuckDB, name: str):
    with pytest.raises(ModelError) as error:
        engine.register(udf(name, lambda texts: texts, "VARCHAR"))
    head, fix = str(error.value).splitlines()
    assert head.startswith(f"UDF {name} (test_engine.py): ") and "already exists" in head
    assert fix == "    Give it a name and types that the engine knows and does not use itself."


def test_wide_and_narrow_strings_are_one_type(engine: DuckDB):
    engine.register(udf("x_wide", lambda texts: texts.cast(pa.large_string()), "VARCHAR"))
    engine.register(udf("x_narrow", lambda texts: texts.cast(pa.string()), "VARCHAR"))
    store(engine, "read.documents", id=["水"])
    assert engine.values("select x_wide(id), x_narrow(id) from read.documents") == [("水", "水")]


def test_progress_counts_the_rows_of_a_udf(engine: DuckDB):
    told: list[tuple[str, int]] = []
    engine.watch = lambda name, rows: told.append((name, rows))
    engine.register(udf("x_same", lambda texts: texts.cast(pa.string()), "VARCHAR"))
    store(engine, "read.documents", id=[str(i) for i in range(3_000)])
    engine.build("measures.x", "select x_same(id) as id from read.documents", (("id", "VARCHAR"),), MADE)
    assert {name for name, _ in told} == {"x_same"} and sum(rows for _, rows in told) == 3_000


# ----------------------------------------------------------------------------------------------------------- compiling


def test_what_a_statement_reads_and_calls():
    sql = """
    with own as (select id from measures.words where exists (select 1 from read.files))
    select own.id, words_measure(text) as n, 'stages.none' as text from own
    join (select id, text from read.documents) as documents using (id)
    """
    found = parse(sql, "m.sql")
    assert found.relations == ("measures.words", "read.documents", "read.files")
    assert "words_measure" in found.functions


def number(value: object) -> str:
    return "null" if value is None else str(value)


BY_LANG = {
    "no value anywhere": ({"": {}}, "null"),
    "one for all": ({"": {"x": 5}}, "5"),
    "a language that agrees": ({"": {"x": 5}, "zh": {"x": 5}}, "5"),
    "a language of its own": ({"": {"x": 5}, "zh": {"x": 3}}, "case when lang in ('zh') then 3 else 5 end"),
    "two that agree": (
        {"": {"x": 5}, "zh": {"x": 3}, "hi": {"x": 4}, "ja": {"x": 3}},
        "case when lang in ('hi') then 4 when lang in ('ja', 'zh') then 3 else 5 end",
    ),
    "off for one language": ({"": {"x": 5}, "zh": {}}, "case when lang in ('zh') then null else 5 end"),
    "on for one language": ({"": {}, "zh": {"x": 3}}, "case when lang in ('zh') then 3 else null end"),
}


@pytest.mark.parametrize(("limits", "sql"), BY_LANG.values(), ids=list(BY_LANG))
def test_a_threshold_by_language(limits: dict, sql: str):
    assert compiling.by_lang(limits, "x", number) == sql
