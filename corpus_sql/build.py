"""The build: which models run or are reused, in which order, and the chain from raw files to a published folder."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpus_sql import (
    earlier,
    first_look,
    kernel_cache,
    ledger,
    limits,
    model_files,
    noticing,
    parts,
    protected,
    publish,
    raw,
)
from corpus_sql.compile import Compiled, Compiler, build_order, fingerprint
from corpus_sql.config import Config, Kept
from corpus_sql.engine_duckdb import LEAST_MEMORY, DuckDB
from corpus_sql.engine_errors import DamagedWorkFile
from corpus_sql.errors import ConfigError, DataError, ModelError, Problem
from corpus_sql.files import in_the_way, linked, locked, private, recover, unwritable
from corpus_sql.functions import StreamUdf
from corpus_sql.model import BUILDS, EARLIER, READ
from corpus_sql.parts import NEW, leaves
from corpus_sql.progress import Report
from corpus_sql.project import BUILT_IN, Project, code_hash, open_project
from corpus_sql.publish import EXPORTS, Written, finish, write_folder
from corpus_sql.validation import choice, nearest, size_bytes

Stored = Mapping[str, list[tuple[dict[str, Any], int]]]  # relation -> (what it was made from, rows) of each result
UNREAD = pa.schema([("file", pa.string()), ("source_id", pa.string()), ("bytes", pa.int64()), ("status", pa.string())])
_READ_TOOLS = ("pyarrow", "orjson")
# what the disk needs, as multiples of the compressed raw files: text is about 5 times its zstd size, stored once beside
# the measures (about 1 KiB a document); spill while sorting takes as much as the text again
_DISK_WORK, _DISK_SPILL, _DISK_BUILD = 7, 5, 2


@dataclass
class Step:
    """One relation of the build: reused when `why` is empty."""

    name: str
    compiled: Compiled | None  # None for what the reader makes
    made_from: dict[str, Any]
    why: str
    rows: int = 0


@dataclass
class Outcome:
    """What a run came to. status: planned, hashes, same or published."""

    status: str
    folder: Path
    steps: list[Step]
    written: Written | None = None
    estimate: dict[str, int] = field(default_factory=dict)
    cache: dict[str, int] = field(default_factory=dict)  # of a plan, in bytes: held by the work file, and cache_max
    notices: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)  # those of the notices that the run has not said yet


@dataclass(frozen=True)
class Again:
    """A build that is made again: a place for it, what the first one's folder keeps, and the raw files it read."""

    place: Path
    kept: Kept
    gate: ledger.Gate

    def laid(self, project: Project) -> Project:
        """Return the project with its paths in that folder."""
        config = replace(project.config, artifacts=self.place / "artifacts", work=self.place / "work", kept=self.kept)
        return replace(project, config=config)


def run(
    config_path: Path,
    *,
    threads: int | None = None,
    memory: str = "4GB",
    cache: bool = True,
    replace: bool = False,
    plan: bool = False,
    emit: str = "all",
    first: int | None = None,
    report: Report | None = None,
    again: Again | None = None,
) -> Outcome:
    """Build the corpus that a config describes.

    threads: None for all cores. memory: such as "4GB"; what DuckDB may hold. cache: reuse what has not changed.
    replace: a version of that name that differs gives way. plan: say what would run, run nothing. emit: "none" makes
    the hashes alone. first: read so many lines of each source and no more, into the version <version>-first-<first>,
    which is not the corpus; the raw files are not hashed. again: what is made again, and where. Raises CorpusError;
    nothing is published then, and nothing that was published changes.
    """
    report = report or Report(quiet=True)
    project = open_project(config_path) if again is None else again.laid(open_project(config_path))
    if first is not None:
        project = dataclasses.replace(project, config=first_look.config_of(project.config, first))
    config = project.config
    options = {"threads": threads or os.cpu_count() or 1, "memory": memory_bytes(memory)}
    choice("--emit", emit, ("all", "none"))
    final = config.corpus / config.dataset / config.version
    replace = replace or bool(config.first and first_look.of(final))  # one first look gives way to the next
    if problems := targets(config, replace=replace, emit=emit):
        raise ConfigError(problems)
    with ExitStack() as stack:
        stack.enter_context(limits.told())
        stack.enter_context(report.whole(parts.weights()))
        gate = again.gate if again else _gate(config, options["threads"], report)
        for path in project.replaced:
            report.line(f"{path}: yours replaces the built-in")
        if notice := private(config.work):
            report.line(notice)
        stack.enter_context(locked(config.work))
        stack.enter_context(locked(final.parent))
        recover(final)
        earlier.find(config)  # a build named there that is this one is the better thing to say
        other = publish.was_other(config, final) and not replace and emit == "all"
        if other and not plan:  # known before anything is measured
            raise ConfigError(publish.there_already(config, final, publish.DIFFERENT))
        shutil.rmtree(config.work / "spill", ignore_errors=True)  # of a killed run
        (config.work / "spill").mkdir(mode=0o700, exist_ok=True)
        try:
            return _run(
                project, gate, final, options, cache=cache, replace=replace, plan=plan, emit=emit, report=report
            )
        except DamagedWorkFile as error:  # it holds only what can be made again, so it goes
            report.line(f"{error.problems[0].what}: starting over")
            for path in config.work.glob(f"{config.dataset}.duckdb*"):
                path.unlink()
        try:
            return _run(
                project, gate, final, options, cache=cache, replace=replace, plan=plan, emit=emit, report=report
            )
        except DamagedWorkFile as error:
            fix = "It was made anew a moment ago: the disk may be failing. Point [paths] work elsewhere."
            raise DataError(Problem(str(config.work), error.problems[0].what, fix)) from error


def targets(config: Config, *, replace: bool = False, emit: str = "all") -> list[Problem]:
    """Return what would keep a run from writing: known before any work is done."""
    final = config.corpus / config.dataset / config.version
    reports = [final.parent / "reports" / final.name] if emit == "none" else []
    found = unwritable(config.work, final.parent, *reports)
    if not found and emit == "all":
        found = in_the_way(final) or (linked(final) if replace else [])
    return found


def _gate(config: Config, threads: int, report: Report) -> ledger.Gate:
    with report.step(parts.CHECKED, None, "bytes") as advance:
        return ledger.gate(config, threads=threads, progress=lambda _, n, __: advance(n), hashed=not config.first)


def _run(
    project: Project,
    gate: ledger.Gate,
    final: Path,
    options: dict[str, int],
    *,
    cache: bool,
    replace: bool,
    plan: bool,
    emit: str,
    report: Report,
) -> Outcome:
    config = project.config
    with closing(DuckDB(config.work / f"{config.dataset}.duckdb", **options)) as engine:
        steps, notices = make_plan(project, gate, engine, cache)
        for notice in notices:
            report.line(notice)
        raw_bytes = first_look.bytes_read(config, sum(file.bytes for file in gate.files)) + earlier.bytes_read(config)
        estimate = {"work": raw_bytes * _DISK_WORK, "spill": raw_bytes * _DISK_SPILL, "build": raw_bytes * _DISK_BUILD}
        if plan:
            if publish.was_other(config, final):
                report.line(f"{final} was made with another config: the run will need --replace")
            cache_bytes = {"held": engine.held(), "cache_max": config.cache_max}
            return Outcome("planned", final, steps, estimate=estimate, cache=cache_bytes, notices=notices)
        report.plan(parts.weights(steps))
        keep = [(step.name, step.made_from["fingerprint"]) for step in steps]
        free = shutil.disk_usage(config.work).free - sum(estimate.values())  # an earlier result may not fill the disk
        engine.shrink(min(config.cache_max, engine.held() + free), keep)
        _make(project, gate, engine, steps, report)
        engine.shrink(config.cache_max, keep)
        told = noticing.notices(engine, config, steps)
        notices += told
        written = write_folder(project, gate.sources, engine, steps, emit=emit, report=report, notices=notices)
        with report.step(parts.PUBLISH, None):
            status = finish(config, written, final, replace=replace)
        return Outcome(status, final, steps, written, estimate, notices=notices, told=told)


def memory_bytes(text: str) -> int:
    """Read a size such as 4GB, 512MiB or 2g; raises ConfigError below the least that an ordered write needs."""
    size = size_bytes(text)
    if size is None:
        raise ConfigError(Problem("--memory", f"{text!r} is no size", "Write it like 4GB or 800MB."))
    if size < LEAST_MEMORY:
        raise ConfigError(
            Problem(
                "--memory",
                f"{text} is less than the {LEAST_MEMORY >> 20}MB that sorting the shards needs",
                f"Give at least {LEAST_MEMORY >> 20}MB.",
            )
        )
    return size


def settings(config: Config) -> tuple[dict[str, Any], list[str]]:
    """Return what templates may name besides the config, and what the user should be told of it."""
    key, description = model_files.of(config)
    by_group = config.values["split"]["method"] == "group_hash"
    found = {
        "language_model": key,
        "splits": _splits(config.values["split"]),
        # under group_hash near duplicates are found over all documents, so that dropping one never parts its relatives
        "near_pairs": "near_dedup.all_pairs"
        if by_group
        else "near_dedup.pairs"
        if "near_dedup" in config.stages
        else "relations.no_pairs",
    }
    notices = [description] if key == "script" else []
    if "decontaminate" in config.stages:
        files, table = config.protected_files(), config.values["decontaminate"]
        found["protected_key"] = protected.register(files)
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


def compile_all(project: Project) -> tuple[list[Compiled], list[str]]:
    """Compile every model that this build needs, each after its inputs; raises with every problem found."""
    known, notices = settings(project.config)
    if project.config.first:
        notices.insert(0, first_look.said(project.config.first))
    compiler = Compiler(project, known)
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

    notices += unset(project)
    made = {*READ, EARLIER} if earlier.find(project.config) else set(READ)
    return build_order(find, targets, made, missing), notices


def unset(project: Project) -> list[str]:
    """Return a notice for each listed stage of the user's own with a key that no table sets: a rule that is off."""
    found = []
    for stage in project.config.stages:
        model = project.models[f"stages.{stage}"]
        given = {key for table in project.config.limits(stage).values() for key in table}
        if model.layer != BUILT_IN and (missing := [key for key in model.config_keys if key not in given]):
            found.append(f"[{stage}] {', '.join(missing)}: not set, so what it limits is not limited")
    return found


def make_plan(project: Project, gate: ledger.Gate, engine: DuckDB, cache: bool) -> tuple[list[Step], list[str]]:
    """Return every relation of the build in order, with what it is made from and why it has to run, if it has to."""
    compiled, notices = compile_all(project)
    requires = {name: one.requires for name, one in project.udfs.items()}
    tools = sorted({tool for one in compiled for name in one.functions for tool in requires[name]} | set(_READ_TOOLS))
    versions = engine.versions(tools)
    have = engine.state() if cache else {}
    steps = []
    reading = {
        "files": {file.name: [file.sha256, file.license_spdx] for file in gate.files},
        "max_line_bytes": project.config.max_line_bytes,
        **({"first": project.config.first} if project.config.first else {}),
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
    for kind, text in (("udfs", "the code of {}"), ("tools", "the version of {}"), ("inputs", "{}")):
        before_, after = old.get(kind, {}), now.get(kind, {})
        reasons += [text.format(name) for name in sorted({*before_, *after}) if before_.get(name) != after.get(name)]
    return "changed: " + ", ".join(reasons)


def _make(project: Project, gate: ledger.Gate, engine: DuckDB, steps: list[Step], report: Report) -> None:
    """Run what has to run. A relation is stored whole, with what it was made from, in one transaction."""
    by_name = {step.name: step for step in steps}
    skipped = leaves(steps)
    telling = parts.Telling(report, steps)
    for step in steps:
        if not step.why and step.name not in skipped:
            engine.use(step.name, step.made_from["fingerprint"])
    if any(by_name[name].why for name in READ[:3]):
        total = None if project.config.first else sum(file.bytes for file in gate.files)
        with report.step("read", total, "bytes") as advance:
            config = project.config
            batches = raw.read(gate.files, config.max_line_bytes, _steps(advance), first=config.first)
            schemas = {"read.documents": raw.DOCUMENTS, "read.quarantine": raw.QUARANTINE, "read.files": raw.FILES}
            rows = engine.store_many(
                schemas, ((f"read.{kind}", batch) for kind, batch in batches), by_name["read.documents"].made_from
            )
        for name, n in rows.items():
            by_name[name].rows = n
        telling.ran(by_name["read.documents"], report.seconds["read"])
    if by_name["read.unread_files"].why:
        unread = [(n, s, b, "ignored") for s, n, b in gate.ignored] + [
            (n, s, b, "superseded") for s, n, b in gate.superseded
        ]
        table = pa.Table.from_pylist(
            [dict(zip(UNREAD.names, row, strict=True)) for row in sorted(unread)], schema=UNREAD
        )
        engine.store("read.unread_files", UNREAD, table.to_batches(), by_name["read.unread_files"].made_from)
    if EARLIER in by_name and by_name[EARLIER].why:
        _read_earlier(project, engine, by_name[EARLIER], report)
        telling.ran(by_name[EARLIER], report.seconds[EARLIER])
    documents = by_name["read.documents"].rows
    names = {name for step in steps if step.compiled for name in step.compiled.functions}
    for name in sorted(names):
        if not isinstance(project.udfs[name], StreamUdf):
            engine.register(project.udfs[name])
    if names and kernel_cache.is_empty():
        report.line("first use: kernels are compiled once, which takes about 20 seconds in all")
    for step in steps:
        if step.why and step.compiled and step.name not in skipped:
            _make_one(project, engine, step, documents, report)
            telling.ran(step, report.seconds[step.name])
    telling.end()


def _read_earlier(project: Project, engine: DuckDB, step: Step, report: Report) -> None:
    builds = earlier.find(project.config)
    with report.step(step.name, None):
        step.rows = engine.store(step.name, earlier.SCHEMA, earlier.batches(builds), step.made_from)


def _steps(advance: Callable[[int], None]) -> Callable[[int], None]:
    """Turn 'so far' into 'more'."""
    before = 0

    def tell(so_far: int) -> None:
        nonlocal before
        advance(so_far - before)
        before = so_far

    return tell


def _make_one(project: Project, engine: DuckDB, step: Step, documents: int, report: Report) -> None:
    one = step.compiled
    stream = (project.udfs[one.stream[0]], one.stream[1]) if one.stream else None
    first = next((name for name in one.functions if not isinstance(project.udfs[name], StreamUdf)), None)
    called = parts.part_of(step.name, project.config.stages)
    with report.step(step.name, documents if first else None, called=called) as advance:
        engine.watch = lambda udf, rows: advance(rows) if udf == first else None
        try:
            step.rows = engine.build(
                step.name, one.sql, one.model.columns, step.made_from, stream=stream, number=one.model.number
            )
        except ModelError as error:
            file = f"sql/{one.model.folder}/{one.model.stem}.sql ({one.model.layer})"
            raise ModelError(
                [
                    Problem(
                        f"{file}: {p.where}"
                        if p.where == "SQL"
                        else f"{p.where}, called by {file}"
                        if p.where.startswith("UDF")
                        else p.where,
                        p.what,
                        p.fix,
                    )
                    for p in error.problems
                ]
            ) from error
    if one.model.folder == "stages":
        _check_stage(engine, one, step.rows)


def _check_stage(engine: DuckDB, one: Compiled, rows: int) -> None:
    """A stage says one thing of each document that entered it: no more rows, no fewer, none twice."""
    ((distinct, wrong),) = engine.values(
        "select count(distinct id), count(*) filter (where verdict not in ('keep', 'reject', 'quarantine')) "
        f"from {one.name}"
    )
    if distinct != rows or wrong:
        raise ModelError(
            Problem(
                one.name,
                f"returned {rows} rows for {distinct} documents, {wrong} with an unknown verdict",
                "A stage returns each document of {{ input }} once.",
            )
        )
