"""The number of a build's form: older and newer builds are opened as far as they can be, or refused in one sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import Corpus
from test_damaged import COMMANDS, command  # noqa: F401  a fixture

from corpus_sql import __version__, build, build_format
from corpus_sql.errors import ConfigError

# what reads the shards and the oldest columns alone
READ_ALL = ("sql", "oscar", "jsonl", "parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("format"))
    corpus.source("s", ["The first of two texts.", "The second of them."])
    corpus.run('stages = ["gopher"]\n[gopher]\nmin_n_words = 4\n[split]\nmethod = "group_hash"')
    return corpus


def of_format(made: Corpus, folder: Path, number: int | None) -> Path:
    """A copy of the build that states another format, or none."""
    copy = Path(shutil.copytree(made.version, folder / "t" / "v1"))
    path = copy / "_audit" / "build.json"
    record = json.loads(path.read_text())
    assert record.pop("format") == build_format.FORMAT
    path.write_text(json.dumps(record if number is None else {"format": number, **record}))
    return copy


@pytest.mark.parametrize("name", [*COMMANDS, "verify"])
def test_a_build_without_a_number_is_of_format_1(made: Corpus, tmp_path: Path, command, name: str):  # noqa: F811
    old = of_format(made, tmp_path, None)
    arguments = ["verify", old] if name == "verify" else COMMANDS[name](old, made.version)
    code, out, err = command(*arguments)
    if name in READ_ALL:
        assert code == 0
        return
    assert (code, out) == (2, "")
    assert err == (
        f"error: {old}: this build has format 1, and corpus-sql {__version__} reads format {build_format.FORMAT} here\n"
        "    Build it again with this version; `corpus-sql sql` and `corpus-sql export` read format 1.\n"
    )


@pytest.mark.parametrize("name", [*COMMANDS, "verify"])
def test_a_newer_build_is_refused_by_every_command(made: Corpus, tmp_path: Path, command, name: str):  # noqa: F811
    new = of_format(made, tmp_path, build_format.FORMAT + 1)
    arguments = ["verify", new] if name == "verify" else COMMANDS[name](new, made.version)
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err == (
        f"error: {new}: this build has format {build_format.FORMAT + 1}, and corpus-sql {__version__} reads "
        f"format {build_format.FORMAT} here\n"
        f"    Install the corpus-sql that made it ({__version__}), or a later one.\n"
    )


AGAINST = 'stages = []\n[split]\nmethod = "group_hash"\nagainst = ["{}"]'


def test_an_older_build_still_holds_its_splits_and_a_newer_one_is_refused(made: Corpus, tmp_path: Path):
    made.configure(AGAINST.format(of_format(made, tmp_path / "old", None)), version="v2")
    assert build.run(made.config).status == "published"
    new = of_format(made, tmp_path / "new", 7)
    made.configure(AGAINST.format(new), version="v3")
    with pytest.raises(ConfigError) as refused:
        build.run(made.config)
    assert [f"{one.where}: {one.what}" for one in refused.value.problems] == [
        f"{made.config}:7: [split] against: {new}: this build has format 7, and corpus-sql {__version__} reads "
        f"format {build_format.FORMAT} here"
    ]
