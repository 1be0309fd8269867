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
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq

from corpus_sql import judging, shards
from corpus_sql import manifest as manifests
from corpus_sql.findings import Say
from corpus_sql.opened import Opened
from corpus_sql.project import builtin
from corpus_sql.resources import sha256_file
from corpus_sql.validation import findings

SUMS = "_audit/SHA256SUMS"
_SUM_LINE = re.compile(rb"([0-9a-f]{64})  ([^\n]+)")
_LEAST_ROW_GROUP = 64 << 20  # the contract's limit, in uncompressed bytes
# what the fingerprint of a relation is over; other keys of its entry explain it
_PRINTED = ("sql", "stream", "columns", "inputs", "udfs", "tools", "files", "max_line_bytes", "code", "superseded")
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"


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
    fix = "Copy the folder anew, or build the version again."
    for name in sorted({*there, *listed}, key=os.fsencode):
        if name == SUMS and name not in listed:
            continue
        if name not in listed:
            say.error(f"{name!r} is no file of this build: {SUMS} does not list it", "Move it out of the folder.")
        elif name not in there:
            say.error(f"{name!r} is missing", fix)
        elif not stat.S_ISREG(there[name].lstat().st_mode):
            say.error(f"{name!r} is no regular file", fix)
        elif sha256_file(there[name]) != listed[name]:
            say.error(f"{name!r} has other bytes than those that were hashed", fix)
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
        content = (build.folder / name).read_text("utf-8")
        stated = json.loads(content)
    except (OSError, ValueError) as error:
        say.damaged.add(name)
        say.error(f"{name} cannot be read: {error}")
        return ""
    schema = json.loads((builtin() / "schemas" / "corpus-manifest.schema.json").read_text("utf-8"))
    for one in findings(schema, stated):
        where = ".".join(map(str, one.path)) or "the manifest"
        say.error(f"{where} {one.what}", one.fix)
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
    return f"{stated['n_docs']:,} documents, {stated['n_shards']:,} shards"


def config(build: Opened, say: Say) -> str:
    """config.toml is the config that the build was made with."""
    digest = sha256_file(build.folder / "config.toml")
    for where, stated in (
        ("_MANIFEST.json: config_sha256", build.manifest["config_sha256"]),
        ("_audit/build.json: filter_config_sha256", build.record["hash_chain"]["filter_config_sha256"]),
    ):
        if stated != digest:
            say.error(f"{where} is {stated}, config.toml has {digest}")
    for key in ("dataset", "version"):
        found = {build.written.get(key), build.manifest[key], build.record[key]}
        if len(found) > 1:
            say.error(
                f"{key} is {build.written.get(key)!r} in config.toml, {build.manifest[key]!r} in the manifest, {build.record[key]!r} in build.json"
            )
    for path, value in _leaves({k: v for k, v in build.written.items() if k not in ("dataset", "version", "sources")}):
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
        if build.manifest["dedup"][key] != build.config[table][key]:
            say.error(
                f"dedup.{key} is {build.manifest['dedup'][key]} in the manifest, {build.config[table][key]} in build.json"
            )
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
        made_from = {key: value for key, value in parts.items() if key in _PRINTED}
        if hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest() != parts["fingerprint"]:
            say.error(f"{name}: the fingerprint in build.json is not that of what stands beside it")
        for used, print_ in parts.get("inputs", {}).items():
            if relations[used]["fingerprint"] != print_:
                say.error(f"{name} was made from another {used} than the one in build.json")
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
        if not file.schema_arrow.equals(shape):
            say.error(
                f"{name} has not the columns of a shard",
                "The columns are those of schemas/clean-shard.json, in that order and none nullable.",
            )
        if file.metadata.num_rows != shard["rows"]:
            say.error(f"{name} has {file.metadata.num_rows:,} rows, the manifest says {shard['rows']:,}")
        if shard["rows"] != per_shard and (shard["rows"] > per_shard or i < len(stated) - 1):
            say.error(f"{name} is to have {per_shard:,} rows (shard_rows), the manifest says {shard['rows']:,}")
        for group in range(file.metadata.num_row_groups):
            one = file.metadata.row_group(group)
            if one.total_byte_size > _LEAST_ROW_GROUP and one.num_rows > 1:
                say.error(
                    f"{name}, row group {group}: {one.total_byte_size:,} bytes uncompressed in {one.num_rows:,} rows, more than {_LEAST_ROW_GROUP:,}"
                )
    return f"{len(stated):,} shards, {len(shape):,} columns"


def columns(build: Opened, say: Say) -> str:
    """Every audit table has the columns that its model declared."""
    tables = 0
    for name, parts in build.record["relations"].items():
        folder, stem = name.split(".")
        table = {"outputs": stem, "measures": f'measures."{stem}"'}.get(folder)
        path = build.audit / ("measures" if folder == "measures" else "") / f"{stem}.parquet"
        if not table or stem == "shards" or (folder == "outputs" and not path.is_file()):
            continue
        tables += 1
        declared = ", ".join(f'"{column}" {type_}' for column, type_ in json.loads(parts["columns"]))
        build.connection.execute(f"create or replace temp table declared ({declared})")
        wanted = [row[:2] for row in build.rows("describe declared")]
        found = [row[:2] for row in build.rows(f"describe {table}")]
        if wanted != found:
            differ = [f"{column} {type_}" for column, type_ in found if (column, type_) not in wanted] or [
                f"{c} {t}" for c, t in wanted if (c, t) not in found
            ]
            say.error(
                f"_audit/{path.relative_to(build.audit)}: the columns are not those declared: {', '.join(differ) or 'another order'}"
            )
    return f"{tables:,} tables"


def ids(build: Opened, say: Say) -> str:
    """Ids are unique, ascend in byte order, and name the line they came from."""
    previous, count, wrong = None, 0, []
    for shard in build.manifest["shards"]:
        for batch in pq.ParquetFile(build.folder / shard["name"]).iter_batches(8192, columns=["id"]):
            for one in batch.column(0).to_pylist():
                key = one.encode()
                if previous is not None and key <= previous:
                    wrong.append(f"{one} after {previous.decode()}")
                previous = key
                count += 1
    say.many("ids do not ascend in byte order", wrong, "Readers rely on the order of the rows.")
    build.bad_rows(say, "audits", "ids_unique")
    build.bad_rows(say, "reports", "verify_tables_sorted")
    build.bad_rows(say, "reports", "verify_lines_in_order")
    return f"{count:,} in the shards, {build.one('select count(*) from documents'):,} documents"


def texts(build: Opened, say: Say) -> str:
    """Each text is not empty, in NFC, and has the length and hash that stand beside it."""
    wrong: dict[str, list[str]] = {
        "empty texts": [],
        "texts that are not NFC": [],
        "n_chars is not the length": [],
        "sha256 is not that of the text": [],
    }
    empty, nfc, lengths, hashes = wrong.values()
    count = chars = 0
    for shard in build.manifest["shards"]:
        for batch in pq.ParquetFile(build.folder / shard["name"]).iter_batches(
            512, columns=["id", "text", "n_chars", "sha256"]
        ):
            for id, text, n_chars, sha256 in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if not text.strip().strip(_INVISIBLE).strip():
                    empty.append(id)
                if not unicodedata.is_normalized("NFC", text):
                    nfc.append(id)
                if len(text) != n_chars:
                    lengths.append(f"{id} ({n_chars:,}, the text has {len(text):,})")
                if hashlib.sha256(text.encode()).digest() != sha256:
                    hashes.append(id)
                count, chars = count + 1, chars + len(text)
    for what, examples in wrong.items():
        say.many(what, examples)
    return f"{count:,} texts, {chars:,} characters"


def placeholders(build: Opened, say: Say) -> str:
    """Each redaction has its placeholder at its place in the text, and no count is off."""
    build.bad_rows(say, "audits", "pii_agrees")
    build.bad_rows(say, "reports", "verify_pii_kinds")
    displaced, longer, count = [], [], 0
    query = """
        select shards.id, shards.text, shards.n_chars, documents.n_chars,
            list({'kind': kind, 'from': start_char, 'to': end_char} order by start_char)
        from shards join documents using (id) join pii using (id) group by all order by shards.id
    """
    for id, text, n_chars, before, spans in build.stream(query):
        shift = end = 0
        for span in spans:
            placeholder, start = f"<{span['kind'].upper()}>", span["from"] + shift
            if (
                text[start : start + len(placeholder)] != placeholder
                or span["from"] < end
                or span["to"] <= span["from"]
            ):
                displaced.append(f"{id}, {span['kind']} at {span['from']:,} to {span['to']:,}")
            end = span["to"]
            shift += len(placeholder) - (span["to"] - span["from"])
            count += 1
        if before + shift != n_chars:
            longer.append(f"{id} ({before:,} before, {n_chars:,} after, {shift:+,} by its placeholders)")
    say.many("placeholders do not stand where the audit table says", displaced)
    say.many("texts changed by more than their placeholders", longer)
    query = "select id from shards join documents using (id) where pii_redactions = 0 and shards.n_chars <> documents.n_chars order by id"
    say.many("texts changed by more than their placeholders", [id for (id,) in build.rows(query)])
    return f"{count:,} placeholders"


def records(build: Opened, say: Say) -> str:
    """Shards, documents, decisions, rejected and quarantined lines tell one story of every line."""
    for stem in ("shards_hold_the_kept", "decided_once", "text_nonempty"):
        build.bad_rows(say, "audits", stem)
    for stem in ("documents_match_shards", "places", "endings", "hits"):
        build.bad_rows(say, "reports", f"verify_{stem}")
    for path in sorted((build.audit / "measures").glob("*.parquet")):
        wrong = build.rows(
            f'select coalesce(m.id, d.id) from measures."{path.stem}" as m full join documents as d using (id) group by all having count(m.id) <> 1 or count(d.id) <> 1 order by 1'
        )
        say.many(f"measures.{path.stem} has not one row for each document", [id for (id,) in wrong])
    return f"{build.one('select count(*) from decisions'):,} decisions"


def judgements(build: Opened, say: Say) -> str:
    """The decisions follow from the measures: each stage's SQL is run once more over the tables of the build."""
    again, not_again = [], []
    with judging.open_for_judging(build.folder) as connection:
        for stage in build.config["stages"]:
            if not judging.can_judge(build.folder, stage):
                not_again.append(stage)
                continue
            query = f"""
                select coalesce(now.id, then_.id)
                from ({judging.stage_sql(build.folder, stage)}) as now
                full join stages."{stage}" as then_ using (id)
                where now.id is null or then_.id is null or now.hits is distinct from then_.hits
                order by 1
            """
            try:
                wrong = connection.execute(query).fetchall()
            except duckdb.BinderException:  # a stage of the user's own that reads the text, or calls a UDF
                not_again.append(stage)
                continue
            say.many(f"{stage} decides otherwise over the measures of the build", [id for (id,) in wrong])
            again.append(stage)
    rest = f"; not {', '.join(not_again)}, which read{'s' if len(not_again) == 1 else ''} what is not in the build"
    return f"{', '.join(again) or 'no stage'}{rest if not_again else ''}"


def counts(build: Opened, say: Say) -> str:
    """Counts that must agree agree: lines, stages, sources, decisions, manifest."""
    for stem in ("counts_balance", "chain_unbroken", "decisions_match", "lines_accounted", "manifest_counts_agree"):
        build.bad_rows(say, "audits", stem)
    build.bad_rows(say, "reports", "verify_counts_by_source")
    stated = {key: n for key, n in build.rows("from manifest_counts") if key.startswith("filters.")}
    listed = {f"filters.{stage}" for stage in build.config["stages"]}
    dropped = dict(build.rows("select stage, count(*) from decisions where verdict <> 'keep' group by stage"))
    unknown = sorted(set(dropped) - set(build.config["stages"]) - {"read"})
    say.many("decisions of stages that are not in the build", unknown)
    for key in sorted(stated):
        if stated[key] and key not in listed:
            say.error(f"{key} is {stated[key]:,}, but the stage is not in the build")
    lines = build.one("select coalesce(sum(lines), 0) from files where status = 'read'")
    drops = sum(build.manifest["filters"].values()) + sum(
        v for k, v in build.manifest["dedup"].items() if k.endswith(("dropped", "decontaminated"))
    )
    total = build.manifest["n_docs"] + drops + sum(build.manifest["quarantined"].values()) + build.manifest["blank"]
    if total != lines:
        say.error(f"the raw files have {lines:,} lines, the manifest accounts for {total:,}")
    return f"{lines:,} lines, {len(build.config['stages']):,} stages"


def hash_chain(build: Opened, say: Say) -> str:
    """The build hashes come out again from the documents, and hashes.u64 is what the second is over."""
    chain = build.record["hash_chain"]
    for key, where in (("corpus_build_hash", "true"), ("filtered_build_hash", "verdict = 'keep'")):
        found = np.array(
            [h for (h,) in build.stream(f"select distinct content_hash64 from documents where {where}", size=65536)],
            np.int64,
        )
        content = np.sort(found.view(np.uint64)).astype(">u8").tobytes()
        digest = hashlib.blake2b(content, digest_size=32).hexdigest()
        if chain[key] != digest:
            say.error(f"{key} is {chain[key]} in build.json, {digest} over the documents")
    if (build.audit / "hashes.u64").read_bytes() != content:
        say.error("_audit/hashes.u64 does not hold the ascending unique hashes of the kept documents")
    return f"{len(found):,} unique hashes kept"
