"""A finished build as tables: opened for questions, audited, and asked for the story of one id.

Everything here reads the folder alone, so a build can be moved or copied; nothing here writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from corpus_sql import build_format, builds, damaged
from corpus_sql.errors import AuditError, ConfigError, Problem
from corpus_sql.model import identifier, quoted
from corpus_sql.project import Project
from corpus_sql.validation import nearest

TABLES = (
    *("decisions", "documents", "rejected", "quarantine", "reconciliation"),
    *("files", "pairs", "parents", "expansions", "pii", "contamination", "rules"),
)
COPIES = ("exact_duplicate", "near_duplicate")  # reasons whose witness is the document in whose stead one is dropped
RELATIVES = 5  # members of a group, and children, that a story names


def open_build(folder: Path, memory: int | None = None) -> duckdb.DuckDBPyConnection:
    """Open a build as views named as the files of `_audit/`, `measures.*` and `shards`.

    memory: bytes that the engine may hold, by default what it chooses. The connection reaches no file outside the
    folder and its settings are locked. A Parquet file that cannot be opened has no view, so that it stops those alone
    who need it. Raises ConfigError when the folder is no build, DataError when its manifest is damaged.
    """
    folder = Path(folder).resolve()
    if not (folder / "_MANIFEST.json").is_file() or not (folder / "_audit").is_dir():
        raise ConfigError(builds.no_build(folder))
    counts = _counts(folder)
    connection = duckdb.connect(":memory:")
    run = connection.execute
    run("set enable_progress_bar = false")
    run("set autoinstall_known_extensions = false")
    if memory:
        run(f"set memory_limit = '{memory}B'")
    run(f"set allowed_directories = [{quoted(str(folder) + '/')}]")
    for name in TABLES:
        if (folder / "_audit" / f"{name}.parquet").is_file():
            _view(connection, name, folder / "_audit" / f"{name}.parquet")
    _ledger(connection, folder / "_audit" / "ledger.jsonl")
    run("create schema measures")
    for path in sorted((folder / "_audit" / "measures").glob("*.parquet")):
        _view(connection, identifier("measures", path.stem), path)
    _view(connection, "shards", folder / "shard-*.parquet")
    run("create table manifest_counts (key varchar, n bigint)")
    for key, n in counts:
        run("insert into manifest_counts values (?, ?)", [key, n])
    run("set enable_external_access = false")
    run("set lock_configuration = true")
    return connection


def _view(connection: duckdb.DuckDBPyConnection, name: str, path: Path) -> None:
    try:
        connection.execute(f"create view {name} as from read_parquet({quoted(path)})")
    except duckdb.Error:  # it is damaged, or may not be read
        return


_LISTED = "struct(path varchar, sha256 varchar, bytes bigint)[]"
_LEDGER = {
    **dict.fromkeys(("source_id", "url", "license_spdx", "data_class", "retrieved", "revision", "reviewer"), "varchar"),
    "files": _LISTED,
    "superseded": _LISTED,
    "upstream": "struct(url varchar, sha256 varchar, bytes bigint)[]",
    "recipe": "json",
}


def _ledger(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Make the view `ledger`; older builds have none."""
    if path.is_file():
        columns = ", ".join(f"{name}: '{kind}'" for name, kind in _LEDGER.items())
        longest = max(path.stat().st_size, 1 << 20)  # a row may list many thousand upstream files
        connection.execute(
            f"create view ledger as from read_json({quoted(path)}, format = 'newline_delimited', "
            f"columns = {{{columns}}}, maximum_object_size = {longest})"
        )


def _counts(folder: Path) -> list[tuple[str, int]]:
    manifest = damaged.read_object(folder, "_MANIFEST.json")
    try:
        counts = list(_flat(manifest))
    except KeyError as error:
        raise damaged.lacks(folder, "_MANIFEST.json", f"it has no {error.args[0]}") from error
    except (TypeError, AttributeError) as error:
        raise damaged.lacks(folder, "_MANIFEST.json", "it has not the form of a manifest") from error
    if bad := [key for key, n in counts if isinstance(n, bool) or not isinstance(n, int)]:
        raise damaged.lacks(folder, "_MANIFEST.json", f"{bad[0]} is no whole number")
    return counts


def _flat(manifest: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for key in ("n_docs", "n_shards", "blank"):
        yield key, manifest[key]
    for group in ("filters", "dedup", "pii", "quarantined"):
        for key, value in manifest[group].items():
            if group != "dedup" or key.endswith(("dropped", "decontaminated")):
                yield f"{group}.{key}", value


def reconciliation(folder: Path) -> list[tuple]:
    """Return (stage, entered, kept, rejected, quarantined, blank) over all sources, in the order of the stages."""
    with open_build(folder) as connection:
        return connection.execute(
            "select stage, entered, kept, rejected, quarantined, blank from reconciliation "
            "where source_id is null order by seq"
        ).fetchall()


def audit(folder: Path, project: Project, memory: int | None = None) -> None:
    """Run every model of sql/audits on a written folder; each returns the rows that should not be there.

    Raises AuditError with every audit that found some, and the first three of its rows.
    """
    problems = []
    with open_build(folder, memory) as connection:
        for model in sorted((m for m in project.models.values() if m.folder == "audits"), key=lambda m: m.name):
            found = connection.execute(f"from (\n{model.text}\n) as bad order by all limit 4")
            names = [column[0] for column in found.description]
            rows = found.fetchall()
            if rows:
                shown = "; ".join(", ".join(f"{n}={v!r}" for n, v in zip(names, row, strict=True)) for row in rows[:3])
                problems.append(
                    Problem(
                        f"audit {model.stem}",
                        f"{model.summary} It is not so: {shown}{', …' if len(rows) > 3 else ''}",
                        "Nothing was published.",
                    )
                )
    if problems:
        raise AuditError(problems)


@dataclass(frozen=True)
class Story:
    """All that a build knows of one id: `document` or `quarantined` is None, `decisions` are in order of the stages."""

    id: str
    document: dict[str, Any] | None
    quarantined: dict[str, Any] | None
    decisions: list[dict[str, Any]]  # each with `passed`, the rules that let it pass: see judging.passed
    path: list[dict[str, Any]]  # the pairs from this document to its witness
    witnesses: list[
        dict[str, Any]
    ]  # the dropped ones that it points at, one after the other: id, stage, reason, witness
    contamination: list[dict[str, Any]]  # what it shares with each protected item, the first in its text first
    redactions: list[dict[str, Any]]
    parents: list[dict[str, Any]]  # named, parent (an id, or None) and status of each parent that the document names
    children: list[str]  # the first documents that name this one as their parent
    n_children: int
    members: list[str]  # the first other documents of its group
    n_members: int  # how many others there are


def why(folder: Path, id: str) -> Story:
    """Return the story of one document or quarantined line; raises ConfigError for an id the build does not hold."""
    from corpus_sql import judging  # it opens builds itself

    folder = Path(folder)
    build_format.check(folder)
    with open_build(folder) as connection:

        def rows(sql: str, *values: Any) -> list[dict[str, Any]]:
            found = connection.execute(sql, list(values))
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

        documents = rows("from documents where id = ?", id)
        quarantined = rows("from quarantine where id = ?", id)
        if not documents and not quarantined:
            raise ConfigError(_unknown(connection, id))
        decisions = rows("from decisions where id = ? order by seq", id)
        last = decisions[-1] if decisions else {}
        judging.add_relations(connection)
        for one in decisions:
            judged = one["seq"] > 0 and one["verdict"] == "keep"
            one["passed"] = judging.passed(connection, folder, one["stage"], id) if judged else []
        path = []
        if last.get("reason") in COPIES and last.get("witness"):
            kind = "near" if last["reason"] == "near_duplicate" else "exact"
            path = _path(rows("select a, b, kind, jaccard from pairs where kind = ?", kind), id, last["witness"])
        return Story(
            id=id,
            document=documents[0] if documents else None,
            quarantined=quarantined[0] if quarantined else None,
            decisions=decisions,
            path=path,
            witnesses=_dropped_witnesses(rows, last),
            contamination=rows("select * exclude (id) from contamination where id = ? order by start_char, item", id),
            redactions=rows("select kind, start_char, end_char from pii where id = ? order by start_char", id),
            **_relatives(rows, id),
        )


def _relatives(rows: Callable[..., list[dict[str, Any]]], id: str) -> dict[str, Any]:
    """Return the parents, children and group of a document, as fields of its story."""
    own = "from documents where relation_group = (select relation_group from documents where id = $1) and id <> $1"
    named = "select distinct id from parents where parent = $1 and id <> $1"
    return {
        "parents": rows("select distinct named, parent, status from parents where id = $1 order by named", id),
        "children": [row["id"] for row in rows(f"{named} order by id limit {RELATIVES}", id)],
        "n_children": rows(f"select count(*) as n from ({named})", id)[0]["n"],
        "members": [row["id"] for row in rows(f"select id {own} order by id limit {RELATIVES}", id)],
        "n_members": rows(f"select count(*) as n {own}", id)[0]["n"],
    }


def _dropped_witnesses(rows: Callable[..., list[dict[str, Any]]], last: dict[str, Any]) -> list[dict[str, Any]]:
    """Return where the witness of a copy ended, if it was dropped, and so on to the last."""
    found: list[dict[str, Any]] = []
    while last.get("reason") in COPIES:
        drops = rows(
            "select id, stage, reason, witness from decisions where id = ? and verdict = 'reject'", last["witness"]
        )
        if not drops or drops[0] in found:  # kept, of another build, or damaged to a circle
            break
        found += drops
        last = drops[0]
    return found


def _path(pairs: list[dict[str, Any]], start: str, end: str) -> list[dict[str, Any]]:
    """Return the shortest way from one document to another over the pairs, ties in order of id."""
    near: dict[str, list[tuple[str, float | None]]] = {}
    for pair in pairs:
        near.setdefault(pair["a"], []).append((pair["b"], pair["jaccard"]))
        near.setdefault(pair["b"], []).append((pair["a"], pair["jaccard"]))
    came: dict[str, tuple[str, float | None]] = {start: ("", None)}
    waiting = [start]
    for one in waiting:
        if one == end:
            break
        for other, jaccard in sorted(near.get(one, ())):
            if other not in came:
                came[other] = (one, jaccard)
                waiting.append(other)
    if end not in came:
        return []
    steps = []
    at = end
    while at != start:
        before, jaccard = came[at]
        steps.append({"from": before, "to": at, "jaccard": jaccard})
        at = before
    return steps[::-1]


def _unknown(connection: duckdb.DuckDBPyConnection, id: str) -> Problem:
    """Say which ids there are: the range of the source named, or the sources."""
    source, _, position = id.rpartition(":")
    ranges = dict(
        connection.execute(
            "select source_id, sum(lines)::bigint from files where status = 'read' group by all order by all"
        ).fetchall()
    )
    if source in ranges:
        if position.isdigit() and int(position) < ranges[source] and str(int(position)) == position:
            return Problem(id, "this is a blank line: it holds no document")
        return Problem(
            id, "the build has no such line", f"{source} has the lines {source}:0 to {source}:{ranges[source] - 1}."
        )
    near = nearest(source, ranges)
    fix = f"Did you mean {near}:{position}?" if near and source else "An id is <source>:<position>."
    few = [*list(ranges)[:20], f"and {len(ranges) - 20} more"] if len(ranges) > 20 else list(ranges)
    return Problem(id, "the build has no such source", f"{fix} The sources are {', '.join(few)}.")


def query(folder: Path, text: str) -> duckdb.DuckDBPyConnection:
    """Return a connection to a build on which one statement may run; raises ConfigError for one that can write."""
    build_format.check(folder, least=1)
    connection = open_build(folder)
    try:
        statements = connection.extract_statements(text)
    except duckdb.Error as error:
        raise ConfigError(Problem("query", str(error).strip())) from error
    if len(statements) != 1:
        raise ConfigError(Problem("query", f"{len(statements)} statements, where one is asked for"))
    if statements[0].type == duckdb.StatementType.MULTI:
        raise ConfigError(
            Problem(
                "query",
                "a pivot over values that are not named is run as several statements, one of which creates a type",
                "Name the values: pivot … on lang in ('en', 'zh') using ….",
            )
        )
    if (kind := _what_writes(connection, _explained(connection, statements[0]))) is not None:
        raise ConfigError(
            Problem(
                "query",
                f"a statement that can write ({kind}); a build is only read",
                "Ask with select, from, describe, summarize or explain.",
            )
        )
    return connection


_SPACE = r"(?:\s|--[^\n]*\n|/\*.*?\*/)"
_EXPLAIN = re.compile(rf"{_SPACE}*explain{_SPACE}+(?:analyze{_SPACE}+)?", re.IGNORECASE | re.DOTALL)


def _explained(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> duckdb.Statement:
    """Return the statement that an EXPLAIN explains, which EXPLAIN ANALYZE runs; any other statement as it is."""
    if statement.type == duckdb.StatementType.EXPLAIN and (head := _EXPLAIN.match(statement.query)):
        try:
            inner = connection.extract_statements(statement.query[head.end() :])
        except duckdb.Error:
            return statement
        if len(inner) == 1:
            return inner[0]
    return statement


_READS = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}


def _what_writes(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> str | None:
    """Return what kind of statement this is if it can do anything but read, else None.

    A statement of the type SELECT may hold INSERT, UPDATE, DELETE or COPY as the body of a CTE, so the tree is looked
    at as well.
    """
    if statement.type != duckdb.StatementType.SELECT:
        return statement.type.name.lower()
    (tree,) = connection.execute("select json_serialize_sql(cast(? as varchar))", [statement.query]).fetchall()[0]
    waiting: list[Any] = [json.loads(tree)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            kind = node.get("type")
            if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _READS:
                return kind.removesuffix("_NODE").removesuffix("_QUERY").lower()
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return None
