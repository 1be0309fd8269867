"""A version folder that somebody damaged: every command that reads one names the file, and none ends in a traceback."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import made_corpus
import pytest
from conftest import Corpus, raw_line

from corpus_sql import cli


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A build v1 and its copy v2, both whole; a test damages a copy of its own."""
    corpus = Corpus(tmp_path_factory.mktemp("damaged"))
    texts = [made_corpus.text("en", i, 3) for i in range(6)]
    corpus.source("s", [*texts, raw_line("short", parent_ids=["s:0"]), b"\xff{", texts[0]])
    corpus.run('stages = ["gopher", "exact_dedup"]\n[gopher]\nmin_n_words = 5')
    return corpus


@pytest.fixture
def build(made: Corpus, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made.version, tmp_path / "t" / "v1"))


COMMANDS: dict[str, Callable[[Path, Path], list[object]]] = {
    "why": lambda build, whole: ["why", build, "s:0"],
    "sql": lambda build, whole: ["sql", build, "from decisions order by all"],
    "report": lambda build, whole: ["report", build],
    "stratified": lambda build, whole: ["sample", build],
    "by-reason": lambda build, whole: ["sample", build, "--kind", "by-reason"],
    "reservoir": lambda build, whole: ["sample", build, "--kind", "reservoir"],
    "near-threshold": lambda build, whole: ["sample", build, "--kind", "near-threshold", "--rule", "low_n_words"],
    "diff": lambda build, whole: ["diff", whole, build],
    "diff before": lambda build, whole: ["diff", build, whole],
    "oscar": lambda build, whole: ["export", "oscar", build, build.parent / "oscar"],
    "jsonl": lambda build, whole: ["export", "jsonl", build, build.parent / "jsonl"],
    "parquet": lambda build, whole: ["export", "parquet-by-split", build, build.parent / "parquet"],
}


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["corpus-sql", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def halved(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    """Turn over bytes all over the file but for its last ones, so that a Parquet file still opens."""
    changed = bytearray(content)
    for i in range(4, max(len(content) // 2, 5), 3):
        changed[i] ^= 0xFF
    return bytes(changed)


JSON = {
    "empty": (lambda content: b"", "is damaged: it is no JSON: Expecting value: line 1 column 1 (char 0)"),
    "cut": (halved, "is damaged: it is no JSON: "),
    "no JSON": (lambda content: b"\xff\xfe\x00 no", "is damaged: it is no JSON: "),
    "deep": (lambda content: b"[" * 100_000, "is damaged: it is no JSON: "),
    "a list": (lambda content: b"[1, 2]\n", "is damaged: it is no JSON object"),
    "an empty object": (lambda content: b"{}", "is damaged: "),
}


NEED_NO_RECORD = ("sql", "oscar", "jsonl", "parquet")


@pytest.mark.parametrize("kind", JSON)
@pytest.mark.parametrize("file", ["_MANIFEST.json", "_audit/build.json"])
def test_damaged_json(made: Corpus, build: Path, command, file: str, kind: str):
    change, what = JSON[kind]
    (build / file).write_bytes(change((build / file).read_bytes()))
    for name, arguments in COMMANDS.items():
        code, out, err = command(*arguments(build, made.version))
        if file == "_MANIFEST.json" or name not in NEED_NO_RECORD:
            assert (name, code, out) == (name, 1, "")
            first, *_, last = err.splitlines()
            assert first.startswith(f"error: {build / file}: {what}"), name
            assert last == f"    corpus-sql verify {build} says what is damaged.", name
        else:  # it does not read the record
            assert (name, code) == (name, 0)


TABLES = [f"_audit/{name}.parquet" for name in ("decisions", "documents", "quarantine", "pairs", "measures/words")]


CHANGES = {"cut": halved, "flipped": flipped, "empty": lambda content: b"", "gone": None}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_damaged_tables(made: Corpus, build: Path, command, change: Callable[[bytes], bytes] | None):
    """A command that needs the table names it; one that does not need it answers."""
    stopped: dict[str, set[str]] = {}
    for file in TABLES:
        content = (build / file).read_bytes()
        if change is None:
            (build / file).unlink()
        else:
            (build / file).write_bytes(change(content))
        for name, arguments in COMMANDS.items():
            code, _, err = command(*arguments(build, made.version))
            shutil.rmtree(build.parent / name, ignore_errors=True)
            if code:
                stopped.setdefault(name, set()).add(file)
                assert (name, file, code) == (name, file, 1)
                assert err.startswith("error: ") and file in err.splitlines()[0], (name, err)
        (build / file).write_bytes(content)
    assert stopped["sql"] == {"_audit/decisions.parquet"}
    assert {"_audit/decisions.parquet", "_audit/documents.parquet"} <= stopped["why"]
    assert stopped["oscar"] == {"_audit/documents.parquet"}
    assert "jsonl" not in stopped and "parquet" not in stopped
    if change is None:
        assert stopped["report"] == stopped["diff"] == stopped["diff before"] == set(TABLES)


def test_a_query_on_a_table_that_is_gone_and_on_one_that_never_was(build: Path, command):
    (build / "_audit" / "pairs.parquet").unlink()
    assert command("sql", build, "from pairs") == (
        1,
        "",
        f"error: {build}/_audit/pairs.parquet: there is no such file\n"
        f"    corpus-sql verify {build} says what is damaged.\n",
    )
    code, _, err = command("sql", build, "from pears")
    assert (code, err.splitlines()[0]) == (2, "error: query: Catalog Error: Table with name pears does not exist!")
