"""A statement as DuckDB's own parser sees it: what it reads and calls, and what in it would not be the same every time.

The parser's tree knows no comments and no white space, so its hash is that of what the engine gets.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb

from corpus_sql.errors import ModelError, Problem

# table functions that read nothing outside the statement
_TABLES = {"range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree"}
# names that the binder takes for functions where there is no column of that name (GetSQLValueFunctionName in DuckDB)
_BARE = {
    *("current_catalog", "current_date", "current_role", "current_schema", "current_time", "current_timestamp"),
    *("current_user", "localtime", "localtimestamp", "session_user", "user"),
}
# called stable by the engine, but: age(x) counts from today, and these aggregates sample or depend on the threads
_DRIFTING = {
    ("age", 1),
    ("approx_quantile", 2),
    ("approx_top_k", 2),
    ("reservoir_quantile", 2),
    ("reservoir_quantile", 3),
}
_FIXES = {
    "call": "A build is the same every time: name the value in the config, or let a UDF compute it from the text.",
    "read": "Bring the data in with corpus-sql import, or put a short list into the config.",
    "sample": "Take a share by the hash of the text: where content_hash64 % 100 = 0, of measures.content.",
}


@dataclass(frozen=True)
class Parsed:
    """relations, functions: the names that it reads and calls, each sorted. digest: SHA-256 of its tree. outside: each
    thing that differs between two runs or lies outside the build, as (word in the SQL, what is wrong, what to do)."""

    relations: tuple[str, ...]
    functions: tuple[str, ...]
    digest: str
    outside: tuple[tuple[str, str, str], ...]


def parse(sql: str, where: str, columns: Collection[str] = ()) -> Parsed:
    """Read one SELECT; raises ModelError with the place of a syntax error.

    columns: names of columns, which are no functions although the engine has functions that are called by name alone.
    """
    tree = _tree(sql)
    if tree.get("error"):
        place = int(tree.get("position") or 0)
        line = sql.count("\n", 0, place) + 1
        raise ModelError(
            Problem(f"{where}, line {line} of the compiled SQL", str(tree.get("error_message")), "Mend the model.")
        )
    relations, functions, outside = set(), set(), {}
    tables, columns = _named_tables(tree), {*columns, *_named_columns(tree)}
    for node in _nodes(tree):
        if node.get("type") == "BASE_TABLE" and node.get("schema_name"):
            relations.add(f"{node['schema_name']}.{node['table_name']}")
        if node.get("type") == "FUNCTION" and node.get("function_name"):
            functions.add(node["function_name"])
        for kind, word, what in _outside(node, tables, columns):
            outside[word, what, _FIXES[kind]] = None
    for node in _nodes(tree):
        node.pop("query_location", None)
        node.pop("query_location_length", None)
    digest = hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()
    return Parsed(tuple(sorted(relations)), tuple(sorted(functions)), digest, tuple(sorted(outside)))


def _tree(sql: str) -> dict[str, Any]:
    # bound as a parameter, json_serialize_sql wants a constant; the parser needs no tables
    (tree,) = duckdb.execute("select json_serialize_sql(cast(? as varchar))", [sql]).fetchall()[0]
    return json.loads(tree)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _named_tables(tree: Any) -> set[str]:
    """Return the names of WITH."""
    return {entry["key"].lower() for node in _nodes(tree) for entry in (node.get("cte_map") or {}).get("map", ())}


def _named_columns(tree: Any) -> set[str]:
    """Return the names that a statement gives to columns; `current_date as current_date` gives none."""
    return {node["alias"] for node in _nodes(tree) if node.get("alias") and node.get("column_names") != [node["alias"]]}


def _outside(node: dict[str, Any], tables: set[str], columns: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, word, what) of one node, if what it stands for is not the build's own."""
    kind = node.get("type")
    if node.get("sample"):
        yield "sample", "sample", "draws a sample, which differs between two runs"
    if kind == "BASE_TABLE":
        name = node.get("table_name", "")
        if node.get("catalog_name"):
            yield "read", name, f"reads {node['catalog_name']}.{node['schema_name']}.{name}, which is no relation"
        elif not node.get("schema_name") and name.lower() not in tables:
            yield "read", name, f"reads {name}, which is neither a relation, <folder>.<name>, nor named in WITH"
    if kind == "TABLE_FUNCTION":
        name = node["function"].get("function_name", "").lower()
        if name not in _TABLES:
            yield "read", name, f"calls {name}(), which reads what lies outside the build"
    if kind == "FUNCTION" and node.get("function_name") and _unstable(node, ()):
        yield "call", node["function_name"], f"calls {node['function_name']}(), which differs between two runs"
    if kind == "COLUMN_REF" and len(node["column_names"]) == 1:
        (name,) = node["column_names"]
        if name.lower() in _BARE and name not in columns:
            yield "call", name, f"calls {name}, which differs between two runs"


def _unstable(node: dict[str, Any], seen: tuple[str, ...]) -> bool:
    """Whether the engine's own catalogue knows no stable form of a function with so many arguments."""
    name, count = node["function_name"].lower(), len(node.get("arguments") or node.get("children") or ())
    if (name, count) in _DRIFTING:
        return True
    forms = _catalogue().get(name, ())
    fitting = [form for form in forms if form[1] == count or form[2]] or forms
    if not fitting or all(form[0] in ("table", "table_macro", "pragma") for form in fitting):
        return False  # not the engine's, or judged as a table
    return not any(_stable(name, form, seen) for form in fitting)


def _stable(name: str, form: tuple, seen: tuple[str, ...]) -> bool:
    kind, _, _, stability, definition = form
    if kind != "macro":
        return stability == "CONSISTENT"
    if name in seen or not definition:
        return False
    for node in _nodes(_tree(f"select {definition}")):
        if node.get("type") == "FUNCTION" and node.get("function_name") and _unstable(node, (*seen, name)):
            return False
        if any(True for _ in _outside({**node, "function_name": None}, set(), ())):
            return False
    return True


@cache
def _catalogue() -> dict[str, list[tuple]]:
    """Return the engine's functions: name -> (kind, arguments, takes more, stability, definition of a macro)."""
    found: dict[str, list[tuple]] = {}
    for name, *form in duckdb.execute(
        "select lower(function_name), function_type, len(parameters), varargs is not null, stability, macro_definition"
        " from duckdb_functions() order by all"
    ).fetchall():
        found.setdefault(name, []).append(tuple(form))
    return found
