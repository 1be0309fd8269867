"""Ad-hoc SQL on a build, printed as a table, CSV or JSON; without a query, a prompt."""

from __future__ import annotations

import csv
import json
import math
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from corpus_sql import explain
from corpus_sql.errors import ConfigError, CorpusError, Problem

FORMATS = ("table", "csv", "json")


def ask(build: Path, query: str, format: str = "table") -> None:
    """Print the rows of one query to stdout."""
    if format not in FORMATS:
        raise ConfigError(Problem("--format", f"{format!r} is not one of {', '.join(FORMATS)}"))
    with explain.query(build, query) as connection:
        try:
            if format == "table":
                connection.sql(query).show(max_width=_width(), max_rows=1000)
            else:
                (_csv if format == "csv" else _json)(connection.execute(query))
        except duckdb.Error as error:
            raise ConfigError(Problem("query", str(error).strip())) from error


def _csv(found: duckdb.DuckDBPyConnection) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(column[0] for column in found.description)
    while rows := found.fetchmany(1024):
        writer.writerows([_plain(value) for value in row] for row in rows)


def _json(found: duckdb.DuckDBPyConnection) -> None:
    names: list[str] = []
    for column in found.description:  # an object has each key once
        again = sum(name == column[0] for name, *_ in found.description[: len(names)])
        names.append(f"{column[0]}_{again}" if again else column[0])
    separator = "["
    while rows := found.fetchmany(1024):
        for row in rows:
            entry = dict(zip(names, map(_value, row), strict=True))
            print(separator + "\n" + json.dumps(entry, ensure_ascii=False, default=str), end="")
            separator = ","
    print("\n]" if separator == "," else "[]")


def prompt(build: Path, format: str = "table") -> None:
    """Read statements until the end of input; each ends with a semicolon."""
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
        print(f"error: {error}", file=sys.stderr)


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
