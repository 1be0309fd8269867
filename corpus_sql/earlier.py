"""Earlier builds that a config names with `against`: what they keep is told to this build as one relation.

They are read from their folders alone, so they may have been made anywhere. The only place that reads them for a build.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_sql import build_format, damaged, first_look, forms
from corpus_sql.config import Config
from corpus_sql.errors import ConfigError, CorpusError, DataError, Problem
from corpus_sql.explain import open_build
from corpus_sql.files import sha256_file

# name: <dataset>/<version>:<id>, the name by which decisions point at it; content_hash64, match_sha256: of its text
# before the scrub; text: the final one, null unless near duplicates are looked for; for_...: which key names its build
SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("source_id", pa.string()),
        ("source_record_id", pa.string()),
        ("content_hash64", pa.int64()),
        ("match_sha256", pa.binary()),
        ("split", pa.string()),
        ("text", pa.large_string()),
        ("for_split", pa.bool_()),
        ("for_exact", pa.bool_()),
        ("for_near", pa.bool_()),
    ]
)
USES = {"split": "for_split", "exact_dedup": "for_exact", "near_dedup": "for_near"}
_BATCH = 2048
_TABLES = ("documents.parquet", "measures/content.parquet")  # of _audit/
_KEPT = """
select id, source_id, source_record_id, content_hash64, match_sha256, split
from documents join (select id, match_sha256 from measures.content) using (id)
where verdict = 'keep' order by id
"""


@dataclass(frozen=True)
class Earlier:
    """A build that is named. name: <dataset>/<version>; uses: the tables of the config that name it."""

    folder: Path
    name: str
    manifest: dict[str, Any]
    uses: tuple[str, ...]


def find(config: Config) -> list[Earlier]:
    """Return the builds that the config names, in order of their names; opens nothing but their JSON files.

    Raises ConfigError with every folder that is no build, that is the one this config makes, that has the name of
    another one, or whose splits are of another method.
    """
    problems: list[Problem] = []
    found: dict[Path, Earlier] = {}
    own = (config.corpus / config.dataset / config.version).resolve()
    for table in USES:
        where = config.where(table, "against")
        for folder in config.earlier_builds(table):
            real = folder.resolve()
            try:
                one = found.get(real) or _opened(real)
                method = _method(real) if one and table == "split" else "group_hash"
            except CorpusError as error:
                problems += [
                    Problem(where, f"{problem.where}: {problem.what}", problem.fix) for problem in error.problems
                ]
                continue
            if one is None:
                fix = "Give a version folder, corpus/<dataset>/<version>."
                problems.append(Problem(where, f"{folder} is no build: it has no _MANIFEST.json and _audit/", fix))
            elif first := first_look.of(real):
                problems.append(Problem(where, f"{folder} is {first_look.said(first)}", "Give a whole build."))
            elif real == own:
                problems.append(Problem(where, f"{folder} is the build that this config makes"))
            elif method != "group_hash":
                fix = "Only splits by groups can be kept by groups."
                problems.append(Problem(where, f"{folder} was split by {method}, not by group_hash", fix))
            else:
                found[real] = Earlier(
                    one.folder, one.name, one.manifest, (*one.uses, table) if table not in one.uses else one.uses
                )
    named: dict[str, Earlier] = {}
    for one in found.values():
        if one.name in named:
            where = config.where(one.uses[0], "against")
            problems.append(
                Problem(
                    where,
                    f"{named[one.name].folder} and {one.folder} are both called {one.name}",
                    "Name one of the two.",
                )
            )
        named[one.name] = one
    if problems:
        raise ConfigError(problems)
    return [named[name] for name in sorted(named)]


def _opened(folder: Path) -> Earlier | None:
    """Return a build, None where there is none; raises ConfigError for another format, DataError for damaged files."""
    if not (folder / "_MANIFEST.json").is_file() or not (folder / damaged.SUMS).is_file():
        return None
    build_format.check(folder, least=1)
    manifest = forms.manifest(folder)
    return Earlier(folder, f"{manifest['dataset']}/{manifest['version']}", manifest, ())


def _method(folder: Path) -> str:
    record = damaged.read_object(folder, "_audit/build.json")
    try:
        return record["config"]["split"]["method"]
    except (KeyError, TypeError) as error:
        raise damaged.lacks(folder, "_audit/build.json", "it has no config.split.method") from error


def made_from(builds: list[Earlier]) -> dict[str, Any]:
    """Return what identifies the builds: the SHA-256 of each manifest, which holds those of the shards, and of tables.

    Raises DataError for a table that is not as its build wrote it.
    """
    problems, found = [], {}
    for one in builds:
        sums = damaged.sums(one.folder)
        files = {}
        for name in ("_MANIFEST.json", *(f"_audit/{table}" for table in _TABLES)):
            path = one.folder / name
            files[name] = sha256_file(path) if path.is_file() else ""
            if files[name] != sums.get(name):
                problems.append(_damaged(path))
        found[one.name] = {"files": files, "uses": list(one.uses)}
    if problems:
        raise DataError(problems)
    parts = {"builds": found, "code": hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}
    return {**parts, "fingerprint": hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()}


def bytes_read(config: Config) -> int:
    """Return the size of the shards whose texts will be stored beside this build's own."""
    shards = [
        one.folder / shard["name"]
        for one in find(config)
        if "near_dedup" in one.uses
        for shard in one.manifest["shards"]
    ]
    return sum(path.stat().st_size for path in shards if path.is_file())


def _damaged(path: Path) -> Problem:
    return Problem(
        str(path), "is not as its build wrote it", "corpus-sql verify says what else is wrong with that build."
    )


def batches(builds: list[Earlier]) -> Iterator[pa.RecordBatch]:
    """Yield the kept documents of the builds in the columns of SCHEMA; the shards are checked against the manifests.

    Raises DataError when a shard is not as its build wrote it.
    """
    for one in builds:
        texts = _texts(one) if "near_dedup" in one.uses else None
        with open_build(one.folder) as connection:
            for batch in connection.sql(_KEPT).to_arrow_reader(_BATCH):
                n = batch.num_rows
                columns = {name: batch.column(name) for name in batch.schema.names}
                columns["name"] = pa.array([f"{one.name}:{id}" for id in columns.pop("id").to_pylist()], pa.string())
                columns["text"] = _take(texts, batch.column("id"), one) if texts else pa.nulls(n, pa.large_string())
                columns |= {column: pa.array([table in one.uses] * n) for table, column in USES.items()}
                yield pa.record_batch([columns[field.name].cast(field.type) for field in SCHEMA], schema=SCHEMA)


def _texts(one: Earlier) -> list:
    """Return a waiting place for texts: what is left of the last batch, and where the next come from."""

    def read() -> Iterator[pa.RecordBatch]:
        for shard in one.manifest["shards"]:
            path = one.folder / shard["name"]
            if not path.is_file() or sha256_file(path) != shard["sha256"]:
                raise DataError(_damaged(path))
            yield from pq.ParquetFile(path).iter_batches(_BATCH, columns=["id", "text"])

    return [None, read()]


def _take(texts: list, ids: pa.Array, one: Earlier) -> pa.Array:
    """Return the texts of the next ids; shards and tables are in the same order."""
    parts, missing = [], len(ids)
    while missing:
        batch = texts[0] if texts[0] is not None else next(texts[1], None)
        if batch is None:
            raise DataError(_damaged(one.folder))
        parts.append(batch.slice(0, missing))
        texts[0] = batch.slice(missing) if batch.num_rows > missing else None
        missing -= parts[-1].num_rows
    if pa.concat_arrays([part.column("id").cast(pa.string()) for part in parts]).to_pylist() != ids.to_pylist():
        raise DataError(_damaged(one.folder))
    return pa.concat_arrays([part.column("text").cast(pa.large_string()) for part in parts])
