"""The mark `@udf`: one pure Python function becomes one SQL function of the same name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Udf:
    """What the engine needs to register a marked function. Types are spelled as DuckDB spells them."""

    name: str
    function: Callable[..., pa.Array]
    args: tuple[str, ...]
    returns: str
    requires: tuple[str, ...]  # names of the distributions whose versions change the result
    file: str


def udf(*, args: tuple[str, ...], returns: str, requires: tuple[str, ...] = ()) -> Callable:
    """Mark a function as a SQL function; the function itself is returned unchanged.

    The function takes one `pa.Array` per argument and returns one `pa.Array` of the same length: row i depends on
    row i alone, null in gives null out, NaN never leaves it. It measures or rewrites; it never decides.
    """

    def mark(function: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
        function.udf = Udf(function.__name__, function, tuple(args), returns, tuple(requires), function.__code__.co_filename)
        return function

    return mark
