"""The build: the chain from raw files to a published folder. What has to run for it says planning."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from corpus_sql import (
    earlier,
    first_look,
    input_files,
    kernel_cache,
    ledger,
    limits,
    noticing,
    parts,
    publish,
    raw,
)
from corpus_sql.compile import Compiled
from corpus_sql.config import Config, Kept
from corpus_sql.engine_duckdb import LEAST_MEMORY, DuckDB
from corpus_sql.engine_errors import DamagedWorkFile
from corpus_sql.errors import ConfigError, DataError, ModelError, Problem
from corpus_sql.files import in_the_way, linked, locked, private, recover, unwritable
from corpus_sql.functions import Files, StreamUdf
from corpus_sql.model import EARLIER, READ
from corpus_sql.parts import leaves
from corpus_sql.planning import SHAPES, Step, make_plan
from corpus_sql.progress import Report
from corpus_sql.project import Project, open_project
from corpus_sql.publish import Written, finish, write_folder
from corpus_sql.validation import choice, size_bytes

# what the disk needs, as multiples of the compressed raw files: text is about 5 times its zstd size, stored once beside
# the measures (about 1 KiB a document); spill while sorting takes as much as the text again
_DISK_WORK, _DISK_SPILL, _DISK_BUILD = 7, 5, 2


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
        files = input_files.of(config)
        steps, notices = make_plan(project, gate, files, engine, cache)
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
        _make(project, gate, files, engine, steps, report)
        engine.shrink(config.cache_max, keep)
        told = noticing.notices(engine, config, steps)
        notices += told
        written = write_folder(project, gate.sources, files, engine, steps, emit=emit, report=report, notices=notices)
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


def _make(
    project: Project,
    gate: ledger.Gate,
    files: Mapping[str, Files | None],
    engine: DuckDB,
    steps: list[Step],
    report: Report,
) -> None:
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
            schemas = {name: SHAPES[name] for name in READ[:3]}
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
        shape = SHAPES["read.unread_files"]
        table = pa.Table.from_pylist([dict(zip(shape.names, row, strict=True)) for row in sorted(unread)], schema=shape)
        engine.store("read.unread_files", shape, table.to_batches(), by_name["read.unread_files"].made_from)
    if EARLIER in by_name and by_name[EARLIER].why:
        _read_earlier(project, engine, by_name[EARLIER], report)
        telling.ran(by_name[EARLIER], report.seconds[EARLIER])
    documents = by_name["read.documents"].rows
    names = {name for step in steps if step.compiled for name in step.compiled.functions}
    for name in sorted(names):
        if not isinstance(project.udfs[name], StreamUdf):
            engine.register(project.udfs[name], input_files.by_content(files))
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
        step.rows = engine.store(step.name, SHAPES[EARLIER], earlier.batches(builds), step.made_from)


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
