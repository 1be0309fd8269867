"""What the user should be told of a build once its relations are made: no error, but nothing to pass over either."""

from __future__ import annotations

from corpus_sql.config import Config
from corpus_sql.engine_duckdb import DuckDB

FIRST = 5  # ids or names that a notice shows


def notices(engine: DuckDB, config: Config) -> list[str]:
    """Return the notices of a build, a sentence each; the same for any thread count."""
    return [*_dangling(engine)]


def _dangling(engine: DuckDB) -> list[str]:
    ((parents, documents),) = engine.values(
        "select count(distinct missing), count(distinct id) from relations.parents where status = 'dangling'"
    )
    if not parents:
        return []
    first = engine.values(
        "select named from (select distinct missing, named from relations.parents where status = 'dangling')"
        f" order by named, missing limit {FIRST}"
    )
    names = ", ".join(name for (name,) in first) + (", …" if parents > FIRST else "")
    are = "parent is" if parents == 1 else "parents are"
    return [f"{parents:,} {are} in no raw file, named by {_count(documents, 'document')}: {names}; the table parents lists them"]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
