"""The first layer of a verification: files and records, by hashes, schemas and counts taken anew.

Whoever changes a file can write SHA256SUMS anew as well, so nothing here rests on it alone: the hash chain, the hashes
of texts and shards, the fingerprints and the counts each say the same thing from another place.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_sql import damaged, first_look, forms, rules, shards
from corpus_sql import manifest as manifests
from corpus_sql.config import without_places
from corpus_sql.errors import DataError
from corpus_sql.files import sha256_file
from corpus_sql.findings import Say
from corpus_sql.model import identifier
from corpus_sql.opened import Opened
from corpus_sql.project import builtin
from corpus_sql.validation import counted, cut, findings, shown

SUMS = "_audit/SHA256SUMS"
_SUM_LINE = re.compile(rb"([0-9a-f]{64})  ([^\n]+)")
ANEW = "Copy the folder anew, or build the version again."
_LARGEST_ROW_GROUP = 64 << 20  # the contract's limit, in uncompressed bytes
# what the fingerprint of a relation is over; other keys of its entry explain it
_PRINTED = (
    "query", "number", "stream", "model_files", "columns", "inputs", "udfs", "tools",
    "files", "max_line_bytes", "first", "lines", "code", "superseded", "builds",
)  # fmt: skip


def sums(build: Opened, say: Say) -> str:
    """Every file of the folder is listed once and has the bytes that are listed; SHA256SUMS is checked line by line."""
    there, size = {}, 0
    for name, path in _walk(build.folder):
        there[name] = path
        size += path.lstat().st_size
    listed: dict[str, str] = {}
    try:
        content = (build.folder / SUMS).read_bytes()
    except OSError as error:
        say.error(f"{SUMS} cannot be read: {error.strerror}", "Without it no file can be told from a changed one.")
        return f"{len(there):,} files"
    if content and not content.endswith(b"\n"):
        say.error(f"{SUMS}: the last line has no line end")
    before = b""
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), 1):
        match = _SUM_LINE.fullmatch(line)
        if not match:
            say.error(f"{SUMS}, line {number}: it is not a SHA-256, two spaces and a path")
            continue
        if match[2] <= before:
            say.error(f"{SUMS}, line {number}: {os.fsdecode(match[2])!r} is not after the line before, in byte order")
        before = match[2]
        listed[os.fsdecode(match[2])] = match[1].decode()
    for name in sorted({*there, *listed}, key=os.fsencode):
        if name == SUMS and name not in listed:
            continue
        if name not in listed:
            say.error(f"{name!r} is no file of this build: {SUMS} does not list it", "Move it out of the folder.")
        elif name not in there:
            say.error(f"{name!r} is missing", ANEW)
        elif not stat.S_ISREG(there[name].lstat().st_mode):
            say.error(f"{name!r} is no regular file", ANEW)
        elif sha256_file(there[name]) != listed[name]:
            say.error(f"{name!r} has other bytes than those that were hashed", ANEW)
        else:
            continue
        say.damaged.add(name)
    return f"{len(there):,} files, {size:,} bytes"


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every entry below a folder but folders that hold something; an empty folder was not made by a build."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_dir() or not any(path.iterdir()):
            yield path.relative_to(folder).as_posix(), path


def manifest(build: Opened, say: Say) -> str:
    """_MANIFEST.json has the contract's form and is about the shards that lie there."""
    name = "_MANIFEST.json"
    try:
        stated = damaged.read_object(build.folder, name)
    except DataError as error:
        say.damaged.add(name)
        say.error(f"{name} {error.problems[0].what}", ANEW)
        return ""
    content = (build.folder / name).read_text("utf-8")
    schema = json.loads((builtin() / "schemas" / "corpus-manifest.schema.json").read_text("utf-8"))
    for one in findings(schema, stated):
        where = ".".join(cut(str(part)) for part in one.path) or "the manifest"
        say.error(f"{where} {one.what}", one.fix or ANEW)
        say.damaged.add(name)
    if say.damaged:
        return ""
    if manifests.dumps(stated) != content:
        say.error(f"{name} is not spelled as a build spells it: other spaces, order or escapes")
    rows = [shard["rows"] for shard in stated["shards"]]
    if stated["n_shards"] != len(rows):
        say.error(f"n_shards is {stated['n_shards']:,}, but {len(rows):,} shards are listed")
    if stated["n_docs"] != sum(rows):
        say.error(f"n_docs is {stated['n_docs']:,}, but the shards' rows add up to {sum(rows):,}")
    if not stated["n_docs"]:
        say.notice("nothing was kept: the build holds no document")
    return f"{counted(stated['n_docs'], 'document')}, {counted(stated['n_shards'], 'shard')}"


def read_forms(build: Opened, say: Say) -> str:
    """The other files of JSON, JSON Lines and TOML are such, and hold what their readers rely on."""
    for one in forms.problems(build.folder):
        name = Path(one.where).relative_to(build.folder).as_posix()
        if name != "_MANIFEST.json":
            say.error(f"{name} {one.what}", ANEW)
            say.damaged.add(name)
    return counted(forms.count(build.folder), "file")


def config(build: Opened, say: Say) -> str:
    """config.toml is the config that the build was made with."""
    digest = sha256_file(build.folder / "config.toml")
    for where, stated in (
        ("_MANIFEST.json: config_sha256", build.manifest["config_sha256"]),
        ("_audit/build.json: filter_config_sha256", build.record["hash_chain"]["filter_config_sha256"]),
    ):
        if stated != digest:
            say.error(f"{where} is {stated}, config.toml has {digest}")
    first = first_look.lines_of(build.record)
    if first:
        say.notice(f"this is {first_look.said(first)}", "Run without --first for the corpus.")
    written = {**build.written, "version": first_look.version_of(str(build.written.get("version")), first)}
    for key in ("dataset", "version"):
        found = {written.get(key), build.manifest[key], build.record[key]}
        if len(found) > 1:
            say.error(
                f"{key} is {written.get(key)!r} by config.toml, {build.manifest[key]!r} in the manifest, "
                f"{build.record[key]!r} in build.json"
            )
    for path, value in _leaves(
        {k: v for k, v in without_places(build.written).items() if k not in ("dataset", "version", "sources")}
    ):
        recorded: Any = build.config
        for part in path:
            recorded = recorded.get(part) if isinstance(recorded, dict) else None
        if recorded != value and not (value is False and recorded is None):  # false switches a rule off: it has no key
            say.error(f"{'.'.join(path)} is {value!r} in config.toml, {recorded!r} in build.json")
    for key, table in (
        ("jaccard_threshold", "near_dedup"),
        ("num_perm", "near_dedup"),
        ("bands", "near_dedup"),
        ("ngram", "decontaminate"),
    ):
        stated, recorded = build.manifest["dedup"][key], build.config[table][key]
        if stated != recorded:
            say.error(f"dedup.{key} is {stated} in the manifest, {recorded} in build.json")
    return f"sha256 {digest[:12]}…"


def _leaves(table: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def record(build: Opened, say: Say) -> str:
    """_audit/build.json says of each relation what it was made from; the compiled SQL beside it is what ran."""
    relations = build.record["relations"]
    for name, parts in relations.items():
        printed = _PRINTED if "query" in parts else (*_PRINTED, "sql")  # builds made before had the text as well
        made_from = {key: value for key, value in parts.items() if key in printed}
        if hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest() != parts["fingerprint"]:
            say.error(f"{name}: the fingerprint in build.json is not that of what stands beside it")
        for used, print_ in parts.get("inputs", {}).items():
            if relations[used]["fingerprint"] != print_:
                say.error(f"{name} was made from another {used} than the one in build.json")
    table = build.rows(f"select * from rules order by {rules.ORDER}")
    if table != rules.rows(rules.by_stage(build.record)):
        say.error("the rules in build.json are not those of the table rules")
    tools = {name: version for parts in relations.values() for name, version in parts.get("tools", {}).items()}
    if build.record["tools"] != tools:
        say.error("the tools in build.json are not those of its relations")
    for name, columns_ in build.record["coverage"].items():
        counts = ", ".join(f"count({identifier(column)})" for column in columns_)
        if list(build.rows(f"select {counts} from {identifier('measures', name)}")[0]) != list(columns_.values()):
            say.error(f"measures.{name}: the coverage in build.json is not that of the table")
    files = {
        str(path.relative_to(build.audit / "compiled").with_suffix("")).replace(os.sep, "."): path
        for path in (build.audit / "compiled").glob("*/*.sql")
    }
    compiled = {name for name, parts in relations.items() if "sql" in parts}
    for name in sorted(compiled ^ set(files)):
        say.error(f"{name}: {'there is no compiled SQL' if name in compiled else 'build.json does not name it'}")
    for name in sorted(compiled & set(files)):
        _, _, sql = files[name].read_text("utf-8").partition("\n")
        if hashlib.sha256(sql.removesuffix("\n").encode()).hexdigest() != relations[name]["sql"]:
            say.error(f"_audit/compiled/{name.replace('.', '/')}.sql is not what ran")
    read = {file: [sha256, parts[1]] for file, sha256, parts in _raw_files(build)}
    if read != relations["read.documents"]["files"]:
        say.error("_audit/files.parquet and build.json name different raw files or hashes")
    return f"{len(relations):,} relations"


def _raw_files(build: Opened) -> Iterator[tuple[str, str, list]]:
    stated = build.record["relations"]["read.documents"]["files"]
    for file, sha256 in build.rows("select file, sha256 from files where status = 'read' order by file"):
        yield file, sha256, stated.get(file, [None, None])


def shard_files(build: Opened, say: Say) -> str:
    """The shards are those of the manifest: names, hashes, rows, columns, row groups."""
    stated = build.manifest["shards"]
    shape = shards.schema(builtin() / "schemas")
    stored = _as_written(shape)
    there = sorted(path.name for path in build.folder.glob("shard-*.parquet"))
    if there != [shard["name"] for shard in stated]:
        say.error(f"the manifest lists {', '.join(s['name'] for s in stated)}; the folder holds {', '.join(there)}")
    per_shard = build.config["shard_rows"]
    for i, shard in enumerate(stated):
        name, path = shard["name"], build.folder / shard["name"]
        if name != f"shard-{i:05d}-of-{len(stated):05d}.parquet":
            say.error(f"{name} is no name for shard {i} of {len(stated)}")
        if not path.is_file():
            continue
        if sha256_file(path) != shard["sha256"]:
            say.error(f"{name} has not the SHA-256 of the manifest")
        file = pq.ParquetFile(path)
        if not file.schema_arrow.equals(shape) or _stored(file) != stored:
            say.error(
                f"{name} has not the columns of a shard: {'; '.join(_unlike(file, shape, stored))}",
                "The columns are those of schemas/clean-shard.json, in that order and none nullable.",
            )
        if file.metadata.num_rows != shard["rows"]:
            say.error(f"{name} has {file.metadata.num_rows:,} rows, the manifest says {shard['rows']:,}")
        if shard["rows"] != per_shard and (shard["rows"] > per_shard or i < len(stated) - 1):
            say.error(f"{name} is to have {per_shard:,} rows (shard_rows), the manifest says {shard['rows']:,}")
        for group in range(file.metadata.num_row_groups):
            _row_group(file.metadata.row_group(group), f"{name}, row group {group}", say)
    return f"{counted(len(stated), 'shard')}, {len(shape):,} columns"


def _row_group(one: pq.RowGroupMetaData, where: str, say: Say) -> None:
    """Every column chunk is compressed with zstd, and together they do not unpack to too much for more than one row."""
    chunks = [one.column(i) for i in range(one.num_columns)]
    size = max(one.total_byte_size, sum(chunk.total_uncompressed_size for chunk in chunks))
    if size > _LARGEST_ROW_GROUP and one.num_rows > 1:
        say.error(f"{where}: {size:,} bytes uncompressed in {one.num_rows:,} rows, more than {_LARGEST_ROW_GROUP:,}")
    for codec in sorted({chunk.compression for chunk in chunks} - {"ZSTD"}):
        named = ", ".join(chunk.path_in_schema for chunk in chunks if chunk.compression == codec)
        how = "not compressed" if codec == "UNCOMPRESSED" else f"compressed with {codec}"
        say.error(f"{where}: {named} {how}, not with zstd", "Build the version again.")


def _stored(file: pq.ParquetFile) -> list[tuple]:
    """How each column lies in a file, whatever Arrow's own note in it says: name, types, whether it may be null."""
    found = (file.schema.column(i) for i in range(len(file.schema)))
    return [
        (
            one.path,
            one.physical_type,
            str(one.logical_type),
            one.length,
            one.max_definition_level,
            one.max_repetition_level,
        )
        for one in found
    ]


def _as_written(shape: pa.Schema) -> list[tuple]:
    """How the columns of a shard lie in a file that is written as shards are."""
    sink = pa.BufferOutputStream()
    pq.write_table(shape.empty_table(), sink, version="2.6")
    return _stored(pq.ParquetFile(pa.BufferReader(sink.getvalue())))


def _unlike(file: pq.ParquetFile, shape: pa.Schema, stored: list[tuple]) -> list[str]:
    """Each difference in a few words."""
    found, names = file.schema_arrow, file.schema_arrow.names
    said = [f"{name} is missing" for name in shape.names if name not in names]
    said += [f"{shown(name)} is none" for name in names if name not in shape.names]
    if said:
        return said
    if names != shape.names:
        return [next(f"{a} stands in the place of {b}" for a, b in zip(names, shape.names, strict=True) if a != b)]
    for a, b in zip(found, shape, strict=True):
        said += [f"{b.name} is {a.type}, not {b.type}"] if a.type != b.type else []
        said += [f"{b.name} may be null"] if a.nullable and not b.nullable else []
    return said or [f"{a[0]} is stored as {a[1]} {a[2]}" for a, b in zip(_stored(file), stored, strict=True) if a != b]


def columns(build: Opened, say: Say) -> str:
    """Every audit table has the columns that its model declared."""
    tables = 0
    for name, parts in build.record["relations"].items():
        folder, stem = name.split(".")
        table = {"outputs": stem, "measures": identifier("measures", stem)}.get(folder)
        path = build.audit / ("measures" if folder == "measures" else "") / f"{stem}.parquet"
        if not table or stem == "shards" or (folder == "outputs" and not path.is_file()):
            continue
        tables += 1
        declared = ", ".join(f"{identifier(column)} {type_}" for column, type_ in json.loads(parts["columns"]))
        build.connection.execute(f"create or replace temp table declared ({declared})")
        wanted = [row[:2] for row in build.rows("describe declared")]
        found = [row[:2] for row in build.rows(f"describe {table}")]
        if wanted != found:
            differ = [f"{column} {type_}" for column, type_ in found if (column, type_) not in wanted] or [
                f"{c} {t}" for c, t in wanted if (c, t) not in found
            ]
            say.error(
                f"_audit/{path.relative_to(build.audit)}: the columns are not those declared: "
                f"{', '.join(differ) or 'another order'}"
            )
    return f"{tables:,} tables"
