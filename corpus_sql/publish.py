"""From finished relations to a published version folder: write, hash, audit what was written, rename."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import resource
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_sql import (
    __version__,
    build_format,
    card,
    explain,
    inputs,
    limits,
    manifest,
    noticing,
    parts,
    report_queries,
    rules,
    shards,
    spool,
)
from corpus_sql.config import Config, without_places
from corpus_sql.engine_duckdb import DuckDB
from corpus_sql.errors import ConfigError, DataError, Problem
from corpus_sql.files import publish, reports, sha256_file, sync, write
from corpus_sql.functions import Files
from corpus_sql.ledger import Source
from corpus_sql.model import identifier
from corpus_sql.progress import Report
from corpus_sql.project import Project, builtin
from corpus_sql.template_uses import template

if TYPE_CHECKING:
    from corpus_sql.planning import Step

# the tables of _audit/, each a model of sql/outputs, and the order of their rows
EXPORTS = {
    "decisions": "id, seq",
    "documents": "id",
    "rejected": "id",
    "quarantine": "id",
    "reconciliation": "seq, source_id nulls first",
    "files": "file",
    "pairs": "a, b, kind",
    "parents": "id, named",
    "expansions": "parent, start_char, child",
    "pii": "id, start_char",
    "contamination": "id, start_char, item",
}
# those with long texts are put into the order of their ids by a spool; each with its ids, places and sizes
LONG = {"documents": spool.DOCUMENTS, "rejected": spool.DOCUMENTS, "quarantine": spool.QUARANTINE}


@dataclass
class Written:
    """What a build came to: the folder it lies in (None when only hashes were asked for) and its numbers."""

    building: Path | None
    manifest: dict[str, Any]
    hashes: dict[str, str]
    reconciliation: list[tuple] = field(default_factory=list)
    languages: list[tuple] = field(default_factory=list)


def write_folder(
    project: Project,
    sources: list[Source],
    files: Mapping[str, Files | None],
    engine: DuckDB,
    steps: list[Step],
    *,
    emit: str,
    report: Report,
    notices: list[str],
) -> Written:
    """Write shards, manifest and _audit/ into the hidden building folder; with emit none, only compute the hashes.

    files: what the build read besides raw files.
    """
    config = project.config
    final = config.corpus / config.dataset / config.version
    hashes = _hashes(engine, None)
    if emit == "none":
        kept = engine.values("select count(*) from outputs.kept")[0][0]
        found = {
            "dataset": config.dataset,
            "version": config.version,
            "n_docs": kept,
            "config_sha256": config.sha256,
            **hashes,
        }
        folder = reports(final)
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / "hashes.json", manifest.dumps(found))
        return Written(None, found, hashes)
    _check_disk(engine, final.parent)
    building = final.parent / f".{final.name}.building"
    audit = building / "_audit"
    (audit / "measures").mkdir(parents=True)
    by_name = {step.name: step for step in steps}
    spill = config.work / "spill" / "rows.spool"
    try:
        n_rows = engine.values("select count(*) from outputs.kept")[0][0]
        with report.step(parts.SHARDS, n_rows) as advance:
            found = shards.write_shards(
                spool.in_id_order(engine, by_name["outputs.shards"].compiled.sql, spool.DOCUMENTS, spill),
                n_rows,
                folder=building,
                shape=shards.schema(builtin() / "schemas"),
                shard_rows=config.shard_rows,
                advance=advance,
            )
        with report.step(parts.TABLES, None):
            for name, order in EXPORTS.items():
                step = by_name[f"outputs.{name}"]
                source = f"select * from {step.name}" if engine.stored(step.name) else step.compiled.sql
                if name in LONG:
                    shape = engine.leaving(source, step.compiled.model.columns)
                    batches = spool.in_id_order(engine, shape, LONG[name], spill)
                    _write(batches, audit / f"{name}.parquet", engine, shape)
                else:
                    engine.export(source, step.compiled.model.columns, order, audit / f"{name}.parquet")
            made = [by_name[f"stages.{stage}"].compiled.rules for stage in config.stages]
            engine.export(rules.table(made), rules.COLUMNS, rules.ORDER, audit / "rules.parquet")
            coverage = {}
            for step in steps:
                if step.name.startswith("measures."):
                    engine.export(
                        f"select * from {step.name}",
                        step.compiled.model.columns,
                        "id",
                        audit / "measures" / f"{step.compiled.model.stem}.parquet",
                    )
                    coverage[step.compiled.model.stem] = _coverage(engine, step)
            hashes = _hashes(engine, audit / "hashes.u64")
        _write_compiled(steps, audit / "compiled")
        counted = _counts(engine, by_name["outputs.pii"].compiled.sql)
        whole = manifest.manifest(config, found, **counted)
        write(building / "_MANIFEST.json", manifest.dumps(whole))
        write(building / "config.toml", config.content)
        kept = inputs.keep(audit, project, [step.compiled for step in steps if step.compiled], sources, files)
        record = _build_json(project, steps, hashes, coverage, notices, kept)
        record["splits"] = noticing.split_numbers(engine, steps)
        write(audit / "build.json", manifest.dumps(record))
        with report_queries.Tables(building) as tables:
            languages = [(row["lang"], row["documents"], row["kept"]) for row in tables.ask("report_languages")]
        write(building / "README.md", card.card(building))
        write(building / "croissant.json", manifest.dumps(card.croissant(building)))
        written = Written(building, whole, hashes, explain.reconciliation(building), languages)
        with report.step(parts.AUDIT, None):
            explain.audit(building, project, engine.memory)
        write(audit / "run.json", manifest.dumps(_run_json(report)))
        with report.step(parts.PUBLISH, None):
            _write_sums(building)
    except OSError as error:
        shutil.rmtree(building, ignore_errors=True)
        if met := limits.of(error) or limits.disk(error, final.parent):
            raise met from error
        raise DataError(
            Problem(
                str(error.filename or building),
                f"cannot be written: {error.strerror}",
                "Nothing was published. Mend the rights, and run again.",
            )
        ) from error
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return written


def finish(config: Config, written: Written, final: Path, *, replace: bool) -> str:
    """Give the building folder its name, unless a version of that name is there: the same stays, another is refused.

    The same is every file the same but run.json, audit tables included: what `why` would answer is part of the result.
    """
    if written.building is None:
        return "hashes"
    if final.exists() and any(final.iterdir()):
        same = _sums(final) == _sums(written.building)
        damaged = [name for name, digest in _sums(final).items() if not _holds(final / name, digest)] if same else []
        if same and not damaged:
            shutil.rmtree(written.building)
            return "same"
        if not replace:
            shutil.rmtree(written.building)
            raise ConfigError(there_already(config, final, f"damaged: {damaged[0]}" if damaged else DIFFERENT))
    publish(written.building, final)
    written.building = final
    return "published"


DIFFERENT = "this build comes out different"


def there_already(config: Config, final: Path, why: str) -> Problem:
    """Say that a version is there that this build is not."""
    return Problem(
        str(final),
        f"the version {config.version} is there already, and {why}",
        "Give the build another version in the config, or let it take the place of the old one with --replace.",
    )


def was_other(config: Config, final: Path) -> bool:
    """Return whether a version is there that another config made, so that this build can only come out different."""
    try:
        manifest_there = json.loads((final / "_MANIFEST.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(manifest_there, dict) and manifest_there.get("config_sha256") != config.sha256


def _sums(folder: Path) -> dict[str, str]:
    """Return file -> SHA-256 as SHA256SUMS states them, but for run.json; nothing where it cannot be read."""
    try:
        lines = (folder / "_audit" / "SHA256SUMS").read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {line[66:]: line[:64] for line in lines if line[66:] != "_audit/run.json"}


def _holds(path: Path, digest: str) -> bool:
    return path.is_file() and sha256_file(path) == digest


def _hashes(engine: DuckDB, file: Path | None) -> dict[str, str]:
    """The hash chain: over all documents, and over those kept; with a file, the kept ones' hashes go there."""
    # the hashes are bit views of unsigned ones: those below zero are the large ones
    unique = (
        "select content_hash64 from (select distinct content_hash64 from {}) as hashes "
        "order by content_hash64 < 0, content_hash64"
    )
    everything = "measures.content"
    kept = "(select content_hash64 from measures.content join outputs.kept using (id)) as kept"
    return {
        "corpus_build_hash": manifest.build_hash(engine.rows(unique.format(everything))),
        "filtered_build_hash": manifest.build_hash(engine.rows(unique.format(kept)), file),
    }


def _write(batches: Iterator[pa.RecordBatch], path: Path, engine: DuckDB, sql: str) -> None:
    """Write batches as one Parquet file, a row group each; without any, the file has the query's columns."""
    writer = None
    for batch in batches:
        if writer is None:
            writer = pq.ParquetWriter(path, batch.schema, compression="zstd")
        writer.write_batch(batch)
    if writer is None:
        writer = pq.ParquetWriter(path, engine.schema(sql), compression="zstd")
    writer.close()


def _counts(engine: DuckDB, pii: str) -> dict[str, Any]:
    def pairs(sql: str) -> dict[str, int]:
        return dict(engine.values(sql))

    return {
        "rejected": pairs("select stage, count(*) from outputs.decisions where verdict = 'reject' group by stage"),
        "quarantined": pairs(
            "select reason, count(*) from outputs.decisions where verdict = 'quarantine' group by reason"
        ),
        "blank": int(engine.values("select coalesce(sum(blank), 0) from read.files")[0][0]),
        "pii": pairs(f"select kind, count(*) from ({pii}) as pii join outputs.kept using (id) group by kind"),
    }


def _coverage(engine: DuckDB, step: Step) -> dict[str, int]:
    """Documents for which each column was measured: null is 'not measured', never zero."""
    columns = [name for name, _ in step.compiled.model.columns]
    counts = ", ".join(f"count({identifier(name)})" for name in columns)
    return dict(zip(columns, engine.values(f"select {counts} from {step.name}")[0], strict=True))


def _build_json(
    project: Project,
    steps: list[Step],
    hashes: dict[str, str],
    coverage: dict,
    notices: list[str],
    kept: inputs.Written,
) -> dict[str, Any]:
    """kept: the ledger and the inputs, as `inputs.keep` wrote them."""
    config = project.config
    return {
        "format": build_format.FORMAT,
        "corpus_sql": __version__,
        "dataset": config.dataset,
        "version": config.version,
        **({"first": config.first} if config.first else {}),
        "hash_chain": {**hashes, "filter_config_sha256": config.sha256, "ledger_sha256": kept.ledger_sha256},
        "config": without_places({name: value for name, value in config.values.items() if name not in kept.unused}),
        "relations": {step.name: _relation(project, step) for step in steps},
        "model_files": kept.read,
        "tools": dict(
            sorted(
                {name: version for step in steps for name, version in step.made_from.get("tools", {}).items()}.items()
            )
        ),
        "inputs": kept.files,
        "replaced": kept.replaced,
        "coverage": coverage,
        "notices": notices,
    }


def _relation(project: Project, step: Step) -> dict[str, Any]:
    """What a relation was made from, one entry for each thing that two builds may differ in."""
    if step.compiled is None:
        return {**step.made_from, "layer": "reader"}
    found = {
        "layer": step.compiled.model.layer,
        "template": template(step.compiled.model, project.macros),
        "config": list(step.compiled.keys),
        "rules": [rule.as_dict() for rule in step.compiled.rules],
    }
    return {**step.made_from, **found}


def _run_json(report: Report) -> dict[str, Any]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": platform.node(),
        "cores": os.cpu_count(),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_memory_bytes": usage.ru_maxrss * 1024,
        "seconds": {name: round(seconds, 3) for name, seconds in report.seconds.items()},
    }


def _write_compiled(steps: list[Step], folder: Path) -> None:
    for step in steps:
        if step.compiled:
            model = step.compiled.model
            path = folder / model.folder / f"{model.stem}.sql"
            path.parent.mkdir(parents=True, exist_ok=True)
            digest = hashlib.sha256(model.text.encode()).hexdigest()
            write(
                path, f"-- sql/{model.folder}/{model.stem}.sql, {model.layer}, sha256 {digest}\n{step.compiled.sql}\n"
            )


def _write_sums(building: Path) -> None:
    """SHA256SUMS in the form of sha256sum, over every file but itself, in byte order of the paths."""
    files = sorted(
        (p for p in building.rglob("*") if p.is_file()), key=lambda p: os.fsencode(p.relative_to(building).as_posix())
    )
    lines = [f"{sha256_file(path)}  {path.relative_to(building).as_posix()}\n" for path in files]
    for path in files:
        sync(path)
    write(building / "_audit" / "SHA256SUMS", "".join(lines))


def _check_disk(engine: DuckDB, folder: Path) -> None:
    """Refuse to start writing what cannot fit: the kept texts at zstd's usual third, and as much again beside them."""
    (chars,) = engine.values("select coalesce(sum(n_chars), 0) from read.documents")[0]
    free = shutil.disk_usage(folder).free
    if free < chars // 3:
        what = f"{free / 2**20:.1f} MiB free, about {chars / 3 / 2**20:.1f} MiB needed for the shards"
        raise DataError(Problem(str(folder), what, "Free some disk and run again; what was measured is kept."))
