"""How two files of one name differ, in a few words: tables by their rows, JSON by its keys, text by its lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from corpus_sql.findings import few
from corpus_sql.model import identifier, quoted

_MEMORY = "2GB"


def compare(before: Path, after: Path) -> str:
    """Say how two files differ whose bytes do."""
    compared = {".parquet": _tables, ".json": _json, ".jsonl": _text, ".sql": _text, ".md": _text, ".toml": _text}
    try:
        said = compared.get(before.suffix, _bytes)(before, after)
    except (OSError, ValueError, RecursionError, pa.ArrowException, duckdb.Error) as error:
        return f"it cannot be read: {str(error).strip().split(chr(10))[0]}"
    return said or "the same content, in other bytes"


def _tables(before: Path, after: Path) -> str:
    """In how many rows, and which is the first of them, by the first column that both have."""
    schemas = [pq.read_schema(path) for path in (before, after)]
    if not schemas[0].equals(schemas[1]):
        names = [set(schema.names) for schema in schemas]
        only = sorted(names[0] ^ names[1])
        return f"other columns: {', '.join(only)}" if only else "columns of other types or in another order"
    key = "id" if "id" in schemas[0].names else schemas[0].names[0]
    a, b = (f"(from read_parquet({quoted(path)}))" for path in (before, after))
    with duckdb.connect(":memory:", config={"memory_limit": _MEMORY}) as connection:
        connection.execute("set enable_progress_bar = false")
        sides = [f"({a} except all {b})", f"({b} except all {a})"]
        counts = [
            connection.execute(f"select count(*), min({identifier(key)}) from {side}").fetchone() for side in sides
        ]
        n, first = max(n for n, _ in counts), min((one for _, one in counts if one is not None), default="null")
        if not n:
            return "the same rows in another order" if _order(connection, a, key) != _order(connection, b, key) else ""
    return f"{n:,} row{'' if n == 1 else 's'}, the first {key} {first}"


def _order(connection: duckdb.DuckDBPyConnection, table: str, key: str) -> Any:
    return connection.execute(f"select md5(string_agg({identifier(key)}::varchar, chr(10))) from {table}").fetchone()


def _json(before: Path, after: Path) -> str:
    """At which keys."""
    a, b = (json.loads(path.read_text("utf-8")) for path in (before, after))
    return few(list(_keys(a, b, "")))


def _keys(a: Any, b: Any, path: str) -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted({*a, *b}):
            yield from _keys(a.get(key, _NONE), b.get(key, _NONE), f"{path}.{key}" if path else key)
        if list(a) != list(b) and a == b:
            yield f"{path or 'all'}: its order"
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from _keys(one, other, f"{path}[{i}]")
    elif a is _NONE or b is _NONE or json.dumps(a) != json.dumps(b):
        yield path


_NONE = object()


def _text(before: Path, after: Path) -> str:
    """In which line first."""
    a, b = (path.read_bytes().split(b"\n") for path in (before, after))
    at = next((i for i, (one, other) in enumerate(zip(a, b, strict=False), 1) if one != other), min(len(a), len(b)) + 1)
    return f"the first line that differs is {at}"


def _bytes(before: Path, after: Path) -> str:
    a, b = before.read_bytes(), after.read_bytes()
    at = next((i for i, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))
    return f"the first byte that differs is {at:,}"
