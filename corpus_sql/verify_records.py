"""Records: what the shards and the audit tables say of every line, compared with each other and computed anew."""

from __future__ import annotations

import hashlib
import unicodedata

import duckdb
import numpy as np
import pyarrow.parquet as pq

from corpus_sql import judging
from corpus_sql.findings import Say
from corpus_sql.model import identifier
from corpus_sql.opened import Opened
from corpus_sql.project import builtin

# audits that belong to another check; all others are made with the counts
_ELSEWHERE = {
    "ids_unique", "text_nonempty", "decided_once", "shards_hold_the_kept", "pii_agrees", "provenance_complete",
    "one_split_per_text", "no_group_crosses", "pairs_within_groups", "survivors_kept",
}  # fmt: skip
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"


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
    query = """
        select id
        from shards join documents using (id)
        where pii_redactions = 0 and shards.n_chars <> documents.n_chars
        order by id
    """
    say.many("texts changed by more than their placeholders", [id for (id,) in build.rows(query)])
    return f"{count:,} placeholders"


def records(build: Opened, say: Say) -> str:
    """Shards, documents, decisions, rejected and quarantined lines tell one story of every line."""
    for stem in ("shards_hold_the_kept", "decided_once", "text_nonempty"):
        build.bad_rows(say, "audits", stem)
    for stem in ("documents_match_shards", "places", "endings", "hits", "rows_named"):
        build.bad_rows(say, "reports", f"verify_{stem}")
    for path in sorted((build.audit / "measures").glob("*.parquet")):
        wrong = build.rows(
            f"""
            select id
            from measures."{path.stem}" as measure full join documents using (id)
            group by id
            having count(measure.id) <> 1 or count(documents.id) <> 1
            order by id
            """
        )
        say.many(f"measures.{path.stem} has not one row for each document", [id for (id,) in wrong])
    return f"{build.one('select count(*) from decisions'):,} decisions"


def judgements(build: Opened, say: Say) -> str:
    """The decisions follow from the measures: each stage's SQL is run once more over the tables of the build."""
    again, not_again = [], []
    judging.add_relations(build.connection)
    for name in ["languages", *build.config["stages"]]:
        if name == "languages":
            sql, there, differ = judging.compiled_sql(build.folder, "relations", name), "documents", "lang"
        elif judging.can_judge(build.folder, name):
            sql, there, differ = judging.stage_sql(build.folder, name), identifier("stages", name), "hits"
        else:
            not_again.append(name)
            continue
        query = f"""
            select id
            from ({sql}) as now full join (select id, {differ} from {there}) as recorded using (id)
            where now.id is null or recorded.id is null or now.{differ} is distinct from recorded.{differ}
            order by id
        """
        try:
            wrong = build.rows(query)
        except (duckdb.BinderException, duckdb.CatalogException):  # a user's own, over the text or with a UDF
            not_again.append(name)
            continue
        say.many(f"{name} comes out otherwise over the measures of the build", [id for (id,) in wrong])
        again.append(name)
    rest = f"; not {', '.join(not_again)}: not all it reads is in the build" if not_again else ""
    return f"{', '.join(again)}{rest}"


def counts(build: Opened, say: Say) -> str:
    """Counts that must agree agree: lines, stages, sources, decisions, manifest."""
    for path in sorted((builtin() / "sql" / "audits").glob("*.sql")):
        if path.stem not in _ELSEWHERE:
            build.bad_rows(say, "audits", path.stem)
    build.bad_rows(say, "reports", "verify_counts_by_source")
    build.bad_rows(say, "reports", "verify_counts_by_file")
    build.bad_rows(say, "reports", "verify_stages_counted")
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
