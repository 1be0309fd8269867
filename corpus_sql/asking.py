"""Ad-hoc SQL on a build, printed as a table, CSV or JSON; without a query, a prompt."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from corpus_sql import build_format, damaged, explain, shown
from corpus_sql.errors import ConfigError, CorpusError, DataError, Problem
from corpus_sql.validation import choice

FORMATS = ("table", "csv", "json")


def ask(build: Path, query: str, format: str = "table") -> None:
    """Print the rows of one query to stdout."""
    choice("--format", format, FORMATS)
    with explain.query(build, query) as connection:
        try:
            if format == "table":
                _table(connection, query)
            else:
                (_csv if format == "csv" else _json)(connection.execute(query))
        except duckdb.Error as error:
            if problems := _damage(Path(build), error):
                raise DataError(problems) from error
            raise ConfigError(Problem("query", str(error).strip())) from error


def _table(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    if connection.extract_statements(query)[0].type == duckdb.StatementType.EXPLAIN:  # drawn already
        plans = connection.execute(query).fetchall()
        print(*(shown.plain(plan) for _, plan in plans), sep="\n", end="")
        return
    drawn = io.StringIO()
    with contextlib.redirect_stdout(drawn):
        connection.sql(query).show(max_width=_width(), max_rows=1000)
    print(shown.plain(drawn.getvalue()), end="")


def _damage(build: Path, error: duckdb.Error) -> list[Problem]:
    """Return what is damaged where that may be why a query failed; all files are hashed for it, so not for a typo."""
    if isinstance(error, duckdb.CatalogException):  # a table whose file could not be opened has no view
        return [problem for problem in damaged.unopened(build) if f"name {Path(problem.where).stem} " in str(error)]
    if isinstance(error, (duckdb.ParserException, duckdb.BinderException, duckdb.ConversionException)):
        return []
    if isinstance(error, duckdb.PermissionException):
        return []
    return damaged.changed(build)


def _csv(found: duckdb.DuckDBPyConnection) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    cell = _escaped if sys.stdout.isatty() else _plain  # a file gets what is in the data, a terminal what it can show
    writer.writerow(cell(column[0]) for column in found.description)
    while rows := found.fetchmany(1024):
        writer.writerows([cell(value) for value in row] for row in rows)


def _json(found: duckdb.DuckDBPyConnection) -> None:
    names = _keys([column[0] for column in found.description])
    separator = "["
    while rows := found.fetchmany(1024):
        for row in rows:
            entry = dict(zip(names, map(_value, row), strict=True))
            print(separator + "\n" + shown.as_json(entry), end="")
            separator = ","
    print("\n]" if separator == "," else "[]")


def _keys(names: list[str]) -> list[str]:
    """Return the names as keys of one object, each once: a repeated name gets the first number that is free."""
    taken, keys = set(names), []
    for i, name in enumerate(names):
        key, n = name, 0
        if name in names[:i]:
            while key in taken:
                n += 1
                key = f"{name}_{n}"
            taken.add(key)
        keys.append(key)
    return keys


def prompt(build: Path, format: str = "table") -> None:
    """Read statements until the end of input; each ends with a semicolon."""
    build_format.check(build, least=1)
    with explain.open_build(build) as connection:
        names = [
            row[0]
            for row in connection.execute(
                "select case schema_name when 'main' then '' else schema_name || '.' end || view_name "
                "from duckdb_views() where not internal order by 1"
            ).fetchall()
        ]
    interactive = sys.stdin.isatty()
    if interactive:
        import readline  # noqa: F401  gives the prompt a history

        print(f"{build}: {', '.join(names)}\nEnd a statement with ; and leave with Ctrl-D.", file=sys.stderr)
    waiting = ""
    while True:
        try:
            line = input(("sql> " if not waiting else "...> ") if interactive else "")
        except EOFError:
            break
        waiting += line + "\n"
        if not line.rstrip().endswith(";"):
            continue
        _answer(build, waiting, format)
        waiting = ""
    if waiting.strip():
        _answer(build, waiting, format)


def _answer(build: Path, statement: str, format: str) -> None:
    try:
        ask(build, statement, format)
    except CorpusError as error:
        print(f"error: {shown.plain(str(error))}", file=sys.stderr)


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((160, 40)).columns


def _value(value: Any) -> Any:
    """Return what JSON can hold: bytes as hex, no NaN and no infinity, decimals as numbers."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (list, tuple)):
        return [_value(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _value(one) for key, one in value.items()}
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """Return what a CSV cell holds: lists, structs and truth values as JSON, null and NaN as nothing."""
    value = _value(value)
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (bool, list, dict)) else value


def _escaped(value: Any) -> Any:
    """Return what a CSV cell holds, for a terminal."""
    value = _plain(value)
    return shown.plain(value) if isinstance(value, str) else value
