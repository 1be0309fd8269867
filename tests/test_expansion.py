"""Long documents split by paragraphs on import: the cuts, the raw lines, and the check of records and spans."""

from __future__ import annotations

import datetime
import io
import json
import random
import unicodedata
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from conftest import Corpus, raw_line
from test_relations import text

from corpus_sql import build, explain
from corpus_sql.errors import AuditError, ConfigError
from corpus_sql.import_splitting import children, spans
from corpus_sql.importing import Imported, import_files
from corpus_sql.project import builtin, load_udf_file

UDF = load_udf_file(builtin() / "udfs" / "spans.py")

# name -> (text, characters a child may have, the pieces)
CUTS = {
    "short enough": ("One.\n\nTwo.", 10, ["One.\n\nTwo."]),
    "one character too many": ("One.\n\nTwo.\n", 10, ["One.\n\n", "Two.\n"]),
    "paragraphs are put together while they fit": ("A\n\nB\n\nC\n\nD", 7, ["A\n\nB\n\n", "C\n\nD"]),
    "a paragraph of several lines": ("a\nb\nc\n\nd\ne", 6, ["a\nb\nc\n\n", "d\ne"]),
    "a paragraph longer than that stays whole": (
        "short\n\nlonger than that\n\nend",
        8,
        ["short\n\n", "longer than that\n\n", "end"],
    ),
    "one paragraph alone": ("a line\nand another\nand a third", 5, ["a line\nand another\nand a third"]),
    "several blank lines, with white space on them": ("a\n\n \t\n\nb", 3, ["a\n\n \t\n\n", "b"]),
    "blank lines at both ends": ("\n\na\n\nb\n\n", 4, ["\n\na\n\n", "b\n\n"]),
    "line ends of Windows": ("a\r\n\r\nb\r\n", 5, ["a\r\n\r\n", "b\r\n"]),
    "a line of zero-width spaces is blank": ("a\n\u200b\nb", 3, ["a\n\u200b\n", "b"]),
    "nothing": ("", 3, [""]),
    "blank lines alone": ("\n\n\n\n", 2, ["\n\n\n\n"]),
    "characters are code points": ("😀😀\n\n一二三", 4, ["😀😀\n\n", "一二三"]),
}


@pytest.mark.parametrize(("whole", "most", "pieces"), CUTS.values(), ids=list(CUTS))
def test_where_a_text_is_cut(whole: str, most: int, pieces: list[str]):
    assert [whole[start:end] for start, end in spans(whole, most)] == pieces


@pytest.mark.parametrize("seed", range(5))
def test_pieces_are_the_text(seed: int):
    rng = random.Random(seed)
    for _ in range(200):
        whole = "".join(
            rng.choice(["a", "b ", "\n", "\n\n", "\u0301", "字", "\r\n", " \n"]) for _ in range(rng.randrange(60))
        )
        most = rng.randrange(1, 30)
        found = spans(whole, most)
        assert "".join(whole[start:end] for start, end in found) == whole
        assert all(whole[start:end].strip() for start, end in found) or not whole.strip()
        # NFC of the whole is that of the pieces, so that cutting and normalising may come in any order
        assert unicodedata.normalize("NFC", whole) == "".join(
            unicodedata.normalize("NFC", whole[start:end]) for start, end in found
        )


def test_a_child_names_its_parent_and_its_place():
    parent = {
        "url": "https://example.org/1", "fetched_at": "2026-01-02T00:00:00Z", "license_spdx": "CC0-1.0",
        "text": "e\u0301te\u0301\n\nfin", "source_record_id": "r", "group_id": "g",
        "parent_ids": ["book"], "title": "T",
    }  # fmt: skip
    same = {key: parent[key] for key in ("url", "fetched_at", "license_spdx", "group_id")}
    # in NFC the first paragraph has three letters and two line ends
    assert children(parent, "s:4", 6) == [
        {**same, "text": "été\n\n", "source_record_id": "r#0-5", "parent_ids": ["s:4"], "span": [0, 5]},
        {**same, "text": "fin", "source_record_id": "r#5-8", "parent_ids": ["s:4"], "span": [5, 8]},
    ]
    assert children(parent | {"text": None}, "s:4", 6) == []
    assert children(parent, "s:4", 10) == []


SPANS = {
    '{"span": [0, 5]}': {"start_char": 0, "end_char": 5},
    '{"title": "T", "span":[7,9]}': {"start_char": 7, "end_char": 9},
    '{"span": [5, 5]}': None,
    '{"span": [-1, 5]}': None,
    '{"span": [0, 5.0]}': None,
    '{"span": [false, true]}': None,
    '{"span": [0, 5, 6]}': None,
    '{"span": [0, 4294967296]}': None,
    '{"span": "0-5"}': None,
    '{"title": "the \\"span\\""}': None,
    '{"inner": {"span": [0, 5]}}': None,
}


def test_which_field_is_a_span():
    found = UDF.spans_read(pa.array([*SPANS, None]))
    assert found.to_pylist() == [*SPANS.values(), None]
    assert UDF.spans_read(pa.array([], pa.string())).to_pylist() == []


# --------------------------------------------------------------------------------------------------- import and build


def imported(corpus: Corpus, documents: list[dict], **options: object) -> Imported:
    corpus.rows = dict.fromkeys(["notes"])
    if not corpus.config.exists():
        corpus.configure("stages = []")
    (corpus.folder / "notes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents), encoding="utf-8")
    return import_files(
        "jsonl", [corpus.folder / "notes.jsonl"], source="notes", config_path=corpus.config, license_spdx="CC0-1.0",
        data_class="self-written", today=datetime.date(2026, 1, 2), **options,
    )  # fmt: skip


def raw_lines(corpus: Corpus, found: Imported) -> list[dict]:
    lines = []
    for one in found.files:
        content = (corpus.folder / "artifacts/corpus/raw" / one.path).read_bytes()
        reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(content), read_across_frames=True)
        lines += [json.loads(line) for line in reader.read().splitlines()]
    return lines


def rows(folder: Path, sql: str) -> list[tuple]:
    with explain.open_build(folder) as connection:
        return connection.execute(sql).fetchall()


def long(i: int, paragraphs: int = 3) -> str:
    return "\n\n".join(text(10 * i + j, 30) for j in range(paragraphs))


def test_parent_and_children_are_raw_lines(corpus: Corpus):
    found = imported(
        corpus,
        [{"id": "a", "text": long(0)}, {"id": "b", "text": text(90, 10)}, {"id": "c", "text": long(1, 2)}],
        split_paragraphs=400,
    )
    lines = raw_lines(corpus, found)
    assert [one.get("source_record_id", "").split("#")[0] for one in lines] == ["a", "a", "a", "a", "b", "c", "c", "c"]
    assert [one.get("parent_ids") for one in lines] == [None, *[["notes:0"]] * 3, None, None, *[["notes:5"]] * 2]
    for child in lines:
        if "span" in child:
            start, end = child["span"]
            parent = lines[int(child["parent_ids"][0].split(":")[1])]
            assert child["text"] == parent["text"][start:end]
            assert child["url"] == parent["url"]
    assert found.documents == 8
    longest = max(len(one["text"]) for one in lines if "span" in one)
    assert [note for note in found.notes if "split" in note] == [
        f"2 documents split by paragraphs into 5, the longest of {longest} characters; all are raw lines",
        f'list "expansion" as the first of stages in {corpus.config}: it drops what was split, since '
        "the children hold its text",
    ]


def test_parts_do_not_disturb_the_names(corpus: Corpus):
    """The parent's id counts lines over all parts."""
    found = imported(corpus, [{"text": long(i)} for i in range(6)], split_paragraphs=400, part_bytes=1500)
    assert len(found.files) > 3
    corpus.configure('stages = ["expansion"]')
    build.run(corpus.config)
    assert rows(corpus.version, "select count(*), count(distinct parent), bool_and(same_text) from expansions") == [
        (18, 6, True)
    ]


def test_the_same_import_is_unchanged(corpus: Corpus):
    documents = [{"text": long(0)}]
    imported(corpus, documents, split_paragraphs=400)
    assert imported(corpus, documents, split_paragraphs=400).state == "unchanged"
    with pytest.raises(ConfigError, match="is in .* already, with other content"):
        imported(corpus, documents)


def test_no_number_of_characters(corpus: Corpus):
    with pytest.raises(ConfigError) as caught:
        imported(corpus, [{"text": "a"}], split_paragraphs=0)
    assert str(caught.value) == "--split-paragraphs: 0 is no number of characters\n    Give at least 1."


def test_the_parent_is_dropped_by_the_stage_expansion(corpus: Corpus):
    imported(corpus, [{"id": "a", "text": long(0)}, {"id": "b", "text": text(90, 10)}], split_paragraphs=400)
    corpus.configure('stages = ["expansion", "exact_dedup", "near_dedup"]\n[split]\nmethod = "group_hash"')
    outcome = build.run(corpus.config)
    assert rows(corpus.version, "select id, verdict, reason, relation_group from documents order by id") == [
        ("notes:0", "reject", "expanded", "notes:0"),
        ("notes:1", "keep", None, "notes:0"),
        ("notes:2", "keep", None, "notes:0"),
        ("notes:3", "keep", None, "notes:0"),
        ("notes:4", "keep", None, "notes:4"),
    ]
    assert rows(
        corpus.version, "select metric, value, threshold, witness from decisions where reason = 'expanded'"
    ) == [("n_children", 3.0, None, "notes:1")]
    assert "".join(
        t
        for (t,) in rows(
            corpus.version, "select text from shards where id in ('notes:1', 'notes:2', 'notes:3') order by id"
        )
    ) == long(0)
    assert json.loads((corpus.version / "_MANIFEST.json").read_text())["filters"]["expansion"] == 1
    assert not [one for one in outcome.notices if "expansion" in one]


def test_without_the_stage_both_are_kept_and_it_is_told(corpus: Corpus):
    imported(corpus, [{"text": long(0)}], split_paragraphs=400)
    outcome = build.run(corpus.config)
    assert [one for (one,) in rows(corpus.version, "select id from shards")] == [
        "notes:0",
        "notes:1",
        "notes:2",
        "notes:3",
    ]
    notice = "1 document was split on import, and its text is in 3 others too: list expansion in stages, as the first"
    assert notice in outcome.notices


def test_decomposed_text_is_found_again(corpus: Corpus):
    """The raw parent keeps its decomposed letters; spans count the composed ones that a build reads."""
    whole = "\n\n".join("cafe\u0301 re\u0301sume\u0301 " * 5 + str(i) for i in range(4))
    imported(corpus, [{"text": whole}], split_paragraphs=100)
    build.run(corpus.config)
    found = rows(corpus.version, "select start_char, end_char, same_text from expansions order by start_char")
    assert all(same for *_, same in found)
    assert (found[0][0], found[-1][1]) == (0, len(unicodedata.normalize("NFC", whole)))


# ---------------------------------------------------------------- the check: records and spans, instead of row counts

PARENT = "first one\n\nsecond\n\nthird"


def child(start: int, end: int, said: str | None = None, **fields: object) -> bytes:
    return raw_line(PARENT[start:end] if said is None else said, parent_ids=["s:0"], span=[start, end], **fields)


WRONG = {
    "a gap": ([child(0, 11), child(19, 24)], "parent='s:0', child='s:2', start_char=19, end_char=24"),
    "an overlap": ([child(0, 19), child(11, 24)], "parent='s:0', child='s:2', start_char=11, end_char=24"),
    "the beginning is missing": ([child(11, 24)], "parent='s:0', child='s:1', start_char=11, end_char=24"),
    "the end is missing": ([child(0, 11), child(11, 19)], "parent='s:0', child='s:2', start_char=11, end_char=19"),
    "another text": (
        [child(0, 11), child(11, 24, "something else")], "parent='s:0', child='s:2', start_char=11, end_char=24"
    ),
    "a child twice": ([child(0, 24), child(0, 24)], "parent='s:0', child='s:2', start_char=0, end_char=24"),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "row"), WRONG.values(), ids=list(WRONG))
def test_spans_that_do_not_make_up_the_parent(corpus: Corpus, lines: list[bytes], row: str):
    corpus.source("s", [raw_line(PARENT), *lines])
    with pytest.raises(AuditError) as caught:
        corpus.run("stages = []")
    assert str(caught.value) == (
        "audit spans_tile: The children of a split document are its text from the first character to the last, without "
        f"gap or overlap. It is not so: {row}\n    Nothing was published."
    )


NONE_OF_IT = {
    "two parents": [child(3, 9), raw_line("x y z", parent_ids=["s:0", "s:1"], span=[3, 9])][1:],
    "a parent named by its record id": [raw_line("x y z", parent_ids=["r"], span=[3, 9])],
    "a parent in no raw file": [raw_line("x y z", parent_ids=["s:77"], span=[3, 9])],
    "no parent": [raw_line("x y z", span=[3, 9])],
    "no span": [raw_line("x y z", parent_ids=["s:0"])],
}


@pytest.mark.parametrize("lines", NONE_OF_IT.values(), ids=list(NONE_OF_IT))
def test_other_relatives_are_no_expansion(corpus: Corpus, lines: list[bytes]):
    corpus.source("s", [raw_line(PARENT, source_record_id="r"), *lines])
    corpus.run('stages = ["expansion"]')
    assert rows(corpus.version, "from expansions") == []
    assert rows(corpus.version, "select count(*) from shards") == [(1 + len(lines),)]


def test_a_flood_of_marks_is_split_in_linear_time():
    flood = "\u0f74\u0f72\u0f71" * 333_333  # put in order one by one this took an hour
    parent = {"url": "u", "fetched_at": "t", "license_spdx": "CC0-1.0", "text": f"x{flood}\n\nend"}
    found = children(parent, "s:4", 1_000_000)
    in_order = "\u0f71" * 333_333 + "\u0f72" * 333_333 + "\u0f74" * 333_333
    assert [one["text"] for one in found] == [f"x{in_order}\n\n", "end"]
