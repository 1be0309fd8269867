"""A terminal of 80 columns: no line of a command is wider, wide characters counted double; ids and paths stay whole."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Corpus
from rich.cells import cell_len

from corpus_sql import cli, shown

CHINESE = "清晨的菜市场最热闹。卖豆腐的摊主掀开湿布，白气一下子冒出来；隔壁的老人挑着两筐青菜，边走边和熟人打招呼。"
ENGLISH = "The tide leaves the harbour twice a day, and the boats that stay behind lie on their sides in the mud. "
COMMANDS: dict[str, Callable[[Corpus], list[object]]] = {
    "check": lambda made: ["check", made.config],
    "plan": lambda made: ["run", made.config, "--plan"],
    "plan, all relations": lambda made: ["run", made.config, "--plan", "--verbose"],
    "verify": lambda made: ["verify", made.version],
    "why": lambda made: ["why", made.version, "a-source-of-a-rather-long-name:0"],
    "no such id": lambda made: ["why", made.version, "a-source-of-a-rather-long-name:99"],
    "sample": lambda made: ["sample", made.version],
    "sample by reason": lambda made: ["sample", made.version, "--kind", "by-reason"],
    "sample near a threshold": lambda made: [
        "sample",
        made.version,
        "--kind",
        "near-threshold",
        "--rule",
        "low_n_words",
    ],
    "diff": lambda made: ["diff", made.version, made.version.with_name("v2")],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("narrow"))
    texts = [*(f"{CHINESE}第{i}天。" for i in range(4)), *(f"{ENGLISH * (i + 1)}Day {i}." for i in range(4)), "short"]
    corpus.source("a-source-of-a-rather-long-name", texts)
    corpus.run('stages = ["gopher", "near_dedup"]\n[gopher]\nmin_n_words = 30')
    corpus.configure('stages = ["gopher", "near_dedup"]\n[gopher]\nmin_n_words = 60', version="v2")
    corpus.run()
    return corpus


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_wider(made: Corpus, name: str, capsys, monkeypatch):
    monkeypatch.setattr(shown, "columns", lambda stream: 80)
    monkeypatch.chdir(made.folder)
    monkeypatch.setattr(sys, "argv", ["corpus-sql", *map(str, map(near, COMMANDS[name](made)))])
    with pytest.raises(SystemExit):
        cli.main()
    out, err = capsys.readouterr()
    lines = (out + err).splitlines()
    assert len(lines) > 1
    assert [line for line in lines if cell_len(line) > 80 and str(made.folder) not in line] == []
    if name.startswith("sample"):
        assert re.search(r"^a-source-of-a-rather-long-name:\d+  ", out, re.MULTILINE)


def near(argument: object) -> object:
    """A path as it is typed in the project's folder."""
    return argument.relative_to(Path.cwd()) if isinstance(argument, Path) else argument


@pytest.mark.parametrize(
    ("line", "width", "parts"),
    [
        ("short", 80, ["short"]),
        ("one two three four five", None, ["one two three four five"]),
        ("one two three four five", 12, ["one two", "    three", "    four", "    five"]),
        ("  ids: a path that ends", 16, ["  ids: a path", "      that ends"]),
        ("/a/path/without/a/space", 10, ["/a/path/without/a/space"]),
        ("早上 的菜市场 最热闹", 12, ["早上", "    的菜市场", "    最热闹"]),
    ],
)
def test_where_a_line_is_broken(line: str, width: int | None, parts: list[str]):
    assert list(shown.folded(line, width)) == parts


def test_a_file_gets_tables_in_full():
    head, row = ("id", "text"), ("s:0", "春" * 60)
    assert list(shown.table(head, [row], left=2))[1] == f"s:0  {'春' * 60}"
