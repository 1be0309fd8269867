"""corpus-sql diff: each kind of change with each kind of cause, told from the records of two builds."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import duckdb
import numpy
import pytest
from conftest import Corpus, raw_line, shared
from typer.testing import CliRunner

from corpus_sql import build, diff_shown, diffing
from corpus_sql.cli import app
from corpus_sql.engine_duckdb import DuckDB
from corpus_sql.errors import ConfigError

LONG = [
    "The {0} keeper of the lighthouse wrote in the book that the lamp had burned all night and that no ship was seen.",
    "In the morning a boat with {0} sails came from the south and brought bread, paper and a letter from the harbour.",
    "Nobody on the island had expected it, and so the {0} children ran down to the landing stage to look at it.",
    "The letter said that a {0} inspector would come in the spring to count the barrels of oil in the cellar.",
]


def words(n: int, first: str = "word") -> str:
    """A text of n different words, beginning with `first`."""
    return " ".join([first, *(f"{first}{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(n - 1))])


def prose(name: str, sentences: int = 4) -> str:
    return " ".join(LONG[i % 4].format(name) for i in range(sentences))


ZH = "村口的灯笼在春天修好了，大家一边唱歌一边把它搬到了屋后。"
FR = "Le gardien du phare a écrit dans le livre que la lampe avait brûlé la nuit et que personne n'était venu."


class Builds:
    """A project of which each config is built once; `build` returns the version's folder."""

    def __init__(self, folder: Path, **sources: list[bytes | str]):
        self.corpus = Corpus(folder)
        self.folders: dict[str, Path] = {}
        for name, lines in sources.items():
            self.corpus.source(name, lines)

    def build(self, config: str) -> Path:
        if config not in self.folders:
            version = f"v{len(self.folders) + 1}"
            self.corpus.configure(config, version)
            self.corpus.run()
            self.folders[config] = self.corpus.version.parent / version
        return self.folders[config]

    def ledger(self, sources: Iterable[str]) -> None:
        """Leave only these sources in the project."""
        self.corpus.rows = {name: row for name, row in self.corpus.rows.items() if name in sources}
        path = self.corpus.folder / "artifacts" / "corpus" / "LEDGER.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in self.corpus.rows.values()))


def compare(before: Path, after: Path) -> tuple[dict, list[dict]]:
    with diffing.diff(before, after) as found:
        return found.summary, list(found.changes())


def changes(before: Path, after: Path, *kinds: str) -> list[dict]:
    return [one for one in compare(before, after)[1] if not kinds or one["change"] in kinds]


def told(found: list[dict]) -> list[tuple]:
    """id, change, was, now, cause, key: the changes without what would make a test hard to read."""
    return [(one["id"], one["change"], one["was"], one["now"], one["cause"], one["detail"].get("key")) for one in found]


def causes(one: dict) -> list[tuple[str, str]]:
    return [(cause["cause"], cause["key"]) for cause in one["detail"]["causes"]]


def rules(**limits: object) -> str:
    """A config with the stage gopher alone, and of its rules only those named."""
    limits = {
        "min_mean_word_length": False,
        "min_alpha_word_ratio": False,
        "max_hash_ratio": False,
        "min_n_words": False,
    } | limits
    return 'stages = ["gopher"]\n[gopher]\n' + "".join(
        f"{key} = {json.dumps(value)}\n" for key, value in limits.items()
    )


# ------------------------------------------------------------------------------------------------------- thresholds


@pytest.fixture(scope="module")
def counted(tmp_path_factory) -> Builds:
    """s:0 to s:4 have 10 to 50 words; s:5 has 90 and a third of them '#', s:6 has 30 and two thirds."""
    texts = [words(n) for n in (10, 20, 30, 40, 50)]
    return Builds(tmp_path_factory.mktemp("counted"), s=[*texts, words(60) + " #" * 30, words(10) + " #" * 20])


def test_equal_builds(counted):
    summary, found = compare(counted.build("stages = []"), counted.build("stages = [] # the same"))
    assert found == []
    assert set(summary["changes"].values()) == {0}
    assert summary["causes"] == summary["out_of_date"] == summary["dropped_otherwise"] == []
    assert summary["relations"]["rebuilt"] == []


@pytest.mark.parametrize(
    ("old", "new", "was", "now"),
    [(20, 40, "keep", "reject low_n_words"), (40, 20, "reject low_n_words", "keep")],
    ids=["raised", "lowered"],
)
def test_a_threshold(counted, old, new, was, now):
    summary, found = compare(counted.build(rules(min_n_words=old)), counted.build(rules(min_n_words=new)))
    # 20 and 40 words are just enough for 20 and 40
    detail = {"key": "gopher.min_n_words", "old": old, "new": new}
    assert found == [
        {"id": id, "change": "verdict", "stage": "gopher", "was": was, "now": now, "cause": "config", "detail": detail}
        for id in ("s:1", "s:2", "s:6")
    ]
    assert "measures.words" in summary["relations"]["reused"]
    assert "stages.gopher" in summary["relations"]["rebuilt"]
    totals = {when: sum(one[f"documents_{when}"] for one in summary["totals"]) for when in ("before", "after")}
    assert totals == ({"before": 6, "after": 3} if old < new else {"before": 3, "after": 6})


def test_a_rule_switched_off(counted):
    (one,) = changes(counted.build(rules(min_n_words=20)), counted.build(rules()))
    assert (one["id"], one["now"]) == ("s:0", "keep")
    assert one["detail"] == {"key": "gopher.min_n_words", "old": 20, "new": None}


def test_two_thresholds_each_its_own(counted):
    before = counted.build(rules(min_n_words=10, max_hash_ratio=0.9))
    found = changes(before, counted.build(rules(min_n_words=35, max_hash_ratio=0.2)))
    assert told(found) == [
        ("s:0", "verdict", "keep", "reject low_n_words", "config", "gopher.min_n_words"),
        ("s:1", "verdict", "keep", "reject low_n_words", "config", "gopher.min_n_words"),
        ("s:2", "verdict", "keep", "reject low_n_words", "config", "gopher.min_n_words"),
        ("s:5", "verdict", "keep", "reject high_hash_ratio", "config", "gopher.max_hash_ratio"),
        ("s:6", "verdict", "keep", "reject low_n_words", "several", None),
    ]
    assert found[4]["detail"] == {
        "causes": [
            {"cause": "config", "key": "gopher.max_hash_ratio", "old": 0.9, "new": 0.2},
            {"cause": "config", "key": "gopher.min_n_words", "old": 10, "new": 35},
        ]
    }


def test_dropped_by_another_rule_than_before(counted):
    before = counted.build(rules(max_mean_word_length=2))
    summary, found = compare(before, counted.build(rules(max_mean_word_length=2, min_n_words=20)))
    was, now = "reject high_mean_word_length", "reject low_n_words"
    assert told(found) == [("s:0", "reason", was, now, "config", "gopher.min_n_words")]
    assert found[0]["detail"] == {"key": "gopher.min_n_words", "old": None, "new": 20}
    assert summary["dropped_otherwise"] == [
        {"was": "gopher high_mean_word_length", "now": "gopher low_n_words", "documents": 1}
    ]


def test_dropped_by_the_rule_that_stood_behind(counted):
    both = counted.build(rules(max_mean_word_length=2, min_n_words=20))
    was, now = "reject low_n_words", "reject high_mean_word_length"
    found = changes(both, counted.build(rules(max_mean_word_length=2)))
    assert told(found) == [("s:0", "reason", was, now, "config", "gopher.min_n_words")]


def test_one_rule_let_go_and_another_took_hold(counted):
    before = counted.build(rules(min_n_words=35, max_hash_ratio=0.9))
    found = changes(before, counted.build(rules(min_n_words=25, max_hash_ratio=0.2)), "reason")
    assert [(one["id"], one["was"], one["now"]) for one in found] == [
        ("s:6", "reject low_n_words", "reject high_hash_ratio")
    ]
    assert causes(found[0]) == [("config", "gopher.max_hash_ratio"), ("config", "gopher.min_n_words")]
    assert "via" not in found[0]["detail"]


def test_quarantined_for_another_reason_than_before(tmp_path):
    project = Builds(tmp_path, s=[b'{"text": 1', raw_line(words(10))])
    before = project.build("stages = []")
    project.corpus.source("s", [b'{"text": ""}', raw_line(words(10))])
    (one,) = changes(before, project.build("stages = [] # again"))
    assert (one["id"], one["change"], one["stage"]) == ("s:0", "reason", "read")
    assert (one["was"], one["now"]) == ("quarantine invalid_json", "quarantine missing_url")
    assert (one["cause"], one["detail"]["key"]) == ("input", file("s"))


def test_a_stage_left_out(counted):
    (one,) = changes(counted.build(rules(min_n_words=20)), counted.build("stages = []"))
    assert (one["id"], one["was"], one["now"], one["stage"]) == ("s:0", "reject low_n_words", "keep", "gopher")
    assert one["detail"] == {"key": "stages", "old": ["gopher"], "new": []}


def test_the_longest_line(counted):
    (one,) = changes(counted.build("stages = []"), counted.build("max_line_bytes = 500\nstages = []"))
    assert (one["id"], one["stage"], one["now"]) == ("s:5", "read", "quarantine oversize_line")
    assert (one["cause"], one["detail"]) == ("config", {"key": "max_line_bytes", "old": 33554432, "new": 500})


# -------------------------------------------------------------------------------------------------------- languages


@pytest.fixture(scope="module")
def languages(tmp_path_factory) -> Builds:
    return Builds(tmp_path_factory.mktemp("languages"), s=[prose("old"), ZH, FR, "la la la"])


KEEP = 'stages = ["lang"]\n[lang]\nundetermined = "keep"\nkeep = ["en", "fr", "zh"]\nmin_score = 0.2\n'


def test_a_language_table_is_only_for_its_language(languages):
    general = 'stages = ["gopher"]\n[gopher]\nmin_n_words = 3\nmin_mean_word_length = 1\nmin_n_stop_words = false\n'
    found = changes(languages.build(general), languages.build(general + "[gopher.zh]\nmin_n_words = 1000\n"))
    assert told(found) == [("s:1", "verdict", "keep", "reject low_n_words", "config", "gopher.zh.min_n_words")]


def test_languages_to_keep(languages):
    (one,) = changes(languages.build(KEEP.replace(', "zh"', "")), languages.build(KEEP))
    assert (one["id"], one["was"], one["cause"]) == ("s:1", "reject lang_not_kept", "config")
    assert one["detail"] == {"key": "lang.keep", "old": ["en", "fr"], "new": ["en", "fr", "zh"]}


def test_how_sure_of_a_language(languages):
    before = KEEP.replace('"keep"', '"reject"').replace('["en", "fr", "zh"]', '["*"]').replace("0.2", "0")
    found = changes(languages.build(before), languages.build(before.replace("min_score = 0", "min_score = 0.6")))
    assert told(found) == [("s:3", "verdict", "keep", "reject lang_undetermined", "config", "lang.min_score")]


def test_the_language_model(languages):
    # by the script of its letters alone, French is no language
    before = KEEP.replace('"keep"', '"reject"')
    found = changes(languages.build(before), languages.build(before + 'model = "script"\n'))
    assert ("s:2", "verdict", "keep", "reject lang_undetermined", "model_file", "lang.model") in told(found)
    assert {one["detail"]["new"] for one in found} == {"script"}


# ------------------------------------------------------------------------------------------------------- duplicates

NEAR = 'stages = ["gopher", "exact_dedup", "near_dedup"]\n[gopher]\nmin_n_stop_words = false\n'


@pytest.fixture(scope="module")
def copies(tmp_path_factory) -> Builds:
    """s:1 is s:0 with a word more; of s:2 and s:3, one sentence in twelve differs."""
    first, other = prose("old"), prose("blue", 12)
    end = other[: other.rindex(" The letter")] + " And then the sea rose over the whole of it."
    return Builds(tmp_path_factory.mktemp("copies"), s=[first, first + " Amen.", other, end])


N = len(prose("old").split())


def near(min_n_words: int = N, jaccard_threshold: float = 0.7, keep: str = "first") -> str:
    return (
        f'{NEAR}min_n_words = {min_n_words}\n[near_dedup]\njaccard_threshold = {jaccard_threshold}\nkeep = "{keep}"\n'
    )


def test_the_kept_copy_is_gone(copies):
    # the first stays until a threshold drops it
    detail = {"key": "gopher.min_n_words", "old": N, "new": N + 1}
    chain = detail | {"via": ["s:0: gopher low_n_words"]}
    assert changes(copies.build(near()), copies.build(near(min_n_words=N + 1))) == [
        {
            "id": "s:0", "change": "verdict", "stage": "gopher", "was": "keep", "now": "reject low_n_words",
            "cause": "config", "detail": detail,
        },
        {
            "id": "s:1", "change": "cluster", "stage": "near_dedup", "was": "s:0", "now": "s:1",
            "cause": "config", "detail": chain,
        },
        {
            "id": "s:1", "change": "verdict", "stage": "near_dedup", "was": "reject near_duplicate", "now": "keep",
            "cause": "config", "detail": chain,
        },
    ]  # fmt: skip


def test_a_chain_over_two_stages(tmp_path):
    # with a:0 gone its exact copy b:0 stays, and names the cluster of b:1, which is nearly the same
    project = Builds(tmp_path, a=[prose("old")], b=[prose("old"), prose("old") + " Amen."])
    stages = 'stages = ["exact_dedup", "near_dedup"]\n'
    before = project.build(stages)
    project.ledger(["b"])
    found = changes(before, project.build(stages + "# without a\n"))
    assert told(found) == [
        ("a:0", "removed", "keep", None, "config", "sources"),
        ("b:0", "verdict", "reject exact_duplicate", "keep", "config", "sources"),
        ("b:1", "cluster", "a:0", "b:0", "config", "sources"),
    ]
    assert found[1]["detail"] == {"key": "sources", "old": ["a", "b"], "new": ["b"], "via": ["a:0: removed"]}


def test_the_similarity_of_near_duplicates(copies):
    found = changes(copies.build(near()), copies.build(near(jaccard_threshold=0.98)))
    assert ("s:3", "cluster", "s:2", "s:3", "config", "near_dedup.jaccard_threshold") in told(found)
    assert ("s:3", "verdict", "reject near_duplicate", "keep", "config", "near_dedup.jaccard_threshold") in told(found)
    assert {json.dumps(one["detail"]) for one in found} == {
        json.dumps({"key": "near_dedup.jaccard_threshold", "old": 0.7, "new": 0.98})
    }


def test_which_near_duplicate_stays(copies):
    found = told(changes(copies.build(near()), copies.build(near(keep="longest"))))
    assert found[:2] == [
        ("s:0", "verdict", "keep", "reject near_duplicate", "config", "near_dedup.keep"),
        ("s:1", "verdict", "reject near_duplicate", "keep", "config", "near_dedup.keep"),
    ]
    assert {one[-1] for one in found} == {"near_dedup.keep"}


def test_a_threshold_and_the_similarity_each_its_own(copies):
    found = changes(copies.build(near()), copies.build(near(min_n_words=N + 1, jaccard_threshold=0.98)), "verdict")
    assert [(one["id"], one["cause"], one["detail"].get("key")) for one in found] == [
        ("s:0", "config", "gopher.min_n_words"),
        ("s:1", "several", None),  # s:0 is gone, and it would not be alike enough either
        ("s:3", "config", "near_dedup.jaccard_threshold"),
    ]


# -------------------------------------------------------------------------------------------------- texts and splits


@pytest.fixture(scope="module")
def addressed(tmp_path_factory) -> Builds:
    """Sixty documents with an IP address each, the first with an e-mail address too."""
    texts = [f"{prose(f'old{i}')} The gateway is 192.0.2.{i}." for i in range(60)]
    return Builds(tmp_path_factory.mktemp("addressed"), s=[texts[0] + " Write to keeper@example.org.", *texts[1:]])


def split(text: str, stages: str = "[]") -> str:
    return f"stages = {stages}\n[split]\n{text}\n"


def test_kinds_of_personal_data(addressed):
    before = addressed.build('stages = ["pii"]\n[pii]\nkinds = ["ip"]\n')
    (one,) = changes(before, addressed.build('stages = ["pii"]\n[pii]\nkinds = ["ip", "email"]\n'), "text")
    assert (one["id"], one["stage"], one["cause"]) == ("s:0", "pii", "config")
    assert one["detail"] == {"key": "pii.kinds", "old": ["ip"], "new": ["ip", "email"]}
    assert one["was"] != one["now"] and len(one["was"]) == len(one["now"]) == 64


def test_a_text_changed_by_the_scrub_may_change_the_split(addressed):
    after = addressed.build(split("val_permille = 500", '["pii"]'))
    found = changes(addressed.build(split("val_permille = 500")), after)
    splits = [one for one in found if one["change"] == "split"]
    assert len([one for one in found if one["change"] == "text"]) == 60
    assert 10 < len(splits) < 50
    assert {(one["cause"], one["detail"]["key"]) for one in found} == {("config", "stages")}
    assert splits[0]["detail"]["via"] == [f"{splits[0]['id']}: text"]


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("val_permille = 100", "val_permille = 500", "split.val_permille"),
        ('method = "group_hash"\nsalt = "a"', 'method = "group_hash"\nsalt = "b"', "split.salt"),
        ("val_permille = 500", 'method = "group_hash"\nsalt = "a"', "split.method"),
    ],
    ids=["share", "salt", "method"],
)
def test_splits(addressed, old, new, key):
    found = changes(addressed.build(split(old)), addressed.build(split(new)))
    assert len(found) > 2
    assert {(one["change"], one["cause"], one["detail"]["key"]) for one in found} == {("split", "config", key)}


def test_the_share_that_moved_the_bound(addressed):
    before = addressed.build(split('method = "group_hash"\ntrain = 400\nvalidation = 300\ntest = 300'))
    after = addressed.build(split('method = "group_hash"\ntrain = 600\nvalidation = 200\ntest = 200'))
    found = {(one["was"], one["now"], one["detail"]["key"]) for one in changes(before, after)}
    assert found == {("validation", "train", "split.train"), ("test", "validation", "split.test")}


def test_a_given_group_changes_the_split(tmp_path):
    lines = [(prose(f"old{i}"), f"r{i}") for i in range(20)]
    project = Builds(tmp_path, s=[raw_line(text, source_record_id=record) for text, record in lines])
    config = split('method = "group_hash"\ntrain = 500\nvalidation = 250\ntest = 250')
    before = project.build(config)
    project.corpus.source("s", [raw_line(text, source_record_id=record, group_id="all") for text, record in lines])
    found = changes(before, project.build(config + "# with groups\n"))
    assert len(found) > 2
    assert {(one["change"], one["cause"], one["detail"]["key"]) for one in found} == {("split", "input", file("s"))}


# ------------------------------------------------------------------------------------------------------------- input


def file(source: str, day: str = "20260102") -> str:
    return f"{source}/{day}/part-00000.jsonl.zst"


def fetched(names: dict[str, str], *texts: tuple[int, str]) -> list[bytes]:
    """Raw lines of upstream records, by number; `names` says how a number becomes a url or a source_record_id."""
    return [raw_line(text, **{key: value.format(i) for key, value in names.items()}) for i, text in texts]


RECORD, URL, NOTHING = {"source_record_id": "r{}"}, {"url": "https://example.org/{}"}, {}
OLD = [(i, prose(f"old{i}", 7)) for i in range(5)]
# a line in front moves all others; one text is edited; the last line is gone
NEW = [(9, prose("new", 7)), OLD[0], OLD[1], (2, prose("edited", 7)), OLD[3]]
SHORT = [words(30), words(40), words(10)]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> tuple[Path, Path, dict[str, tuple[str, str]]]:
    """A build before and after several sources have changed, and the SHA-256 of each one's file in both."""
    project = Builds(
        tmp_path_factory.mktemp("inputs"),
        record=fetched(RECORD, *OLD), url=fetched(URL, *OLD), nameless=fetched(NOTHING, *OLD),
        place=[prose("one"), prose("two")],
        rule=[words(30), words(40)], more=[prose("three"), prose("four")],
        broken=[raw_line(prose("five")), b'{"text": "cut off', raw_line(prose("six"))],
        gone=[prose("seven")], copy=[prose("seven")],
    )  # fmt: skip
    config = rules(min_n_words=20).replace('["gopher"]', '["gopher", "exact_dedup"]')
    raw = project.corpus.folder / "artifacts" / "corpus" / "raw"
    old = {name: hashlib.sha256((raw / file(name)).read_bytes()).hexdigest() for name in project.corpus.rows}
    before = project.build(config)
    first = project.corpus.rows["more"]["files"]
    for name, lines in {
        "record": fetched(RECORD, *NEW), "url": fetched(URL, *NEW), "nameless": fetched(NOTHING, *NEW),
        "place": [prose("one"), prose("edited")],
        "rule": [words(30), words(10)],
        "broken": [raw_line(prose("five")), raw_line(prose("whole")), raw_line(prose("six"))], "gone": [prose("eight")],
    }.items():  # fmt: skip
        project.corpus.source(name, lines)
    project.corpus.source("more", [prose("nine")], day="20260203")
    project.corpus.rows["more"]["files"] = [*first, *project.corpus.rows["more"]["files"]]
    project.ledger(project.corpus.rows)
    after = project.build(config + "# fetched anew\n")
    return (
        before,
        after,
        {name: (old[name], hashlib.sha256((raw / file(name)).read_bytes()).hexdigest()) for name in old},
    )


def of(source: str, found: list[dict]) -> list[dict]:
    return [one for one in found if one["id"].startswith(source + ":") and one["change"] != "split"]


@pytest.mark.parametrize("source", ["record", "url"])
def test_a_source_fetched_anew(inputs, source):
    before, after, hashes = inputs
    found = of(source, changes(before, after))
    assert [(one["id"], one.get("id_before"), one["change"]) for one in found] == [
        (f"{source}:0", None, "added"),
        (f"{source}:3", f"{source}:2", "text"),
        (f"{source}:4", None, "removed"),
    ]
    detail = {"key": file(source), "old": hashes[source][0], "new": hashes[source][1]}
    assert [(one["cause"], one["detail"]) for one in found] == [("input", detail)] * 3


def test_a_source_fetched_anew_that_names_nothing(inputs):
    # an edited text is then another document: one went and another came
    found = of("nameless", changes(*inputs[:2]))
    assert [(one["id"], one["change"]) for one in found] == [
        ("nameless:0", "added"),
        ("nameless:2", "removed"),
        ("nameless:3", "added"),
        ("nameless:4", "removed"),
    ]


def test_an_edited_line_at_its_old_place(inputs):
    found = of("place", changes(*inputs[:2]))
    assert [(one["id"], one["change"], one["stage"], one["cause"]) for one in found] == [
        ("place:1", "text", "read", "input")
    ]


def test_an_edited_text_falls_by_a_rule(inputs):
    found = of("rule", changes(*inputs[:2]))
    assert [(one["id"], one["change"], one["cause"], one["detail"]["key"]) for one in found] == [
        ("rule:1", "text", "input", file("rule")),
        ("rule:1", "verdict", "input", file("rule")),
    ]


def test_a_part_added_moves_nothing(inputs):
    found = of("more", changes(*inputs[:2]))
    assert told(found) == [("more:2", "added", None, "keep", "input", file("more", "20260203"))]
    assert found[0]["detail"]["old"] is None


def test_a_line_repaired(inputs):
    found = of("broken", changes(*inputs[:2]))
    assert told(found) == [("broken:1", "verdict", "quarantine invalid_json", "keep", "input", file("broken"))]


def test_a_copy_of_a_text_that_was_replaced(inputs):
    found = changes(*inputs[:2])
    # copy:0 was the first of the two, and still is: nothing happened to it
    assert of("copy", found) == []
    assert told(of("gone", found))[-1][1:] == ("verdict", "reject exact_duplicate", "keep", "input", file("gone"))


def test_an_edited_text_and_a_threshold(tmp_path):
    # 40 words under a minimum of 20 became 30 under 35: 30 were enough before, 40 would be now
    project = Builds(tmp_path, s=[words(40)])
    before = project.build(rules(min_n_words=20))
    project.corpus.source("s", [words(30)])
    (one,) = changes(before, project.build(rules(min_n_words=35)), "verdict")
    assert one["cause"] == "several"
    assert causes(one) == [("input", file("s")), ("config", "gopher.min_n_words")]


# -------------------------------------------------------------------------------------- models, functions, tools

MEASURE = """\
-- shouting: capital letters.
--
-- column: id VARCHAR | document
-- column: n_loud BIGINT | what shouting_count says
select
    id,
    n_loud
from (
    select
        id,
        shouting_count("text") as n_loud
    from read.documents
) as counted
"""
STAGE = """\
-- shouting: texts that shout.
--
-- config: max_n_loud | capital letters
select
    d.id as id,
    {{ hits([high("n_loud")]) }} as hits
from {{ input }} as d
join measures.shouting using (id)
join relations.languages using (id)
"""
UDF = """\
import numpy
import pyarrow as pa

from corpus_sql.functions import udf


@udf(args=("VARCHAR",), returns="BIGINT", requires=("numpy",))
def shouting_count(texts):
    more = getattr(numpy, "shouting_more", 0)
    return pa.array([sum(c.isupper() for c in text.as_py()) + more for text in texts], pa.int64())
"""
SHOUTING = 'stages = ["shouting"]\n[shouting]\nmax_n_loud = 6\n'


def lay(project: Builds, **files: str) -> None:
    """Lay files into the project."""
    for name, text in files.items():
        folder, stem = name.split("__")
        path = (
            project.corpus.folder
            / {"udfs": "udfs"}.get(folder, f"sql/{folder}")
            / (stem + (".py" if folder == "udfs" else ".sql"))
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Builds:
    """A project with a measure, a stage and a function of its own; s:1 has six capital letters."""
    project = Builds(tmp_path_factory.mktemp("made"), s=["quiet", "A Bit LOUD", "VERY LOUD INDEED"])
    lay(project, measures__shouting=MEASURE, stages__shouting=STAGE, udfs__shouting=UDF)
    project.build(SHOUTING)
    return project


@pytest.fixture
def shouting(made) -> Iterator[Callable[..., list[dict]]]:
    """shouting(limit=6, measures__shouting=…) -> the changes since the build with 6 and the files as above."""

    def run(limit: int = 6, **files: str) -> list[dict]:
        lay(made, **files)
        return changes(made.build(SHOUTING), made.build(f"{SHOUTING}# {len(made.folders)}\n".replace("6", str(limit))))

    yield run
    lay(made, measures__shouting=MEASURE, stages__shouting=STAGE, udfs__shouting=UDF)


@pytest.fixture
def numpy_99(monkeypatch) -> None:
    """Another version of a library is installed."""
    install_numpy(monkeypatch, "99.1")


def install_numpy(monkeypatch, version: str) -> None:
    versions = DuckDB.versions
    monkeypatch.setattr(DuckDB, "versions", lambda self, names=(): versions(self, names) | {"numpy": version})


def test_a_function(shouting):
    (one,) = shouting(udfs__shouting=UDF.replace("c.isupper()", "not c.islower()"))
    assert told([one]) == [("s:1", "verdict", "keep", "reject high_n_loud", "udf", "shouting_count")]
    assert one["detail"]["old"] != one["detail"]["new"]


def test_a_function_and_a_threshold_told_apart_by_the_value(shouting):
    # the function is other code with the same numbers: the threshold is the cause
    found = shouting(5, udfs__shouting=UDF + "# counted as before\n")
    assert told(found) == [("s:1", "verdict", "keep", "reject high_n_loud", "config", "shouting.max_n_loud")]


def test_a_measure_model(shouting):
    found = shouting(measures__shouting=MEASURE.replace("    n_loud\nfrom", "    n_loud + 1 as n_loud\nfrom"))
    assert told(found) == [("s:1", "verdict", "keep", "reject high_n_loud", "model", "measures.shouting")]


def test_a_stage_model(shouting):
    rule = 'reject("loud", "n_loud >= 6", metric="n_loud")'
    found = shouting(stages__shouting=STAGE.replace('high("n_loud")', rule))
    assert told(found) == [
        ("s:1", "verdict", "keep", "reject loud", "model", "stages.shouting"),
        ("s:2", "reason", "reject high_n_loud", "reject loud", "model", "stages.shouting"),
    ]


def test_a_tool(shouting, numpy_99, monkeypatch):
    """The library behind a function counts otherwise."""
    monkeypatch.setattr(numpy, "shouting_more", 1, raising=False)
    (one,) = shouting()
    assert told([one]) == [("s:1", "verdict", "keep", "reject high_n_loud", "tool", "numpy")]
    assert one["detail"]["new"] == "99.1"


def test_a_function_and_its_tool_at_once_are_not_told_apart(shouting, numpy_99):
    (one,) = shouting(udfs__shouting=UDF.replace("+ more", "+ 1"))
    assert (one["id"], one["cause"]) == ("s:1", "several")
    assert causes(one) == [("udf", "shouting_count"), ("tool", "numpy")]


def test_a_tool_that_changed_nothing(shouting, monkeypatch):
    install_numpy(monkeypatch, "99.2")  # what the work file keeps of 99.1 counts otherwise
    assert shouting() == []


SECRET = "which of the seven lighthouses on the northern coast was the last one to be lit by hand"


def test_protected_items(tmp_path):
    project = Builds(
        tmp_path, s=[prose("old"), f"{prose('new')} Asked: {SECRET[:-24]}?", f"{prose('red')} Asked: {SECRET}?"]
    )
    items = project.corpus.folder / "items.jsonl"
    config = 'stages = ["decontaminate"]\n[decontaminate]\nprotected = ["items.jsonl"]\nngram = '
    items.write_text(json.dumps({"id": "q1", "text": "a question about something else"}) + "\n")
    before = project.build(config + "13")
    items.write_text(json.dumps({"id": "q1", "text": SECRET}) + "\n")
    after = project.build(config + "13 # another question")
    assert told(changes(before, after)) == [
        ("s:2", "verdict", "keep", "reject contaminated", "model_file", "decontaminate.protected")
    ]
    assert told(changes(after, project.build(config + "9"))) == [
        ("s:1", "verdict", "keep", "reject contaminated", "config", "decontaminate.ngram")
    ]


# ---------------------------------------------------------------------------------------------------- what comes out


@pytest.fixture
def two(counted) -> tuple[Path, Path]:
    """Between the two, s:0 with its 10 words falls."""
    return counted.build(rules(min_n_words=10)), counted.build(rules(min_n_words=20))


def run(*options: object) -> str:
    done = CliRunner().invoke(app, ["diff", *map(str, options)])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_json(two):
    found = json.loads(run(*two, "--json"))
    assert set(found) == {"summary", "changes"}
    assert found["changes"] == changes(*two)
    assert [set(one) for one in found["changes"]] == [{"id", "change", "stage", "was", "now", "cause", "detail"}]
    summary = found["summary"]
    assert (summary["before"]["version"], summary["before"]["n_docs"]) == (two[0].name, 7)
    assert (summary["after"]["version"], summary["after"]["n_docs"]) == (two[1].name, 6)
    assert list(summary["changes"]) == ["added", "removed", "verdict", "reason", "text", "split", "cluster"]
    assert [n for n in summary["changes"].values() if n] == [summary["changes"]["verdict"]] == [1]
    (cause,) = summary["causes"]
    assert cause == {
        "change": "verdict", "stage": "gopher", "cause": "config", "key": "gopher.min_n_words", "old": 10, "new": 20,
        "documents": 1, "newly_kept": 0, "newly_dropped": 1,
    }  # fmt: skip
    assert sum(one["characters_before"] - one["characters_after"] for one in summary["totals"]) == len(words(10))
    assert {one["shingle_tokens_after"] for one in summary["totals"]} == {None}  # near_dedup is not in the build
    assert [one["product"] for one in summary["out_of_date"]] == [
        "shards", "exports and token files", "models fitted on the corpus"
    ]  # fmt: skip


def test_what_is_written(two):
    """Every change is in the Parquet file, the note beside it; the versions are left alone."""

    def content() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for folder in two for path in folder.rglob("*") if path.is_file()}

    before = content()
    run(*two, "--note")
    assert content() == before
    folder = two[1].parent / "reports" / two[1].name
    parquet = folder / f"diff-{two[0].name}.parquet"
    assert sorted(folder.iterdir()) == [folder / "CHANGES.md", parquet]
    assert duckdb.sql(f"select id, change, was, now, cause, key, old, new, via from '{parquet}'").fetchall() == [
        ("s:0", "verdict", "keep", "reject low_n_words", "config", "gopher.min_n_words", "10", "20", None)
    ]
    first = parquet.read_bytes()
    run(*two)
    assert parquet.read_bytes() == first


def spaced(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_table(two):
    lines = spaced(run(*two))
    assert lines[0] == f"t {two[0].name} (7 documents) -> t {two[1].name} (6 documents)"
    assert "verdict: dropped now gopher config gopher.min_n_words 10 20 1" in lines
    assert "s:0 verdict keep reject low_n_words config gopher.min_n_words: 10 -> 20" in lines
    assert "documents 7 6 -1 (-14.3 %)" in lines
    assert "stages: made anew gopher; reused none" in lines


def test_the_table_of_equal_builds(two):
    assert spaced(run(two[0], two[0]))[2] == "No document differs."


def test_the_release_note(two):
    with diffing.diff(*two) as found:
        note = diff_shown.note(found)
    assert note.startswith(f"# t {two[1].name}: changes since {two[0].name}\n\nDocuments by change: 1 verdict.\n")
    assert "| verdict: dropped now | gopher | config | gopher.min_n_words | 10 | 20 | 1 |" in note
    assert "| documents | 7 | 6 | -1 (-14.3 %) |" in note
    assert "| shingle tokens | not counted | not counted |  |" in note
    assert str(two[0].parent) not in note


def test_nothing_is_kept_any_more(counted, two):
    after = counted.build(rules(min_n_words=500))
    assert len(changes(two[0], after)) == 7
    assert "documents 7 0 -7 (-100.0 %)" in spaced(run(two[0], after))
    assert {one["now"] for one in changes(after, two[0])} == {"keep"}


def test_builds_that_were_moved(two, tmp_path):
    for folder in two:
        shutil.copytree(folder, tmp_path / folder.name)
    assert changes(tmp_path / two[0].name, tmp_path / two[1].name) == changes(*two)


def test_what_is_no_build(two):
    with pytest.raises(ConfigError) as error:
        diffing.diff(two[0], two[0].parent / "v99")
    (problem,) = error.value.problems
    assert problem.where == str(two[0].parent / "v99")
    assert problem.what == "there is no version v99"
    assert problem.fix.startswith("Built are: v1")


def test_rows_in_other_files_are_the_same_rows(counted):
    whole, parts = counted.build("stages = []"), counted.build("shard_rows = 3\nstages = []")
    summary, found = compare(whole, parts)
    assert found == []
    why = f"1 of 1 shard files of {whole.name} are not in {parts.name}; the rows in them are the same"
    assert summary["out_of_date"] == [{"product": "shards", "why": why}]


def test_a_row_more_is_missing_in_what_was_exported(counted, two):
    assert [one["product"] for one in compare(two[1], two[0])[0]["out_of_date"]] == [
        "shards", "exports and token files", "models fitted on the corpus"
    ]  # fmt: skip


def test_shingle_tokens_of_each_source(tmp_path):
    one, four = len(LONG[0].split()), len(prose("old").split())  # no word of them is two tokens
    project = Builds(tmp_path, a=[LONG[0].format("old"), prose("blue")], b=[prose("sea", 8)])
    before, after = (project.build(f"{NEAR}min_n_words = {least}\n") for least in (one, one + 1))
    found, listed = compare(before, after)[0], run(before, after)
    tokens = [(one["source_id"], one["shingle_tokens_before"], one["shingle_tokens_after"]) for one in found["totals"]]
    assert tokens == [("a", one + four, four), ("b", 2 * four, 2 * four)]
    assert f"shingle tokens {one + 3 * four} {3 * four} -{one}" in " ".join(spaced(listed))


# ------------------------------------------------------------------------------------------------------- the slice


@pytest.fixture(scope="module")
def slice_builds(tmp_path_factory) -> tuple[Path, list]:
    """The small slice, built twice; between the two one threshold is raised."""
    source = shared("data", "slice-small", "corpus")
    folder = tmp_path_factory.mktemp("slice")
    shutil.copytree(source, folder / "artifacts" / "corpus")
    rows = [json.loads(line) for line in (source / "LEDGER.jsonl").read_text().splitlines()]
    config = folder / "corpus.toml"
    outcomes = []
    for version, least in (("v1", 50), ("v2", 70)):
        ids = [row["source_id"] for row in rows]
        config.write_text(
            f'dataset = "small"\nversion = "{version}"\nsources = {json.dumps(ids)}\n'
            'stages = ["lang", "gopher", "repetition", "exact_dedup", "near_dedup", "pii"]\n'
            f'[lang]\nkeep = ["zh", "en", "hi"]\n[gopher]\nmin_n_words = {least}\n'
        )
        outcomes.append(build.run(config))
    return folder / "artifacts" / "corpus" / "small", outcomes


def test_one_threshold_on_the_slice(slice_builds):
    folder, outcomes = slice_builds
    # what v1 knows of those it kept: their words, whatever v2 says; a copy may stand in for a text that is gone
    flipped = {
        row[0]
        for row in duckdb.sql(
            f"select id from '{folder}/v1/_audit/documents.parquet' "
            f"join '{folder}/v1/_audit/measures/words.parquet' using (id) where verdict = 'keep' and n_words < 70"
        ).fetchall()
    }
    with diffing.diff(folder / "v1", folder / "v2") as found:
        listed = list(found.changes())
    assert len(flipped) > 10
    assert {one["id"] for one in listed if one["change"] == "verdict" and one["now"] == "reject low_n_words"} == flipped
    detail = {"key": "gopher.min_n_words", "old": 50, "new": 70}
    assert [one["detail"] for one in listed if one["id"] in flipped and one["change"] == "verdict"] == [detail] * len(
        flipped
    )
    assert {one["cause"] for one in listed} == {"config"}
    assert {one["detail"]["key"] for one in listed} == {"gopher.min_n_words"}
    ran = [step.name for step in outcomes[1].steps if step.why and step.name.startswith("measures.")]
    assert ran == []
