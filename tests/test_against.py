"""Builds upon builds: what an earlier build keeps is there already, for exact and for near duplicates."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import Corpus
from test_determinism import digests
from test_relations import text

from corpus_sql import build, explain, shown
from corpus_sql.checking import check
from corpus_sql.errors import ConfigError, DataError
from corpus_sql.project import builtin, load_udf_file

STAGES = 'stages = ["exact_dedup", "near_dedup"]\n'
AGAINST = 'against = ["artifacts/corpus/t/v1"]\n'
BOTH = f"{STAGES}[exact_dedup]\n{AGAINST}[near_dedup]\n{AGAINST}"


def rows(folder: Path, sql: str) -> list[tuple]:
    with explain.open_build(folder) as connection:
        return connection.execute(sql).fetchall()


def run(corpus: Corpus, version: str, config: str, **options: object) -> Path:
    corpus.configure(config, version)
    build.run(corpus.config, **options)
    return corpus.folder / "artifacts" / "corpus" / "t" / version


def ends(folder: Path) -> list[tuple]:
    """The last decision on each document: id, reason, witness."""
    return rows(folder, "select id, arg_max(reason, seq), arg_max(witness, seq) from decisions group by id order by id")


def after(corpus: Corpus, first: list, second: list, config: str = BOTH, before: str = STAGES) -> Path:
    """Build `first` as v1, then `second` as v2 against it; both are lines of the source s."""
    corpus.source("s", first)
    run(corpus, "v1", before)
    corpus.source("s", second)
    return run(corpus, "v2", config)


def near(i: int, edit: int = 1) -> str:
    """A text of 100 words with its last ones replaced: near to text(i, 100)."""
    return " ".join([*text(i, 100).split()[:-edit], *(f"edit{i}n{k}" for k in range(edit))])


# name -> (lines of the earlier build, lines of this one, ends: reason and witness of each)
CASES = {
    "a text that is there, and one that is new": (
        [text(1), text(2)], [text(2), text(3)],
        [("exact_duplicate", "t/v1:s:1"), (None, None)],
    ),
    "equal after the matching normalisation": (
        [text(1)], [text(1) + " \r\n\n"],
        [("exact_duplicate", "t/v1:s:0")],
    ),
    "none of several copies stays": (
        [text(1)], [text(1), text(1)],
        [("exact_duplicate", "t/v1:s:0")] * 2,
    ),
    "a document that the earlier build dropped is not there": (
        # the second was near to the first, and the new one is near to the second alone
        [text(1, 100), near(1, 7)], [near(1, 12)],
        [(None, None)],
    ),
    "a near duplicate": (
        [text(1, 100)], [near(1)],
        [("near_duplicate", "t/v1:s:0")],
    ),
    "the smallest of two earlier ones that it is near to": (
        [text(5), near(1, 8), text(1, 100)], [near(1, 2)],
        [("near_duplicate", "t/v1:s:1")],
    ),
    "a cluster is there already as a whole": (
        # the second is near to the earlier one, the first to the second alone
        [near(1, 12)], [text(1, 100), near(1, 7), text(9)],
        [("near_duplicate", "t/v1:s:0"), ("near_duplicate", "t/v1:s:0"), (None, None)],
    ),
    "copies of an earlier near duplicate, which are copies of each other too": (
        [text(1, 100)], [near(1), near(1)],
        [("near_duplicate", "t/v1:s:0"), ("exact_duplicate", "s:0")],
    ),
    "texts without tokens are near to nothing": (
        ["…"], ["!!!"],
        [(None, None)],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple]:
    """id -> (reason, witness); all cases in one build, each as a source of its own with words of its own."""
    corpus = Corpus(tmp_path_factory.mktemp("cases"))

    def fill(side: int) -> None:
        for n, case in enumerate(CASES.values()):
            corpus.source(f"c{n}", [re.sub(r"\w+", lambda word, n=n: f"{word[0]}q{n}", line) for line in case[side]])

    fill(0)
    run(corpus, "v1", STAGES)
    fill(1)
    return {id: (reason, witness) for id, reason, witness in ends(run(corpus, "v2", BOTH))}


@pytest.mark.parametrize("n", range(len(CASES)), ids=list(CASES))
def test_against(found: dict[str, tuple], n: int):
    expected = [(reason, witness and witness.replace("s:", f"c{n}:")) for reason, witness in list(CASES.values())[n][2]]
    assert [found[f"c{n}:{k}"] for k in range(len(expected))] == expected


def test_the_smallest_of_several_builds(corpus: Corpus):
    """v10 sorts before v9: names compare by their bytes."""
    corpus.source("s", [text(1, 100), text(2)])
    run(corpus, "v9", STAGES)
    run(corpus, "v10", STAGES)
    both = 'against = ["artifacts/corpus/t/v9", "artifacts/corpus/t/v10"]\n'
    corpus.source("s", [near(1), text(2)])
    folder = run(corpus, "v11", f"{STAGES}[exact_dedup]\n{both}[near_dedup]\n{both}")
    assert ends(folder) == [("s:0", "near_duplicate", "t/v10:s:0"), ("s:1", "exact_duplicate", "t/v10:s:1")]


def test_one_key_without_the_other(corpus: Corpus):
    corpus.source("s", [text(1), text(2, 100)])
    run(corpus, "v1", STAGES)
    corpus.source("s", [text(1), near(2)])
    exact = run(corpus, "exact", f"{STAGES}[exact_dedup]\n{AGAINST}")
    assert ends(exact) == [("s:0", "exact_duplicate", "t/v1:s:0"), ("s:1", None, None)]
    by_near = run(corpus, "near", f"{STAGES}[near_dedup]\n{AGAINST}")
    assert ends(by_near) == [("s:0", "near_duplicate", "t/v1:s:0"), ("s:1", "near_duplicate", "t/v1:s:1")]


def test_value_is_the_similarity_to_the_earlier_document(corpus: Corpus):
    folder = after(corpus, [text(1, 100)], [near(1, 4)])
    # 100 words make 96 shingles; with the last four replaced, 92 of them stay
    assert rows(folder, "select metric, value, threshold from decisions where reason is not null") == [
        ("jaccard", 92 / 100, 0.8)
    ]


def test_each_value_of_a_cluster_is_the_similarity_to_the_earlier_document_it_is_there_by(corpus: Corpus):
    """Of 96 shingles, the first shares 84 with the earlier document, the second 87, three of its edits among them."""
    folder = after(corpus, [near(1, 12)], [text(1, 100), near(1, 7)])
    assert rows(folder, "select id, value, witness from decisions where reason is not null order by id") == [
        ("s:0", 84 / 108, "t/v1:s:0"),
        ("s:1", 87 / 105, "t/v1:s:0"),
    ]


def test_what_an_earlier_build_keeps_survives_there(corpus: Corpus):
    folder = after(corpus, [text(1, 100)], [near(1), near(1), text(2)])
    assert rows(folder, "select id, survivor from documents order by id") == [
        ("s:0", "t/v1:s:0"),
        ("s:1", "t/v1:s:0"),
        ("s:2", None),
    ]
    assert "  no copy is in the corpus" not in shown.story(explain.why(folder, "s:1"))


def test_clusters_and_pairs_keep_their_meaning(corpus: Corpus):
    corpus.source("s", [text(1, 100), near(1), text(2), near(1, 2)])
    without = run(corpus, "without", STAGES)
    corpus.source("s", [near(1, 3)])
    run(corpus, "v1", STAGES)
    corpus.source("s", [text(1, 100), near(1), text(2), near(1, 2)])
    against = run(corpus, "against", BOTH)
    for sql in ("from pairs order by all", "select id, row_index, minhash_cluster from documents order by id"):
        assert rows(against, sql) == rows(without, sql)
    assert [one[1] for one in ends(against)] == ["near_duplicate", "near_duplicate", None, "near_duplicate"]


def test_the_final_text_of_the_earlier_build_counts(corpus: Corpus):
    """Exact: the text before the scrub is compared; near: the shards' text, in which a placeholder stands."""
    address = "write to keeper@example.com"
    words = text(1, 30)
    corpus.source("s", [f"{words} {address}"])
    pii = 'stages = ["exact_dedup", "near_dedup", "pii"]\n'
    run(corpus, "v1", pii)
    corpus.source("s", [f"{words} {address}", f"{words} write to <EMAIL>"])
    folder = run(corpus, "v2", BOTH.replace(STAGES, pii))
    assert ends(folder) == [("s:0", "exact_duplicate", "t/v1:s:0"), ("s:1", "near_duplicate", "t/v1:s:0")]
    assert rows(folder, "select value from decisions where reason = 'near_duplicate'") == [(1.0,)]


def test_why_names_the_build(corpus: Corpus):
    folder = after(corpus, [text(1, 100)], [near(1)])
    told = list(shown.story(explain.why(folder, "s:0")))
    assert "  near_dedup   reject      near_duplicate  jaccard 0.979381, threshold 0.8  -> t/v1:s:0" in told


def test_a_month_later_nothing_comes_twice(corpus: Corpus):
    """v2 over the old and the new documents keeps the new ones alone; v1 and v2 together are as one build of all."""
    rng = random.Random(7)
    made = [text(i, 60) for i in range(20)] + [near(i, 1 + i % 3) for i in range(12)]
    rng.shuffle(made)
    corpus.source("s", made[:20])
    v1 = run(corpus, "v1", STAGES)
    corpus.source("s", made)
    v2 = run(corpus, "v2", BOTH)
    assert not [one for one, reason, _ in ends(v2) if reason is None and int(one[2:]) < 20]
    kept = rows(v1, "select text from shards") + rows(v2, "select text from shards")
    corpus.source("all", [one for (one,) in kept])
    del corpus.rows["s"]
    corpus.source("all", [one for (one,) in kept])
    assert len(rows(run(corpus, "all", STAGES), "from shards")) == len(kept) > 20


@pytest.mark.parametrize("options", [{"threads": 1}, {"threads": 4}, {"threads": 2, "cache": False}], ids=str)
def test_the_same_bytes(corpus: Corpus, options: dict):
    made = [text(i % 25, 60) for i in range(60)] + [near(i % 25) for i in range(30)]
    folder = after(corpus, made[::2], made)
    reference = digests(folder)
    corpus.configure(BOTH, "v2")
    outcome = build.run(corpus.config, replace=True, **options)
    assert outcome.status == "same"
    assert digests(folder) == reference
    moved = corpus.folder / "elsewhere"
    shutil.move(corpus.folder / "artifacts/corpus/t/v1", moved)
    corpus.configure(BOTH.replace("artifacts/corpus/t/v1", str(moved)), "v2")
    build.run(corpus.config, replace=True, **options)
    assert {k: v for k, v in digests(folder).items() if "parquet" in k} == {
        k: v for k, v in reference.items() if "parquet" in k
    }


def test_nothing_of_it_without_the_keys(corpus: Corpus):
    corpus.source("s", [text(1)])
    corpus.configure(STAGES)
    outcome = build.run(corpus.config)
    assert [step.name for step in outcome.steps if "earlier" in step.name or step.name == "near_dedup.there"] == []
    assert not [
        path for path in (corpus.version / "_audit/compiled").rglob("*.sql") if "read.earlier" in path.read_text()
    ]


def test_an_earlier_build_is_read_once(corpus: Corpus):
    after(corpus, [text(1, 100), text(2)], [near(1)])
    corpus.configure(BOTH.replace("[near_dedup]\n", "[near_dedup]\njaccard_threshold = 0.99\n"), "v3")
    outcome = build.run(corpus.config)
    why = {step.name: step.why for step in outcome.steps}
    assert (why["read.earlier"], why["near_dedup.earlier_signed"], why["near_dedup.earlier_buckets"]) == ("", "", "")
    assert (
        why["near_dedup.earlier_touched"] == "changed: its settings"
    )  # a stream's settings are in its SQL as a comment
    corpus.configure(BOTH, "v1")
    corpus.source("s", [text(3)])
    corpus.configure(STAGES, "v1")
    build.run(corpus.config, replace=True)
    corpus.configure(BOTH, "v4")
    outcome = build.run(corpus.config)
    assert {step.name: step.why for step in outcome.steps}["read.earlier"] == "changed: the earlier builds"


# ------------------------------------------------------------------------------------------------ what is refused


def refused(corpus: Corpus, config: str, version: str = "v2") -> str:
    corpus.configure(config, version)
    with pytest.raises((ConfigError, DataError)) as caught:
        build.run(corpus.config)
    assert [str(one) for one in check(corpus.config).problems] == [
        str(one) for one in caught.value.problems
    ] or isinstance(caught.value, DataError)
    return str(caught.value)


def test_no_build(corpus: Corpus):
    corpus.source("s", [text(1)])
    folder = corpus.folder / "artifacts/corpus/t/v1"
    assert refused(corpus, BOTH) == (
        f"{corpus.config}:6: [exact_dedup] against: {folder} is no build: it has no _MANIFEST.json and _audit/\n"
        "    Give a version folder, corpus/<dataset>/<version>.\n"
        f"{corpus.config}:8: [near_dedup] against: {folder} is no build: it has no _MANIFEST.json and _audit/\n"
        "    Give a version folder, corpus/<dataset>/<version>."
    )


def test_the_build_itself(corpus: Corpus):
    corpus.source("s", [text(1)])
    folder = run(corpus, "v1", STAGES)
    assert refused(corpus, f"{STAGES}[near_dedup]\n{AGAINST}", "v1") == (
        f"{corpus.config}:6: [near_dedup] against: {folder} is the build that this config makes"
    )


def test_two_builds_of_one_name(corpus: Corpus):
    corpus.source("s", [text(1)])
    folder = run(corpus, "v1", STAGES)
    shutil.copytree(folder, corpus.folder / "copy")
    config = f'{STAGES}[near_dedup]\nagainst = ["copy", "artifacts/corpus/t/v1"]\n'
    assert refused(corpus, config) == (
        f"{corpus.config}:6: [near_dedup] against: {corpus.folder}/copy and {folder} are both called t/v1\n"
        "    Name one of the two."
    )


def test_a_stage_that_is_not_listed(corpus: Corpus):
    corpus.source("s", [text(1)])
    assert refused(corpus, f"stages = []\n[near_dedup]\n{AGAINST}") == (
        f"{corpus.config}:6: [near_dedup] against: names earlier builds, but the stage near_dedup is not "
        "listed in stages\n"
        "    List near_dedup in stages, or leave against out."
    )


@pytest.mark.parametrize(
    "name", ["shard-00000-of-00001.parquet", "_audit/documents.parquet", "_audit/measures/content.parquet"]
)
def test_a_damaged_build(corpus: Corpus, name: str):
    corpus.source("s", [text(1)])
    path = run(corpus, "v1", STAGES) / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert refused(corpus, BOTH) == (
        f"{path}: is not as its build wrote it\n    corpus-sql verify says what else is wrong with that build."
    )
    assert not (corpus.folder / "artifacts/corpus/t/v2").exists()


# ------------------------------------------------------------------------------------- the comparison, by brute force

SHINGLE = 5
AGAINST_UDF = load_udf_file(builtin() / "udfs" / "against.py")
MINHASH = load_udf_file(builtin() / "udfs" / "minhash.py")


def shingles(one: str) -> set[str]:
    words = one.split()
    return {" ".join(words[i : i + SHINGLE]) for i in range(max(len(words) - SHINGLE + 1, 1))}


def compared(
    made: list[tuple[str, list[int]]], earlier: list[tuple[str, list[int]]], cut: int, block: int, **settings: object
) -> dict:
    """Run against_verify over one component: (text, buckets) of both sides; rows come in batches of `cut`."""
    numbered = [(2 * i, *one) for i, one in enumerate(made)] + [(2 * i + 1, *one) for i, one in enumerate(earlier)]
    shared = {b for _, b in made for b in b} & {b for _, b in earlier for b in b}
    numbered = sorted(one for one in numbered if shared & set(one[2]))
    component = {number: number for number, *_ in numbered}
    changed = True
    while changed:  # by hand: the smallest number that shared buckets lead to
        changed = False
        for n, _, b in numbered:
            for m, _, c in numbered:
                if set(b) & set(c) & shared and component[m] > component[n]:
                    component[m] = component[n]
                    changed = True
    numbered.sort(key=lambda one: (component[one[0]], one[0]))
    table = pa.table({
        "component": pa.array([component[n] for n, *_ in numbered], pa.int64()),
        "number": pa.array([n for n, *_ in numbered], pa.int64()),
        "buckets": pa.array([b for *_, b in numbered], pa.list_(pa.int64())),
        "text": pa.array([t for _, t, _ in numbered], pa.large_string()),
    })  # fmt: skip
    AGAINST_UDF._BLOCK, before = block, AGAINST_UDF._BLOCK
    try:
        found = AGAINST_UDF.against_verify(iter(table.to_batches(cut)), shingle=SHINGLE, **settings)
        return {r["row_index"]: (r["place"], r["jaccard"]) for batch in found for r in batch.to_pylist()}
    finally:
        AGAINST_UDF._BLOCK = before


@pytest.mark.parametrize("seed", range(4))
def test_each_pair_that_shares_a_bucket_is_compared(seed: int):
    rng = random.Random(seed)

    def some(n: int) -> list[tuple[str, list[int]]]:
        found = []
        for _ in range(n):
            words = [
                f"w{rng.randrange(5)}x{k}" if rng.random() < 0.08 else f"w{k}" for k in range(rng.randrange(20, 60))
            ]
            found.append((" ".join(words), sorted(rng.sample(range(-30, 30), 3))))
        return found

    made, earlier = some(30), some(20)
    expected = {}
    for i, (one, buckets) in enumerate(made):
        for j, (other, held) in enumerate(earlier):
            both, union = shingles(one) & shingles(other), shingles(one) | shingles(other)
            if set(buckets) & set(held) and len(both) / len(union) >= 0.4 and i not in expected:
                expected[i] = (j, len(both) / len(union))
    assert 3 < len(expected) < 30, "nothing to tell apart"
    for cut, block in ((1000, 1 << 22), (1, 1), (7, 100)):
        assert compared(made, earlier, cut, block, jaccard_threshold=0.4) == expected


def test_a_large_bucket_is_compared_with_its_first_alone():
    a, b = " ".join(f"a{k}" for k in range(30)), " ".join(f"b{k}" for k in range(30))
    made, earlier = [(b, [1]), (b, [2])], [(a, [1, 2]), (b, [1]), (b, [2])]
    assert compared(made, earlier, 10, 100, jaccard_threshold=0.8) == {0: (1, 1.0), 1: (2, 1.0)}
    assert compared(made, earlier, 10, 100, jaccard_threshold=0.8, max_bucket=3) == {0: (1, 1.0), 1: (2, 1.0)}
    assert compared(made, earlier, 10, 100, jaccard_threshold=0.8, max_bucket=2) == {}
