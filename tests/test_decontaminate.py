"""Decontamination: which documents share an n-gram with a protected item, and what a protected file must be."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import Corpus, shared

from corpus_sql import input_files
from corpus_sql.errors import ConfigError, DataError
from corpus_sql.explain import open_build
from corpus_sql.inputs import protected
from corpus_sql.project import load_udf_file
from corpus_sql.protected import FIX, protected_items, set_names
from corpus_sql.tokens import tokens
from corpus_sql.verifying import verify

udfs = load_udf_file(Path(__file__).parents[1] / "udfs" / "ngrams.py")

HARBOUR = "How many boats were moored in the northern harbour when the old bridge was closed for repairs"  # 17 tokens
SHORT = "Who painted the ceiling of the little chapel"  # 8
TINY = "Name the three moons"  # 4
CHINESE = "请问这座石桥最后一次整修是在哪一年由谁主持的"
ITEMS = {"q-harbour": HARBOUR, "q-short": SHORT, "q-tiny": TINY, "q-chinese": CHINESE}
BEFORE, AFTER = "It was asked again and again: ", ". Nobody at the table knew the answer."

DOCUMENTS = {
    "an item inside a text": (BEFORE + HARBOUR + AFTER, ["q-harbour"]),
    "thirteen tokens of it": (BEFORE + " ".join(HARBOUR.split()[2:15]) + AFTER, ["q-harbour"]),
    "twelve tokens of it": (BEFORE + " ".join(HARBOUR.split()[2:14]) + AFTER, None),
    "thirteen, but one of them changed": (BEFORE + HARBOUR.replace("northern", "southern") + AFTER, None),
    "upper case, other punctuation": (HARBOUR.upper().replace(" ", ", "), ["q-harbour"]),
    "line ends and paragraphs in between": (HARBOUR.replace(" ", "\n\n"), ["q-harbour"]),
    "full-width letters": ("".join(chr(ord(c) + 0xFEE0) if c != " " else c for c in HARBOUR), ["q-harbour"]),
    "a short item, whole": (BEFORE + SHORT + AFTER, ["q-short"]),
    "a short item without its last token": (BEFORE + SHORT.removesuffix(" chapel") + AFTER, None),
    "an item too short to be looked for": (BEFORE + TINY + AFTER, None),
    "Chinese, thirteen characters of it": ("有人问：" + CHINESE[3:16] + "。", ["q-chinese"]),
    "Chinese, twelve characters of it": ("有人问：" + CHINESE[3:15] + "。", None),
    "two items": (CHINESE + HARBOUR, ["q-chinese", "q-harbour"]),
    "no tokens": ("…", None),
}


def write(path: Path, rows: list[object]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def items_file(folder: Path, items: dict[str, str] = ITEMS) -> Path:
    return write(folder / "items.jsonl", [{"id": id, "text": text, "source": "own"} for id, text in items.items()])


def contaminated(texts: list[str | None], files: list[Path], ngram: int = 13, min_tokens: int = 8) -> list[dict | None]:
    n = len(texts)
    numbers = (pa.array([value] * n, pa.int32()) for value in (ngram, min_tokens))
    protected = input_files.hashed(files, set_names(files))
    return udfs.ngrams_contaminated(pa.array(texts, pa.string()), protected, *numbers).to_pylist()


def items_of(found: list[dict] | None) -> list[str] | None:
    """The ids of the items, in byte order, of the set items."""
    return found and sorted(hit["item"].removeprefix("items:") for hit in found)


@pytest.mark.parametrize(("text", "items"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_which_documents_are_contaminated(text: str, items: list[str] | None, tmp_path: Path) -> None:
    (found,) = contaminated([text], [items_file(tmp_path)])
    assert items_of(found) == items


def test_the_evidence_is_the_first_ngram_in_the_text(tmp_path: Path) -> None:
    text = BEFORE + SHORT + ". " + HARBOUR
    (found,) = contaminated([text], [items_file(tmp_path)])
    assert [(hit["item"], hit["ngram"]) for hit in found] == [
        ("items:q-short", "who painted the ceiling of the little chapel"),
        ("items:q-harbour", " ".join(tokens(HARBOUR)[:13])),
    ]


# name: a text, its item, n-grams of five; shared, of; what stands there in the text and in the item
EVIDENCE = {
    "the whole item": ("So: a b c d e f g!", "a b c d e f g", 3, 3, "a b c d e", "a b c d e"),
    "a part of it, which ends it": ("c d e f g", "a b c d e f g", 1, 3, "c d e f g", "c d e f g"),
    "an n-gram twice counts once": ("a b c d e, a b c d e", "a b c d e x a b c d e", 1, 6, "a b c d e", "a b c d e"),
    "two parts": ("b c d e f 1 k l m n o", "a b c d e f g h i j k l m n o", 2, 11, "b c d e f", "b c d e f"),
    "case and punctuation": ("«A, B; C… D»\n\ne f", "a b c d e f", 2, 2, "A, B; C… D»\n\ne", "a b c d e"),
    "code points of two and four bytes before": ("é𝄞 字: a b c d e", "a b c d e", 1, 1, "a b c d e", "a b c d e"),
    "Chinese": ("他说：春夏秋冬年。", "春、夏、秋、冬、年", 1, 1, "春夏秋冬年", "春、夏、秋、冬、年"),
    "one code point that is several tokens": ("㌖ a b c", "キロメートル a b c", 5, 5, "㌖", "キロメート"),
    "marks in another order": ("x a\u0323\u0307 b c d e", "a\u0307\u0323 b c d e", 1, 1, "a\u0323\u0307 b c d e",
                               "a\u0307\u0323 b c d e"),
    "conjoining jamo": ("\u1112\u1161\u11ab b c d e", "한 b c d e", 1, 1, "\u1112\u1161\u11ab b c d e", "한 b c d e"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "item", "n_shared", "n_ngrams", "there", "in_item"), EVIDENCE.values(), ids=EVIDENCE)
def test_how_much_is_shared_and_where_it_stands(text, item, n_shared, n_ngrams, there, in_item, tmp_path: Path) -> None:
    ((hit,),) = contaminated([text], [items_file(tmp_path, {"q": item})], ngram=5, min_tokens=5)
    assert (hit["n_shared"], hit["n_ngrams"]) == (n_shared, n_ngrams)
    assert text[hit["start_char"] : hit["end_char"]] == there
    assert item[hit["item_start_char"] : hit["item_end_char"]] == in_item


def test_of_items_with_the_same_ngram_the_smallest_id_is_named(tmp_path: Path) -> None:
    items = {"b:2": HARBOUR, "b:10": "Tell me: " + HARBOUR, "c": HARBOUR + "?"}
    (found,) = contaminated([HARBOUR], [items_file(tmp_path, items)])
    assert [hit["item"] for hit in found] == ["items:b:10", "items:b:2", "items:c"]


def test_a_document_is_judged_the_same_in_any_company(tmp_path: Path) -> None:
    file = items_file(tmp_path)
    texts = [text for text, _ in DOCUMENTS.values()]
    together = contaminated([None, *texts, None], [file])
    assert together == [None, *(contaminated([text], [file])[0] for text in texts), None]
    assert contaminated([], [file]) == []


def test_any_text_is_judged_as_sets_of_ngrams_would(tmp_path: Path) -> None:
    chance = random.Random(3)

    def words(n: int) -> str:
        return " ".join(chance.choice("abc") for _ in range(n))

    items = {f"i{k}": words(chance.randrange(1, 12)) for k in range(40)}
    texts = [words(chance.randrange(0, 30)) for _ in range(200)]
    found = contaminated(texts, [items_file(tmp_path, items)], ngram=6, min_tokens=4)
    for text, row in zip(texts, found, strict=True):
        expected = []
        for id, item in items.items():
            long = tokens(item)
            length = min(6, len(long))
            grams = {tuple(long[i : i + length]) for i in range(len(long) - length + 1)} if length >= 4 else set()
            own = tokens(text)
            if grams & {tuple(own[i : i + length]) for i in range(len(own) - length + 1)}:
                expected.append(id)
        assert (items_of(row) or []) == sorted(expected)


def test_a_set_of_nothing_but_short_items_hits_nothing(tmp_path: Path) -> None:
    assert contaminated([TINY], [items_file(tmp_path, {"q-tiny": TINY})]) == [None]


def test_how_each_item_is_protected(tmp_path: Path) -> None:
    found = protected_items([items_file(tmp_path)], 13, 8)
    assert [(item.id, item.n_tokens, item.status, item.line) for item in found] == [
        ("items:q-harbour", 17, "ngram", 1),
        ("items:q-short", 8, "whole", 2),
        ("items:q-tiny", 4, "unprotected", 3),
        ("items:q-chinese", 22, "ngram", 4),
    ]


def test_a_byte_order_mark_blank_lines_and_windows_line_ends_are_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "a", "text": "one"}\r\n\r\n \t\n{"id": "b", "text": "two\\nthree"}')
    assert [(item.id, item.text, item.line) for item in protected_items([path], 13, 8)] == [
        ("items:a", "one", 1),
        ("items:b", "two\nthree", 4),
    ]


def test_all_that_is_wrong_with_the_files_is_said_at_once(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    lines = [
        b'{"id": "a", "text": "fine"}',
        b'{"id": "b"}',
        b'{"text": "nameless"}',
        b'{"id": 7, "text": "numbered"}',
        b'{"id": "c", "text": null}',
        b'["d", "a list"]',
        b'{"id": "e", "text": "cut',
        b'{"id": "f", "text": "\xff"}',
        b'{"id": "g", "text": "one", "text": "two"}',
        b'{"id": "h", "text": "\\ud800"}',
        b'{"id": "a", "text": "again"}',
    ]
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(DataError) as error:
        protected_items([path], 13, 8)
    said = [
        (2, "'text' is missing"),
        (3, "'id' is missing"),
        (4, "'id' is not a string"),
        (5, "'text' is not a string"),
        (6, "it is not an object"),
        (7, "it is not JSON: Unterminated string starting at at column 21"),
        (8, "it is not UTF-8 at byte 21 of the line"),
        (9, "the key 'text' stands twice"),
        (10, "'text' holds a lone surrogate, which is no text"),
    ]
    expected = "".join(f"{path}:{line}: {what}\n    {FIX}\n" for line, what in said)
    expected += f"{path}:11: the item 'items:a' is already at {path}:1\n"
    expected += "    A rejection points at it: make each id of a file unique."
    assert str(error.value) == expected


SETS = {
    "two sets that count from 0": (["eval/arc.jsonl", "eval/boolq.jsonl"], ["arc", "boolq"]),
    "one stem in two folders": (
        ["gsm8k/test.jsonl", "mmlu/test.jsonl", "arc.jsonl"],
        ["gsm8k/test", "mmlu/test", "arc"],
    ),
    "and in folders of one name": (["a/en/test.jsonl", "b/en/test.jsonl"], ["a/en/test", "b/en/test"]),
    "one beside the folder of the other": (["test.jsonl", "sub/test.jsonl"], ["test", "sub/test"]),
    "one a folder deeper than the other": (["a/test.jsonl", "b/a/test.jsonl", "c.jsonl"], ["a/test", "b/a/test", "c"]),
    "all in one folder": (["deep/er/a.jsonl", "deep/er/b.jsonl"], ["a", "b"]),
}


@pytest.mark.parametrize(("files", "names"), SETS.values(), ids=SETS)
def test_items_are_named_by_their_set(files: list[str], names: list[str], tmp_path: Path) -> None:
    paths = [tmp_path / "eval" / file for file in files]
    for n, path in enumerate(paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, [{"id": "0", "text": f"{HARBOUR} {n}"}])
    assert [item.id for item in protected_items(paths, 13, 8)] == [f"{name}:0" for name in names]
    (found,) = contaminated([f"{HARBOUR} 1"], paths)
    assert sorted(hit["item"] for hit in found) == sorted(f"{name}:0" for name in names)


NESTED = ["test.jsonl", "eval/test.jsonl", "eval/a/test.jsonl", "b/eval/a/test.jsonl", "only.v2.jsonl"]


def test_names_do_not_depend_on_where_the_project_lies_nor_on_what_it_is_called(tmp_path: Path) -> None:
    """Nor on the place where a build keeps its copies, from which it is made again."""
    builds = []
    for folder in ("eval", "a/b", "elsewhere/b/eval/a"):
        project = Corpus(tmp_path / folder)
        project.source("s", [f"{HARBOUR} {n}" for n in range(len(NESTED))] + ["no question"])
        for n, file in enumerate(NESTED):
            (project.folder / file).parent.mkdir(parents=True, exist_ok=True)
            write(project.folder / file, [{"id": "0", "text": f"{HARBOUR} {n}"}])
        project.run(f"stages = ['decontaminate']\n[decontaminate]\nprotected = {json.dumps(NESTED)}")
        with open_build(project.version) as build:
            builds.append(build.execute("select item from contamination where id = 's:0'").fetchall())
        assert sorted(set_names(protected(project.version))) == [
            "b/eval/a/test",
            "eval/a/test",
            "eval/test",
            "only.v2",
            "test",
        ]
        assert [one.outcome for one in verify(project.version, rebuild=True).checks if one.name == "rebuild"] == ["ok"]
    assert builds[0] == builds[1] == builds[2]


def test_two_files_of_one_folder_and_stem_are_refused(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, [{"id": "0", "text": HARBOUR}]) for name in ("arc.json", "arc.jsonl")]
    with pytest.raises(ConfigError) as error:
        protected_items(paths, 13, 8)
    assert str(error.value) == (
        f"[decontaminate] protected: {paths[0]} and {paths[1]} would both be the set arc\n"
        "    A rejection points at <stem>:<id>: give one of the files another name."
    )


def test_a_set_without_items_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "items.jsonl", [])
    with pytest.raises(ConfigError) as error:
        protected_items([path], 13, 8)
    assert str(error.value) == f"[decontaminate] protected: there is no protected item in {path}\n    {FIX}"


def test_the_stage_points_at_the_item(corpus: Corpus) -> None:
    corpus.source("s", [BEFORE + HARBOUR + AFTER, "A text about something else."])
    (corpus.folder / "eval").mkdir()
    items_file(corpus.folder / "eval")
    corpus.run('stages = ["decontaminate"]\n[decontaminate]\nprotected = ["eval/*.jsonl"]\n')
    with open_build(corpus.version) as connection:
        rows = connection.execute(
            "select id, reason, witness from decisions where stage = 'decontaminate' order by id"
        ).fetchall()
    assert rows == [("s:0", "contaminated", "items:q-harbour"), ("s:1", None, None)]


@pytest.mark.parametrize("ngram", [13, 8])
def test_the_shared_cases(ngram: int, tmp_path: Path) -> None:
    folder = shared("cases", "decon")
    documents = [json.loads(line) for line in (folder / "docs.jsonl").read_text("utf-8").split("\n") if line]
    found = contaminated([d["text"] for d in documents], sorted((folder / "protected").glob("*.jsonl")), ngram)
    rows = [
        {"id": d["id"], "contaminated": row is not None, "items": [h["item"].split(":", 1)[1] for h in row or ()]}
        for d, row in zip(documents, found, strict=True)
    ]
    result = write(tmp_path / "result.jsonl", rows)
    scorer = shared("checks", "score_labels.py")
    done = subprocess.run([sys.executable, scorer, "decon", result, "--n", str(ngram)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
