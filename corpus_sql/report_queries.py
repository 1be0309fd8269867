"""The queries of reports, the dataset card and diff: models of sql/reports, asked of a build folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from corpus_sql.explain import open_build
from corpus_sql.model import identifier, parse
from corpus_sql.project import BUILT_IN, builtin

_ENVIRONMENT = jinja2.Environment(undefined=jinja2.StrictUndefined)


def query(stem: str) -> str:
    """Return the SQL of sql/reports/<stem>.sql, its header included."""
    relative = f"sql/reports/{stem}.sql"
    return parse(relative, builtin() / relative, BUILT_IN).text


class Tables:
    """A build opened for its reports; a context manager. It reads the folder and writes nothing."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self.connection = open_build(self.folder)

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def ask(self, stem: str, values: dict[str, Any] | None = None, **names: str) -> list[dict[str, Any]]:
        """Return the rows of sql/reports/<stem>.sql as dicts; values fill `$name`, names `{{ name }}`, as identifiers.

        A name is a column, or schema.table; each part is quoted.
        """
        quoted = {key: identifier(*name.split(".")) for key, name in names.items()}
        found = self.connection.execute(_ENVIRONMENT.from_string(query(stem)).render(quoted), values or {})
        columns = [column[0] for column in found.description]
        return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]

    def measured(self) -> dict[str, tuple[str, str]]:
        """Return each numeric column of the measures: name -> (its table, its type); the first table wins."""
        found: dict[str, tuple[str, str]] = {}
        for path in sorted((self.folder / "_audit" / "measures").glob("*.parquet")):
            table = f"measures.{path.stem}"
            for name, kind, *_ in self.connection.execute(f"describe {identifier('measures', path.stem)}").fetchall():
                if kind in ("DOUBLE", "FLOAT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT"):
                    found.setdefault(name, (table, kind))
        return found
