"""NaN and infinity are no measures: what holds them is null where it enters the work file, and is counted.

A NaN is greater than every number in SQL, so it would be rejected under a maximum and pass under a minimum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from corpus_sql.model import identifier, quoted

# the hits of a stage that hold no finite value; the macro `reject` makes one for a rule that could not judge
HITS = "list_filter(hits, lambda h: coalesce(isfinite(h.value), true))"
METRICS = """
select coalesce(hit.metric, 'hits') as metric
from (select unnest(hits) as hit from {}) as every_hit
where not isfinite(hit.value)
"""


def finite(array: pa.Array) -> tuple[pa.Array, int]:
    """Return an array with null in the place of each NaN and infinity, in lists and structs too, and their number."""
    bad = sum(pc.sum(pc.invert(pc.is_finite(leaf))).as_py() or 0 for leaf in _floats(array))
    if not bad:
        return array, 0
    return pa.array([_plain(value) for value in array.to_pylist()], array.type), bad


def _floats(array: pa.Array) -> Iterator[pa.Array]:
    kind = array.type
    if pa.types.is_floating(kind):
        yield array
    elif pa.types.is_struct(kind):
        for child in array.flatten():
            yield from _floats(child)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _floats(array.flatten())


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def columns_sql(rows: duckdb.DuckDBPyRelation, hits: str | None) -> dict[str, str]:
    """Return column -> SQL of its finite value, for those that can hold another. hits: stands for the column hits."""
    found = {}
    for column, kind in zip(rows.columns, rows.types, strict=True):
        value = hits if hits and column == "hits" else identifier(column)
        if sql := finite_sql(value, kind):
            found[column] = sql
    return found


def finite_sql(value: str, kind: duckdb.sqltypes.DuckDBPyType, depth: int = 0) -> str | None:
    """Return SQL for a value with null in the place of each NaN and infinity; None for a type that holds neither."""
    if kind.id in ("double", "float"):
        return f"case when isfinite({value}) then {value} end"
    if kind.id in ("list", "array"):
        inner = finite_sql(f"x{depth}", dict(kind.children)["child"], depth + 1)
        return inner and f"cast(list_transform({value}, lambda x{depth}: {inner}) as {kind})"
    if kind.id == "map":
        return _finite_map(value, kind, depth)
    if kind.id == "struct":
        parts = {name: (f"struct_extract({value}, {quoted(name)})", child) for name, child in kind.children}
        inside = {name: finite_sql(part, child, depth) for name, (part, child) in parts.items()}
        if not any(inside.values()):
            return None
        fields = ", ".join(f"{quoted(name)}: {inside[name] or parts[name][0]}" for name in parts)
        return f"case when {value} is not null then {{{fields}}} end"
    return None


def _finite_map(value: str, kind: duckdb.sqltypes.DuckDBPyType, depth: int) -> str | None:
    """A key cannot be null: where it holds NaN or infinity, the entry goes."""
    entry, parts = f"x{depth}", dict(kind.children)
    key = finite_sql(f"{entry}.key", parts["key"], depth + 1)
    inner = finite_sql(f"{entry}.value", parts["value"], depth + 1)
    if not key and not inner:
        return None
    entries = f"map_entries({value})"
    if key:
        entries = f"list_filter({entries}, lambda {entry}: {entry}.key is not distinct from {key})"
    fields = f"{{'key': {entry}.key, 'value': {inner or f'{entry}.value'}}}"
    pairs = f"list_transform({entries}, lambda {entry}: {fields})"
    return f"case when {value} is not null then cast(map_from_entries({pairs}) as {kind}) end"
