"""Relations between documents, the groups that they connect, and the splits that follow."""

from __future__ import annotations

import hashlib
import json

import made_corpus
import pyarrow.parquet as pq
import pytest
from conftest import Corpus, raw_line

EN = [made_corpus.text("en", i, 5) for i in range(12)]


def line(text: str, **fields: object) -> bytes:
    return raw_line(text, **fields)


def documents(corpus: Corpus) -> list[dict]:
    return pq.read_table(corpus.version / "_audit" / "documents.parquet").to_pylist()


def groups(corpus: Corpus) -> dict[str, list[str]]:
    """Return the name of each group -> its members, alone or not."""
    found: dict[str, list[str]] = {}
    for row in documents(corpus):
        found.setdefault(row["relation_group"], []).append(row["id"])
    return found


# source -> raw lines; expected: group -> members
CASES = {
    "strangers": (
        {"a": [line("one"), line("two")]},
        {"a:0": ["a:0"], "a:1": ["a:1"]},
    ),
    "the same text, also in another source": (
        {"a": [line("one"), line("one \n")], "b": [line("\none")]},
        {"a:0": ["a:0", "a:1", "b:0"]},
    ),
    "one upstream record": (
        {"a": [line("one", source_record_id="r"), line("two", source_record_id="r")]},
        {"a:0": ["a:0", "a:1"]},
    ),
    "records of two sources are two, whatever their names": (
        {"a": [line("one", source_record_id="r")], "b": [line("two", source_record_id="r")]},
        {"a:0": ["a:0"], "b:0": ["b:0"]},
    ),
    "a parent by its record": (
        {"a": [line("one", parent_ids=["r"]), line("two", source_record_id="r")]},
        {"a:0": ["a:0", "a:1"]},
    ),
    "a parent by its whole id, in another source": (
        {"a": [line("one")], "b": [line("two", parent_ids=["a:0"])]},
        {"a:0": ["a:0", "b:0"]},
    ),
    "a record of another source is no parent": (
        {"a": [line("one", source_record_id="r")], "b": [line("two", parent_ids=["r"])]},
        {"a:0": ["a:0"], "b:0": ["b:0"]},
    ),
    "a parent that nobody holds": (
        {"a": [line("one", parent_ids=["nowhere"]), line("two")]},
        {"a:0": ["a:0"], "a:1": ["a:1"]},
    ),
    "children of one parent that nobody holds": (
        {
            "a": [line("one", parent_ids=["nowhere"]), line("two", parent_ids=["nowhere"])],
            "b": [line("three", parent_ids=["nowhere"])],
        },
        {"a:0": ["a:0", "a:1"], "b:0": ["b:0"]},
    ),
    "two parents": (
        {"a": [line("one"), line("two"), line("three", parent_ids=["a:0", "a:1"])]},
        {"a:0": ["a:0", "a:1", "a:2"]},
    ),
    "no parents, and oneself as parent": (
        {"a": [line("one", parent_ids=[]), line("two", parent_ids=["a:1"])]},
        {"a:0": ["a:0"], "a:1": ["a:1"]},
    ),
    "parents in a circle": (
        {"a": [line("one", parent_ids=["a:1"]), line("two", parent_ids=["a:0"])]},
        {"a:0": ["a:0", "a:1"]},
    ),
    "a given group gives its name": (
        {"a": [line("one", group_id="g"), line("two", group_id="g"), line("three")]},
        {"a:g": ["a:0", "a:1"], "a:2": ["a:2"]},
    ),
    "a group belongs to its source": (
        {"a": [line("one", group_id="g")], "b": [line("two", group_id="g")]},
        {"a:g": ["a:0"], "b:g": ["b:0"]},
    ),
    "unless it names the source": (
        {"a": [line("one", group_id="g")], "b": [line("two", group_id="a:g")]},
        {"a:g": ["a:0", "b:0"]},
    ),
    "a colon alone names no source": (
        {"a": [line("one", group_id="x:g")], "b": [line("two", group_id="x:g")]},
        {"a:x:g": ["a:0"], "b:x:g": ["b:0"]},
    ),
    "two given groups that a copy connects get the smaller name": (
        {"a": [line("one", group_id="n"), line("two", group_id="m"), line("two", group_id="n")]},
        {"a:m": ["a:0", "a:1", "a:2"]},
    ),
    "ids in byte order": (
        {
            "a": [
                line("x", source_record_id=f"r{i}", parent_ids=["r2"]) if i in (2, 10) else line(str(i))
                for i in range(11)
            ]
        },
        {"a:10": ["a:10", "a:2"]} | {f"a:{i}": [f"a:{i}"] for i in range(10) if i != 2},
    ),
}


@pytest.mark.parametrize(("sources", "expected"), CASES.values(), ids=list(CASES))
def test_what_belongs_together(corpus: Corpus, sources: dict[str, list[bytes]], expected: dict[str, list[str]]):
    for source, lines in sources.items():
        corpus.source(source, lines)
    corpus.run("stages = []")
    assert {name: sorted(ids) for name, ids in groups(corpus).items()} == expected


def test_a_removed_document_still_connects(corpus: Corpus):
    """b is a copy of a, c was made from b: b is dropped, and a and c stay in one group."""
    corpus.source("s", [line(EN[0]), line(EN[0]), line(EN[1], parent_ids=["s:1"]), line(EN[2])])
    corpus.run('stages = ["exact_dedup"]')
    assert [row["verdict"] for row in documents(corpus)] == ["keep", "reject", "keep", "keep"]
    assert groups(corpus) == {"s:0": ["s:0", "s:1", "s:2"], "s:3": ["s:3"]}
    pairs = pq.read_table(corpus.version / "_audit" / "pairs.parquet").to_pylist()
    assert pairs == [
        {"a": "s:0", "b": "s:1", "kind": "exact", "jaccard": None},
        {"a": "s:1", "b": "s:2", "kind": "parent", "jaccard": None},
    ]


NEAR = [line(EN[3]), line(EN[3] + " # # # # # # # # # # # #"), line(EN[4])]
NEAR_CONFIG = 'stages = ["gopher", "near_dedup"]\n[gopher]\nmax_hash_ratio = 0.05\n'


@pytest.mark.parametrize(
    ("method", "expected"),
    [("content_hash", [["s:0"], ["s:1"], ["s:2"]]), ("group_hash", [["s:0", "s:1"], ["s:2"]])],
)
def test_near_duplicates_of_dropped_documents_count_for_groups_alone(corpus: Corpus, method: str, expected: list):
    """The second is dropped before the near-duplicate stage; under group_hash it is a relative all the same."""
    corpus.source("s", NEAR)
    corpus.run(NEAR_CONFIG + f'[split]\nmethod = "{method}"')
    rows = documents(corpus)
    assert [(row["verdict"], row["reason"]) for row in rows] == [
        ("keep", None),
        ("reject", "high_hash_ratio"),
        ("keep", None),
    ]
    assert sorted(groups(corpus).values()) == expected
    assert [(row["row_index"], row["minhash_cluster"]) for row in rows] == [(0, 0), (None, None), (1, 1)]


def test_a_cluster_is_joined_to_its_dropped_members_by_the_row_index(corpus: Corpus):
    corpus.source("s", [line(EN[5]), line(EN[6]), line(EN[5] + " So it is."), line(EN[7])])
    corpus.run('stages = ["near_dedup"]')
    found = [(row["id"], row["row_index"], row["minhash_cluster"], row["verdict"]) for row in documents(corpus)]
    assert found == [("s:0", 0, 0, "keep"), ("s:1", 1, 1, "keep"), ("s:2", 2, 0, "reject"), ("s:3", 3, 3, "keep")]


def test_without_the_near_duplicate_stage_each_kept_row_is_its_own_cluster(corpus: Corpus):
    corpus.source("s", [line(EN[5]), line(EN[5]), line(EN[6])])
    corpus.run('stages = ["exact_dedup"]')
    assert [(row["row_index"], row["minhash_cluster"]) for row in documents(corpus)] == [(0, 0), (None, None), (1, 1)]


# ------------------------------------------------------------------------------------------------------------- splits


@pytest.mark.parametrize("permille", [0, 300, 1000])
def test_split_by_content(corpus: Corpus, permille: int):
    """val when the first 8 bytes of the text's SHA-256, unsigned and big-endian, mod 1000 are below val_permille."""
    corpus.source("s", [f"文本 {i}" for i in range(200)])
    corpus.run(f"stages = []\n[split]\nval_permille = {permille}")
    rows = pq.read_table(corpus.version / "shard-00000-of-00001.parquet").to_pylist()
    for row in rows:
        bucket = int.from_bytes(hashlib.sha256(row["text"].encode()).digest()[:8], "big") % 1000
        assert row["split"] == ("val" if bucket < permille else "train"), row["id"]
    assert len({row["sha256"][0] >= 128 for row in rows}) == 2, "no hash above 2^63 was tried"


def test_the_final_text_decides_not_the_raw_one(corpus: Corpus):
    corpus.source("s", [f"write to someone{i}@example.com" for i in range(20)])
    corpus.run('stages = ["pii"]\n[split]\nval_permille = 500')
    rows = pq.read_table(corpus.version / "shard-00000-of-00001.parquet").to_pylist()
    assert {row["text"] for row in rows} == {"write to <EMAIL>"}
    assert len({row["split"] for row in rows}) == 1


@pytest.mark.parametrize("salt", ["example-split-v1", "it's another"])
def test_split_by_groups(corpus: Corpus, salt: str):
    """The bucket is that of SHA-256(salt, NUL, group): below train, below train + validation, else test."""
    corpus.source("s", [line(f"text {i}", group_id=f"g{i // 3}") for i in range(150)])
    shares = {"train": 500, "validation": 300, "test": 200}
    keys = "\n".join(f"{name} = {share}" for name, share in shares.items())
    corpus.run(f'stages = []\n[split]\nmethod = "group_hash"\nsalt = {json.dumps(salt)}\n{keys}')
    rows = documents(corpus)
    for row in rows:
        bucket = int.from_bytes(hashlib.sha256(f"{salt}\0{row['relation_group']}".encode()).digest()[:8], "big") % 1000
        assert row["split"] == ("train" if bucket < 500 else "validation" if bucket < 800 else "test"), row["id"]
    assert {row["split"] for row in rows} == set(shares)
    assert len({(row["relation_group"], row["split"]) for row in rows}) == 50, "a group crosses a split"
