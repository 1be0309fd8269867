"""Relations: what ties documents together, the groups that follow, and parents that are in no raw file."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import Corpus, raw_line

from corpus_sql import explain, shown
from corpus_sql.project import load_udf_file

WORDS = (
    "amber basalt cedar delta ember fjord garnet harbour indigo juniper kelp lagoon meadow nectar ochre pebble".split()
)


def text(i: int, n: int = 40) -> str:
    """A text of its own for each i: no two share a run of five words."""
    return " ".join(f"{WORDS[(i * 7 + j * (i % 5 + 1)) % 16]}{i}x{j}" for j in range(n))


def rows(corpus: Corpus, sql: str) -> list[tuple]:
    with explain.open_build(corpus.version) as connection:
        return connection.execute(sql).fetchall()


def groups(corpus: Corpus) -> dict[str, str]:
    return dict(rows(corpus, "select id, relation_group from documents order by id"))


def pairs(corpus: Corpus) -> list[tuple]:
    return rows(corpus, "select a, b, kind from pairs order by all")


# name -> (raw lines, expected pairs, expected groups)
CASES = {
    "equal texts": (
        [raw_line(text(1)), raw_line(text(2)), raw_line(text(1) + "  \n")],
        [("s:0", "s:2", "exact")],
        ["s:0", "s:1", "s:0"],
    ),
    "the same upstream record": (
        [raw_line(text(1), source_record_id="r"), raw_line(text(2), source_record_id="r")],
        [("s:0", "s:1", "record")],
        ["s:0", "s:0"],
    ),
    "a given group names the component": (
        [raw_line(text(1)), raw_line(text(2), group_id="g"), raw_line(text(2)), raw_line(text(3), group_id="g")],
        [("s:1", "s:2", "exact"), ("s:1", "s:3", "group")],
        ["s:0", "s:g", "s:g", "s:g"],
    ),
    "the smallest of two given groups names it": (
        [raw_line(text(1), group_id="z"), raw_line(text(1), group_id="b")],
        [("s:0", "s:1", "exact")],
        ["s:b", "s:b"],
    ),
    "a parent by its record id, and by its whole id": (
        [
            raw_line(text(1), source_record_id="book"),
            raw_line(text(2), parent_ids=["book"]),
            raw_line(text(3), parent_ids=["s:1"]),
        ],
        [("s:0", "s:1", "parent"), ("s:1", "s:2", "parent")],
        ["s:0", "s:0", "s:0"],
    ),
    "two children of a parent that is in no raw file": (
        [raw_line(text(1), parent_ids=["gone"]), raw_line(text(2)), raw_line(text(3), parent_ids=["gone"])],
        [("s:0", "s:2", "parent")],
        ["s:0", "s:1", "s:0"],
    ),
    "two children of a line that was quarantined": (
        [raw_line(" "), raw_line(text(1), parent_ids=["s:0"]), raw_line(text(2), parent_ids=["s:0"])],
        [("s:1", "s:2", "parent")],
        [None, "s:1", "s:1"],
    ),
    "a document that names itself": ([raw_line(text(1), parent_ids=["s:0"])], [], ["s:0"]),
    "names that say nothing": (
        [
            raw_line(text(1), group_id="", source_record_id=""),
            raw_line(text(2), group_id="", source_record_id="", parent_ids=[""]),
        ],
        [],
        ["s:0", "s:1"],
    ),
    "a near duplicate": (
        [raw_line(text(1, 200)), raw_line(text(1, 200) + " and more")],
        [("s:0", "s:1", "near")],
        ["s:0", "s:0"],
    ),
}  # fmt: skip


def own(n: int, line: bytes) -> bytes:
    """A line of case n, as the source c<n> has it: ids of its own, words of its own."""
    fields = json.loads(line.replace(b'"s:', f'"c{n}:'.encode()))
    return json.dumps(fields | {"text": re.sub(r"\w+", lambda word: f"{word[0]}q{n}", fields["text"])}).encode()


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """All cases in one build, each as a source."""
    corpus = Corpus(tmp_path_factory.mktemp("cases"))
    for n, (lines, *_) in enumerate(CASES.values()):
        corpus.source(f"c{n}", [own(n, line) for line in lines])
    corpus.run('stages = ["exact_dedup", "near_dedup"]')
    return corpus


@pytest.mark.parametrize("n", range(len(CASES)), ids=list(CASES))
def test_edges_and_groups(cases: Corpus, n: int):
    _, expected_pairs, expected_groups = list(CASES.values())[n]
    found = [tuple(value.replace(f"c{n}:", "s:") for value in pair) for pair in pairs(cases) if f"c{n}:" in pair[0]]
    assert found == expected_pairs
    found = {
        id.replace(f"c{n}:", "s:"): name.replace(f"c{n}:", "s:") for id, name in groups(cases).items() if f"c{n}:" in id
    }
    assert found == {f"s:{k}": name for k, name in enumerate(expected_groups) if name}


def test_a_removed_document_keeps_its_edges(corpus: Corpus):
    """B copies A, and C was rewritten from B. Dropping B as a copy of A must not part A from C."""
    corpus.source(
        "s",
        [
            raw_line(text(1), source_record_id="A"),
            raw_line(text(1), source_record_id="B"),
            raw_line(text(3), parent_ids=["B"]),
        ],
    )
    corpus.run('stages = ["exact_dedup"]\n[split]\nmethod = "group_hash"')
    assert rows(corpus, "select id, verdict, relation_group from documents order by id") == [
        ("s:0", "keep", "s:0"), ("s:1", "reject", "s:0"), ("s:2", "keep", "s:0")]  # fmt: skip
    assert len(rows(corpus, "select distinct split from documents where split is not null")) == 1


def test_groups_reach_over_sources(corpus: Corpus):
    corpus.source("first", [raw_line(text(1), group_id="second:g"), raw_line(text(5), group_id="g")])
    corpus.source("second", [raw_line(text(2), group_id="g"), raw_line(text(3), parent_ids=["first:0"])])
    corpus.run("stages = []")
    assert groups(corpus) == {
        "first:0": "second:g",
        "first:1": "first:g",
        "second:0": "second:g",
        "second:1": "second:g",
    }


def test_dangling_parents_are_recorded(corpus: Corpus):
    corpus.source(
        "s",
        [
            raw_line(text(0), source_record_id="there"),
            raw_line(" "),
            raw_line(text(1), parent_ids=["there", "gone", "other:7"]),
            raw_line(text(2), parent_ids=["s:1"]),
            raw_line(text(3), parent_ids=["gone"]),
        ],
    )
    outcome = corpus.run("stages = []")
    assert rows(corpus, "from parents order by id, named") == [
        ("s:2", "gone", None, "dangling"),
        ("s:2", "other:7", None, "dangling"),
        ("s:2", "there", "s:0", "document"),
        ("s:3", "s:1", None, "quarantined"),
        ("s:4", "gone", None, "dangling"),
    ]
    notice = "2 parents are in no raw file, named by 2 documents: gone, other:7; the table parents lists them"
    assert [one for one in outcome.notices if "parent" in one] == [notice]
    assert notice in json.loads((corpus.version / "_audit/build.json").read_text())["notices"]


def test_why_shows_relatives(corpus: Corpus):
    corpus.source(
        "s",
        [raw_line(text(0), source_record_id="book"), raw_line(text(1), parent_ids=["book", "gone"]), raw_line(text(9))]
        + [raw_line(text(2 + k), parent_ids=["book"]) for k in range(6)],
    )
    corpus.run("stages = []")
    told = list(shown.story(explain.why(corpus.version, "s:0")))
    assert "  children: s:1, s:3, s:4, s:5, s:6 and 2 more" in told
    assert "  group s:0, with s:1, s:3, s:4, s:5, s:6 and 2 more" in told
    told = list(shown.story(explain.why(corpus.version, "s:1")))
    assert [line for line in told if "parent" in line] == ["  parent: book (s:0)", "  parent: gone (in no raw file)"]
    assert not [line for line in shown.story(explain.why(corpus.version, "s:2")) if "group" in line or "parent" in line]
    as_json = shown.story_dict(explain.why(corpus.version, "s:1"))
    assert as_json["members"] == {"n": 7, "first": ["s:0", "s:3", "s:4", "s:5", "s:6"]}
    assert as_json["parents"][1] == {"named": "gone", "parent": None, "status": "dangling"}


def by_hand(documents: list[dict]) -> dict[str, str]:
    """The groups of documents, by closing the relation step by step until nothing changes."""
    n = len(documents)
    records = {}
    for k, one in enumerate(documents):
        records.setdefault((one["source"], one["record"]), k)

    def parents(k: int) -> set:
        found = set()
        for name in documents[k]["parents"]:
            record = records.get((documents[k]["source"], name))
            found.add(("document", record) if record is not None else ("missing", documents[k]["source"], name))
        return found

    def related(i: int, j: int) -> bool:
        a, b = documents[i], documents[j]
        same_source = a["source"] == b["source"]
        return (
            a["text"] == b["text"]
            or (same_source and a["record"] is not None and a["record"] == b["record"])
            or (same_source and a["group"] is not None and a["group"] == b["group"])
            or ("document", i) in parents(j)
            or ("document", j) in parents(i)
            or bool({p for p in parents(i) if p[0] == "missing"} & parents(j))
        )

    group = list(range(n))
    changed = True
    while changed:
        changed = False
        for i in range(n):
            for j in range(n):
                if related(i, j) and group[i] != group[j]:
                    group[i] = group[j] = min(group[i], group[j])
                    changed = True
    named = {}
    for root in set(group):
        members = [one for k, one in enumerate(documents) if group[k] == root]
        given = [f"{one['source']}:{one['group']}" for one in members if one["group"]]
        named[root] = min(given) if given else min(one["id"] for one in members)
    return {one["id"]: named[group[k]] for k, one in enumerate(documents)}


@pytest.mark.parametrize("seed", range(3))
def test_groups_are_the_closure_over_all_relations(corpus: Corpus, seed: int):
    rng = random.Random(seed)
    documents = []
    for source in ("a", "b"):
        for k in range(30):
            documents.append({
                "id": f"{source}:{k}", "source": source, "text": text(rng.randrange(45)),
                "record": f"r{rng.randrange(40)}" if rng.random() < 0.4 else None,
                "group": f"g{rng.randrange(9)}" if rng.random() < 0.15 else None,
                "parents": [f"r{rng.randrange(80)}"] if rng.random() < 0.2 else [],
            })  # fmt: skip
    for source in ("a", "b"):
        fields = {"record": "source_record_id", "group": "group_id", "parents": "parent_ids"}
        corpus.source(source, [
            raw_line(one["text"], **{name: one[key] for key, name in fields.items() if one[key]})
            for one in documents if one["source"] == source
        ])  # fmt: skip
    corpus.run('stages = ["exact_dedup"]', threads=1 + seed)
    expected = by_hand(documents)
    assert len(set(expected.values())) not in (1, len(documents)), "nothing to tell apart"
    assert groups(corpus) == expected


CIRCLES = {
    # name: the parents that each document names, and the documents in circles
    "two": ([["s:1"], ["s:0"]], [["s:0", "s:1"]]),
    "itself": ([["s:0"]], [["s:0"]]),
    "three, and one made from them": ([["s:1"], ["s:2"], ["s:0"], ["s:0"]], [["s:0", "s:1", "s:2"]]),
    "a chain": ([["s:1"], ["s:2"], []], []),
    "two parents and one grandparent": ([["s:1", "s:2"], ["s:3"], ["s:3"], []], []),
    "two circles with a way from one to the other": (
        [["s:1"], ["s:0", "s:2"], ["s:3"], ["s:4"], ["s:3"]],
        [["s:0", "s:1"], ["s:3", "s:4"]],
    ),
}


@pytest.mark.parametrize(("named", "circles"), CIRCLES.values(), ids=CIRCLES)
def test_parents_in_a_circle_are_told(corpus: Corpus, named: list[list[str]], circles: list[list[str]]):
    corpus.source("s", [raw_line(f"Text {k}.", parent_ids=parents) for k, parents in enumerate(named)])
    notices = corpus.run("stages = []").notices
    inside = {(a, b) for circle in circles for a in circle for b in circle}
    with explain.open_build(corpus.version) as connection:
        rows = connection.execute("select id, parent, status from parents").fetchall()
    assert {(id, parent): status for id, parent, status in rows} == {
        (f"s:{k}", parent): "circle" if (f"s:{k}", parent) in inside else "document"
        for k, parents in enumerate(named)
        for parent in parents
    }
    assert len([one for one in notices if "status is circle" in one]) == bool(circles)


def test_a_circle_is_told_by_the_run_and_by_why(corpus: Corpus):
    corpus.source("s", [raw_line(f"Text {k}.", parent_ids=[f"s:{1 - k}"]) for k in range(2)])
    told = [one for one in corpus.run("stages = []").notices if "circle" in one]
    assert told == [
        "2 documents are their own ancestors by the parents that they name, in 1 circle: s:0, s:1; "
        "status is circle in the table parents"
    ]
    told = list(shown.story(explain.why(corpus.version, "s:0")))
    assert "  parent: s:1, of which this one is a parent or ancestor in turn" in told


def test_a_chain_of_parents_of_any_length_is_no_circle():
    """A hundred thousand generations, then the same with the first made from the last."""
    circles = load_udf_file(Path(__file__).parents[1] / "udfs" / "relations.py").relations_circles
    n = 100_000
    links = pa.record_batch([pa.array(range(n)), pa.array(range(1, n + 1))], names=["child", "parent"])
    back = pa.record_batch([pa.array([n]), pa.array([0])], names=["child", "parent"])
    assert sum(batch.num_rows for batch in circles([links])) == 0
    (found,) = circles([links, back])
    assert found.num_rows == n + 1 and set(found["circle"].to_pylist()) == {0}
