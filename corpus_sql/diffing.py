"""What changed between two builds, and why: from their folders alone, set by set in SQL.

Lines are matched, changes found, each change followed back to what moved it (diff_tracing), and the result written as
Parquet beside the reports of the later build.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from corpus_sql import build_format, builds, damaged, limits
from corpus_sql.diff_causes import Facts, spelled
from corpus_sql.diff_matching import match
from corpus_sql.diff_tracing import Tracer
from corpus_sql.errors import ConfigError
from corpus_sql.files import reports, scratch, write
from corpus_sql.model import identifier, quoted
from corpus_sql.report_queries import query

CHANGES = ("added", "removed", "verdict", "reason", "text", "split", "cluster")
_MEMORY = "2GB"
_TABLES = ("decisions", "documents", "quarantine", "files", "pairs", "pii")


@dataclass
class Diff:
    """Two builds compared. `summary` is as in `--json`; the table `found` has a row for each change."""

    before: Path
    after: Path
    summary: dict[str, Any]
    connection: duckdb.DuckDBPyConnection
    held: ExitStack  # the connection and its folder

    def changes(self) -> Iterator[dict[str, Any]]:
        """Yield every change, by id and kind: id, change, stage, was, now, cause, detail.

        `id` is the line's id in the later build, or in the earlier where it is gone; `id_before` is there when it was
        another. `detail` is {"key", "old", "new"}, for several causes {"causes": [...]}; `via` is the way from the
        document to what moved it.
        """
        yield from self._read("found")

    def examples(self, n: int) -> Iterator[dict[str, Any]]:
        """Yield the first n changes of each kind and cause."""
        place = "row_number() over (partition by change, stage, cause, key, old, new order by id)"
        yield from self._read(f"(from found qualify {place} <= {n})")

    def _read(self, table: str) -> Iterator[dict[str, Any]]:
        columns = "id, id_before, change, stage, was, now, cause, detail, via"
        found = self.connection.execute(f"select {columns} from {table} order by id, change")
        while rows := found.fetchmany(10_000):
            for id, id_before, change, stage, was, now, cause, text, via in rows:
                detail = json.loads(text) | ({"via": via} if via else {})
                one = {"id": id, "change": change, "stage": stage, "was": was, "now": now, "cause": cause}
                yield one | {"detail": detail} | ({"id_before": id_before} if id_before not in (None, id) else {})

    def write(self) -> Path:
        """Write the changes as Parquet beside the reports of the later build; return the file.

        Columns: id, id_before, source_id, lang, change, stage, was, now, cause, key, old, new (JSON text), via, detail.
        """
        folder = reports(self.after)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"diff-{_label(self.before, self.after)}.parquet"
        waiting = folder / f".{path.name}.part"
        try:
            self.connection.execute(
                f"copy (from found order by id, change) to {quoted(waiting)} (format parquet, compression zstd)"
            )
            os.replace(waiting, path)
        except duckdb.Error as error:
            waiting.unlink(missing_ok=True)
            if full := limits.disk(error, folder):
                raise full from error
            raise
        return path

    def close(self) -> None:
        """Free what the comparison held."""
        self.held.close()

    def __enter__(self) -> Diff:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def diff(a: Path, b: Path) -> Diff:
    """Compare an earlier build with a later one; raises ConfigError where a folder is no build."""
    a, b = Path(a).resolve(), Path(b).resolve()
    problems = [
        builds.no_build(one)
        for one in dict.fromkeys((a, b))
        if not (one / "_MANIFEST.json").is_file() or not (one / "_audit" / "build.json").is_file()
    ]
    if problems:
        raise ConfigError(problems)
    for one in dict.fromkeys((a, b)):
        build_format.check(one)
        damaged.whole(one)
    facts = Facts(a, b)
    with ExitStack() as undo:
        spill = undo.enter_context(scratch("diff"))
        # a file of its own, since the lines of two builds of many millions need not fit into memory
        connection = duckdb.connect(f"{spill}/diff.duckdb", config={"temp_directory": spill, "memory_limit": _MEMORY})
        undo.callback(connection.close)
        connection.execute("set enable_progress_bar = false")
        connection.execute("set preserve_insertion_order = false")
        _open(connection, facts, a, b)
        match(connection, facts.same_sources())
        connection.execute(f"create table changes as {query('diff_changes')}")
        Tracer(connection, facts).trace()
        _last_resort(connection, facts)
        _found(connection, facts)
        return Diff(a, b, _summary(connection, facts, a, b), connection, undo.pop_all())


def write_note(found: Diff) -> Path:
    """Write CHANGES.md beside the reports of the later build; return the file."""
    from corpus_sql import diff_shown

    path = reports(found.after) / "CHANGES.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, diff_shown.note(found))
    return path


def _label(a: Path, b: Path) -> str:
    return a.name if a.parent == b.parent else f"{a.parent.name}-{a.name}"


def _open(connection: duckdb.DuckDBPyConnection, facts: Facts, a: Path, b: Path) -> None:
    """Lay each build out as views in a schema of its own, `before` and `after`, and its lines as a table."""
    run = connection.execute
    for side, schema, folder in (("a", "before", a), ("b", "after", b)):
        run(f"create schema {schema}")
        run(f"create schema {schema}_measures")
        for name in _TABLES:
            run(f"create view {schema}.{name} as from read_parquet({quoted(folder / '_audit' / f'{name}.parquet')})")
        for path in sorted((folder / "_audit" / "measures").glob("*.parquet")):
            run(f"create view {identifier(f'{schema}_measures', path.stem)} as from read_parquet({quoted(path)})")
        run(
            f"create view {schema}.shards as select * exclude (text) from "
            f"read_parquet({quoted(folder / 'shard-*.parquet')})"
        )
        minhash = f'from {schema}_measures."minhash"'
        counted = (folder / "_audit" / "measures" / "minhash.parquet").is_file()
        run(
            f"create view {schema}.shingle_tokens as select id, n_tokens "
            + (minhash if counted else "from (select null :: varchar as id, null :: integer as n_tokens) where false")
        )
        run(f"create table {schema}.stage_order (stage varchar, seq integer)")
        for seq, stage in enumerate(("read", *facts.stages(side))):
            run(f"insert into {schema}.stage_order values (?, ?)", [stage, seq])
        run(f"set schema = '{schema}'")
        run(f"create table main.lines_{side} as {query('diff_lines')}")
        run("set schema = 'main'")


def _last_resort(connection: duckdb.DuckDBPyConnection, facts: Facts) -> None:
    """Where no evidence told what moved a change, name all that moved above it."""
    run = connection.execute
    run("alter table changes add column q bigint")
    run(
        """
        update changes set q = questions.q from questions
        where questions.pair = changes.pair
            and questions.kind = case
                when change in ('added', 'removed') then 'line'
                when change = 'verdict' then 'judged'
                when change = 'text' and changes.stage = 'pii' then 'scrub'
                else change
            end
            and (change <> 'verdict' or questions.stage = changes.stage)
            and questions.side is not distinct from changes.side
        """
    )
    run("create table unanswered as select q, change, stage from changes where q not in (select q from answers)")
    for change, stage in run("select distinct change, stage from unanswered order by all").fetchall():
        above = {"text": "outputs.scrubbed", "split": "outputs.documents", "cluster": "stages.near_dedup"}.get(
            change, f"stages.{stage}"
        )
        for cause in facts.everything(above):
            run(
                "insert into answers select distinct q, cast(? as integer), cast([] as varchar[]) from unanswered "
                "where change = ? and stage = ?",
                [facts.number(cause), change, stage],
            )


def _found(connection: duckdb.DuckDBPyConnection, facts: Facts) -> None:
    """The table `found`: every change with its cause; what rests on the same causes is spelled once."""
    run = connection.execute
    run(
        """
        create table reasons as
        select q, list(c order by c) as cs, min(via) filter (where len(via) > 0) as via
        from answers where q in (select q from changes) group by q
        """
    )
    run("create table spelled (cs integer[], cause varchar, key varchar, old varchar, new varchar, detail varchar)")
    run("insert into spelled values ([], 'several', null, null, null, '{\"causes\": []}')")
    for (cs,) in run("select distinct cs from reasons order by cs").fetchall():
        causes = sorted((facts.causes[c] for c in cs), key=lambda one: (_ORDER.index(one["cause"]), one["key"]))
        cause, detail = spelled(causes)
        parts = [_json(detail.get(part)) if "key" in detail else None for part in ("old", "new")]
        key = detail.get("key") or "; ".join(one["key"] for one in causes)
        run("insert into spelled values (?, ?, ?, ?, ?, ?)", [list(cs), cause, key, *parts, _json(detail)])
    run(f"create table found as {query('diff_found')}")


_ORDER = ("input", "ledger", "config", "model", "udf", "model_file", "tool")


def _summary(connection: duckdb.DuckDBPyConnection, facts: Facts, a: Path, b: Path) -> dict[str, Any]:
    def rows(sql: str) -> list[dict[str, Any]]:
        found = connection.execute(sql)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    counts = dict(connection.execute("select change, count(*) from found group by all").fetchall())
    causes = rows(query("diff_causes"))
    for one in causes:
        one["old"], one["new"] = (None if one[part] is None else json.loads(one[part]) for part in ("old", "new"))
    rebuilt, reused = [], []
    for name in sorted({*facts.builds["a"]["relations"], *facts.builds["b"]["relations"]}):
        (rebuilt if facts.differs(name) else reused).append(name)
    return {
        "before": _build(facts, "a", a),
        "after": _build(facts, "b", b),
        "changes": {change: counts.get(change, 0) for change in CHANGES},
        "causes": causes,
        "ledger": facts.ledger,
        "dropped_otherwise": rows(query("diff_reasons")),
        "totals": rows(query("diff_totals")),
        "matched": dict(
            connection.execute(
                "select how, count(*) from lines where how is not null group by how order by how"
            ).fetchall()
        ),
        "relations": {"rebuilt": rebuilt, "reused": reused},
        "out_of_date": _out_of_date(facts, a, b, *rows(query("diff_rows"))),
    }


def _build(facts: Facts, side: str, folder: Path) -> dict[str, Any]:
    record = facts.builds[side]
    manifest = damaged.read_object(folder, "_MANIFEST.json")
    return {
        "dataset": record["dataset"],
        "version": record["version"],
        "n_docs": manifest["n_docs"],
        **record["hash_chain"],
    }


def _out_of_date(facts: Facts, a: Path, b: Path, rows: dict[str, int]) -> list[dict[str, str]]:
    """Name what was made from the earlier build and does not hold for the later one. rows: of `diff_rows`."""
    manifests = [damaged.read_object(folder, "_MANIFEST.json") for folder in (a, b)]
    shards = [{(one["name"], one["sha256"]) for one in one_["shards"]} for one_ in manifests]
    found = []
    same_rows = not rows["gone"] and not rows["came"]
    if gone := len(shards[0] - shards[1]):
        cut = "; the rows in them are the same" if same_rows else ""
        why = f"{gone} of {len(shards[0])} shard files of {a.name} are not in {b.name}{cut}"
        found.append({"product": "shards", "why": why})
    if not same_rows:
        found.append(
            {
                "product": "exports and token files",
                "why": f"whatever was exported, tokenised or packed from {a.name} holds other rows or texts",
            }
        )
    chains = [facts.builds[side]["hash_chain"]["filtered_build_hash"] for side in ("a", "b")]
    if chains[0] != chains[1]:
        found.append(
            {
                "product": "models fitted on the corpus",
                "why": "tokenizers, perplexity models and scorers that name the filtered_build_hash of " + a.name,
            }
        )
    for name in ("COMPOSITION.md", "report.html"):
        if (reports(a) / name).is_file() and not (reports(b) / name).is_file():
            found.append({"product": f"reports/{b.name}/{name}", "why": f"made for {a.name} only"})
    return found


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
