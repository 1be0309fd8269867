"""Which build is meant: a version folder or a config; and what is said where it is neither."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import ROOT, Corpus

from corpus_sql import builds, explain
from corpus_sql.errors import ConfigError, install


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Corpus:
    """Versions v1 and v2 of two sources; the config says v2."""
    corpus = Corpus(tmp_path_factory.mktemp("builds"))
    corpus.source("letters", ["one letter", "another letter"])
    corpus.source("books", ["a book"])
    for version in ("v1", "v2"):
        corpus.configure("stages = []", version)
        corpus.run()
    return corpus


def program(*arguments: object) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "corpus_sql", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_a_config_stands_for_its_version(made):
    assert builds.meant(made.config) == made.version.parent / "v2"
    assert builds.meant(made.version) == made.version


def test_a_config_that_is_wrong_by_now_still_says_which(made, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text('dataset = "t"\nversion = "v1"\nstages = ["none"]\n[paths]\nartifacts = "elsewhere"\n')
    assert builds.meant(config) == tmp_path / "elsewhere/corpus/t/v1"


@pytest.mark.parametrize("content", ["", "dataset = 7\nversion = 'v1'", "{", "\xff", "[paths]\nartifacts = 1\n"])
def test_a_file_that_is_no_config(content, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError) as raised:
        builds.meant(file)
    assert str(raised.value) == (
        f"{file}: this is neither a version folder nor a config that says dataset and version\n"
        "    Give a version folder, corpus/<dataset>/<version>, or the config that it was built from."
    )


@pytest.mark.parametrize(
    ("command", "rest"),
    [
        ("why", ["books:0"]), ("sql", ["from documents"]), ("verify", []), ("sample", []), ("diff", ["{config}"]),
        ("report", []), ("export jsonl", ["{folder}/out"]),
    ],
)  # fmt: skip
def test_every_command_that_takes_a_build_takes_a_config(command, rest, made, tmp_path):
    rest = [one.format(config=made.config, folder=tmp_path) for one in rest]
    done = program(*command.split(), made.config, *rest)
    assert done.returncode == 0, done.stderr
    wrong = program(*command.split(), made.version.parent / "v3", *rest)
    assert (wrong.returncode, wrong.stdout, wrong.stderr) == (
        2,
        "",
        f"error: {made.version.parent}/v3: there is no version v3\n    Built are: v1, v2.\n",
    )


def test_the_folder_of_a_dataset(made):
    with pytest.raises(ConfigError) as raised:
        explain.open_build(made.version.parent)
    said = "this is no build, but holds some\n    Give one of its versions: v1, v2."
    assert str(raised.value) == f"{made.version.parent}: {said}"


IDS = {
    "a source misspelt": ("leters:1", "the build has no such source", "Did you mean letters:1?"),
    "a source unlike any": ("web:1", "the build has no such source", "An id is <source>:<position>."),
    "no source": ("17", "the build has no such source", "An id is <source>:<position>."),
    "beyond the end": ("letters:9", "the build has no such line", "letters has the lines letters:0 to letters:1."),
}


@pytest.mark.parametrize("name", IDS)
def test_an_id_that_is_not_there(name, made):
    id, what, fix = IDS[name]
    with pytest.raises(ConfigError) as raised:
        explain.why(made.version, id)
    sources = " The sources are books, letters." if "source" in what else ""
    assert str(raised.value) == f"{id}: {what}\n    {fix}{sources}"


def test_an_extra_is_installed_where_the_user_is(monkeypatch, tmp_path):
    assert install("report") == f"{sys.executable} -m pip install -e '{ROOT}[report]'"
    monkeypatch.setattr("corpus_sql.errors.__file__", str(tmp_path / "site-packages/corpus_sql/errors.py"))
    assert install("s3") == f"{sys.executable} -m pip install 'corpus-sql[s3]'"


def test_the_shell_completes_commands():
    environment = {"_CORPUS_SQL_COMPLETE": "complete_bash", "COMP_WORDS": "corpus-sql ver", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "corpus_sql"], capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert (done.stdout.split(), done.stderr) == (["verify"], "")
