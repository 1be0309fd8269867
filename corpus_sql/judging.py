"""The stages of a finished build judged once more: the SQL that ran, over the tables that it left."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb

from corpus_sql import build_format, damaged
from corpus_sql import rules as all_rules
from corpus_sql.explain import open_build
from corpus_sql.model import identifier, quoted
from corpus_sql.rules import Rule

_LEFT = ("relations.languages", "relations.expansions", "read.documents")  # made again from the audit tables


def open_for_judging(folder: Path) -> duckdb.DuckDBPyConnection:
    """Open a build with the relations that stages read besides measures."""
    connection = open_build(folder)
    add_relations(connection)
    return connection


def add_relations(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the relations that stages read besides measures, from the audit tables of an opened build."""
    run = connection.execute
    run("create schema relations")
    run("create view relations.languages as select id, lang from main.documents")
    if run("select 1 from duckdb_views() where view_name = 'expansions'").fetchall():
        run("create view relations.expansions as from main.expansions")
    run("create schema read")
    run("create view read.documents as select id, source_id, k, url, n_chars from main.documents")
    run("create schema stages")
    for (stage,) in run("select distinct stage from decisions where seq > 0 order by all").fetchall():
        of_stage = f"select id, verdict, hits from main.decisions where stage = {quoted(stage)}"
        run(f"create view {identifier('stages', stage)} as {of_stage}")


def compiled_sql(folder: Path, kind: str, name: str) -> str:
    """The SELECT that made a relation, from _audit/compiled/."""
    _, _, sql = (folder / "_audit" / "compiled" / kind / f"{name}.sql").read_text("utf-8").partition("\n")
    return sql


def stage_sql(folder: Path, stage: str) -> str:
    """The SELECT that a stage ran."""
    return compiled_sql(folder, "stages", stage)


def can_judge(folder: Path, stage: str) -> bool:
    """Whether all that a stage read is in the build: measures, languages, decisions, but no working relation."""
    record = damaged.read_object(folder, "_audit/build.json")
    return all(
        name.startswith(("measures.", "stages."))
        or name in ("relations.languages", "relations.expansions", "read.documents")
        for name in record["relations"][f"stages.{stage}"]["inputs"]
    )


def rules(folder: Path, stage: str | None = None) -> list[Rule]:
    """All rules of the build's stages, or of one, that judge a metric, in the order in which they judge.

    None of a build of an older format, which `why` and `sql` read all the same.
    """
    if (build_format.read(folder) or build_format.RULES) < build_format.RULES:
        return []
    record = damaged.read_object(folder, "_audit/build.json")
    return [rule for rule in all_rules.of(record) if rule.metric and stage in (None, rule.stage)]


def as_if_fired(folder: Path, rule: Rule) -> str:
    """The stage's SQL in which this rule fires for every document, so that value and threshold of each are told."""
    return _fired(stage_sql(folder, rule.stage), rule)


def _fired(sql: str, rule: Rule) -> str:
    return sql.replace(
        f"case when {rule.condition} then {{'verdict': 'reject', 'reason': '{rule.reason}',",
        f"case when true then {{'verdict': 'reject', 'reason': '{rule.reason}',",
    )


def passed(connection: duckdb.DuckDBPyConnection, folder: Path, stage: str, id: str) -> list[dict[str, Any]]:
    """Return the rules with a threshold that a document passed at a stage: reason, metric, value and threshold of each.

    connection: as open_for_judging gives it. The value is null where it was not measured. Empty for a stage that reads
    more than the build holds.
    """
    sql, own = stage_sql(folder, stage), rules(folder, stage)
    if not own or not can_judge(folder, stage):
        return []
    for rule in own:
        sql = _fired(sql, rule)
    try:
        found = connection.execute(f"select unnest(hits) as hit from ({sql}) as fired where id = ?", [id]).fetchall()
    except (duckdb.BinderException, duckdb.CatalogException):  # a user's own, over the text or with a UDF
        return []
    told = {rule.reason: rule for rule in own if not rule.condition.startswith(("false", "(false)"))}
    hits = [hit for (hit,) in found if hit["reason"] in told]
    for hit in hits:  # some rules name their bound only where they fire
        hit["threshold"] = told[hit["reason"]].bound if hit["threshold"] is None else hit["threshold"]
    return [
        {
            "reason": hit["reason"],
            "metric": hit["metric"],
            "value": hit["value"] if hit["value"] is not None and math.isfinite(hit["value"]) else None,
            "threshold": hit["threshold"],
        }
        for hit in hits
        if hit["threshold"] is not None
    ]
