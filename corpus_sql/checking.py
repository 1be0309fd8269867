"""`check`: everything that can be known before data is read.

The config, the provenance gate, every model compiled and run over relations without rows, every UDF registered.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus_sql import build, input_files, ledger, planning
from corpus_sql.compile import Compiled
from corpus_sql.engine_duckdb import LEAST_MEMORY, DuckDB
from corpus_sql.errors import ConfigError, CorpusError, ModelError, Problem
from corpus_sql.files import scratch
from corpus_sql.functions import Files, StreamUdf
from corpus_sql.project import Project, open_project
from corpus_sql.validation import counted


@dataclass
class Found:
    """What a check found: every problem, and what the build would be made of."""

    problems: list[Problem] = field(default_factory=list)
    sources: list[tuple[str, int, int]] = field(default_factory=list)  # source, raw files, bytes
    models: list[tuple[str, str]] = field(default_factory=list)  # relation, layer
    udfs: list[tuple[str, str]] = field(default_factory=list)  # UDF, file
    replaced: tuple[str, ...] = ()
    notices: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """What a person reads: the problems, or how much there is to build from."""
        for problem in self.problems:
            yield f"error: {problem}"
        for notice in self.notices:
            yield f"notice: {notice}"
        if self.problems:
            n = len(self.problems)
            yield f"{n} problem{'s' if n > 1 else ''}"
            return
        for path in self.replaced:
            yield f"{path}: yours replaces the built-in"
        for name, layer in self.models:
            if layer != "built-in":
                yield f"{name}: {layer}"
        files = counted(sum(n for _, n, _ in self.sources), "raw file")
        size = sum(size for *_, size in self.sources)
        yield f"{counted(len(self.sources), 'source')} with {files}, {size:,} bytes: all may be trained on"
        yield f"{len(self.models)} models, {len(self.udfs)} UDFs: all compile"

    def as_dict(self) -> dict[str, Any]:
        """The same for a program, as `check --json` prints it."""
        return {
            "problems": [{"where": p.where, "what": p.what, "fix": p.fix} for p in self.problems],
            "notices": self.notices,
            "sources": [{"source_id": s, "files": n, "bytes": size} for s, n, size in self.sources],
            "models": [{"name": name, "layer": layer} for name, layer in self.models],
            "udfs": [{"name": name, "file": file} for name, file in self.udfs],
            "replaced": list(self.replaced),
        }


def check(config_path: Path) -> Found:
    """Check a project; what is wrong is returned, not raised."""
    found = Found()
    try:
        project = open_project(config_path)
    except CorpusError as error:
        found.problems += error.problems + _of_the_ledger(config_path)
        return found
    found.replaced = project.replaced
    found.problems += build.targets(project.config)
    try:
        gate = ledger.gate(project.config)
        for source in project.config.sources:
            files = [file for file in gate.files if file.source_id == source]
            found.sources.append((source, len(files), sum(file.bytes for file in files)))
    except CorpusError as error:
        found.problems += error.problems
    try:
        files = input_files.of(project.config)
        compiled, found.notices = planning.compile_all(project, files)
        found.models = [(one.name, one.model.layer) for one in compiled]
        found.udfs = [
            (name, Path(project.udfs[name].file).name)
            for name in sorted({n for one in compiled for n in one.functions})
        ]
        found.problems += _on_nothing(project, files, compiled)
    except CorpusError as error:
        found.problems += error.problems
    return found


def _of_the_ledger(config_path: Path) -> list[Problem]:
    """Return what is malformed in the ledger of a config that cannot be taken, if it says where that is."""
    try:
        places = tomllib.loads(Path(config_path).read_text("utf-8")).get("paths", {})
        path = Path(config_path).resolve().parent / places.get("artifacts", "artifacts") / "corpus" / ledger.LEDGER
        ledger.read_ledger(path)
    except ConfigError as error:
        return error.problems
    except (CorpusError, OSError, ValueError, AttributeError, TypeError):
        pass  # that of the config is told already
    return []


def _on_nothing(project: Project, files: Mapping[str, Files | None], compiled: list[Compiled]) -> list[Problem]:
    """Run every model over relations without rows: names, types and columns are checked by the engine itself."""
    problems = []
    broken: set[str] = set()  # what stands on something broken is not tried: one fault, one message
    nothing = {"fingerprint": ""}
    with scratch("check") as folder:
        engine = DuckDB(folder / "check.duckdb", threads=1, memory=LEAST_MEMORY)
        try:
            for name in sorted({name for one in compiled for name in one.functions}):
                if not isinstance(project.udfs[name], StreamUdf):
                    try:
                        engine.register(project.udfs[name], input_files.by_content(files))
                    except ModelError as error:
                        broken.add(name)
                        problems += error.problems
            engine.store_many(planning.SHAPES, (), nothing)
            for one in compiled:
                if broken & {*one.inputs, *one.functions}:
                    broken.add(one.name)
                    continue
                stream = (project.udfs[one.stream[0]], one.stream[1]) if one.stream else None
                try:
                    engine.build(one.name, one.sql, one.model.columns, nothing, stream=stream, number=one.model.number)
                except CorpusError as error:
                    broken.add(one.name)
                    where = f"sql/{one.model.folder}/{one.model.stem}.sql"
                    problems += [Problem(where, p.what, p.fix) for p in error.problems]
        finally:
            engine.close()
    return problems
