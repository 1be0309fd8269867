"""The only module that knows DuckDB as the engine of a build.

An in-memory connection with the work file attached: `row_group_size 2048`, since the scan's parallelism follows that
option and at the default of 122,880 rows one thread does all; no storage compression, since it cost 54 CPU seconds
where storing plain cost two; no fsync of the work file, since it holds only what can be made again, a killed process
leaves its writes to the system, and after a power cut the checksums of its blocks tell what is damaged; 64-bit Arrow
buffers, since a batch of 2,048 long texts can pass 2 GiB; UTC, since a time with a zone would be told in the machine's.

The work file keeps more than one result of a relation: each is a table named after the relation and the fingerprint of
what it was made from, in one transaction with its row in `main.stored`. The name that models use, `measures.words`, is
a view of this process alone, onto the result that this build uses.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any

import duckdb
import pyarrow as pa

from corpus_sql import engine_errors
from corpus_sql.engine_errors import first_line
from corpus_sql.engine_udfs import adapted, shape, streamed
from corpus_sql.errors import CorpusError, DataError, ModelError, Problem
from corpus_sql.finite import HITS, METRICS, columns_sql
from corpus_sql.functions import Files, StreamUdf, Udf, where
from corpus_sql.model import identifier, quoted

LEAST_MEMORY = 512 << 20  # below this an ordered write fails to pin its blocks
_STORED = "work.main.stored"
_ASIDE = "aside"  # stands for the fingerprint in the name of a table that is not whole yet


def installed(distributions: Iterable[str] = ()) -> dict[str, str]:
    """Return the version of the engine, of Python and of each distribution named, `none` where it is not installed."""
    found = {
        "duckdb": duckdb.__version__,
        "python": f"{platform.python_version()}, Unicode {unicodedata.unidata_version}",
    }
    for name in set(distributions) - set(found):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "none"
    return dict(sorted(found.items()))


class DuckDB:
    """One build's engine. Relations are two-part names; `state` remembers what each was built from."""

    def __init__(
        self, database: Path, *, threads: int, memory: int, watch: Callable[[str, int], None] = lambda *_: None
    ):
        """Open the work file; raises DamagedWorkFile when it cannot be read, DataError when it cannot be opened.

        memory: bytes for DuckDB's own buffers. watch(udf, rows) is called after each batch of a UDF.
        """
        self.watch, self.memory = watch, memory
        self._folder = str(database.parent)
        self._failed: CorpusError | None = None
        self._shown: dict[str, str] = {}  # relation -> fingerprint of the result that its name stands for
        self._counting = Lock()
        self._nulled: Counter[str] = Counter()  # UDF -> values that were NaN or infinite, for the relation being made
        self._functions: list[Callable] = []  # a UDF must outlive the connection or the process crashes
        settings = {"allow_unsigned_extensions": "false", "threads": threads, "memory_limit": f"{memory}B"}
        self.connection = self._guard(lambda: duckdb.connect(":memory:", config=settings))
        try:
            self._open(database)
        except CorpusError:
            self.connection.close()
            raise

    def _open(self, database: Path) -> None:
        for setting in (
            "arrow_large_buffer_size = true",
            "enable_progress_bar = false",
            "preserve_insertion_order = true",
            "autoinstall_known_extensions = false",
            "force_compression = 'uncompressed'",
            "fsync_mode = 'NONE'",
            "timezone = 'UTC'",
            f"temp_directory = {quoted(database.parent / 'spill')}",
        ):
            self._run(f"set {setting}")
        try:
            self.connection.execute(f"attach {quoted(database)} as work (row_group_size 2048)")
        except (duckdb.Error, MemoryError, RuntimeError) as error:
            raise engine_errors.not_opened(error, database) from error
        columns = 'name varchar, fingerprint varchar, made_from varchar, "rows" bigint, not_finite varchar, turn bigint'
        with self._own():
            self._run(f"create table if not exists {_STORED} ({columns}, primary key (name, fingerprint))")
            ((self._turn,),) = self._run(f"select coalesce(max(turn), 0) + 1 from {_STORED}")

    def versions(self, distributions: Iterable[str] = ()) -> dict[str, str]:
        """Return the version of the engine, of Python and of each distribution named."""
        return installed(distributions)

    def state(self) -> dict[str, list[tuple[dict[str, Any], int]]]:
        """Return relation -> (what it was made from, rows) of each result that lies whole in the work file.

        What was used last comes first.
        """
        found: dict[str, list[tuple[dict[str, Any], int]]] = {}
        sql = f'select name, made_from, "rows" from {_STORED} order by name, turn desc, fingerprint'
        with self._own():
            for name, made_from, rows in self._run(sql):
                found.setdefault(name, []).append((json.loads(made_from), rows))
        return found

    def use(self, name: str, fingerprint: str) -> None:
        """Let a relation's name stand for one of its stored results."""
        where = f"name = {quoted(name)} and fingerprint = {quoted(fingerprint)}"
        with self._own():
            self._run(f"update {_STORED} set turn = {self._turn} where {where}")
            self._show(name, fingerprint)

    def not_finite(self) -> list[tuple[str, str, int]]:
        """Return (relation, its column or metric or UDF, rows) where NaN or infinity became null, of those in use."""
        kept = {(name, fingerprint): bad for name, fingerprint, bad in self._run(
            f"select name, fingerprint, not_finite from {_STORED} where not_finite <> '{{}}'"
        )}  # fmt: skip
        used = [(one[0], json.loads(kept[one])) for one in sorted(self._shown.items()) if one in kept]
        return [(name, what, n) for name, bad in used for what, n in sorted(bad.items())]

    def stored(self, name: str) -> bool:
        """Whether a relation's name stands for a result."""
        return name in self._shown

    def held(self) -> int:
        """Return the bytes of the work file that hold something."""
        sql = "select block_size * used_blocks from pragma_database_size() where database_name = 'work'"
        with self._own():
            return int(self._run(sql)[0][0])

    def shrink(self, limit: int, keep: Iterable[tuple[str, str]]) -> int:
        """Drop stored results until the work file holds at most `limit` bytes, those of the earliest runs first.

        keep: (relation, fingerprint) of those that stay in any case. Returns how many were dropped. What a killed run
        left half-made goes too.
        """
        with self._own():
            return self._shrink(limit, set(keep))

    def _shrink(self, limit: int, keep: set[tuple[str, str]]) -> int:
        dropped = 0
        turns = self._run(f"select name, fingerprint, turn from {_STORED} order by turn, name, fingerprint")
        whole = {_table(name, fingerprint) for name, fingerprint, _ in turns}
        lying = self._run("select schema_name, table_name from duckdb_tables() where database_name = 'work'")
        for schema, table in lying:
            if (half := identifier("work", schema, table)) not in whole | {identifier("work", "main", "stored")}:
                self._run(f"drop table {half}")
        others = [(turn, name, fingerprint) for name, fingerprint, turn in turns if (name, fingerprint) not in keep]
        for turn in sorted({turn for turn, *_ in others}):
            if self.held() <= limit:
                break
            for _, name, fingerprint in (one for one in others if one[0] == turn):
                with self._transaction():
                    self._forget(name, fingerprint)
                dropped += 1
            self._run("checkpoint work")
        return dropped

    def register(self, udf: Udf, files: Mapping[str, Files] = MappingProxyType({})) -> None:
        """Make a marked function callable from SQL; its result is checked against its declared type.

        files: those that it may be given, by the SHA-256 that stands in the SQL.
        """
        try:
            expected = self._arrow_type(udf.returns)
        except duckdb.Error as error:
            raise ModelError(Problem(where(udf), f"returns {udf.returns}: {first_line(error)}")) from error

        def failed(error: CorpusError) -> None:
            self._failed = error

        def done(rows: int, bad: int) -> None:
            if bad:
                with self._counting:
                    self._nulled[udf.name] += bad
            self.watch(udf.name, rows)

        call = adapted(udf, expected, files, done, failed)
        self._functions.append(call)
        try:
            self.connection.create_function(
                udf.name, call, list(udf.args), udf.returns, type="arrow", null_handling="special"
            )
        except duckdb.Error as error:
            raise ModelError(
                Problem(
                    where(udf),
                    first_line(error),
                    "Give it a name and types that the engine knows and does not use itself.",
                )
            ) from error

    def store(self, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], made_from: dict[str, Any]) -> int:
        """Make a relation from Arrow batches, whole or not at all; return its rows."""
        return self.store_many({name: schema}, ((name, batch) for batch in batches), made_from)[name]

    def store_many(
        self, schemas: dict[str, pa.Schema], batches: Iterable[tuple[str, pa.RecordBatch]], made_from: dict[str, Any]
    ) -> dict[str, int]:
        """Make several relations from one stream of (relation, batch), all whole or none; return the rows of each.

        Each batch is committed by itself, since what one transaction writes stays in memory until it ends: 1.6 GB of
        texts took 2.6 GB. So the rows go to tables aside, which take the names in one transaction at the end.
        """
        rows = dict.fromkeys(schemas, 0)
        for name, schema in schemas.items():
            self._register("batch_in", schema.empty_table())
            self._run(f"create schema if not exists {identifier('work', name.split('.')[0])}")
            self._run(f"create or replace table {_table(name, _ASIDE)} as select * from batch_in")
        fingerprint = made_from["fingerprint"]
        try:
            for name, batch in batches:
                self._register("batch_in", batch)
                self._run(f"insert into {_table(name, _ASIDE)} select * from batch_in")
                self.connection.unregister("batch_in")
                rows[name] += batch.num_rows
            with self._transaction():
                for name in schemas:
                    self._forget(name, fingerprint)
                    self._run(f"alter table {_table(name, _ASIDE)} rename to {identifier(_stem(name, fingerprint))}")
                    self._remember(name, made_from, rows[name])
        finally:
            with suppress(duckdb.Error, CorpusError):  # after a full disk nothing can be dropped; `shrink` does
                for name in schemas:
                    self.connection.execute(f"drop table if exists {_table(name, _ASIDE)}")
        for name in schemas:
            self._show(name, fingerprint)
        return rows

    def build(
        self,
        name: str,
        sql: str,
        columns: tuple[tuple[str, str], ...],
        made_from: dict[str, Any],
        *,
        stream: tuple[StreamUdf, dict[str, Any]] | None = None,
        number: str | None = None,
    ) -> int:
        """Materialise one model, whole or not at all; return its rows.

        columns: declared (name, type); the query must give these names in this order, and is cast to these types.
        stream: send the rows through a function and store what it yields. number: the last declared column is not in
        the query; it is the row's place, from 0, in byte order of the column named.
        """
        selected = columns[:-1] if number else columns
        if stream:
            function, settings = stream
            schema = pa.schema([(column, self._arrow_type(kind, large=True)) for column, kind in function.returns])
            self._check(name, [column for column, _ in columns], schema.names)
            self._nulled.clear()
            reader = self._guard(lambda: self.connection.cursor().sql(sql).to_arrow_reader(2048))
            return self.store(name, schema, streamed(function, self._batches(reader), settings), made_from)
        self._check(name, [column for column, _ in selected], self._guard(lambda: self.connection.sql(sql)).columns)
        text = typed(sql, selected)
        if number:
            place = identifier(columns[-1][0])
            text = f"select *, row_number() over (order by {identifier(number)}) - 1 as {place} from ({text}) as rows"
        fingerprint = made_from["fingerprint"]
        self._run(f"create schema if not exists {identifier('work', name.split('.')[0])}")
        self._nulled.clear()
        with self._transaction():
            self._forget(name, fingerprint)
            rows = self._run(f"create table {_table(name, fingerprint)} as {text}")[0][0]
            self._remember(name, made_from, rows)
        self._show(name, fingerprint)
        return rows

    def rows(self, sql: str, batch_rows: int = 2048, *, streaming: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield a query's rows as Arrow batches, in the order of its ORDER BY.

        streaming: the first table of each FROM streams by, the others are kept in memory, and the rows come in any
        order; the optimiser would put long texts on the side that is kept.
        """
        cursor = self.connection.cursor()
        if streaming:
            self._run("set preserve_insertion_order = false")
            self._run("set disabled_optimizers = 'join_order,build_side_probe_side'")
        try:
            yield from self._batches(self._guard(lambda: cursor.sql(sql).to_arrow_reader(batch_rows)))
        finally:
            if streaming:
                with suppress(duckdb.Error):  # a generator given up after an error ends when all is closed
                    self.connection.execute("set preserve_insertion_order = true")
                    self.connection.execute("set disabled_optimizers = ''")

    def values(self, sql: str) -> list[tuple]:
        """Return a small result as Python rows."""
        return self._run(sql)

    def schema(self, sql: str) -> pa.Schema:
        """Return the Arrow schema of a query without running it."""
        nothing = f"select * from ({sql}) as nothing limit 0"
        return self._guard(lambda: self.connection.cursor().sql(nothing).to_arrow_table()).schema

    def leaving(self, sql: str, columns: tuple[tuple[str, str], ...]) -> str:
        """Return a query for rows that leave for a file: declared columns and types, null for NaN and infinity."""
        text = typed(sql, columns)
        clean = columns_sql(self._guard(lambda: self.connection.sql(text)), None)
        return _replaced(clean, f"({text}) as leaving") if clean else text

    def odd_leaving(self, sql: str, columns: tuple[tuple[str, str], ...], *, calls: bool) -> dict[str, int]:
        """Return column or UDF -> rows of a query in which `leaving` puts null. calls: it calls UDFs."""
        text = typed(sql, columns)
        clean = columns_sql(self._guard(lambda: self.connection.sql(text)), None)
        self._nulled.clear()
        bad = self._odd(clean, f"({text}) as leaving", whole=calls)
        found = dict(self._nulled) | bad
        self._nulled.clear()
        return found

    def export(self, sql: str, columns: tuple[tuple[str, str], ...], order: str, path: Path) -> None:
        """Write a query's rows to one Parquet file, in the order given, as they are `leaving`.

        Every column may hold null: by its statistics the optimiser would call those `required` that hold none.
        """
        text = f"{self.leaving(sql, columns)} order by {order}"
        copy = f"copy ({text}) to {quoted(path)} (format parquet, compression zstd)"
        self.connection.execute("set disabled_optimizers = 'statistics_propagation'")
        try:
            self._run(copy)
        except DataError as error:
            if str(path) in str(error):  # not the work folder's disk, but that of the build
                problem = error.problems[0]
                raise DataError(
                    Problem(str(path), problem.what, "Nothing was published. Free some disk, and run again.")
                ) from error
            raise
        finally:
            with suppress(duckdb.Error):
                self.connection.execute("set disabled_optimizers = ''")

    def close(self) -> None:
        """Close the work file; what was stored stays in it."""
        self.connection.close()

    @contextmanager
    def _own(self) -> Iterator[None]:
        """Statements of the engine's own, right by themselves: what fails in them is the work file."""
        try:
            yield
        except (ModelError, ValueError) as error:
            raise engine_errors.damaged(first_line(error), self._folder) from error

    def _run(self, sql: str) -> list[tuple]:
        return self._guard(lambda: self.connection.execute(sql).fetchall())

    def _register(self, name: str, table: pa.Table | pa.RecordBatch) -> None:
        self._guard(lambda: self.connection.register(name, table))

    def _transaction(self):
        return engine_errors.Transaction(self.connection, self._told)

    def _show(self, name: str, fingerprint: str) -> None:
        self._run(f"create schema if not exists {identifier('memory', name.split('.')[0])}")
        self._run(f"create or replace view memory.{name} as from {_table(name, fingerprint)}")
        self._shown[name] = fingerprint

    def _forget(self, name: str, fingerprint: str) -> None:
        with self._own():
            self._run(f"drop table if exists {_table(name, fingerprint)}")
            self._run(f"delete from {_STORED} where name = {quoted(name)} and fingerprint = {quoted(fingerprint)}")

    def _remember(self, name: str, made_from: dict[str, Any], rows: int) -> None:
        fingerprint, said = made_from["fingerprint"], quoted(json.dumps(made_from, sort_keys=True))
        bad = quoted(json.dumps(self._without_nan(name, _table(name, fingerprint)), sort_keys=True))
        values = f"{quoted(name)}, {quoted(fingerprint)}, {said}, {rows}, {bad}, {self._turn}"
        with self._own():
            self._run(f"insert into {_STORED} values ({values})")

    def _without_nan(self, name: str, table: str) -> dict[str, int]:
        """Put null for NaN and infinity into a table that is being made; return how many rows, by column.

        Of a stage they are counted by the metric whose rule could not judge, and the hit goes. What a UDF returned is
        counted by the UDF's name.
        """
        found = dict(self._nulled)
        self._nulled.clear()
        rows = self._guard(lambda: self.connection.sql(f"from {table}"))
        stage = name.startswith("stages.")
        clean = columns_sql(rows, HITS if stage else None)
        bad = self._odd(clean, table)
        if not bad:
            return found
        if stage:
            bad = dict(self._run(f"select metric, count(*) from ({METRICS.format(table)}) group by metric"))
        half = _table(name, "half")
        self._run(f"create table {half} as {_replaced(clean, table)}")
        self._run(f"drop table {table}")
        self._run(f"alter table {half} rename to {table.rpartition('.')[2]}")
        return found | bad

    def _odd(self, clean: dict[str, str], table: str, *, whole: bool = False) -> dict[str, int]:
        """Return column -> rows that hold NaN or infinity. whole: every column is computed, for the UDFs in them."""
        counts = [
            f"count(*) filter (where {identifier(column)} is distinct from {sql})" for column, sql in clean.items()
        ]
        all_columns = ["count(columns(*))"] if whole else []
        if not counts + all_columns:
            return {}
        values = self._run(f"select {', '.join(counts + all_columns)} from {table}")[0]
        return {column: n for column, n in zip(clean, values, strict=False) if n}

    def _check(self, name: str, declared: list[str], got: list[str]) -> None:
        if list(declared) != list(got):
            raise ModelError(
                Problem(
                    name,
                    f"declares the columns {', '.join(declared)} but returns {', '.join(got)}",
                    "Make the `-- column:` lines and the select list agree, in order.",
                )
            )

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """Yield a reader's batches; what fails while they are made comes as an error of Arrow's."""
        try:
            yield from reader
        except (duckdb.Error, pa.ArrowException, OSError, MemoryError) as error:
            raise self._failed or self._told(error) from error

    def _guard(self, work: Callable[[], Any]) -> Any:
        """Run a query; a failing UDF is reported by its own error, not by the engine's wrapping of it."""
        self._failed = None
        try:
            return work()
        except (duckdb.Error, MemoryError, RuntimeError) as error:
            if self._failed:
                raise self._failed from error
            raise self._told(error) from error

    def _told(self, error: Exception) -> CorpusError:
        return engine_errors.meaning(error, self._folder)

    def _arrow_type(self, kind: str, large: bool = False) -> Any:
        field = self.connection.sql(f"select cast(null as {kind}) as value").to_arrow_table().schema.field(0).type
        return field if large else shape(field)


def _stem(name: str, fingerprint: str) -> str:
    return f"{name.split('.')[1]}__{fingerprint[:32]}"


def _table(name: str, fingerprint: str) -> str:
    """Return the name of the table that holds a relation as it was made from one thing."""
    return identifier("work", name.split(".")[0], _stem(name, fingerprint))


def typed(sql: str, columns: tuple[tuple[str, str], ...]) -> str:
    """Return a query for the columns of another, each cast to its declared type."""
    casts = ", ".join(f"cast({identifier(column)} as {kind}) as {identifier(column)}" for column, kind in columns)
    return f"select {casts} from (\n{sql}\n) as model"


def _replaced(clean: dict[str, str], table: str) -> str:
    columns = ", ".join(f"{sql} as {identifier(column)}" for column, sql in clean.items())
    return f"select * replace ({columns}) from {table}"
