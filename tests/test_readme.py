"""Every command of the README does what the README shows."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from test_docs import snippets

from corpus_sql.starting import init

README = ROOT / "README.md"


def run(line: str, folder: Path) -> str:
    """Run one line of shell in a folder, with corpus-sql being this one; return its stdout."""
    quoted = f'"{sys.executable}" -m corpus_sql'
    line = re.sub(r"^corpus-sql\b", lambda _: quoted, line)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    found = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, env=environment)
    assert found.returncode == 0, f"{line}\n{found.stderr}"
    return found.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    init(folder, demo=True)
    return folder


def shown() -> list[tuple[str, list[str]]]:
    """The console block: each command and the lines shown under it."""
    (block,) = [one for one in snippets(README) if one.kind == "console"]
    found: list[tuple[str, list[str]]] = []
    for line in block.code.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def test_the_picture_is_what_a_person_sees(demo):
    for command, lines in shown():
        printed = run(command, demo).splitlines()
        assert printed[: len(lines)] == lines, command


def test_the_path_from_own_data_to_a_corpus(tmp_path):
    text = "The old lighthouse keeper wrote down the weather, and he kept the pages in a box that nobody ever opened. "
    notes = [{"text": f"{text}{n} boats came in, to be counted. " + text[: 20 + n]} for n in range(3)]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    (block,) = [one for one in snippets(README) if "corpus-sql init mycorpus" in one.code]
    for line in block.code.replace("\\\n", " ").splitlines():
        line = line.split(" #")[0].strip()
        if line.startswith("corpus-sql"):
            run(line, tmp_path)
    assert (tmp_path / "mycorpus/artifacts/corpus/corpus/v1/_MANIFEST.json").is_file()


def test_the_rule_that_it_shows_works(demo):
    (rule,) = [one for one in snippets(README) if one.code.startswith("-- shouting")]
    (demo / "sql/stages").mkdir(parents=True, exist_ok=True)
    (demo / "sql/stages/shouting.sql").write_text(rule.code.replace("'!'", "'。'") + "\n", "utf-8")
    config = (demo / "corpus.toml").read_text("utf-8")
    config = config.replace('stages = ["lang"', 'stages = ["shouting", "lang"').replace(
        'version = "v1"', 'version = "v2"'
    )
    (demo / "loud.toml").write_text(config + "\n[shouting]\nmax_exclamations = 0\n", "utf-8")
    run("corpus-sql run loud.toml", demo)
    query = "select distinct reason from decisions where stage = 'shouting' and verdict = 'reject'"
    assert run(f'corpus-sql sql artifacts/corpus/demo/v2 "{query}" --format csv', demo) == "reason\nhigh_exclamations\n"


def test_the_script_computes_the_build_hashes(demo, tmp_path):
    (script,) = [one for one in snippets(ROOT / "docs" / "build-hash.md") if one.kind == "python"]
    (tmp_path / "hashes.py").write_text(script.code, "utf-8")
    build = demo / "artifacts/corpus/demo/v1"
    if not build.is_dir():
        run("corpus-sql run corpus.toml", demo)
    command = [sys.executable, str(tmp_path / "hashes.py"), str(demo / "artifacts/corpus/raw"), str(build)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    chain = json.loads((build / "_audit/build.json").read_text("utf-8"))["hash_chain"]
    assert dict(line.split() for line in printed.splitlines()) == chain
