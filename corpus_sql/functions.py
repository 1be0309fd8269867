"""The marks `@udf` and `@stream_udf`: one pure Python function is one SQL function, or one pass over a relation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from corpus_sql import kernel_cache

kernel_cache.folder()  # for kernels of a user's own, which may import numba themselves


@dataclass(frozen=True)
class Udf:
    """What the engine needs to register a marked function. Types are spelled as DuckDB spells them."""

    name: str
    function: Callable[..., pa.Array]
    args: tuple[str, ...]
    returns: str
    requires: tuple[str, ...]  # distributions whose versions change the result
    file: str


@dataclass(frozen=True)
class StreamUdf:
    """A function over the rows of a whole relation, in the order of its query."""

    name: str
    function: Callable[..., Iterator[pa.RecordBatch]]
    returns: tuple[tuple[str, str], ...]  # (column, type as DuckDB spells it)
    requires: tuple[str, ...]
    file: str


def udf(*, args: tuple[str, ...], returns: str, requires: tuple[str, ...] = ()) -> Callable:
    """Mark a function as a SQL function; the function itself is returned unchanged.

    The function takes one `pa.Array` per argument and returns one `pa.Array` of the same length: row i depends on
    row i alone, null in gives null out, NaN never leaves it. It measures or rewrites; it never decides.
    """

    def mark(function: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
        function.udf = Udf(
            function.__name__, function, tuple(args), returns, tuple(requires), function.__code__.co_filename
        )
        return function

    return mark


def stream_udf(*, returns: tuple[tuple[str, str], ...], requires: tuple[str, ...] = ()) -> Callable:
    """Mark `f(batches, **settings) -> batches` as usable in the header of a model: `-- stream: f setting=1`.

    The rows of the model's SELECT arrive as record batches, in the order of its ORDER BY and of any size; what the
    function yields is the relation. It must not depend on how the rows are cut into batches.
    """

    def mark(function: Callable[..., Iterator[pa.RecordBatch]]) -> Callable[..., Iterator[pa.RecordBatch]]:
        function.udf = StreamUdf(
            function.__name__, function, tuple(returns), tuple(requires), function.__code__.co_filename
        )
        return function

    return mark
