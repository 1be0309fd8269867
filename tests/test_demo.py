"""The demo's build: every document ends where its field `expect` says, and without that field it is kept."""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from corpus_sql.starting import init

STAGES_THAT_REJECT = {"lang", "gopher", "repetition", "exact_dedup", "near_dedup", "decontaminate"}


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Path:
    """The version folder of the demo, built by the command line."""
    root = tmp_path_factory.mktemp("demo")
    init(root, demo=True)
    command = [sys.executable, "-m", "corpus_sql", "run", str(root / "corpus.toml")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return root / "artifacts/corpus/demo/v1"


def rows(build: Path, query: str) -> list[tuple]:
    return duckdb.sql(query.replace("@", f"{build}/")).fetchall()


def test_every_document_ends_where_it_says(build):
    ends = rows(
        build,
        "select id, coalesce(extra::json ->> 'expect', 'kept'), verdict, stage, reason, "
        "regexp_extract_all(text, '<([A-Z]+)>', 1) "
        "from '@_audit/documents.parquet' left join '@shard-*.parquet' using (id)",
    )
    assert len(ends) == 75
    for id, expect, verdict, stage, reason, placeholders in ends:
        if expect == "kept":
            assert (id, verdict, placeholders) == (id, "keep", [])
        elif expect.startswith("scrubbed "):
            assert (id, verdict, sorted(placeholders)) == (id, "keep", sorted(expect.split()[1:]))
        else:
            assert (id, verdict, f"{stage} {reason}") == (id, "reject", expect)
    assert {stage for _, _, verdict, stage, _, _ in ends if verdict == "reject"} == STAGES_THAT_REJECT


def test_the_copies_point_at_what_was_kept(build):
    witnesses = rows(
        build,
        "select reason, id, witness from '@_audit/decisions.parquet' where reason like '%_duplicate' order by id",
    )
    assert witnesses == [
        ("near_duplicate", "selfwritten-en:10", "selfwritten-en:1"),
        ("exact_duplicate", "selfwritten-en:9", "selfwritten-en:4"),
        ("near_duplicate", "selfwritten-hi:6", "selfwritten-hi:2"),
        ("exact_duplicate", "selfwritten-zh:21", "selfwritten-zh:1"),
        ("near_duplicate", "selfwritten-zh:27", "selfwritten-zh:2"),
    ]


def test_what_is_contaminated_names_the_protected_item(build):
    query = "select id, witness from '@_audit/decisions.parquet' where reason = 'contaminated' order by id"
    assert [
        (id, item in witness)
        for (id, witness), item in zip(rows(build, query), ("rolls", "river", "pool"), strict=True)
    ] == [
        ("selfwritten-en:25", True),
        ("selfwritten-en:26", True),
        ("selfwritten-zh:35", True),
    ]


def test_the_shards_hold_text_in_nfc_with_its_line_ends(build):
    (cafe,) = rows(build, "select text from '@shard-*.parquet' where id = 'selfwritten-en:8'")
    assert "Café" in cafe[0] and "crème brûlée" in cafe[0]
    (meeting,) = rows(build, "select text from '@shard-*.parquet' where id = 'selfwritten-zh:40'")
    assert meeting[0].count("\r\n") == 4


def test_the_manifest_counts_what_was_dropped(build):
    manifest = json.loads((build / "_MANIFEST.json").read_text())
    dropped = [
        *manifest["filters"].values(),
        *(manifest["dedup"][key] for key in ("exact_dropped", "near_dropped", "decontaminated")),
    ]
    quarantined = sum(manifest["quarantined"].values())
    assert (manifest["blank"], quarantined) == (2, 10)
    assert manifest["n_docs"] + sum(dropped) + quarantined + manifest["blank"] == 87
