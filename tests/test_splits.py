"""Splits by groups: strata, earlier builds, what is told of thin splits, and the shares over many salts."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import made_corpus
import pyarrow as pa
import pytest
from conftest import Corpus, raw_line
from test_against import near, rows, run
from test_determinism import digests
from test_relations import text

from corpus_sql import build, explain
from corpus_sql.errors import ConfigError
from corpus_sql.project import builtin, load_udf_file, open_project

BY_GROUP = 'stages = []\n[split]\nmethod = "group_hash"\n'
CONTENT = load_udf_file(builtin() / "udfs" / "content.py")


def bucket(group: str, salt: str = "example-split-v1") -> int:
    """The rule of the contract, word for word."""
    return int.from_bytes(hashlib.sha256(f"{salt}\0{group}".encode()).digest()[:8], "big") % 1000


def split_of(group: str) -> str:
    return "train" if bucket(group) < 900 else "validation" if bucket(group) < 950 else "test"


def splits(folder: Path) -> dict[str, str]:
    return dict(rows(folder, "select id, split from documents where split is not null order by id"))


def notices(folder: Path) -> list[str]:
    return json.loads((folder / "_audit/build.json").read_text())["notices"]


def named(wanted: str, n: int = 1, source: str = "s") -> list[str]:
    """The first n group names of a source that fall into a split."""
    return [f"g{i}" for i in range(2000) if split_of(f"{source}:g{i}") == wanted][:n]


# ------------------------------------------------------------------------------------------------- groups and splits


def test_relatives_lie_in_one_split(corpus: Corpus):
    """Every second document has a relative of some kind; by the hash of their own ids many would be parted."""
    lines = []
    for i in range(60):
        lines.append(raw_line(text(i, 60), source_record_id=f"r{i}"))
        kin = i % 5
        if kin == 0:
            lines.append(raw_line(text(i, 60) + " \n"))
        elif kin == 1:
            lines.append(raw_line(near(i), parent_ids=[f"r{i}"]))
        elif kin == 2:
            lines.append(raw_line(text(100 + i), source_record_id=f"r{i}"))
    corpus.source("s", lines)
    folder = run(corpus, "v1", BY_GROUP)
    found = rows(folder, "select relation_group, list(distinct split), count(*) from documents group by all")
    assert all(len(lie) == 1 for _, lie, _ in found)
    assert max(n for *_, n in found) > 1
    assert {group: lie[0] for group, lie, _ in found} == {group: split_of(group) for group, *_ in found}
    apart = [a for a, b in rows(folder, "select a, b from pairs") if split_of(a) != split_of(b)]
    assert len(apart) >= 3, "the ids alone would part no relatives: the case shows nothing"


def test_an_audit_finds_a_group_that_crosses(corpus: Corpus, tmp_path: Path):
    corpus.source("s", [raw_line(text(i), group_id=f"g{i // 2}") for i in range(40)])
    folder = run(corpus, "v1", BY_GROUP)
    project = open_project(corpus.config)
    with explain.open_build(folder) as connection:
        query = project.models["audits.no_group_crosses"].text
        assert connection.execute(query).fetchall() == []
        connection.execute("create temp table moved as from documents")
        connection.execute("update moved set split = 'test' where id = 's:7'")
        assert connection.execute(query.replace("documents", "moved")).fetchall() == [("s:g3", 2)]
        connection.execute("update moved set relation_group = 's:7' where id = 's:7'")
        query = project.models["audits.pairs_within_groups"].text
        assert connection.execute(query).fetchall() == []
        assert connection.execute(query.replace("documents", "moved")).fetchall() == [("s:6", "s:7", "group")]


@pytest.mark.parametrize("sweep", range(3))
def test_over_many_salts_the_shares_are_those_asked_for(sweep: int):
    """2,000 groups under 100 salts: each share of all within four standard errors, of each salt within five."""
    groups = [f"s:{i}" for i in range(sweep * 2000, sweep * 2000 + 2000)]
    total: Counter = Counter()
    for salt in (f"salt-{sweep}-{j}" for j in range(100)):
        buckets = CONTENT.content_split_bucket(pa.array(groups), pa.array([salt] * len(groups))).to_pylist()
        found = Counter("train" if b < 900 else "validation" if b < 950 else "test" for b in buckets)
        for name, share in (("train", 0.9), ("validation", 0.05), ("test", 0.05)):
            error = (share * (1 - share) / len(groups)) ** 0.5
            assert abs(found[name] / len(groups) - share) < 5 * error, (salt, name)
        total += found
    n = sum(total.values())
    for name, share in (("train", 0.9), ("validation", 0.05), ("test", 0.05)):
        assert abs(total[name] / n - share) < 4 * (share * (1 - share) / n) ** 0.5
    assert buckets[:50] == [bucket(group, f"salt-{sweep}-99") for group in groups[:50]]


# ------------------------------------------------------------------------------------------------------------ strata


def by_hand(members: dict[str, tuple[str, str]]) -> dict[str, str]:
    """Group -> split; members: group -> stratum."""
    found = {}
    for stratum in set(members.values()):
        own = sorted(
            (group for group, one in members.items() if one == stratum), key=lambda group: (bucket(group), group)
        )
        for place, group in enumerate(own):
            at = place * 1000
            found[group] = "train" if at < 900 * len(own) else "validation" if at < 950 * len(own) else "test"
    return found


def test_each_large_stratum_lies_in_every_split(corpus: Corpus):
    """20 groups are enough at 90/5/5; of 7 all are train."""
    corpus.source("large", [text(i) for i in range(43)])
    corpus.source("enough", [text(100 + i) for i in range(20)])
    corpus.source("small", [text(200 + i) for i in range(7)])
    folder = run(corpus, "v1", BY_GROUP + 'stratify = ["source_id"]\n')
    found = splits(folder)
    assert found == by_hand({id: (id.split(":")[0],) for id in found})
    counts = Counter((id.split(":")[0], split) for id, split in found.items())
    assert counts == {
        ("large", "train"): 39, ("large", "validation"): 2, ("large", "test"): 2,
        ("enough", "train"): 18, ("enough", "validation"): 1, ("enough", "test"): 1,
        ("small", "train"): 7,
    }  # fmt: skip


def test_a_group_belongs_to_the_stratum_of_its_smallest_id(corpus: Corpus):
    lines = []
    for i in range(25):  # pairs of a language each, tied by a group; the first decides
        both = (made_corpus.text("zh", i), text(i))
        lines += [raw_line(one, group_id=f"g{i}") for one in (both if i % 2 else both[::-1])]
    corpus.source("s", lines)
    corpus.source("t", [raw_line(text(300 + i)) for i in range(5)])
    config = 'stages = []\n[lang]\nmodel = "script"\n[split]\nmethod = "group_hash"\nstratify = ["source_id", "lang"]\n'
    folder = run(corpus, "v1", config)
    members: dict[str, tuple[str, str]] = {}
    for group, source, lang in rows(folder, "select relation_group, source_id, lang from documents order by id"):
        members.setdefault(group, (source, lang))
    assert len(set(members.values())) == 3, members
    expected = by_hand(members)
    assert dict(rows(folder, "select distinct relation_group, split from documents")) == expected


def test_strata_for_any_number_of_threads(corpus: Corpus):
    corpus.source("s", [raw_line(text(i), group_id=f"g{i % 70}") for i in range(200)])
    corpus.source("t", [raw_line(text(300 + i)) for i in range(50)])
    config = BY_GROUP + 'stratify = ["lang", "source_id"]\n'
    folder = run(corpus, "v1", config, threads=1)
    before = digests(folder)
    run(corpus, "v1", config, threads=4, cache=False, replace=True)
    assert digests(folder) == before


# ---------------------------------------------------------------------------------------------------- earlier builds


def test_a_rebuild_moves_nothing(corpus: Corpus):
    """Another salt draws anew; against the first build all stay, only what is new is drawn."""
    made = [raw_line(text(i), source_record_id=f"r{i}") for i in range(80)]
    corpus.source("s", made)
    v1 = run(corpus, "v1", BY_GROUP)
    other = BY_GROUP + 'salt = "another"\n'
    corpus.source("s", [raw_line(text(500)), *made, raw_line(text(501))])  # every document has another id now
    redrawn = splits(run(corpus, "redrawn", other))
    v2 = run(corpus, "v2", other + 'against = ["artifacts/corpus/t/v1"]\n')
    held = splits(v2)
    assert [held[f"s:{i + 1}"] for i in range(80)] == [splits(v1)[f"s:{i}"] for i in range(80)]
    assert [held["s:0"], held["s:81"]] == [redrawn["s:0"], redrawn["s:81"]]
    assert held != redrawn, "the salt changed nothing: the case shows nothing"
    record = json.loads((v2 / "_audit/build.json").read_text())["splits"]
    assert (record["held"], record["conflicts"]) == (80, 0)


HELD = {
    "the same text": (raw_line(text(1)), True),
    "equal after the matching normalisation": (raw_line(text(1) + "\r\n"), True),
    "another text of the same upstream record": (raw_line(text(2), source_record_id="r"), True),
    "another text of another record": (raw_line(text(2), source_record_id="q"), False),
}


def own(n: int, words: str) -> str:
    """A text with words of its own for each case."""
    return re.sub(r"\w+", lambda word: f"{word[0]}q{n}", words)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The splits of all cases, each a source: what was in a group of test comes back in a group that draws train."""
    corpus = Corpus(tmp_path_factory.mktemp("held"))
    for n in range(len(HELD)):
        there = named("test", source=f"c{n}")[0]
        corpus.source(f"c{n}", [raw_line(own(n, text(1)), group_id=there, source_record_id="r")])
    run(corpus, "v1", BY_GROUP)
    for n, (line, _) in enumerate(HELD.values()):
        fields = json.loads(line)
        fields["text"] = own(n, fields["text"])
        fields["group_id"] = drawn = named("train", source=f"c{n}")[0]
        corpus.source(f"c{n}", [json.dumps(fields).encode(), raw_line(text(100 + n), group_id=drawn)])
    return splits(run(corpus, "v2", BY_GROUP + 'against = ["artifacts/corpus/t/v1"]\n'))


@pytest.mark.parametrize("n", range(len(HELD)), ids=list(HELD))
def test_what_counts_as_a_document_of_an_earlier_build(held: dict[str, str], n: int):
    expected = "test" if list(HELD.values())[n][1] else "train"
    assert [held[f"c{n}:0"], held[f"c{n}:1"]] == [expected, expected]


def test_a_dropped_document_holds_its_group(corpus: Corpus):
    corpus.source("s", [raw_line(text(1), group_id=named("test")[0])])
    run(corpus, "v1", BY_GROUP)
    # s:1 is what was there; it is dropped as a copy of s:0, which is new to that text but not to the group
    corpus.source("s", [raw_line(text(1)), raw_line(text(1), group_id="x"), raw_line(text(2), group_id="x")])
    config = BY_GROUP.replace("[]", '["exact_dedup"]') + 'against = ["artifacts/corpus/t/v1"]\n'
    assert splits(run(corpus, "v2", config)) == {"s:0": "test", "s:2": "test"}


def test_groups_that_merge(corpus: Corpus):
    """Two groups of the earlier build turn out to be one: a conflict, which is resolved and told."""
    train, validation, test = (named(split, 2) for split in ("train", "validation", "test"))
    groups = [train[0], test[0], validation[0], test[1], train[1], validation[1]]
    corpus.source("s", [raw_line(text(i), group_id=group) for i, group in enumerate(groups)])
    run(corpus, "v1", BY_GROUP)
    corpus.source(
        "s", [raw_line(text(i), group_id=f"pair{i // 2}") for i in range(6)] + [raw_line(text(9), group_id="pair0")]
    )
    folder = run(corpus, "v2", BY_GROUP + 'against = ["artifacts/corpus/t/v1"]\n')
    found = splits(folder)
    # train was trained on, validation was looked at: neither is held out afterwards
    assert [found[f"s:{i}"] for i in (0, 2, 4)] == ["train", "validation", "train"]
    assert [found[f"s:{i}"] for i in (1, 3, 5, 6)] == ["train", "validation", "train", "train"]
    told = (
        "3 groups hold documents of several splits of the earlier builds; train comes before validation, and "
        "validation before test: s:pair0 (train), s:pair1 (validation), s:pair2 (train)"
    )
    assert told in notices(folder)
    record = json.loads((folder / "_audit/build.json").read_text())["splits"]
    assert (record["held"], record["conflicts"]) == (3, 3)


def test_strata_and_an_earlier_build(corpus: Corpus):
    corpus.source("s", [text(i) for i in range(40)])
    config = BY_GROUP + 'stratify = ["source_id"]\n'
    v1 = splits(run(corpus, "v1", config))
    corpus.source("s", [text(i) for i in range(60)])
    v2 = splits(run(corpus, "v2", config + 'against = ["artifacts/corpus/t/v1"]\n'))
    assert {id: v2[id] for id in v1} == v1
    fresh = splits(run(corpus, "v3", config))
    assert {id: v2[id] for id in v2 if id not in v1} == {id: fresh[id] for id in v2 if id not in v1}


# ----------------------------------------------------------------------------------------------- what is told of it


def test_a_thin_split_is_told(corpus: Corpus):
    corpus.source("s", [text(i) for i in range(30)])
    folder = run(corpus, "v1", BY_GROUP)
    found = Counter(splits(folder).values())
    assert [one for one in notices(folder) if "split" in one] == [
        f"few groups in a split, of 30 in all: validation {found['validation']}, test {found['test']}; "
        'stratify = ["source_id", "lang"] shares out each source and language by itself; '
        "do not try salts until one fits"
    ]
    folder = run(corpus, "v2", BY_GROUP + 'stratify = ["source_id"]\n')
    assert [one for one in notices(folder) if "split" in one] == [
        "few groups in a split, of 30 in all: validation 2, test 1; only more documents or larger shares help"
    ]


def test_an_empty_split_is_told(corpus: Corpus):
    corpus.source("s", [text(1), text(2)])
    folder = run(corpus, "v1", "stages = []\n[split]\nval_permille = 1\n")
    assert "the split val is empty: 2 documents, val_permille = 1" in notices(folder)
    folder = run(corpus, "v2", "stages = []\n[split]\nval_permille = 0\n")
    assert not [one for one in notices(folder) if "split" in one]


def test_coverage(corpus: Corpus):
    corpus.source("a", [raw_line(text(i), group_id=f"g{i // 3}") for i in range(30)])
    corpus.source("b", [text(100 + i) for i in range(10)])
    folder = run(corpus, "v1", BY_GROUP)
    found = rows(folder, open_project(corpus.config).models["reports.split_coverage"].text)
    documents = rows(folder, "select split, source_id, lang, relation_group, n_chars from documents")
    assert {(split, source, lang) for split, source, lang, *_ in found} == {
        (split, *key)
        for split, source, lang, *_ in documents
        for key in ((None, None), (source, None), (None, lang), (source, lang))
    }
    for split, source, lang, groups, n, characters in found:
        own = [one for one in documents if one[0] == split and source in (None, one[1]) and lang in (None, one[2])]
        assert (groups, n, characters) == (len({one[3] for one in own}), len(own), sum(one[4] for one in own))


def test_near_duplicates_across_splits_are_counted_under_both_methods(corpus: Corpus):
    corpus.source("s", [one for i in range(30) for one in (text(i, 100), near(i))])
    by_content = 'stages = ["near_dedup"]\n[split]\nval_permille = 500\n'
    folder = run(corpus, "v1", by_content)
    texts = [one for i in range(30) for one in (text(i, 100), near(i))]
    val = [int.from_bytes(hashlib.sha256(one.encode()).digest()[:8], "big") % 1000 < 500 for one in texts]
    across = sum(val[2 * i] != val[2 * i + 1] for i in range(30))
    assert 5 < across < 25
    numbers = ("near_pairs", "near_pairs_across", "near_pairs_across_kept")

    def counted(version: Path) -> list:
        record = json.loads((version / "_audit/build.json").read_text())["splits"]
        return [record[name] for name in numbers]

    assert counted(folder) == [30, across, 0]
    by_group = by_content.replace("val_permille = 500", 'method = "group_hash"')
    assert counted(run(corpus, "v2", by_group)) == [30, 0, 0]
    assert counted(run(corpus, "v3", by_group.replace('["near_dedup"]', "[]"))) == [30, 0, 0]
    assert counted(run(corpus, "v4", "stages = []")) == [None, None, None]


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(("key", "value"), [("stratify", '["lang"]'), ("against", '["v0"]')])
def test_only_for_groups(corpus: Corpus, key: str, value: str):
    corpus.source("s", [text(1)])
    corpus.configure(f"stages = []\n[split]\n{key} = {value}\n")
    with pytest.raises(ConfigError) as caught:
        build.run(corpus.config)
    assert str(caught.value) == (
        f"{corpus.config}:6: [split] {key}: is for groups, but method is content_hash\n"
        f'    Write method = "group_hash", or leave {key} out.'
    )


def test_an_earlier_build_that_was_split_otherwise(corpus: Corpus):
    corpus.source("s", [text(1)])
    folder = run(corpus, "v1", "stages = []")
    corpus.configure(BY_GROUP + 'against = ["artifacts/corpus/t/v1"]\n', "v2")
    with pytest.raises(ConfigError) as caught:
        build.run(corpus.config)
    assert str(caught.value) == (
        f"{corpus.config}:7: [split] against: {folder} was split by content_hash, not by group_hash\n"
        "    Only splits by groups can be kept by groups."
    )


def test_a_stratum_of_another_name(corpus: Corpus):
    corpus.source("s", [text(1)])
    corpus.configure(BY_GROUP + 'stratify = ["licence"]\n')
    with pytest.raises(ConfigError) as caught:
        build.run(corpus.config)
    assert str(caught.value).startswith(f"{corpus.config}:7: [split] stratify: is ")
