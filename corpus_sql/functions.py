"""The marks `@udf` and `@stream_udf`: one pure Python function is one SQL function, or one pass over a relation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from corpus_sql import kernel_cache

kernel_cache.folder()  # for kernels of a user's own, which may import numba themselves


@dataclass(frozen=True)
class Files:
    """What the config names under one name: a file, or an ordered set of files that are told apart by their names.

    sha256: of the file, or of the set as `corpus_sql.input_files.hashed` says, 64 hex digits; equal contents are equal,
    so that a function may cache what it reads by it. names: one for each path, none where it is one file.
    """

    sha256: str
    paths: tuple[Path, ...]
    names: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The one file; raises ValueError for a set of several."""
        (path,) = self.paths
        return path


@dataclass(frozen=True)
class Udf:
    """What the engine needs to register a marked function. Types are spelled as DuckDB spells them."""

    name: str
    function: Callable[..., pa.Array]
    args: tuple[str, ...]
    returns: str
    requires: tuple[str, ...]  # distributions whose versions change the result
    file: str
    files: tuple[int, ...] = ()  # places of the arguments that name files; the function gets these as Files


@dataclass(frozen=True)
class StreamUdf:
    """A function over the rows of a whole relation, in the order of its query."""

    name: str
    function: Callable[..., Iterator[pa.RecordBatch]]
    returns: tuple[tuple[str, str], ...]  # (column, type as DuckDB spells it)
    requires: tuple[str, ...]
    file: str


def where(one: Udf | StreamUdf) -> str:
    """Return how a problem names a marked function."""
    return f"UDF {one.name} ({Path(one.file).name})"


def udf(
    *, args: tuple[str, ...], returns: str, requires: tuple[str, ...] = (), files: tuple[str, ...] = ()
) -> Callable:
    """Mark a function as a SQL function; the function itself is returned unchanged.

    The function takes one `pa.Array` per argument and returns one `pa.Array` of the same length: row i depends on
    row i alone, null in gives null out, NaN never leaves it. It measures or rewrites; it never decides.

    files: parameters that take files. In SQL they are VARCHAR and get `{{ file("name") }}`; the function gets the
    `Files`, or None where SQL passes null. It opens no other file.
    """

    def mark(function: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
        code = function.__code__
        places = tuple(code.co_varnames[: code.co_argcount].index(name) for name in files)
        function.udf = Udf(function.__name__, function, tuple(args), returns, tuple(requires), code.co_filename, places)
        return function

    return mark


def stream_udf(*, returns: tuple[tuple[str, str], ...], requires: tuple[str, ...] = ()) -> Callable:
    """Mark `f(batches, **settings) -> batches` as usable in the header of a model: `-- stream: f setting=1`.

    The rows of the model's SELECT arrive as record batches, in the order of its ORDER BY and of any size; what the
    function yields is the relation. It must not depend on how the rows are cut into batches, and opens no file.
    """

    def mark(function: Callable[..., Iterator[pa.RecordBatch]]) -> Callable[..., Iterator[pa.RecordBatch]]:
        function.udf = StreamUdf(
            function.__name__, function, tuple(returns), tuple(requires), function.__code__.co_filename
        )
        return function

    return mark
