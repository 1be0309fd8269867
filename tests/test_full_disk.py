"""A disk that takes no more: which folder, and what to do; nothing half-written has a name; a rerun makes it whole."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
from conftest import Corpus
from loopback import Server, serving

from corpus_sql import diffing, engine_errors, fetching, files, importing, ledger, limits, reporting
from corpus_sql.errors import DataError

FULL = "takes no more: File too large\n    Raise `ulimit -f`, and run again."


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def noise(lines: int) -> str:
    """JSON Lines that do not compress: 400 hex digits a line."""
    chance = random.Random(1)
    return "".join(json.dumps({"text": chance.randbytes(200).hex()}) + "\n" for _ in range(lines))


@pytest.fixture
def project(tmp_path: Path) -> Corpus:
    corpus = Corpus(tmp_path)
    corpus.config.write_text('dataset = "t"\nversion = "v1"\nsources = ["mine"]\nstages = []\n')
    return corpus


def imported(corpus: Corpus, path: Path) -> importing.Imported:
    return importing.import_files(
        "jsonl", [path], source="mine", config_path=corpus.config, license_spdx="CC0-1.0", data_class="public",
        fetched_at="2026-01-02T03:04:05Z",
    )  # fmt: skip


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_an_import_names_the_folder_of_the_source_and_leaves_nothing_there(project: Corpus):
    path = project.folder / "notes.jsonl"
    path.write_text(noise(2000))
    raw = project.folder / "artifacts/corpus/raw"
    with no_file_beyond(100_000), pytest.raises(DataError) as error:
        imported(project, path)
    assert str(error.value) == f"{raw}/mine: {FULL}"
    assert below(raw) == []
    assert imported(project, path).documents == 2000


def test_an_import_whose_ledger_finds_no_room_leaves_the_ledger_as_it_was(project: Corpus):
    path = project.folder / "artifacts/corpus/LEDGER.jsonl"
    path.parent.mkdir(parents=True)
    row = ledger.Source("other", "https://example.org", "CC0-1.0", "public", "2026-01-02")
    ledger.write_source(path, row)
    before = path.read_bytes()
    with no_file_beyond(len(before)), pytest.raises(OSError, match="File too large") as error:
        ledger.write_source(path, ledger.Source("mine", "https://example.org", "CC0-1.0", "public", "2026-01-02"))
    assert error.value.filename == str(path)
    assert path.read_bytes() == before
    assert below(path.parent) == [".LEDGER.jsonl.lock", "LEDGER.jsonl"]


def test_a_fetch_does_not_try_again_what_the_disk_does_not_take(project: Corpus):
    with serving(Server({"/a.jsonl": noise(2000).encode()})) as server:
        recipe = (
            f'[source.mine]\nurl = "{server.url}/a.jsonl"\nformat = "jsonl"\nlicense_spdx = "CC0-1.0"\n'
            'data_class = "public"\n'
        )
        project.config.write_text(project.config.read_text() + recipe)
        with no_file_beyond(100_000), pytest.raises(DataError) as error:
            fetching.fetch(project.config, wait=0.0)
        assert str(error.value) == f"{project.folder}/artifacts/.work/fetch/mine: {FULL}"
        assert len(server.asked) == 1
        assert below(project.folder / "artifacts/corpus") == []
        (done,) = fetching.fetch(project.config, wait=0.0)
        assert done.documents == 2000


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path):
    path = tmp_path / "report.html"
    files.write(path, "an earlier one")
    path.chmod(0o640)
    with no_file_beyond(1000), pytest.raises(OSError, match="File too large"):
        files.write(path, "x" * 2000)
    assert (path.read_text(), os.listdir(tmp_path)) == ("an earlier one", ["report.html"])
    files.write(path, "y" * 2000)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("y" * 2000, 0o640)


def test_two_who_write_one_file_leave_that_of_one(tmp_path: Path):
    path = tmp_path / "COMPOSITION.md"
    contents = [letter * 200_000 for letter in "abcd"]
    writers = [threading.Thread(target=lambda one=one: [files.write(path, one) for _ in range(10)]) for one in contents]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        if path.exists():
            seen.add(path.read_text())
    assert seen and seen <= set(contents)
    assert os.listdir(tmp_path) == ["COMPOSITION.md"]


def test_a_report_that_finds_no_room_leaves_the_earlier_one(corpus: Corpus):
    corpus.source("s", ["first", "second"])
    corpus.run("stages = []")
    reporting.report(corpus.version)
    target = files.reports(corpus.version)
    before = {name: (target / name).read_bytes() for name in below(target)}
    with no_file_beyond(100), pytest.raises(OSError, match="File too large"):
        reporting.report(corpus.version)
    assert {name: (target / name).read_bytes() for name in below(target)} == before


def test_room_for_spilling_is_disk_and_not_memory():
    error = duckdb.OutOfMemoryException(
        "Out of Memory Error: failed to offload data block of size 160.0 KiB (2.6 MiB/2.6 MiB used).\n"
        "This limit was set by the 'max_temp_directory_size' setting.\n"
    )
    assert str(engine_errors.meaning(error, "work")) == (
        "work: takes no more: Out of Memory Error: failed to offload data block of size 160.0 KiB (2.6 MiB/2.6 MiB"
        " used).\n    Free some disk there, or point [paths] work elsewhere, and run again."
    )


def test_no_quota_is_told_like_no_space():
    error = OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
    assert str(limits.disk(error, "raw")) == (
        "raw: takes no more: Disk quota exceeded\n    Free some disk there, and run again."
    )
    assert limits.disk(PermissionError(errno.EACCES, "Permission denied"), "raw") is None


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_diff_that_finds_no_room_names_the_temporary_folder(corpus: Corpus, scratch: Path):
    corpus.source("s", ["first", "second"])
    corpus.run("stages = []")
    code = (
        f"import resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        f"sys.argv[1:] = ['diff', {str(corpus.version)!r}, {str(corpus.version)!r}]\n"
        "from corpus_sql.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "TMPDIR": str(scratch)}
    )
    head, fix = done.stderr.splitlines()
    assert head.startswith(f"error: {scratch}: takes no more: ")
    assert (done.returncode, fix, below(scratch)) == (1, "    Raise `ulimit -f`, and run again.", [])


def test_a_diff_that_fails_takes_its_temporary_folder_away(
    corpus: Corpus, scratch: Path, monkeypatch: pytest.MonkeyPatch
):
    corpus.source("s", ["first", "second"])
    corpus.run("stages = []")

    def failing(*_: object) -> None:
        raise DataError([])

    monkeypatch.setattr(diffing, "match", failing)
    with pytest.raises(DataError) as error:
        diffing.diff(corpus.version, corpus.version)
    assert error.traceback  # which holds all that stood in the frames, until it goes
    assert os.listdir(scratch) == []


def test_scratch_of_a_killed_process_is_taken_away_and_that_of_a_living_one_stays(scratch: Path):
    killed, living = (
        subprocess.Popen(
            [sys.executable, "-c", HOLDS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
        for _ in range(2)
    )
    left, held = (Path(one.stdout.readline().strip()) for one in (killed, living))
    killed.kill()
    killed.wait()
    other = scratch / "corpus-sql-notes"
    other.mkdir()
    with files.scratch("test"):
        assert left.exists()  # too young: its process may not have taken hold of it yet
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(files, "_HELD_WITHIN", -1)
        with files.scratch("test") as mine:
            assert sorted(os.listdir(scratch)) == sorted([held.name, mine.name, other.name])
    living.communicate()
    assert os.listdir(scratch) == [other.name]


HOLDS = """
import sys
from corpus_sql import files
with files.scratch("rebuild") as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_finds_no_room_is_told():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "corpus_sql", "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (
        1,
        "error: standard output, or a temporary file: takes no more: No space left on device\n"
        "    Free some disk there, and run again.\n",
    )
