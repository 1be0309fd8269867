"""What stands between the engine and a UDF: plain arrays in, a checked result out, null for NaN and infinity."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from corpus_sql import limits
from corpus_sql.errors import CorpusError, ModelError, Problem
from corpus_sql.finite import finite
from corpus_sql.functions import Files, StreamUdf, Udf, where
from corpus_sql.purity import AS_COLUMN, watched
from corpus_sql.validation import shown


def adapted(
    udf: Udf,
    expected: str,
    files: Mapping[str, Files],
    done: Callable[[int, int], None],
    failed: Callable[[CorpusError], None],
) -> Callable[..., pa.Array]:
    """Return a UDF as the engine calls it.

    expected: the shape of its declared type. files: those that it may be given, by their SHA-256.
    done(rows, values that were NaN or infinite) is called after each batch, failed(error) before an exception leaves
    it, since the engine wraps what it gets.
    """

    def call(*columns: pa.ChunkedArray | pa.Array) -> pa.Array:
        arrays = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns]
        arrays = [a.chunk(0) if isinstance(a, pa.ChunkedArray) else a for a in arrays]
        values: list = arrays
        try:
            values = _with_files(udf, arrays, files)
            given = [path for i in udf.files if values[i] for path in values[i].paths]
            with watched(where(udf), Path(udf.file), given):
                result = udf.function(*values)
            if not isinstance(result, pa.Array):
                raise TypeError(f"returned {type(result).__name__}, not a pyarrow Array")
            if shape(result.type) != expected:
                raise TypeError(f"returned {result.type}, declared {udf.returns}")
            if len(result) != len(arrays[0]):
                raise TypeError(f"returned {len(result)} values for {len(arrays[0])} rows")
            result, bad = finite(result)
        except Exception as error:
            failed(_udf_error(udf, arrays, values, error))
            raise
        done(len(result), bad)
        return result

    # DuckDB counts the parameters of the function's signature and takes no *args
    kinds = inspect.Parameter.POSITIONAL_ONLY
    call.__signature__ = inspect.Signature([inspect.Parameter(f"a{i}", kinds) for i in range(len(udf.args))])
    return call


def streamed(
    udf: StreamUdf, batches: Iterable[pa.RecordBatch], settings: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Yield what a streamed function makes of the batches; raises ModelError for a fault of the function."""
    rows = None
    while True:
        try:
            with watched(where(udf), Path(udf.file), fix=AS_COLUMN):
                rows = iter(udf.function(batches, **settings)) if rows is None else rows
                batch = next(rows, None)
        except (CorpusError, duckdb.Error):
            raise
        except Exception as error:
            raise limits.of(error) or _fault(udf, error, "") from error
        if batch is None:
            return
        yield batch


def _with_files(udf: Udf, arrays: list[pa.Array], files: Mapping[str, Files]) -> list[pa.Array | Files | None]:
    """Put the files in the place of the arguments that name them, each by one SHA-256 for all rows."""
    values: list[pa.Array | Files | None] = list(arrays)
    for i in udf.files:
        keys = arrays[i].unique().to_pylist()
        if len(keys) > 1 or not set(keys) <= {None, *files}:
            raise ModelError(
                Problem(
                    where(udf),
                    f"its argument {i + 1} takes a file and got {shown(str(keys[0]))}",
                    'Pass a file that the config names: {{ file("NAME") }}.',
                )
            )
        values[i] = files[keys[0]] if keys and keys[0] is not None else None
    return values


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


def _udf_error(udf: Udf, arrays: list[pa.Array], values: list, error: Exception) -> CorpusError:
    """Name the UDF and, where one row alone fails, that row's first argument."""
    if isinstance(error, CorpusError):
        return error
    if met := limits.of(error) or limits.disk(error, Path(udf.file).name):
        return met
    head = ""
    for row in range(min(len(arrays[0]), 2048)):
        try:
            udf.function(*(value.slice(row, 1) if isinstance(value, pa.Array) else value for value in values))
        except Exception:
            head = f" at {str(arrays[0][row].as_py())[:80]!r}"
            break
    return _fault(udf, error, head)


def _fault(udf: Udf | StreamUdf, error: Exception, head: str) -> ModelError:
    return ModelError(
        Problem(
            where(udf),
            f"{type(error).__name__}: {error}{head}",
            "A UDF returns null for what it cannot measure; an exception is a fault of the UDF.",
        )
    )
