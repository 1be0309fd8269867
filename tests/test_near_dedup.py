"""Near duplicates: clusters are exactly what the verified pairs among bucket mates connect, and the work is bounded."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import Corpus, raw_line
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_sql import explain, shown
from corpus_sql.explain import open_build
from corpus_sql.project import load_udf_file
from corpus_sql.tokens import tokens

udfs = load_udf_file(Path(__file__).parents[1] / "udfs" / "minhash.py")

CANDIDATES = pa.schema(
    [
        ("component", pa.int64()),
        ("row_index", pa.int64()),
        ("buckets", pa.list_(pa.int64())),
        ("text", pa.string()),
    ]
)


def shingle_set(text: str, n: int) -> frozenset[tuple[str, ...]]:
    found = tokens(text)
    return frozenset(tuple(found[i : i + n]) for i in range(max(len(found) - n + 1, 1))) if found else frozenset()


def jaccard(a: frozenset, b: frozenset) -> float:
    return len(a & b) / len(a | b) if a or b else 0.0


def components(n: int, pairs: list[tuple[int, int]]) -> list[int]:
    """The smallest member of each one's component."""
    root = list(range(n))
    for _ in range(n):
        before = list(root)
        for a, b in pairs:
            root[a] = root[b] = min(root[a], root[b])
        if root == before:
            break
    return root


def candidate_rows(texts: list[str], buckets: list[list[int]]) -> list[dict]:
    """What near_dedup.verified selects, in its order."""
    mates = defaultdict(list)
    for i, own in enumerate(buckets):
        for bucket in own:
            mates[bucket].append(i)
    root = components(len(texts), [(group[0], i) for group in mates.values() for i in group])
    order = sorted(range(len(texts)), key=lambda i: (root[i], i))
    return [{"component": root[i], "row_index": i, "buckets": buckets[i], "text": texts[i]} for i in order]


def verify(rows: list[dict], threshold: float, shingle: int = 5, cuts: int = 1000, **cap: int) -> list[dict]:
    batches = (pa.RecordBatch.from_pylist(rows[i : i + cuts], CANDIDATES) for i in range(0, len(rows), cuts))
    found = udfs.minhash_verify(batches, jaccard_threshold=threshold, shingle=shingle, **cap)
    return [row for batch in found for row in batch.to_pylist()]


def pairs_of(found: list[dict]) -> list[tuple[int, int]]:
    return [(row["a"], row["b"]) for row in found if row["a"] is not None]


WORDS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=7).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_clusters_are_the_closure_of_all_verified_candidate_pairs(data: st.DataObject) -> None:
    texts = data.draw(st.lists(WORDS, min_size=1, max_size=14))
    own = st.lists(st.integers(-3, 3), min_size=1, max_size=3)
    buckets = data.draw(st.lists(own, min_size=len(texts), max_size=len(texts)))
    threshold = data.draw(st.sampled_from([0.2, 0.5, 2 / 3, 0.75, 1.0]))
    cuts = data.draw(st.integers(1, 5))
    sets = [shingle_set(text, 1) for text in texts]
    holding = [
        (i, j)
        for i, j in combinations(range(len(texts)), 2)
        if set(buckets[i]) & set(buckets[j]) and jaccard(sets[i], sets[j]) >= threshold
    ]
    rows = candidate_rows(texts, buckets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(udfs, "_BLOCK", data.draw(st.sampled_from([1, 20, 10**6])))
        found = verify(rows, threshold, 1, cuts)
    assert found == verify(rows, threshold, 1)
    assert components(len(texts), pairs_of(found)) == components(len(texts), holding)
    roots = components(len(texts), holding)
    assert len(pairs_of(found)) == len(texts) - len(set(roots))  # no circle
    for row in found:
        if row["a"] is not None:
            assert row["jaccard"] == jaccard(sets[row["a"]], sets[row["b"]])
    assert [row["component"] for row in found if row["a"] is None] == sorted({row["component"] for row in rows})


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=40), st.integers(1, 7))
def test_components_do_not_depend_on_the_order_of_the_edges(edges: list[tuple[int, int]], cuts: int) -> None:
    def found(edges: list[tuple[int, int]]) -> dict[int, int]:
        schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
        rows = [{"a": a, "b": b} for a, b in edges]
        batches = (pa.RecordBatch.from_pylist(rows[i : i + cuts], schema) for i in range(0, len(rows), cuts))
        return {row["row_index"]: row["root"] for b in udfs.minhash_components(batches) for row in b.to_pylist()}

    expected = components(41, edges)
    assert found(edges) == {i: expected[i] for i in sorted({i for edge in edges for i in edge})}
    assert found(edges[::-1]) == found([(b, a) for a, b in edges])


def test_a_document_unlike_the_first_in_the_bucket_still_finds_its_like() -> None:
    texts = ["a b c d e f", "u v w x y", "u v w x z"]
    found = verify(candidate_rows(texts, [[1], [1], [1]]), 0.6, 1)
    assert found[0] == {"component": 0, "a": 1, "b": 2, "jaccard": 4 / 6, "compared": None, "capped": None}
    assert found[1] == {"component": 0, "a": None, "b": None, "jaccard": None, "compared": 3, "capped": 0}


def test_the_threshold_itself_is_near_enough() -> None:
    rows = candidate_rows(["a b c d", "a b c d e"], [[1], [1]])
    assert [row["jaccard"] for row in verify(rows, 0.8, 1)] == [0.8, None]
    assert [row["jaccard"] for row in verify(rows, 0.8000001, 1)] == [None]


def test_a_bucket_of_twenty_thousand_near_copies_is_one_comparison_each() -> None:
    words = [f"w{i}" for i in range(40)]
    texts = [" ".join([*words, f"n{i}"]) for i in range(20_000)]
    rows = candidate_rows_of_one(texts, list(range(16)))
    found = verify(rows, 0.8, 5, 2048)
    assert len(pairs_of(found)) == 19_999
    assert sum(row["compared"] or 0 for row in found) == 19_999


def test_a_bucket_of_texts_all_unlike_is_compared_all_against_all_unless_capped() -> None:
    texts = [f"only{i} of{i} its{i} kind{i}" for i in range(300)]
    rows = candidate_rows_of_one(texts, [1])
    (summary,) = verify(rows, 0.8, 1)
    assert (summary["compared"], summary["capped"]) == (300 * 299 // 2, 0)
    (summary,) = verify(rows, 0.8, 1, max_bucket=299)
    assert (summary["compared"], summary["capped"]) == (299, 1)
    (summary,) = verify(rows, 0.8, 1, max_bucket=300)
    assert summary["capped"] == 0


def candidate_rows_of_one(texts: list[str], buckets: list[int]) -> list[dict]:
    return [{"component": 0, "row_index": i, "buckets": buckets, "text": text} for i, text in enumerate(texts)]


NEAR = "near_dedup"


def story(words: int, start: int = 0) -> list[str]:
    """So many different words."""
    return [f"word{start + i}" for i in range(words)]


def verdicts(rows: list[dict]) -> list[str]:
    return [row["verdict"] for row in rows]


def test_of_three_one_word_texts_cat_dog_cat_two_stay(run_stage: Callable[..., list[dict]]) -> None:
    rows = run_stage(NEAR, ["cat", "dog", "Cat!"])
    assert verdicts(rows) == ["keep", "keep", "reject"]
    hit = {key: rows[2][key] for key in ("reason", "metric", "value", "threshold", "witness")}
    assert hit == {"reason": "near_duplicate", "metric": "jaccard", "value": 1.0, "threshold": 0.8, "witness": "s:0"}


def test_texts_without_tokens_are_no_duplicates_of_each_other(run_stage: Callable[..., list[dict]]) -> None:
    assert verdicts(run_stage(NEAR, ["...", "...", "!?"])) == ["keep"] * 3


def test_the_first_stays_in_byte_order_of_the_id(run_stage: Callable[..., list[dict]]) -> None:
    others = [" ".join(story(60, 100 * i)) for i in range(1, 10)]
    texts = [*others[:2], " ".join(story(60)), *others[2:], " ".join([*story(60), "more"])]  # s:2 and s:10
    rows = run_stage(NEAR, texts)
    assert [k for k, row in enumerate(rows) if row["verdict"] == "reject"] == [2]
    assert rows[2]["witness"] == "s:10"
    assert rows[2]["value"] == 56 / 57


def test_the_longest_stays_where_the_config_says_so(run_stage: Callable[..., list[dict]]) -> None:
    base = story(60)
    texts = [" ".join(base), " ".join([*base, "tail"]), " ".join(["head", *base]), " ".join([*base, "tail"])]
    rows = run_stage(NEAR, texts, '[near_dedup]\nkeep = "longest"')
    assert verdicts(rows) == ["reject", "keep", "reject", "reject"]
    assert {row["witness"] for row in rows} == {"s:1", None}


def test_the_source_named_first_stays_where_the_config_says_so(corpus: Corpus) -> None:
    text = " ".join(story(60))
    for source in ("alpha", "beta", "gamma"):
        corpus.source(source, [text + f" {source}"])
    corpus.run('stages = ["near_dedup"]\n[near_dedup]\nkeep = "source_priority"\n')
    assert rejected(corpus) == {"beta:0": "alpha:0", "gamma:0": "alpha:0"}
    config = corpus.config.read_text().replace('["alpha", "beta", "gamma"]', '["gamma", "alpha", "beta"]')
    corpus.config.write_text(config)
    corpus.run(replace=True)
    assert rejected(corpus) == {"alpha:0": "gamma:0", "beta:0": "gamma:0"}


def rejected(corpus: Corpus) -> dict[str, str]:
    with open_build(corpus.version) as connection:
        return dict(connection.execute("select id, witness from decisions where reason = 'near_duplicate'").fetchall())


def test_a_chain_is_one_cluster_and_the_pairs_lead_through_it(corpus: Corpus) -> None:
    words = story(120)
    corpus.source("s", [" ".join(words[i * 5 : i * 5 + 90]) for i in range(4)])  # neighbours 0.89, ends 0.70
    corpus.run('stages = ["near_dedup"]\n[near_dedup]\nnum_perm = 256\nbands = 64\njaccard_threshold = 0.85\n')
    with open_build(corpus.version) as connection:
        pairs = connection.execute("select a, b, jaccard from pairs where kind = 'near' order by all").fetchall()
        values = connection.execute(
            "select id, value, witness from decisions where reason = 'near_duplicate' order by id"
        ).fetchall()
        clusters = connection.execute("select row_index, minhash_cluster from documents order by row_index").fetchall()
    step = 81 / 91
    assert pairs == [("s:0", "s:1", step), ("s:1", "s:2", step), ("s:2", "s:3", step)]
    # of 86 shingles each, those 5, 10 and 15 words apart share 81, 76 and 71: the last is below the threshold
    assert values == [("s:1", step, "s:0"), ("s:2", 76 / 96, "s:0"), ("s:3", 71 / 101, "s:0")]
    assert clusters == [(0, 0), (1, 0), (2, 0), (3, 0)]


def test_copies_in_any_number_are_one_row_for_lsh(corpus: Corpus) -> None:
    text = " ".join(story(30))
    corpus.source("s", [raw_line(text + "!" * (i % 7)) for i in range(20_000)] + [raw_line(text + " end")])
    corpus.run('stages = ["near_dedup"]\n')
    with open_build(corpus.version) as connection:
        kept = connection.execute("select id from documents where verdict = 'keep'").fetchall()
        near = "select count(*), count(*) filter (where a = 's:0') from pairs where kind = 'near'"
        pairs = connection.execute(near).fetchall()
    assert kept == [("s:0",)]
    assert pairs == [(20_000, 20_000)]


def test_planted_duplicates_are_found_as_all_pairs_would(corpus: Corpus) -> None:
    """Against brute force over all pairs: 128 bands of one value miss nothing at 0.5 and more."""
    chance = random.Random(5)
    texts = []
    for family in range(60):
        words = [f"f{family}w{chance.randrange(400)}" for _ in range(80)]
        for _ in range(chance.randrange(1, 5)):
            copy = list(words)
            for _ in range(chance.randrange(12)):
                copy[chance.randrange(80)] = f"x{chance.randrange(10**6)}"
            texts.append(" ".join(copy))
    corpus.source("s", texts)
    corpus.run('stages = ["near_dedup"]\n[near_dedup]\nbands = 128\njaccard_threshold = 0.5\nshingle = 3\n')
    order = sorted(range(len(texts)), key=lambda k: f"s:{k}".encode())
    sets = [shingle_set(texts[k], 3) for k in order]
    holding = [(i, j) for i, j in combinations(range(len(texts)), 2) if jaccard(sets[i], sets[j]) >= 0.5]
    expected = components(len(texts), holding)
    with open_build(corpus.version) as connection:
        found = connection.execute("select minhash_cluster from documents order by id").fetchall()
    assert len(set(expected)) < len(texts) - 40
    assert [row[0] for row in found] == expected


ALL_PAIRS = """-- all_near: one row per document with the near duplicate it is paired with among all documents.
--
-- column: id VARCHAR | the document
-- column: a VARCHAR | the smaller of the pair
-- column: jaccard DOUBLE | similarity
select
    numbered.id as id,
    pairs.a as a,
    pairs.jaccard as jaccard
from relations.numbered as numbered
left join near_dedup.all_pairs as pairs on pairs.b = numbered.id
"""


def test_pairs_over_all_documents_hold_those_that_an_earlier_stage_drops(corpus: Corpus) -> None:
    base = story(60)
    corpus.source("s", [" ".join(base), " ".join(base) + " ", " ".join([*base, "more"]), " ".join(story(60, 500))])
    model = corpus.folder / "sql" / "measures" / "all_near.sql"
    model.parent.mkdir(parents=True)
    model.write_text(ALL_PAIRS, "utf-8")
    corpus.run('stages = ["exact_dedup", "near_dedup"]\n')
    with open_build(corpus.version) as connection:
        found = connection.execute("from measures.all_near order by id").fetchall()
        entered = connection.execute("select id from decisions where stage = 'near_dedup' order by id").fetchall()
    assert entered == [("s:0",), ("s:2",), ("s:3",)]
    assert found == [("s:0", None, None), ("s:1", "s:0", 1.0), ("s:2", "s:0", 56 / 57), ("s:3", None, None)]


# fourteen tokens, so that whoever holds them all is contaminated
ASKED = "Which of the nine ferries was the first to cross the sound after the long frost"
CLEAN = " ".join(f"ferry{i}" for i in range(100))
SURVIVORS = {
    # name: documents, then where each ended and what survives in its stead
    "a copy of what stays": ([CLEAN, CLEAN], [(None, None), ("exact_duplicate", "s:0")]),
    "a near copy of what stays": ([CLEAN, f"{CLEAN} indeed"], [(None, None), ("near_duplicate", "s:0")]),
    "a copy of a near copy of what stays": (
        [CLEAN, f"{CLEAN} indeed", f"{CLEAN} indeed"],
        [(None, None), ("near_duplicate", "s:0"), ("exact_duplicate", "s:0")],
    ),
    "a clean near copy of a contaminated document": (
        [f"{CLEAN} {ASKED}", CLEAN],
        [("contaminated", None), ("near_duplicate", None)],
    ),
    "an exact copy of a clean near copy of a contaminated document": (
        [f"{CLEAN} {ASKED}", CLEAN, CLEAN],
        [("contaminated", None), ("near_duplicate", None), ("exact_duplicate", None)],
    ),
}


@pytest.mark.parametrize(("texts", "expected"), SURVIVORS.values(), ids=SURVIVORS)
def test_which_document_stands_for_a_removed_copy(corpus: Corpus, texts: list[str], expected: list[tuple]) -> None:
    built(corpus, texts)
    with open_build(corpus.version) as connection:
        assert connection.execute("select reason, survivor from documents order by id").fetchall() == expected


def built(corpus: Corpus, texts: list[str], order: str = '"exact_dedup", "near_dedup", "decontaminate"') -> list[str]:
    """Build it with one item to protect, and return what the run told at its end."""
    (corpus.folder / "items.jsonl").write_text(json.dumps({"id": "ferries", "text": ASKED}))
    corpus.source("s", texts)
    return corpus.run(f'stages = [{order}]\n[decontaminate]\nprotected = ["items.jsonl"]\n').notices


def test_copies_without_a_survivor_are_told_at_the_end_of_the_run_and_by_why(corpus: Corpus) -> None:
    notices = built(corpus, SURVIVORS["an exact copy of a clean near copy of a contaminated document"][0])
    assert notices[0] == (
        "2 of 2 removed copies have no copy in the corpus: what they point at was dropped later, all "
        "as contaminated; survivor is null in the table documents"
    )
    assert list(shown.story(explain.why(corpus.version, "s:2")))[-4:-1] == [
        "  s:1 was itself dropped by near_dedup as near_duplicate -> s:0",
        "  s:0 was itself dropped by decontaminate as contaminated -> items:ferries",
        "  no copy is in the corpus",
    ]


def test_why_follows_a_copy_to_the_document_that_is_in_the_corpus(corpus: Corpus) -> None:
    notices = built(corpus, SURVIVORS["a copy of a near copy of what stays"][0])
    assert not [one for one in notices if "removed" in one]
    assert list(shown.story(explain.why(corpus.version, "s:2")))[-3:-1] == [
        "  s:1 was itself dropped by near_dedup as near_duplicate -> s:0",
        "  in the corpus in its stead: s:0",
    ]


def test_decontaminated_first_a_clean_near_copy_survives(corpus: Corpus) -> None:
    built(corpus, [f"{CLEAN} {ASKED}", CLEAN, CLEAN], '"decontaminate", "near_dedup", "exact_dedup"')
    with open_build(corpus.version) as connection:
        found = connection.execute("select stage, survivor from documents order by id").fetchall()
    assert found == [("decontaminate", None), (None, None), ("near_dedup", "s:1")]
