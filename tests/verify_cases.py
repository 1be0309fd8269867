"""What can be done to a build, and every error that is to come of it; for tests/test_verify.py.

Each case changes one thing and writes SHA256SUMS anew, as somebody would who wants it not to show.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from conftest import Corpus, raw_line

from corpus_sql import shards, verifying

SCHEMAS = Path(__file__).parents[1] / "schemas"

HARBOUR = "The keeper of the harbour writes down the name of every boat that comes in with the tide and the hour of it."
ORCHARD = (
    "In the orchard behind the school the children pick the apples that have fallen, and the cook makes jam of them."
)
NEARLY = HARBOUR[:-1] + " again."
LETTER = "To the members: write to anna.beispiel@example.org or call +49 30 901820 with the names of those that come."
EXAM = "What is the sum of the first twelve odd numbers and how do you prove that it is a square of a whole number?"
QUOTED = "A riddle of the week for you to try: " + EXAM
ACCENTS = "The café of the village has a terrace and a view of the lake, and that is all there is to be said of it."
BRIDGE = "The bridge of stone that crosses the river was built by the monks and is to be mended with the help of all."
TALE = "The monks of the bridge told the tale of it to all that came by and to you."
CHINESE = "清晨的市场很热闹，卖菜的人把青菜和豆腐摆在路边，买菜的人也不着急，一边走一边和熟人说话。"

CONFIG = """
stages = ["gopher", "exact_dedup", "near_dedup", "decontaminate", "pii"]
shard_rows = 3
[gopher]
min_n_words = 10
[decontaminate]
protected = ["eval/*.jsonl"]
"""


def made(folder: Path, config: str) -> Corpus:
    corpus = Corpus(folder)
    corpus.source(
        "a",
        [
            HARBOUR,
            ORCHARD,
            raw_line(HARBOUR, source_record_id="copy"),
            NEARLY,
            LETTER,
            "Too short, all of it.",
            b'{"url": "https://example.org/broken"',
            b"  ",
            QUOTED,
            raw_line(ACCENTS, group_id="lake"),
            raw_line(BRIDGE, group_id="lake"),
        ],
        parts=2,
    )
    corpus.source(
        "b",
        [
            CHINESE,
            raw_line(TALE, parent_ids=["a:10"]),
        ],
    )
    (folder / "eval").mkdir()
    (folder / "eval" / "exam.jsonl").write_text(json.dumps({"id": "exam-1", "text": EXAM}) + "\n")
    corpus.run(CONFIG + config)
    shutil.rmtree(folder / "artifacts" / ".work")
    return corpus


S0, S1, S2, S3 = (f"shard-0000{i}-of-00003.parquet" for i in range(4))
DOCUMENTS = "_audit/documents.parquet"


class Copy:
    """A copy of a project to be spoilt."""

    def __init__(self, corpus: Corpus, folder: Path):
        shutil.copytree(corpus.folder, folder, dirs_exist_ok=True)
        self.folder = folder
        self.build = folder / "artifacts" / "corpus" / "t" / "v1"
        self.raw = folder / "artifacts" / "corpus" / "raw"
        self.ledger = folder / "artifacts" / "corpus" / "LEDGER.jsonl"

    def errors(self) -> list[tuple[str, str]]:
        return [(one.check, one.what) for one in verifying.verify(self.build).errors]

    def notices(self) -> list[tuple[str, str]]:
        return [(one.check, one.what) for one in verifying.verify(self.build).findings if one.severity == "notice"]

    def flip(self, name: str, at: int | None = None, bit: int = 1) -> None:
        """Flip one bit of one byte, by default of the byte in the middle."""
        path = self.build / name
        content = bytearray(path.read_bytes())
        content[len(content) // 2 if at is None else at] ^= bit
        path.write_bytes(content)

    def sums(self) -> None:
        """Write SHA256SUMS anew, so that it agrees with what lies there."""
        path = self.build / "_audit" / "SHA256SUMS"
        files = {p.relative_to(self.build).as_posix(): p for p in self.build.rglob("*") if p.is_file() and p != path}
        hashed = {name: hashlib.sha256(p.read_bytes()).hexdigest() for name, p in files.items()}
        path.write_text("".join(f"{hashed[name]}  {name}\n" for name in sorted(files, key=str.encode)))

    def table(self, name: str, change: Callable[[pa.Table], pa.Table], **how: object) -> None:
        """Change a table and write SHA256SUMS anew; for a shard the manifest too. how: options of the writer."""
        path = self.build / name
        before = pq.read_schema(path)
        table = change(pq.read_table(path))
        same = table.schema.names == before.names and not how.pop("schema", None)
        pq.write_table(table.cast(before) if same else table, path, **({"compression": "zstd"} | how))
        if name.startswith("shard"):
            found = json.loads((self.build / "_MANIFEST.json").read_text())
            for shard in found["shards"]:
                shard["sha256"] = hashlib.sha256((self.build / shard["name"]).read_bytes()).hexdigest()
                shard["rows"] = pq.read_metadata(self.build / shard["name"]).num_rows
            self.write_manifest(found)
        self.sums()

    def manifest(self, change: Callable[[dict], None]) -> None:
        """Change the manifest and write SHA256SUMS anew."""
        found = json.loads((self.build / "_MANIFEST.json").read_text())
        change(found)
        self.write_manifest(found)
        self.sums()

    def record(self, change: Callable[[dict], None]) -> None:
        """Change build.json and write SHA256SUMS anew."""
        path = self.build / "_audit" / "build.json"
        found = json.loads(path.read_text())
        change(found)
        path.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        self.sums()

    def write_manifest(self, found: dict) -> None:
        (self.build / "_MANIFEST.json").write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n")


def put(column: str, id: str, value: object) -> Callable[[pa.Table], pa.Table]:
    """A change of one cell: that column of the row of that id."""

    def change(table: pa.Table) -> pa.Table:
        values = table[column].to_pylist()
        values[table["id"].to_pylist().index(id)] = value
        i = table.schema.names.index(column)
        return table.set_column(i, table.schema.field(i), pa.array(values, table.schema.field(i).type))

    return change


def all_of(*changes: Callable[[pa.Table], pa.Table]) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        for one in changes:
            table = one(table)
        return table

    return change


def text(id: str, value: str, **others: object) -> Callable[[pa.Table], pa.Table]:
    """Put another text into a shard, with the length and hash that belong to it."""
    own = {"n_chars": len(value), "sha256": hashlib.sha256(value.encode()).digest()} | others
    return all_of(put("text", id, value), *(put(column, id, one) for column, one in own.items()))


def nullable(column: str) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        return table.cast(pa.schema([field.with_nullable(field.name == column) for field in table.schema]))

    return change


def wider(column: str) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        types = {column: pa.int64()}
        return table.cast(pa.schema([field.with_type(types.get(field.name, field.type)) for field in table.schema]))

    return change


def without(id: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.filter(pc.not_equal(table["id"], id))


def where(reason: str, column: str, value: object) -> Callable[[pa.Table], pa.Table]:
    """Put a value into a column of the decisions with that reason."""

    def change(table: pa.Table) -> pa.Table:
        i = table.schema.names.index(column)
        one = pa.scalar(value, table.schema.field(i).type)
        values = pc.if_else(pc.equal(table["reason"], reason), one, table[column])
        return table.set_column(i, table.schema.field(i), values)

    return change


def undecided(id: str, stage: str) -> Callable[[pa.Table], pa.Table]:
    """Take away what one stage said of one document."""
    return lambda table: table.filter(pc.or_(pc.not_equal(table["id"], id), pc.not_equal(table["stage"], stage)))


def counted(column: str, n: int, row: dict[str, str]) -> Callable[[pa.Table], pa.Table]:
    """Put another count into the row that holds these values."""

    def change(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        values = [n if all(one[key] == row[key] for key in row) else one[column] for one in rows]
        i = table.schema.names.index(column)
        return table.set_column(i, table.schema.field(i), pa.array(values, table.schema.field(i).type))

    return change


def pairless(kind: str) -> Callable[[pa.Table], pa.Table]:
    """Take the pairs of a kind away."""
    return lambda table: table.filter(pc.not_equal(table["kind"], kind))


def twice(table: pa.Table) -> pa.Table:
    """The first row stands there twice."""
    return pa.concat_tables([table.slice(0, 1), table])


def one_more_pair(table: pa.Table) -> pa.Table:
    pair = pa.table({"a": ["a:0"], "b": ["a:1"], "kind": ["near"], "jaccard": [0.9]})
    return pa.concat_tables([table, pair.cast(table.schema)])


def the_content_of_its_neighbour(table: pa.Table) -> pa.Table:
    return put("content_hash64", "a:1", table["content_hash64"][0].as_py())(table)


def another_hash(ledger: str) -> str:
    return re.sub('"sha256": "[0-9a-f]{64}"', '"sha256": "' + "0" * 64 + '"', ledger, count=1)


def both(copy: Copy, shard: str, column: str, id: str, value: object) -> None:
    """Change a document in its shard and in the audit table alike."""
    copy.table(shard, put(column, id, value))
    copy.table(DOCUMENTS, put(column, id, value))


def edit(copy: Copy, name: str, old: str, new: str) -> None:
    path = copy.build / name
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new, 1))
    copy.sums()


def another_config(copy: Copy) -> None:
    """Another threshold in config.toml, and its hash wherever one is written down."""
    edit(copy, "config.toml", "min_n_words = 10", "min_n_words = 11")
    digest = hashlib.sha256((copy.build / "config.toml").read_bytes()).hexdigest()
    copy.record(lambda record: record["hash_chain"].update(filter_config_sha256=digest))
    copy.manifest(lambda manifest: manifest.update(config_sha256=digest))


WIND = HARBOUR.replace("tide", "wind")
PART0, PART1 = "a/20260102/part-00000.jsonl.zst", "a/20260102/part-00001.jsonl.zst"
UNBOUND = "cannot be checked: BinderException: Binder Error: "
NOT_THE_RAW_TEXT = "the text is not the raw text with its placeholders"
RELATED = (
    "Documents that copy, resemble or name each other, or share an upstream record, are in one group. It is not so: "
)
MANIFEST_COUNTS = "The counts of the manifest are those of the shards, the decisions and the PII table. It is not so: "
BY_KIND = "The manifest counts, for each kind, the places that were scrubbed in the kept documents. It is not so: "
ENDINGS = "Where a document ended is the same in documents, decisions, rejected and quarantine. It is not so: "
STANDS = (
    "What stands for a removed copy is in the corpus, and it is its witness or what stands for that. It is not so: "
)
HITS = (
    "The first hit decided, a keep has none, and a value lies on the side of the threshold that its reason names. "
    "It is not so: "
)
PLACES = (
    "The n-th kept document in id order is the n-th row of the shards, where the audit table says it is. It is not so: "
)
ONE_KEPT = "Of a cluster of near duplicates one is kept, and of two near duplicates at most one. It is not so: "
CONTAMINATION = (
    "Each document has one row in contamination for every protected item measured in it, and the first of them "
    "decided. It is not so: id='a:8', measured=1, "
)
PAIRS = (
    "Copies, records, groups and parents are in pairs once, as the documents name them, and a near pair has a "
    "similarity. It is not so: "
)
PARENTS = (
    "Each parent that a document names is in parents once, as the document, the quarantined line or nothing that it "
    "is. It is not so: "
)
ONCE = (
    "Rejected texts, placeholders, expansions and files are told once, of documents and sources that there are. "
    "It is not so: "
)
CLUSTERS = (
    "Row indexes ascend with the ids, a cluster bears the smallest of its own, and near duplicates share one. "
    "It is not so: "
)

CASES = {
    # shards
    "two rows of a shard change places": (
        lambda c: c.table(S0, lambda table: table.take([1, 0, 2])),
        [("ids", "ids do not ascend in byte order: a:0 after a:1")],
    ),
    "a text is no longer NFC, with its length and hash": (
        lambda c: c.table(S1, text("a:9", unicodedata.normalize("NFD", ACCENTS))),
        [
            ("texts", "texts that are not NFC: a:9"),
            ("placeholders", "texts changed by more than their placeholders: a:9"),
            ("raw", f"{PART1}: {NOT_THE_RAW_TEXT}: a:9"),
            ("splits", "documents in the wrong split: a:9 is in train, the rule says val"),
        ],
    ),
    "a word of a text": (
        lambda c: c.table(S0, put("text", "a:0", WIND)),
        [("texts", "sha256 is not that of the text: a:0")],
    ),
    "a word of a text, with its hash": (
        lambda c: c.table(S0, text("a:0", WIND)),
        [
            ("raw", f"{PART0}: {NOT_THE_RAW_TEXT}: a:0"),
            ("splits", "documents in the wrong split: a:0 is in val, the rule says train"),
        ],
    ),
    "the length of a text": (
        lambda c: c.table(S0, put("n_chars", "a:0", 107)),
        [
            ("texts", "n_chars is not the length: a:0 (107, the text has 108)"),
            ("placeholders", "texts changed by more than their placeholders: a:0"),
            (
                "records",
                "No text in the shards is empty, and its length is the one stated. It is not so: id='a:0', n_chars=107",
            ),
        ],
    ),
    "a text of invisible characters": (
        lambda c: c.table(S2, text("b:1", " \u200b")),
        [
            ("texts", "empty texts: b:1"),
            ("placeholders", "texts changed by more than their placeholders: b:1"),
            ("raw", f"b/20260102/part-00000.jsonl.zst: {NOT_THE_RAW_TEXT}: b:1"),
        ],
    ),
    "a text without its placeholders": (
        lambda c: c.table(S1, text("a:4", LETTER, pii_redactions=0)),
        [
            (
                "placeholders",
                "As many places were scrubbed in a kept document as it has redactions. "
                "It is not so: id='a:4', pii_redactions=0, places=2",
            ),
            (
                "placeholders",
                "placeholders do not stand where the audit table says: a:4, email at 25 to 50; a:4, phone at 59 to 72",
            ),
            (
                "placeholders",
                "texts changed by more than their placeholders: a:4 (107 before, 107 after, -24 by its placeholders)",
            ),
            ("counts", MANIFEST_COUNTS + "key='pii', stated=2, counted=0"),
            ("raw", f"{PART0}: {NOT_THE_RAW_TEXT}: a:4"),
            ("personal data", "documents that still hold what the scrub looks for: a:4 (email, phone)"),
        ],
    ),
    "a column of a shard is gone": (
        lambda c: c.table(S0, lambda table: table.drop_columns(["url"])),
        [
            ("shards", "shard-00000-of-00003.parquet has not the columns of a shard: url is missing"),
            ("records", UNBOUND + 'Values list "shards" does not have a column named "url"'),
            ("sources", UNBOUND + 'Referenced column "url" not found in FROM clause!'),
        ],
    ),
    "a column of a shard may be null": (
        lambda c: c.table(S0, nullable("url"), schema=True),
        [("shards", f"{S0} has not the columns of a shard: url may be null")],
    ),
    "a column of a shard has a wider type": (
        lambda c: c.table(S0, wider("n_chars"), schema=True),
        [("shards", f"{S0} has not the columns of a shard: n_chars is int64, not int32")],
    ),
    "two columns of a shard change places": (
        lambda c: c.table(S0, lambda table: table.select([*table.schema.names[1::-1], *table.schema.names[2:]])),
        [("shards", f"{S0} has not the columns of a shard: text stands in the place of id")],
    ),
    "hashes of the manifest in upper case": (
        lambda c: c.manifest(lambda m: m.update(config_sha256="A" * 64)),
        [("manifest", f'config_sha256 is "{"A" * 55}...", not 64 lower-case hex digits')],
    ),
    "a shard is compressed with Snappy": (
        lambda c: c.table(S1, lambda table: table, compression="snappy"),
        [
            (
                "shards",
                f"{S1}, row group 0: id, text, source_id, url, license_spdx, lang, n_chars, sha256, minhash_cluster, "
                "pii_redactions, split compressed with SNAPPY, not with zstd",
            )
        ],
    ),
    "one column of the second row group is not compressed": (
        lambda c: c.table(
            S0,
            lambda table: table,
            row_group_size=2,
            compression={name: "none" if name == "lang" else "zstd" for name in shards.schema(SCHEMAS).names},
        ),
        [("shards", f"{S0}, row group {i}: lang not compressed, not with zstd") for i in (0, 1)],
    ),
    "a row of a shard is gone": (
        lambda c: c.table(S2, without("b:1")),
        [
            ("manifest", "n_docs is 7, but the shards' rows add up to 6"),
            (
                "records",
                "The shards hold exactly the documents whose last verdict is keep. "
                "It is not so: id='b:1', verdict='keep'",
            ),
            ("records", PLACES + "id='b:1', shard='shard-00002-of-00003.parquet', shard_row=0"),
            ("counts", MANIFEST_COUNTS + "key='n_docs', stated=7, counted=6"),
        ],
    ),
    # the manifest
    "one document more in the manifest": (
        lambda c: c.manifest(lambda manifest: manifest.update(n_docs=8)),
        [
            ("manifest", "n_docs is 8, but the shards' rows add up to 7"),
            ("counts", MANIFEST_COUNTS + "key='n_docs', stated=8, counted=7"),
            ("counts", "the raw files have 13 lines, the manifest accounts for 14"),
        ],
    ),
    "one document more that a filter dropped": (
        lambda c: c.manifest(lambda manifest: manifest["filters"].update(gopher=2)),
        [
            ("counts", MANIFEST_COUNTS + "key='filters.gopher', stated=2, counted=1"),
            ("counts", "the raw files have 13 lines, the manifest accounts for 14"),
        ],
    ),
    "a filter that did not run dropped one, and a blank line less": (
        lambda c: c.manifest(lambda manifest: (manifest["filters"].update(lang=1), manifest.update(blank=0))),
        [
            (
                "counts",
                MANIFEST_COUNTS + "key='blank', stated=0, counted=1; key='filters.lang', stated=1, counted=None",
            ),
            ("counts", "filters.lang is 1, but the stage is not in the build"),
        ],
    ),
    "an address counted as a phone number": (
        lambda c: c.manifest(lambda manifest: manifest["pii"].update(emails=0, phones=2)),
        [
            (
                "placeholders",
                BY_KIND + "key='pii.emails', stated=0, counted=1; key='pii.phones', stated=2, counted=1",
            )
        ],
    ),
    "the hash of a shard": (
        lambda c: c.manifest(lambda manifest: manifest["shards"][0].update(sha256="0" * 64)),
        [("shards", "shard-00000-of-00003.parquet has not the SHA-256 of the manifest")],
    ),
    "a shard that the manifest does not list": (
        lambda c: (shutil.copy(c.build / S2, c.build / S3), c.sums()),
        [
            ("shards", f"the manifest lists {S0}, {S1}, {S2}; the folder holds {S0}, {S1}, {S2}, {S3}"),
            (
                "ids",
                "No id stands twice, neither in the shards nor among documents and quarantined lines. "
                "It is not so: place='shards', id='b:1'",
            ),
            ("counts", MANIFEST_COUNTS + "key='n_docs', stated=7, counted=8"),
            ("raw", "b/20260102/part-00000.jsonl.zst: lines that the file does not have: b:1 (line 2)"),
            ("duplicates", ONE_KEPT + "ids=['b:1', 'b:1']"),
        ],
    ),
    "a key of the manifest is gone": (
        lambda c: c.manifest(lambda manifest: manifest.pop("blank")),
        [("manifest", "blank is missing")],
    ),
    "the manifest in other white space": (
        lambda c: edit(c, "_MANIFEST.json", '{\n "dataset"', '{\n  "dataset"'),
        [("manifest", "_MANIFEST.json is not spelled as a build spells it: other spaces, order or escapes")],
    ),
    "a setting of deduplication": (
        lambda c: c.manifest(lambda manifest: manifest["dedup"].update(bands=32)),
        [("config", "dedup.bands is 32 in the manifest, 16 in build.json")],
    ),
    "the version's name": (
        lambda c: c.manifest(lambda manifest: manifest.update(version="v2")),
        [("config", "version is 'v1' by config.toml, 'v2' in the manifest, 'v1' in build.json")],
    ),
    # config, build.json, hash chain
    "a threshold in config.toml": (
        lambda c: edit(c, "config.toml", "min_n_words = 10", "min_n_words = 11"),
        [
            ("config", "_MANIFEST.json: config_sha256 is <sha256>, config.toml has <sha256>"),
            ("config", "_audit/build.json: filter_config_sha256 is <sha256>, config.toml has <sha256>"),
            ("config", "gopher.min_n_words is 11 in config.toml, 10 in build.json"),
        ],
    ),
    "a threshold in config.toml, with every hash of it": (
        another_config,
        [("config", "gopher.min_n_words is 11 in config.toml, 10 in build.json")],
    ),
    "the build hash": (
        lambda c: c.record(lambda record: record["hash_chain"].update(corpus_build_hash="0" * 64)),
        [("hash chain", "corpus_build_hash is <sha256> in build.json, <sha256> over the documents")],
    ),
    "a hash less in hashes.u64": (
        lambda c: (
            (c.build / "_audit" / "hashes.u64").write_bytes((c.build / "_audit" / "hashes.u64").read_bytes()[8:]),
            c.sums(),
        ),
        [("hash chain", "_audit/hashes.u64 does not hold the ascending unique hashes of the kept documents")],
    ),
    "the content hash of a document": (
        lambda c: c.table(DOCUMENTS, put("content_hash64", "a:5", 7)),
        [
            ("hash chain", "corpus_build_hash is <sha256> in build.json, <sha256> over the documents"),
            ("raw", f"{PART0}: another content hash: a:5"),
        ],
    ),
    "the version of a tool": (
        lambda c: c.record(lambda record: record["relations"]["outputs.pairs"]["tools"].update(duckdb="1.0")),
        [
            ("record", "outputs.pairs: the fingerprint in build.json is not that of what stands beside it"),
        ],
    ),
    "how many documents were measured": (
        lambda c: c.record(lambda record: record["coverage"]["words"].update(n_words=10)),
        [("record", "measures.words: the coverage in build.json is not that of the table")],
    ),
    "the SQL that ran": (
        lambda c: edit(c, "_audit/compiled/stages/gopher.sql", "-- gopher:", "-- Gopher:"),
        [("record", "_audit/compiled/stages/gopher.sql is not what ran")],
    ),
    "SQL that did not run": (
        lambda c: ((c.build / "_audit" / "compiled" / "stages" / "mine.sql").write_text("select 1\n"), c.sums()),
        [("record", "stages.mine: build.json does not name it")],
    ),
    "a column of an audit table": (
        lambda c: c.table("_audit/rejected.parquet", lambda table: table.append_column("score", table["lang"])),
        [("columns", "_audit/rejected.parquet: the columns are not those declared: score VARCHAR")],
    ),
    # measures, decisions, counts
    "a measure": (
        lambda c: c.table("_audit/measures/words.parquet", put("n_words", "a:5", 50)),
        [("judgements", "gopher comes out otherwise over the measures of the build: a:5")],
    ),
    "a row of a measure is gone": (
        lambda c: c.table("_audit/measures/words.parquet", without("a:5")),
        [
            ("record", "measures.words: the coverage in build.json is not that of the table"),
            ("records", "measures.words has not one row for each document: a:5"),
            ("judgements", "gopher comes out otherwise over the measures of the build: a:5"),
        ],
    ),
    "the language of a document": (
        lambda c: both(c, S1, "lang", "b:0", "ja"),
        [("judgements", "languages comes out otherwise over the measures of the build: b:0")],
    ),
    "the threshold of a decision": (
        lambda c: c.table("_audit/decisions.parquet", where("low_n_words", "threshold", 4.0)),
        [("records", HITS + "id='a:5', stage='gopher', reason='low_n_words', value=5.0, threshold=4.0")],
    ),
    "the document that stands for a copy": (
        lambda c: c.table("_audit/decisions.parquet", where("exact_duplicate", "witness", "a:1")),
        [
            ("records", HITS + "id='a:2', stage='exact_dedup', reason='exact_duplicate', value=None, threshold=None"),
            (
                "duplicates",
                "The document that stands for a removed copy went on, has the same text or lies in the same cluster, "
                "at the similarity told. It is not so: id='a:2', reason='exact_duplicate', witness='a:1'",
            ),
            ("duplicates", STANDS + "id='a:2', witness='a:1', survivor='a:0'"),
        ],
    ),
    "what is in the corpus in a copy's stead": (
        lambda c: c.table(DOCUMENTS, put("survivor", "a:2", None)),
        [("duplicates", STANDS + "id='a:2', witness='a:0', survivor=None")],
    ),
    "a decision is gone": (
        lambda c: c.table("_audit/decisions.parquet", undecided("a:0", "pii")),
        [
            ("judgements", "pii comes out otherwise over the measures of the build: a:0"),
            (
                "counts",
                "The decisions of each stage are as many as the reconciliation counted. "
                "It is not so: stage='pii', seq=5, kept=6, rejected=0, quarantined=0",
            ),
            (
                "counts",
                "The counts of each stage and source are those of its decisions and of the files. "
                "It is not so: stage='pii', source_id='a', stated=[5, 0, 0, 0], counted=[4, 0, 0, None]",
            ),
        ],
    ),
    "the reason of a rejected text": (
        lambda c: c.table("_audit/rejected.parquet", put("reason", "a:5", "high_n_words")),
        [("records", ENDINGS + "id='a:5', verdict='reject', decided='reject'")],
    ),
    "a rejected text": (
        lambda c: c.table("_audit/rejected.parquet", put("text", "a:5", "Too long, all of it.")),
        [("raw", f"{PART0}: {NOT_THE_RAW_TEXT}: a:5")],
    ),
    "the bytes of a quarantined line": (
        lambda c: c.table("_audit/quarantine.parquet", put("raw", "a:6", b"{}")),
        [("raw", f"{PART1}: quarantined lines with other bytes: a:6")],
    ),
    "a count of the reconciliation": (
        lambda c: c.table("_audit/reconciliation.parquet", counted("kept", 3, {"stage": "read", "source_id": "b"})),
        [
            (
                "counts",
                "What one stage kept is what the next one was given. It is not so: "
                "stage='gopher', source_id='b', entered=2, kept_before=3",
            ),
            (
                "counts",
                "What enters a stage is kept, rejected, quarantined or blank. It is not so: "
                "seq=0, stage='read', source_id='b', entered=2, kept=3, rejected=0, quarantined=0, blank=0",
            ),
            (
                "counts",
                "The counts of each stage and source are those of its decisions and of the files. It is not so: "
                "stage='read', source_id='b', stated=[3, 0, 0, 0], counted=[2, 0, 0, 0]; "
                "stage='read', source_id=None, stated=[13, 11, 0, 1, 1], counted=[13, 12, 0, 1, 1]",
            ),
        ],
    ),
    "the documents of a file": (
        lambda c: c.table("_audit/files.parquet", counted("documents", 3, {"source_id": "b"})),
        [
            (
                "counts",
                "A file's documents and quarantined lines are as many as the tables hold of it. It is not so: "
                "file='b/20260102/part-00000.jsonl.zst', stated=[3, 0], counted=[2, 0]",
            )
        ],
    ),
    # places and provenance
    "the row of a document in its shard": (
        lambda c: c.table(DOCUMENTS, put("shard_row", "a:9", 2)),
        [("records", PLACES + "id='a:9', shard='shard-00001-of-00003.parquet', shard_row=2")],
    ),
    "the line of a document": (
        lambda c: c.table(DOCUMENTS, put("line", "a:5", 5)),
        [
            (
                "ids",
                "An id is its source and the line's place in it, and places follow the lines of the files. "
                f"It is not so: id='a:5', file='{PART0}', line=5",
            ),
            ("raw", f"{PART0}: more than one row for a line: a:5"),
            ("raw", f"{PART0}: lines that are neither blank nor in the build: line 6"),
        ],
    ),
    "the offset of a document": (
        lambda c: c.table(DOCUMENTS, put("byte_offset", "a:1", 5)),
        [("raw", f"{PART0}: another offset: a:1 (byte 5, the line begins at 218)")],
    ),
    "the address of a document": (
        lambda c: both(c, S1, "url", "a:9", "https://example.org/b"),
        [("raw", f"{PART1}: another url: a:9")],
    ),
    "the licence of a document": (
        lambda c: both(c, S1, "license_spdx", "a:9", "MIT"),
        [
            ("sources", "a: 1 documents under MIT, the ledger says CC0-1.0"),
            ("raw", f"{PART1}: another license_spdx: a:9"),
        ],
    ),
    "a field that the contract does not know": (
        lambda c: c.table(DOCUMENTS, put("extra", "a:9", '{"title": "lake"}')),
        [("raw", f"{PART1}: other fields than `extra` holds: a:9")],
    ),
    "a raw file has changed": (
        lambda c: shutil.copy(c.raw / "b/20260102/part-00000.jsonl.zst", c.raw / PART0),
        [("raw", f"{PART0} has changed since the build read it")],
    ),
    "a raw file is gone": (
        lambda c: (c.raw / PART0).unlink(),
        [("raw", f"{PART0} is not in raw any more")],
    ),
    "a source has another licence now": (
        lambda c: c.ledger.write_text(c.ledger.read_text().replace("CC0-1.0", "CC-BY-4.0", 1)),
        [("sources", "a: 9 documents under CC0-1.0, the ledger says CC-BY-4.0")],
    ),
    "a source turns out to be a customer's": (
        lambda c: c.ledger.write_text(c.ledger.read_text().replace("self-written", "customer", 1)),
        [("sources", "a: customer data is never trained on")],
    ),
    "a source is in the ledger no more": (
        lambda c: c.ledger.write_text(c.ledger.read_text().splitlines()[0] + "\n"),
        [("sources", "b has no row in the ledger: 2 documents of an unknown source")],
    ),
    "the ledger lists another file": (
        lambda c: c.ledger.write_text(another_hash(c.ledger.read_text())),
        [("sources", f"{PART0}: read with SHA-256 <sha256>, the ledger lists <sha256>")],
    ),
    # splits, relatives, duplicates, contamination, personal data
    "a document in another split, in its shard alone": (
        lambda c: c.table(S0, put("split", "a:0", "train")),
        [
            (
                "records",
                "What the shards say of a document is what the audit table says of it. "
                "It is not so: id='a:0', differ=['split']",
            ),
            ("splits", "documents in the wrong split: a:0 is in train, the rule says val"),
        ],
    ),
    "a document in another split": (
        lambda c: both(c, S0, "split", "a:0", "train"),
        [("splits", "documents in the wrong split: a:0 is in train, the rule says val")],
    ),
    "a copy in a group of its own": (
        lambda c: c.table(DOCUMENTS, put("relation_group", "a:2", "a:2")),
        [("groups", RELATED + "a='a:0', b='a:2', kind='exact'; a='a:0', b='a:2', kind='exact'")],
    ),
    "a child in a group of its own, and the pair that ties it is gone": (
        lambda c: (
            c.table(DOCUMENTS, put("relation_group", "b:1", "b:1")),
            c.table("_audit/pairs.parquet", pairless("parent")),
        ),
        [
            ("groups", RELATED + "a='a:10', b='b:1', kind='parent'"),
            ("groups", PAIRS + "a='a:10', b='b:1', kind='parent', times=0"),
        ],
    ),
    "a group under another name": (
        lambda c: c.table(DOCUMENTS, put("relation_group", "a:1", "a:7")),
        [
            (
                "groups",
                "A group bears the smallest id in it, or a given group's name. "
                "It is not so: relation_group='a:7', smallest='a:1'",
            )
        ],
    ),
    "a redaction that is not told": (
        lambda c: c.table("_audit/pii.parquet", lambda table: table.slice(0, 1)),
        [
            (
                "placeholders",
                "As many places were scrubbed in a kept document as it has redactions. "
                "It is not so: id='a:4', pii_redactions=2, places=1",
            ),
            ("placeholders", BY_KIND + "key='pii.phones', stated=1, counted=None"),
            (
                "placeholders",
                "texts changed by more than their placeholders: a:4 (107 before, 83 after, -18 by its placeholders)",
            ),
            ("raw", f"{PART0}: {NOT_THE_RAW_TEXT}: a:4"),
        ],
    ),
    "two that were kept turn out to be near duplicates": (
        lambda c: c.table("_audit/pairs.parquet", one_more_pair),
        [
            ("groups", RELATED + "a='a:0', b='a:1', kind='near'"),
            ("duplicates", CLUSTERS + "id='a:1', row_index=1, minhash_cluster=1"),
            ("duplicates", ONE_KEPT + "ids=['a:0', 'a:1']"),
        ],
    ),
    "two that were kept in one cluster": (
        lambda c: both(c, S0, "minhash_cluster", "a:1", 0),
        [
            ("duplicates", ONE_KEPT + "ids=['a:0', 'a:1']"),
            ("duplicates", "documents of a cluster that no near pairs connect to the rest of it: a:1"),
        ],
    ),
    "two that were kept with one content": (
        lambda c: c.table(DOCUMENTS, the_content_of_its_neighbour),
        [
            ("hash chain", "corpus_build_hash is <sha256> in build.json, <sha256> over the documents"),
            ("hash chain", "filtered_build_hash is <sha256> in build.json, <sha256> over the documents"),
            ("hash chain", "_audit/hashes.u64 does not hold the ascending unique hashes of the kept documents"),
            ("raw", f"{PART0}: another content hash: a:1"),
            ("groups", RELATED + "a='a:0', b='a:1', kind='exact'"),
            ("groups", PAIRS + "a='a:0', b='a:1', kind='exact', times=0"),
            ("duplicates", "Of equal texts one is kept. It is not so: ids=['a:0', 'a:1']"),
        ],
    ),
    "a kept document that the measure calls contaminated": (
        lambda c: c.table("_audit/measures/decontaminate.parquet", put("item", "a:0", "exam:exam-1")),
        [
            ("record", "measures.decontaminate: the coverage in build.json is not that of the table"),
            ("judgements", "decontaminate comes out otherwise over the measures of the build: a:0"),
            ("contamination", "kept, though the measure names a protected item: a:0"),
            (
                "contamination",
                CONTAMINATION.replace("a:8", "a:0").replace("measured=1", "measured=0")
                + "listed=None, item='exam:exam-1', first_item=None, witness=None",
            ),
        ],
    ),
    "a row of contamination is gone": (
        lambda c: c.table("_audit/contamination.parquet", without("a:8")),
        [
            (
                "contamination",
                CONTAMINATION + "listed=None, item='exam:exam-1', first_item=None, witness='exam:exam-1'",
            )
        ],
    ),
    "a row of contamination stands twice": (
        lambda c: c.table("_audit/contamination.parquet", twice),
        [
            (
                "contamination",
                CONTAMINATION + "listed=2, item='exam:exam-1', first_item='exam:exam-1', witness='exam:exam-1'",
            )
        ],
    ),
    "a row of contamination names another item": (
        lambda c: c.table("_audit/contamination.parquet", put("item", "a:8", "exam:exam-2")),
        [
            (
                "contamination",
                CONTAMINATION + "listed=1, item='exam:exam-1', first_item='exam:exam-2', witness='exam:exam-1'",
            )
        ],
    ),
    "a pair of copies is gone": (
        lambda c: c.table("_audit/pairs.parquet", pairless("exact")),
        [
            ("groups", PAIRS + "a='a:0', b='a:2', kind='exact', times=0"),
            ("groups", "documents of a group that no pairs connect to the rest of it: a:2"),
        ],
    ),
    "a pair of near duplicates is gone": (
        lambda c: c.table("_audit/pairs.parquet", pairless("near")),
        [
            ("groups", "documents of a group that no pairs connect to the rest of it: a:3"),
            ("duplicates", "documents of a cluster that no near pairs connect to the rest of it: a:3"),
        ],
    ),
    "a parent is told no more": (
        lambda c: c.table("_audit/parents.parquet", lambda table: table.slice(0, 0)),
        [
            ("groups", PARENTS + "id='b:1', named='a:10', named_times=1, listed_times=0"),
            ("groups", PAIRS + "a='a:10', b='b:1', kind='parent', times=1"),
        ],
    ),
    "a rejected text stands twice": (
        lambda c: c.table("_audit/rejected.parquet", twice),
        [
            ("records", ONCE + "place='rejected', named='a:2', times=2"),
            ("raw", f"{PART0}: more than one row for a line: a:2"),
        ],
    ),
    "a placeholder in a document that never reached the scrub": (
        lambda c: c.table("_audit/pii.parquet", all_of(twice, lambda t: put("id", "a:4", "a:2")(t))),
        [
            ("records", ONCE + "place='pii', named='a:2', times=1"),
            ("raw", f"{PART0}: {NOT_THE_RAW_TEXT}: a:2"),
        ],
    ),
    "the totals of a stage are gone": (
        lambda c: c.table(
            "_audit/reconciliation.parquet",
            lambda t: t.filter(pc.or_(pc.not_equal(t["stage"], "pii"), pc.is_valid(t["source_id"]))),
        ),
        [
            (
                "counts",
                "The reconciliation has one row for each stage and source, and one for each stage. "
                "It is not so: stage='pii', source_id=None, times=0",
            ),
        ],
    ),
    "a kept document that quotes the exam": (
        lambda c: c.table(S0, text("a:1", QUOTED)),
        [
            ("placeholders", "texts changed by more than their placeholders: a:1"),
            ("raw", f"{PART0}: {NOT_THE_RAW_TEXT}: a:1"),
            ("contamination", "documents that share an n-gram with a protected item: a:1 (exam:exam-1)"),
        ],
    ),
}  # fmt: skip
