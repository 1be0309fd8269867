"""A JSON, JSON Lines or TOML file of a build that is of another form: told by file and remedy, by every command.

SHA256SUMS agrees with what lies there, as where somebody wrote it anew.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import made_corpus
import pytest
from conftest import Corpus
from test_damaged import COMMANDS, command  # noqa: F401
from verify_cases import Copy

from corpus_sql import forms, verifying
from corpus_sql.errors import CorpusError

ANEW = "Copy the folder anew, or build the version again."
SHAPES = {
    "an empty list": b"[]",
    "an empty object": b"{}",
    "null": b"null",
    "a number": b"3",
    "a string": b'"x"',
    "empty": b"",
    "cut": None,
    "not UTF-8": b'{"dataset": "\xff"}',
    "a byte order mark": None,
    "UTF-16": '{"dataset": "t"}'.encode("utf-16"),
    "deep": b"[" * 100_000,
}
FILES = (
    "_MANIFEST.json",
    "_audit/build.json",
    "_audit/run.json",
    "croissant.json",
    "_audit/ledger.jsonl",
    "config.toml",
)
PROTECTED = "_audit/inputs/protected/0/exam.jsonl"
SOUND = {  # they are read with a mark; half of this config is a config, though not the one of the build
    ("config.toml", "a byte order mark"),
    ("_audit/ledger.jsonl", "a byte order mark"),
    ("config.toml", "cut"),
}


def shaped(content: bytes, shape: str) -> bytes:
    if shape == "cut":
        return content[: len(content) // 2]
    return b"\xef\xbb\xbf" + content if shape == "a byte order mark" else SHAPES[shape]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("forms"))
    corpus.source("s", [*(made_corpus.text("en", i, 3) for i in range(3)), "short"])
    (corpus.folder / "exam.jsonl").write_text('{"id": "one", "text": "' + made_corpus.PROTECTED + '"}\n')
    corpus.run(
        'stages = ["gopher", "exact_dedup", "decontaminate"]\n[gopher]\nmin_n_words = 5\n'
        '[decontaminate]\nprotected = ["exam.jsonl"]\n[split]\nmethod = "group_hash"'
    )
    (corpus.folder / "exam.jsonl").unlink()
    return corpus


@pytest.fixture
def copy(made: Corpus, tmp_path: Path) -> Copy:
    shutil.rmtree(made.folder / "artifacts" / ".work", ignore_errors=True)
    return Copy(made, tmp_path / "copy")


def spoil(copy: Copy, file: str, shape: str) -> None:
    (copy.build / file).write_bytes(shaped((copy.build / file).read_bytes(), shape))
    copy.sums()


@pytest.mark.parametrize("file", [*FILES, PROTECTED])
def test_verify_names_the_file_and_what_to_do(copy: Copy, file: str):
    content = (copy.build / file).read_bytes()
    for shape in SHAPES:
        if (file, shape) in SOUND or (file == PROTECTED and shape in ("a byte order mark", "empty")):
            continue
        (copy.build / file).write_bytes(content)
        spoil(copy, file, shape)
        found = verifying.verify(copy.build).errors
        assert found, shape
        for one in found:
            assert one.what.startswith(f"{file} is damaged: ") or "is missing" in one.what, (shape, one)
            assert one.fix == ANEW, (shape, one)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("_audit/build.json", b"[]", "_audit/build.json is damaged: it is no JSON object"),
        ("_audit/build.json", b"{}", "_audit/build.json is damaged: config is missing"),
        ("_audit/run.json", b"null", "_audit/run.json is damaged: it is no JSON object"),
        ("croissant.json", b"{}", "croissant.json is damaged: @context is missing"),
        ("config.toml", b"[", "config.toml is damaged: it is no TOML: "),
        ("config.toml", b"dataset = 3", "config.toml is damaged: dataset is 3, not a string"),
        ("config.toml", b"\xff", "config.toml is damaged: it is not UTF-8 at byte 0"),
        ("_audit/ledger.jsonl", b"", "_audit/ledger.jsonl is damaged: it has no row"),
        ("_audit/ledger.jsonl", b"\n3\n", "_audit/ledger.jsonl is damaged: line 2: is 3, not a JSON object"),
        (PROTECTED, b"{}", f"{PROTECTED} is damaged: line 1: 'id' is missing"),
    ],
)
def test_what_verify_says(copy: Copy, file: str, content: bytes, said: str):
    (copy.build / file).write_bytes(content)
    copy.sums()
    found = [one.what for one in verifying.verify(copy.build, rebuild=True).errors]
    assert found[0].startswith(said)
    assert all(what.startswith("made again") for what in found[1:])


def test_a_value_of_another_type_inside_is_told_too(copy: Copy):
    copy.record(lambda record: record["config"].update(stages="gopher"))
    assert copy.errors() == [("forms", '_audit/build.json is damaged: config.stages is "gopher", not a list')]
    copy.record(lambda record: (record["config"].update(stages=["gopher"]), record["relations"].update(x=[])))
    assert copy.errors() == [("forms", "_audit/build.json is damaged: relations.x is [], not a table")]


FEW = ("an empty list", "an empty object", "cut", "a byte order mark")  # each costs a second for each file


@pytest.mark.parametrize("file", FILES)
def test_no_command_ends_in_a_traceback(copy: Copy, made: Corpus, command, file: str):  # noqa: F811
    content = (copy.build / file).read_bytes()
    for shape in FEW:
        (copy.build / file).write_bytes(content)
        spoil(copy, file, shape)
        for name, arguments in COMMANDS.items():
            code, _, err = command(*arguments(copy.build, made.version))
            shutil.rmtree(copy.build.parent / name, ignore_errors=True)
            if code:
                assert err.startswith(f"error: {copy.build / file}: is damaged: "), (name, shape, err)
                assert err.endswith(f"    corpus-sql verify {copy.build} says what is damaged.\n"), (name, shape, err)
        if file == "_MANIFEST.json":
            assert code, shape


@pytest.mark.parametrize("table", ["split", "exact_dedup", "near_dedup"])
@pytest.mark.parametrize("file", ["_MANIFEST.json", "_audit/build.json"])
def test_an_earlier_build_that_a_config_names(copy: Copy, corpus: Corpus, table: str, file: str):
    corpus.source("s", [made_corpus.text("en", 9, 3)])
    content = (copy.build / file).read_bytes()
    config = f'stages = ["exact_dedup", "near_dedup"]\n[{table}]\nagainst = ["{copy.build}"]\n'
    config += '[split]\nmethod = "group_hash"\n' if table != "split" else 'method = "group_hash"\n'
    for shape in SHAPES:
        (copy.build / file).write_bytes(content)
        spoil(copy, file, shape)
        if file == "_audit/build.json" and table != "split":  # it is read for the method of splits alone
            assert corpus.run(config, plan=True).status == "planned"
            continue
        with pytest.raises(CorpusError) as raised:
            corpus.run(config, plan=True)
        assert f"[{table}] against: {copy.build / file}: is damaged: " in str(raised.value), shape
        assert str(raised.value).endswith(f"\n    corpus-sql verify {copy.build} says what is damaged."), shape


def test_the_sums_of_an_earlier_build_that_are_no_sums(copy: Copy, corpus: Corpus):
    corpus.source("s", [made_corpus.text("en", 9, 3)])
    (copy.build / "_audit" / "SHA256SUMS").write_bytes(b"\xff\nno sum\n")
    with pytest.raises(CorpusError) as raised:
        corpus.run(f'stages = ["exact_dedup"]\n[exact_dedup]\nagainst = ["{copy.build}"]')
    assert str(raised.value).splitlines()[:2] == [
        f"{copy.build}/_MANIFEST.json: is not as its build wrote it",
        "    corpus-sql verify says what else is wrong with that build.",
    ]


def test_a_sound_build_has_its_forms(made: Corpus):
    assert forms.problems(made.version) == []
    assert forms.count(made.version) == 7
