"""What stands between the engine and a UDF: plain arrays in, a checked result out, null for NaN and infinity."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from corpus_sql import limits
from corpus_sql.errors import CorpusError, ModelError, Problem
from corpus_sql.finite import finite
from corpus_sql.functions import Udf


def adapted(
    udf: Udf, expected: str, done: Callable[[int, int], None], failed: Callable[[CorpusError], None]
) -> Callable[..., pa.Array]:
    """Return a UDF as the engine calls it.

    expected: the shape of its declared type. done(rows, values that were NaN or infinite) is called after each batch,
    failed(error) before an exception leaves it, since the engine wraps what it gets.
    """

    def call(*columns: pa.ChunkedArray | pa.Array) -> pa.Array:
        arrays = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns]
        arrays = [a.chunk(0) if isinstance(a, pa.ChunkedArray) else a for a in arrays]
        try:
            result = udf.function(*arrays)
            if not isinstance(result, pa.Array):
                raise TypeError(f"returned {type(result).__name__}, not a pyarrow Array")
            if shape(result.type) != expected:
                raise TypeError(f"returned {result.type}, declared {udf.returns}")
            if len(result) != len(arrays[0]):
                raise TypeError(f"returned {len(result)} values for {len(arrays[0])} rows")
            result, bad = finite(result)
        except Exception as error:
            failed(_udf_error(udf, arrays, error))
            raise
        done(len(result), bad)
        return result

    # DuckDB counts the parameters of the function's signature and takes no *args
    kinds = inspect.Parameter.POSITIONAL_ONLY
    call.__signature__ = inspect.Signature([inspect.Parameter(f"a{i}", kinds) for i in range(len(udf.args))])
    return call


def shape(kind: pa.DataType) -> str:
    """Spell an Arrow type without the width of its offsets."""
    if pa.types.is_struct(kind):
        return "struct<" + ", ".join(f"{field.name}: {shape(field.type)}" for field in kind) + ">"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list<{shape(kind.value_type)}>"
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "string"
    if pa.types.is_large_binary(kind):
        return "binary"
    return str(kind)


def _udf_error(udf: Udf, arrays: list[pa.Array], error: Exception) -> CorpusError:
    """Name the UDF and, where one row alone fails, that row's first argument."""
    if isinstance(error, CorpusError):
        return error
    if met := limits.of(error) or limits.disk(error, Path(udf.file).name):
        return met
    head = ""
    for row in range(min(len(arrays[0]), 2048)):
        try:
            udf.function(*(array.slice(row, 1) for array in arrays))
        except Exception:
            head = f" at {str(arrays[0][row].as_py())[:80]!r}"
            break
    return ModelError(
        Problem(
            f"UDF {udf.name} ({Path(udf.file).name})",
            f"{type(error).__name__}: {error}{head}",
            "A UDF returns null for what it cannot measure; an exception is a fault of the UDF.",
        )
    )
