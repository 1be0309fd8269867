"""A published build held open for verification: its JSON files, its tables, and where raw lies, if it lies there."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import duckdb

from corpus_sql.explain import open_build
from corpus_sql.findings import EXAMPLES, Say, few
from corpus_sql.model import parse
from corpus_sql.progress import Report
from corpus_sql.project import BUILT_IN, builtin


class Opened:
    """Everything is read when it is asked for first, so that a damaged file stops only the checks that need it."""

    def __init__(self, folder: Path, report: Report | None = None):
        self.folder = Path(folder).resolve()
        self.report = report  # where the progress of what takes long is shown

    @property
    def audit(self) -> Path:
        """The folder of the audit tables."""
        return self.folder / "_audit"

    @property
    def corpus(self) -> Path:
        """The folder that holds the ledger and raw/, where the build lies in its layout."""
        return self.folder.parents[1] if len(self.folder.parents) > 1 else self.folder.parent

    @property
    def roots(self) -> list[Path]:
        """Where the config most likely lay, so where its relative paths start; the build's own folder last.

        A build doesn't know the place of its config. In its layout that is the folder that [paths] artifacts starts
        from.
        """
        artifacts = PurePath(self.written.get("paths", {}).get("artifacts", "artifacts"))
        if not artifacts.is_absolute() and ".." not in artifacts.parts and len(self.folder.parents) > 2:
            root = self.folder.parents[2]
            if not artifacts.parts or root.parts[-len(artifacts.parts) :] == artifacts.parts:
                return [Path(*root.parts[: len(root.parts) - len(artifacts.parts)]), self.folder]
        return [self.folder]

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """_MANIFEST.json."""
        return json.loads((self.folder / "_MANIFEST.json").read_text("utf-8"))

    @cached_property
    def record(self) -> dict[str, Any]:
        """_audit/build.json."""
        return json.loads((self.audit / "build.json").read_text("utf-8"))

    @cached_property
    def config(self) -> dict[str, Any]:
        """Every key of the config with its default, as the build recorded it."""
        return self.record["config"]

    @cached_property
    def written(self) -> dict[str, Any]:
        """What the user's config file says."""
        return tomllib.loads((self.folder / "config.toml").read_bytes().decode("utf-8-sig"))

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The build's tables, and `shard_list`: each shard by its name, with the place of its first row."""
        connection = open_build(self.folder)
        connection.execute('create table shard_list (name varchar, first_row bigint, "rows" bigint)')
        first = 0
        for shard in self.manifest["shards"]:
            connection.execute("insert into shard_list values (?, ?, ?)", [shard["name"], first, shard["rows"]])
            first += shard["rows"]
        return connection

    def close(self) -> None:
        """Close the tables, if they were opened."""
        if "connection" in self.__dict__:
            self.connection.close()

    def rows(self, sql: str, values: list[Any] | None = None) -> list[tuple]:
        """All rows of a small result."""
        return self.connection.execute(sql, values or []).fetchall()

    def one(self, sql: str) -> Any:
        """The first value of the first row."""
        return self.rows(sql)[0][0]

    def stream(self, sql: str, values: list[Any] | None = None, size: int = 256) -> Iterator[tuple]:
        """Rows in order, `size` at a time in memory; other queries may run meanwhile."""
        cursor = self.connection.cursor().execute(sql, values or [])
        while found := cursor.fetchmany(size):
            yield from found

    def bad_rows(self, say: Say, folder: str, stem: str) -> None:
        """Run a model that returns the rows that should not be there; its first sentence says what holds."""
        relative = f"sql/{folder}/{stem}.sql"
        model = parse(relative, builtin() / relative, BUILT_IN)
        found = self.connection.execute(f"from (\n{model.text}\n) as bad order by all")
        names = [column[0] for column in found.description]
        examples, count = found.fetchmany(EXAMPLES), 0
        while more := len(found.fetchmany(4096)):
            count += more
        if examples:
            shown = [", ".join(f"{n}={v!r}" for n, v in zip(names, row, strict=True)) for row in examples]
            say.error(f"{model.summary} It is not so: {few(shown, len(examples) + count)}")
