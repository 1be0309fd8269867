"""sample draws documents to read: by strata, near a threshold, from the whole stream, by reason; alike for a seed."""

from __future__ import annotations

import hashlib
import json
import random

import pytest
from conftest import Corpus

from corpus_sql.errors import ConfigError
from corpus_sql.explain import open_build
from corpus_sql.sampling import USES, _reservoir, allocate, band_name, lines, sample

FILES = [f"en/20260102/part-0000{i}.jsonl.zst" for i in range(2)] + ["zh/20260102/part-00000.jsonl.zst"]
MILL = "the old mill of the town and its wheel".split()
MARKET = "清晨的市场很热闹卖菜的人把青菜和豆腐摆在路边买菜的人也不着急一边走一边和熟人说话"

CONFIG = """
stages = ["gopher", "exact_dedup"]
[gopher]
min_n_words = 20
[gopher.zh]
min_n_words = 30
"""


def english(n_words: int) -> str:
    return " ".join(MILL[i % len(MILL)] for i in range(n_words))


def chinese(n_characters: int) -> str:
    """Each character is a word."""
    return MARKET[:n_characters]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Corpus:
    """English of 16 to 27 words, of which 20 are enough, then one of 300, a copy, two broken lines.

    Chinese of 27 to 34 words, of which 30 are enough.
    """
    corpus = Corpus(tmp_path_factory.mktemp("sample"))
    corpus.source("en", [*(english(16 + k) for k in range(12)), english(300), english(24), b"not JSON", b"{}"], parts=2)
    corpus.source("zh", [chinese(27 + k) for k in range(8)])
    corpus.run(CONFIG)
    return corpus


def ids(found) -> list[str]:
    return [row["id"] for row in found.rows]


def by_hash(seed: int, ids: list[str]) -> list[str]:
    """The order in which a seed draws: by the SHA-256 of seed, colon, id."""
    return sorted(ids, key=lambda id: hashlib.sha256(f"{seed}:{id}".encode()).hexdigest())


# near a threshold


def test_both_sides_of_a_threshold_by_distance_with_each_language_its_own(built):
    """English needs 20 words, Chinese 30. A step of one word is a thirtieth there and a twentieth here."""
    found = sample(built.version, "near-threshold", rule="low_n_words", n=3)
    equal = by_hash(0, ["en:4", "zh:3"])
    words = {"en:4": 20, "zh:3": 30}
    assert [(row["id"], row["side"], row["value"], row["threshold"]) for row in found.rows] == [
        ("zh:2", "hit", 29, 30),
        ("en:3", "hit", 19, 20),
        ("zh:1", "hit", 28, 30),
        *((id, "passed", words[id], words[id]) for id in equal),
        ("zh:4", "passed", 31, 30),
    ]
    assert [row["distance"] for row in found.rows] == pytest.approx([1 / 30, 1 / 20, 2 / 30, 0, 0, 1 / 30])
    assert found.head == {
        "sample": "near-threshold",
        "dataset": "t",
        "version": "v1",
        "filtered_build_hash": found.head["filtered_build_hash"],
        "seed": 0,
        "n": 3,
        "rule": "low_n_words",
        "measure": "n_words",
        "stage": "gopher",
        "sides": {"hit": 7, "passed": 15},
        "use": "It shows where a rule errs and its threshold could be; it does not show how common anything is.",
    }


def test_documents_that_another_stage_dropped_are_on_the_side_where_the_rule_has_them(built):
    found = sample(built.version, "near-threshold", rule="low_n_words", n=100)
    copy = next(row for row in found.rows if row["id"] == "en:8")
    assert (copy["side"], copy["stage"], copy["reason"], copy["value"]) == (
        "passed",
        "exact_dedup",
        "exact_duplicate",
        24,
    )
    assert len(found.rows) == 22


def test_a_rule_that_is_off_for_a_language_has_no_document_of_it(built):
    found = sample(built.version, "near-threshold", rule="high_mean_word_length", n=100)
    assert {row["lang"] for row in found.rows} == {"en"}
    assert found.head["sides"] == {"hit": 0, "passed": 14}


# strata


def test_every_stratum_has_one_first_and_the_rest_is_shared_out_by_size(built):
    """Kept are 8 short English texts, one long, 5 short Chinese: of 7, one each, then 2.15, 0 and 1.23 of 4."""
    found = sample(built.version, "stratified", n=7)
    english = by_hash(0, ["en:4", "en:5", "en:6", "en:7", "en:9", "en:10", "en:11", "en:13"])[:4]
    chinese = by_hash(0, ["zh:3", "zh:4", "zh:5", "zh:6", "zh:7"])[:2]
    assert ids(found) == [*english, "en:12", *chinese]
    assert [(row["band"], row["weight"]) for row in found.rows] == [
        *[("0-199", 2.0)] * 4,
        ("1000-4999", 1.0),
        *[("0-199", 2.5)] * 2,
    ]
    assert found.note == "3 of 3 strata, which hold 100.0 % of the kept documents"


def test_where_there_are_more_strata_than_documents_to_draw_it_is_said_what_was_not_reached(built):
    found = sample(built.version, "stratified", n=2)
    assert [row["lang"] for row in found.rows] == ["en", "zh"]
    assert found.note == "2 of 3 strata, which hold 92.9 % of the kept documents"


@pytest.mark.parametrize(
    "sizes, n, shares",
    [
        pytest.param([90, 9, 1], 10, [7, 2, 1], id="one each, then 6.4 and 0.6 of 7"),
        pytest.param([90, 9, 1], 2, [2, 0, 0], id="fewer than strata: by size alone"),
        pytest.param([5, 5, 5], 2, [1, 1, 0], id="ties go to the earlier one"),
        pytest.param([2, 1], 10, [2, 1], id="no more than there are"),
        pytest.param([], 5, [], id="nothing there"),
    ],
)
def test_shares_of_strata(sizes, n, shares):
    assert allocate(sizes, n) == shares


def test_length_bands():
    assert [band_name(i) for i in range(5)] == ["0-199", "200-999", "1000-4999", "5000-19999", "20000-"]


# the reservoir


def test_the_reservoir_is_algorithm_r_over_the_documents_in_raw_order(built):
    """Line after line, source after source: not in byte order of the ids, and with those that were dropped."""
    stream = [f"en:{k}" for k in range(14)] + [f"zh:{k}" for k in range(8)]
    rng, drawn = random.Random(7), []
    for seen, id in enumerate(stream):
        if seen < 5:
            drawn.append(id)
        elif (at := int(rng.random() * (seen + 1))) < 5:
            drawn[at] = id
    found = sample(built.version, "reservoir", n=5, seed=7)
    assert ids(found) == sorted(drawn, key=stream.index)
    assert [row["place"] for row in found.rows] == sorted(map(stream.index, drawn))
    assert found.note == "5 of 22 documents that were read"


def test_every_document_is_as_likely_to_be_in_the_reservoir(built):
    """Over 120 seeds each of 22 documents is drawn 11 of 22 times: 60, give or take four standard deviations."""
    counts = dict.fromkeys([f"en:{k}" for k in range(14)] + [f"zh:{k}" for k in range(8)], 0)
    with open_build(built.version) as connection:
        for seed in range(120):
            rows, _, _ = _reservoir(connection, 11, seed, FILES)
            for row in rows:
                counts[row["id"]] += 1
    assert all(60 - 22 <= n <= 60 + 22 for n in counts.values())


def test_a_reservoir_larger_than_the_stream_is_the_stream(built):
    assert len(sample(built.version, "reservoir", n=100).rows) == 22


# by reason


def test_so_many_of_each_reason_quarantined_lines_too(built):
    found = sample(built.version, "by-reason", n=2)
    dropped = by_hash(0, ["en:0", "en:1", "en:2", "en:3", "zh:0", "zh:1", "zh:2"])[:2]
    assert [(row["id"], row["reason"], row["weight"]) for row in found.rows] == [
        ("en:8", "exact_duplicate", 1.0),
        *((id, "low_n_words", 3.5) for id in dropped),
        ("en:14", "invalid_json", 1.0),
        ("en:15", "missing_url", 1.0),
    ]
    assert [row["text"] for row in found.rows if row["verdict"] == "quarantine"] == ["not JSON", "{}"]
    assert found.head["dropped"] == {
        "exact_dedup exact_duplicate": 1,
        "gopher low_n_words": 7,
        "read invalid_json": 1,
        "read missing_url": 1,
    }


def test_one_reason_alone(built):
    found = sample(built.version, "by-reason", rule="invalid_json")
    assert [(row["id"], row["lang"], row["n_chars"]) for row in found.rows] == [("en:14", None, None)]


# what is saved and shown


def test_the_ids_are_saved_beside_the_reports_without_texts_and_a_second_time_alike(built):
    before = sorted((p, p.stat().st_mtime_ns) for p in built.version.rglob("*"))
    found = sample(built.version, "stratified", n=3, seed=5)
    assert found.file == built.version.parent / "reports" / "v1" / "samples" / "stratified-n3-seed5.jsonl"
    first = found.file.read_bytes()
    head, *rows = map(json.loads, first.decode().splitlines())
    assert (head["sample"], head["seed"], head["population"], head["use"]) == ("stratified", 5, 14, USES["stratified"])
    assert [row["id"] for row in rows] == ids(found)
    assert all("text" not in row for row in rows)
    assert sample(built.version, "stratified", n=3, seed=5).file.read_bytes() == first
    assert sorted((p, p.stat().st_mtime_ns) for p in built.version.rglob("*")) == before


def test_another_seed_draws_others(built):
    assert len({tuple(ids(sample(built.version, "stratified", n=5, seed=seed))) for seed in range(6)}) > 1


def test_the_texts_are_those_of_the_build(built):
    found = sample(built.version, "reservoir", n=100)
    texts = {row["id"]: row["text"] for row in found.rows}
    assert (texts["en:0"], texts["en:13"], texts["zh:7"]) == (english(16), english(24), chinese(34))
    assert [json.loads(line)["id"] for line in found.jsonl()] == ids(found)


def test_a_text_that_was_not_kept_is_null(corpus):
    corpus.source("s", [english(5), b"not JSON"])
    corpus.run('keep_rejected_text = false\nstages = ["gopher"]')
    found = sample(corpus.version, "by-reason")
    assert [(row["id"], row["text"]) for row in found.rows] == [("s:0", None), ("s:1", None)]
    assert list(lines(found)) == [
        "id   lang  ended               text              characters  weight",
        "s:0  en    gopher low_n_words  not in the build          19       1",
        "s:1        read invalid_json   not in the build                   1",
        "",
        "2 reasons, 2 lines dropped",
        "It shows what each rule drops; the numbers drawn are not the numbers dropped.",
        f"ids: {found.file}",
    ]
    empty = sample(corpus.version, "stratified")
    assert (empty.rows, empty.note) == ([], "no document was kept")


def test_the_table_shows_the_beginning_of_each_text_and_where_it_ended(built):
    found = sample(built.version, "near-threshold", rule="low_n_words", n=1)
    first, note, use, file = [line for i, line in enumerate(lines(found)) if i in (1, 4, 5, 6)]
    text = chinese(29) + "  "  # each of its characters is two cells wide, and the table leaves sixty
    assert first == f"zh:2  zh    gopher low_n_words  hit     {text}           29     29         30"
    assert (note, use, file) == (
        "n_words: low_n_words hits 7 documents that came to gopher, 15 pass it",
        "It shows where a rule errs and its threshold could be; it does not show how common anything is.",
        f"ids: {found.file}",
    )


@pytest.mark.parametrize(
    "kind, options, message",
    [
        pytest.param(
            "stratifed", {}, '--kind: there is no kind "stratifed"\n    Did you mean stratified?', id="a kind misspelt"
        ),
        pytest.param("reservoir", {"n": 0}, "--n: 0 is no number of documents to draw", id="none"),
        pytest.param(
            "reservoir",
            {"rule": "low_n_words"},
            "--rule: a reservoir sample has no rule",
            id="a rule where there is none",
        ),
        pytest.param(
            "near-threshold",
            {"rule": "low_n_word"},
            '--rule: "low_n_word" is no rule of this build with documents on both sides of a threshold\n'
            "    Did you mean low_n_words?",
            id="a rule misspelt",
        ),
        pytest.param(
            "near-threshold",
            {},
            "--rule: a near-threshold sample needs a rule\n"
            "    The rules with a threshold are low_n_words, high_n_words, low_mean_word_length, "
            "high_mean_word_length, high_hash_ratio, high_ellipsis_ratio, high_bullet_line_ratio, "
            "high_ellipsis_line_ratio, low_alpha_word_ratio, low_n_stop_words.",
            id="no rule",
        ),
        pytest.param(
            "by-reason",
            {"rule": "missing_text"},
            '--rule: nothing was dropped for "missing_text"\n    Did you mean missing_url?',
            id="a reason that dropped nothing",
        ),
    ],
)
def test_what_cannot_be_drawn_is_told_with_what_can(built, kind, options, message):
    with pytest.raises(ConfigError) as raised:
        sample(built.version, kind, **options)
    assert str(raised.value) == message


def test_the_command_prints_texts_on_stdout_and_what_they_are_good_for_beside_them(built):
    from typer.testing import CliRunner

    from corpus_sql.cli import app

    run = CliRunner().invoke
    found = run(app, ["sample", str(built.version), "--kind", "reservoir", "--n", "2", "--format", "jsonl"])
    assert [sorted(json.loads(line)) for line in found.stdout.splitlines()] == [
        ["id", "lang", "n_chars", "place", "reason", "source_id", "stage", "text", "verdict"]
    ] * 2
    assert found.stderr.splitlines()[0] == USES["reservoir"]
    assert run(app, ["sample", str(built.version)]).stdout.splitlines()[-2] == USES["stratified"]
