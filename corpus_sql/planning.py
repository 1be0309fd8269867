"""The plan of a build: which relations there are, in order, what each is made from, and why it has to run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpus_sql import earlier, first_look, ledger, model_files, protected, raw
from corpus_sql.compile import Compiled, Compiler, build_order, fingerprint
from corpus_sql.config import Config
from corpus_sql.engine_duckdb import DuckDB
from corpus_sql.errors import Problem
from corpus_sql.functions import Files
from corpus_sql.model import BUILDS, EARLIER, READ
from corpus_sql.parts import NEW
from corpus_sql.project import BUILT_IN, Project, code_hash
from corpus_sql.publish import EXPORTS
from corpus_sql.validation import nearest

Stored = Mapping[str, list[tuple[dict[str, Any], int]]]  # relation -> (what it was made from, rows) of each result
_UNREAD = pa.schema([("file", pa.string()), ("source_id", pa.string()), ("bytes", pa.int64()), ("status", pa.string())])
# the relations that no model makes
SHAPES = dict(zip((*READ, EARLIER), (raw.DOCUMENTS, raw.QUARANTINE, raw.FILES, _UNREAD, earlier.SCHEMA), strict=True))
_READ_TOOLS = ("pyarrow", "orjson")


@dataclass
class Step:
    """One relation of the build: reused when `why` is empty."""

    name: str
    compiled: Compiled | None  # None for what the reader makes
    made_from: dict[str, Any]
    why: str
    rows: int = 0


def settings(config: Config) -> tuple[dict[str, Any], list[str]]:
    """Return what templates may name besides the config, and what the user should be told of it."""
    by_group = config.values["split"]["method"] == "group_hash"
    found = {
        "splits": _splits(config.values["split"]),
        # under group_hash near duplicates are found over all documents, so that dropping one never parts its relatives
        "near_pairs": "near_dedup.all_pairs"
        if by_group
        else "near_dedup.pairs"
        if "near_dedup" in config.stages
        else "relations.no_pairs",
    }
    model, description = model_files.of(config)
    notices = [] if model else [description]
    if "decontaminate" in config.stages:
        files, table = config.matching("decontaminate", "protected"), config.values["decontaminate"]
        items = protected.protected_items(files, table["ngram"], table["min_tokens"])
        if short := [item.id for item in items if item.status == "unprotected"]:
            notices.append(
                f"{len(short)} of {len(items)} protected items have fewer than {table['min_tokens']} tokens "
                f"and are not looked for: {', '.join(short)}"
            )
    return found, notices


def _splits(split: Mapping[str, Any]) -> str:
    if split["method"] != "group_hash":
        return "outputs.splits_by_content"
    return "outputs.splits_of_groups" if "stratify" in split or "against" in split else "outputs.splits_by_group"


def compile_all(project: Project, files: Mapping[str, Files | None]) -> tuple[list[Compiled], list[str]]:
    """Compile every model that this build needs, each after its inputs; raises with every problem found.

    files: what the config names besides raw files, as input_files gives it.
    """
    known, notices = settings(project.config)
    if project.config.first:
        notices.insert(0, first_look.said(project.config.first))
    compiler = Compiler(project, known, files)
    own_measures = [m.name for m in project.models.values() if m.folder == "measures" and m.layer != BUILT_IN]
    targets = [f"stages.{stage}" for stage in project.config.stages]
    targets += (
        ["measures.language", "measures.content", *own_measures]
        + [f"outputs.{name}" for name in EXPORTS]
        + ["outputs.shards", "outputs.cross_split"]
    )

    @cache
    def find(name: str) -> Compiled | None:
        model = project.models.get(name)
        return compiler.compile(model) if model and model.folder in BUILDS else None

    def missing(name: str, reader: str) -> Problem:
        near = nearest(name, [*project.models, *READ])
        return Problem(reader, f"reads {name}, which is no relation", f"Did you mean {near}?" if near else "")

    made = {*READ, EARLIER} if earlier.find(project.config) else set(READ)
    order = build_order(find, targets, made, missing)
    return order, notices + unset(project) + unread(project.config, order)


def unset(project: Project) -> list[str]:
    """Return a notice for each listed stage of the user's own with a key that no table sets: a rule that is off."""
    found = []
    for stage in project.config.stages:
        model = project.models[f"stages.{stage}"]
        given = {key for table in project.config.limits(stage).values() for key in table}
        if model.layer != BUILT_IN and (missing := [key for key in model.config_keys if key not in given]):
            found.append(f"[{stage}] {', '.join(missing)}: not set, so what it limits is not limited")
    return found


def unread(config: Config, compiled: list[Compiled]) -> list[str]:
    """Return a notice for each entry of [files] that no model passes to a function."""
    read = {name for one in compiled for name in one.files}
    return [f"[files] {name}: no model of this build reads it" for name in config.values["files"] if name not in read]


def make_plan(
    project: Project, gate: ledger.Gate, files: Mapping[str, Files | None], engine: DuckDB, cache: bool
) -> tuple[list[Step], list[str]]:
    """Return every relation of the build in order, with what it is made from and why it has to run, if it has to."""
    compiled, notices = compile_all(project, files)
    requires = {name: one.requires for name, one in project.udfs.items()}
    tools = sorted({tool for one in compiled for name in one.functions for tool in requires[name]} | set(_READ_TOOLS))
    versions = engine.versions(tools)
    have = engine.state() if cache else {}
    steps = []
    reading = {
        "files": {file.name: [file.sha256, file.license_spdx] for file in gate.files},
        "max_line_bytes": project.config.max_line_bytes,
        **_first(project.config, gate),
        "code": code_hash(Path(raw.__file__)),
        "tools": {name: versions[name] for name in ("python", *_READ_TOOLS)},
    }
    unread = {
        "files": [[source, name, size] for source, name, size in gate.ignored],
        "superseded": [[s, n, b] for s, n, b in gate.superseded],
    }
    for names, made_from in ((READ[:3], reading), (READ[3:], unread)):
        made_from["fingerprint"] = hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()
        steps += [_step(name, None, made_from, have) for name in names]
    if builds := earlier.find(project.config):
        steps.append(_step(EARLIER, None, earlier.made_from(builds), have))
    prints = {step.name: step.made_from["fingerprint"] for step in steps}
    for one in compiled:
        needed = tuple(tool for name in one.functions for tool in requires[name])
        made_from = fingerprint(one, prints, project.udf_sources, versions, needed)
        prints[one.name] = made_from["fingerprint"]
        steps.append(_step(one.name, one, made_from, have))
    return steps, notices


def _first(config: Config, gate: ledger.Gate) -> dict[str, Any]:
    if not config.first:
        return {}
    return {"first": config.first, "lines": raw.first_sha256(gate.files, config.max_line_bytes, config.first)}


def _step(name: str, compiled: Compiled | None, now: dict[str, Any], have: Stored) -> Step:
    """Reuse the result that was made from the same; else say what differs from the one that was used last."""
    results = have.get(name, [])
    for made_from, rows in results:
        if made_from["fingerprint"] == now["fingerprint"]:
            return Step(name, compiled, now, "", rows)
    return Step(name, compiled, now, _differs(results[0][0], now) if results else NEW)


def _differs(old: dict[str, Any], now: dict[str, Any]) -> str:
    said = {
        "query": "its SQL",
        "number": "its numbering",
        "columns": "its columns",
        "stream": "its settings",
        "files": "the raw files",
        "code": "the reader's code",
        "max_line_bytes": "max_line_bytes",
        "first": "how many lines are read",
        "builds": "the earlier builds",
    }
    reasons = [text for key, text in said.items() if old.get(key) != now.get(key)]
    for kind, text in (
        ("model_files", "the file {}"),
        ("udfs", "the code of {}"),
        ("tools", "the version of {}"),
        ("inputs", "{}"),
    ):
        before_, after = old.get(kind, {}), now.get(kind, {})
        reasons += [text.format(name) for name in sorted({*before_, *after}) if before_.get(name) != after.get(name)]
    return "changed: " + ", ".join(reasons)
