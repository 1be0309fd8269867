"""What stands beside the shards: the manifest, the hash chain, the sums, the card."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
from pathlib import Path

import jsonschema
import made_corpus
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Corpus

from corpus_sql import manifest
from corpus_sql.project import builtin


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = made_corpus.fill(Corpus(tmp_path_factory.mktemp("manifest")), 30)
    corpus.run()
    return corpus


@pytest.fixture(scope="module")
def told(built: Corpus) -> dict:
    return json.loads((built.version / "_MANIFEST.json").read_text("utf-8"))


def table(built: Corpus, name: str) -> list[dict]:
    return pq.read_table(built.version / "_audit" / f"{name}.parquet").to_pylist()


def test_the_keys_and_their_order(told: dict):
    assert list(told) == [
        "dataset", "version", "n_docs", "n_shards", "shards", "filters", "dedup", "pii", "ledger_ref", "config_sha256",
        "quarantined", "blank",
    ]  # fmt: skip
    assert list(told["filters"]) == ["lang", "gopher", "repetition", "ppl"]
    assert list(told["dedup"]) == [
        "exact_dropped", "near_dropped", "decontaminated", "jaccard_threshold", "num_perm", "bands", "ngram",
    ]  # fmt: skip
    assert list(told["pii"]) == ["emails", "phones", "cards", "ips", "keys"]
    assert told["ledger_ref"] == "corpus/LEDGER.jsonl"


def test_the_published_schema_holds(told: dict):
    schema = json.loads((builtin() / "schemas" / "corpus-manifest.schema.json").read_text("utf-8"))
    assert [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(told)] == []


def test_every_line_is_counted_once(built: Corpus, told: dict):
    lines = sum(row["lines"] for row in table(built, "files"))
    dropped = sum(told["filters"].values())
    deduplicated = told["dedup"]["exact_dropped"] + told["dedup"]["near_dropped"] + told["dedup"]["decontaminated"]
    assert min(told["dedup"]["exact_dropped"], told["dedup"]["near_dropped"], told["dedup"]["decontaminated"]) > 0
    assert lines == told["n_docs"] + dropped + deduplicated + sum(told["quarantined"].values()) + told["blank"]


def test_the_shards_are_those_listed(built: Corpus, told: dict):
    assert [one["name"] for one in told["shards"]] == sorted(path.name for path in built.version.glob("*.parquet"))
    for one in told["shards"]:
        path = built.version / one["name"]
        assert one["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert one["rows"] == pq.ParquetFile(path).metadata.num_rows
    assert told["n_docs"] == sum(one["rows"] for one in told["shards"])


def test_redactions_add_up(built: Corpus, told: dict):
    rows = [row for one in told["shards"] for row in pq.read_table(built.version / one["name"]).to_pylist()]
    assert sum(told["pii"].values()) == sum(row["pii_redactions"] for row in rows) > 0
    for row in rows:
        assert row["sha256"] == hashlib.sha256(row["text"].encode()).digest()
        assert row["n_chars"] == len(row["text"])


def test_the_config_lies_beside_it(built: Corpus, told: dict):
    assert (built.version / "config.toml").read_bytes() == built.config.read_bytes()
    assert told["config_sha256"] == hashlib.sha256(built.config.read_bytes()).hexdigest()


def test_nothing_of_this_machine_stands_in_what_must_not_vary(built: Corpus):
    for name in ("_MANIFEST.json", "_audit/build.json", "README.md"):
        text = (built.version / name).read_text("utf-8")
        assert str(built.folder) not in text, name
        assert str(Path.home()) not in text, name


def test_the_sums_are_those_of_sha256sum(built: Corpus):
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", "_audit/SHA256SUMS"],
        cwd=built.version,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    listed = {line.split("  ", 1)[1] for line in (built.version / "_audit" / "SHA256SUMS").read_text().splitlines()}
    files = {path.relative_to(built.version).as_posix() for path in built.version.rglob("*") if path.is_file()}
    assert listed == files - {"_audit/SHA256SUMS"}


def test_the_hash_chain_can_be_computed_again(built: Corpus):
    chain = json.loads((built.version / "_audit" / "build.json").read_text("utf-8"))["hash_chain"]
    documents = table(built, "documents")

    def build_hash(rows: list[dict]) -> tuple[str, bytes]:
        unique = sorted({row["content_hash64"] % 2**64 for row in rows})
        content = b"".join(struct.pack(">Q", one) for one in unique)
        return hashlib.blake2b(content, digest_size=32).hexdigest(), content

    kept, content = build_hash([row for row in documents if row["verdict"] == "keep"])
    assert chain["corpus_build_hash"] == build_hash(documents)[0]
    assert chain["filtered_build_hash"] == kept
    assert (built.version / "_audit" / "hashes.u64").read_bytes() == content
    assert len({row["content_hash64"] < 0 for row in documents}) == 2, "no hash above 2^63 was tried"


def test_the_hash_of_a_written_case():
    """BLAKE2b-256 over 1, 2 and 2^64 - 1, 8 bytes big-endian each; the last is -1 as a signed bit view."""
    batches = [
        pa.record_batch([pa.array([1, 2], pa.int64())], ["h"]),
        pa.record_batch([pa.array([-1], pa.int64())], ["h"]),
    ]
    content = bytes.fromhex("00000000000000010000000000000002ffffffffffffffff")
    assert manifest.build_hash(batches) == hashlib.blake2b(content, digest_size=32).hexdigest()
    assert manifest.build_hash([]) == hashlib.blake2b(digest_size=32).hexdigest()


def test_a_relation_is_recorded_with_all_it_was_made_from(built: Corpus):
    relations = json.loads((built.version / "_audit" / "build.json").read_text("utf-8"))["relations"]
    words = relations["measures.words"]
    assert {"columns", "fingerprint", "inputs", "layer", "sql", "stream", "tools", "udfs"} <= set(words)
    assert list(words["udfs"]) == ["words_measure"]
    assert {"duckdb", "numba", "python"} <= set(words["tools"])
    assert words["inputs"] == {name: relations[name]["fingerprint"] for name in words["inputs"]}


def test_what_ran_lies_in_the_folder_to_the_letter(built: Corpus):
    text = (built.version / "_audit" / "compiled" / "stages" / "gopher.sql").read_text("utf-8")
    head, sql = text.split("\n", 1)
    source = (builtin() / "sql" / "stages" / "gopher.sql").read_bytes()
    assert head == f"-- sql/stages/gopher.sql, built-in, sha256 {hashlib.sha256(source).hexdigest()}"
    relations = json.loads((built.version / "_audit" / "build.json").read_text("utf-8"))["relations"]
    assert relations["stages.gopher"]["sql"] == hashlib.sha256(sql.removesuffix("\n").encode()).hexdigest()


def test_coverage_counts_what_was_measured(built: Corpus):
    coverage = json.loads((built.version / "_audit" / "build.json").read_text("utf-8"))["coverage"]
    n = len(table(built, "documents"))
    assert coverage["words"]["n_words"] == n
    stop_words = [
        row["n_stop_words"] for row in pq.read_table(built.version / "_audit/measures/words.parquet").to_pylist()
    ]
    assert coverage["words"]["n_stop_words"] == sum(value is not None for value in stop_words)


def test_documents_say_where_the_kept_ones_lie(built: Corpus, told: dict):
    shards = {
        one["name"]: pq.read_table(built.version / one["name"]).column("id").to_pylist() for one in told["shards"]
    }
    found = {
        row["id"]: (row["shard"], row["shard_row"]) for row in table(built, "documents") if row["verdict"] == "keep"
    }
    assert found == {id: (name, at) for name, ids in shards.items() for at, id in enumerate(ids)}


def test_all_tables_are_in_the_order_of_their_ids(built: Corpus):
    for name in ("documents", "quarantine", "rejected"):
        ids = [row["id"].encode() for row in table(built, name)]
        assert ids == sorted(ids) and ids, name
    decisions = [(row["id"].encode(), row["seq"]) for row in table(built, "decisions")]
    assert decisions == sorted(decisions)
