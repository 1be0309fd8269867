"""Same input, same bytes: whatever the threads, the memory, the hash seed, the frames of the raw files or a kill."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import made_corpus
import pytest
from conftest import Corpus, shared

# what may differ between two equal builds, and the list of hashes that names it
MAY_DIFFER = ("_audit/run.json", "_audit/SHA256SUMS")
# what the raw files' own hashes stand in
NAMES_RAW_FILES = (
    *MAY_DIFFER,
    "README.md",
    *(f"_audit/{name}" for name in ("build.json", "files.parquet", "ledger.jsonl")),
)


CONFIG = made_corpus.CONFIG.replace("shard_rows = 60", "shard_rows = 25")


def fill(corpus: Corpus, frames: int = 1) -> Corpus:
    """Write some 130 lines and a config with shards of 25 rows."""
    made_corpus.fill(corpus, 32, frames=frames)
    corpus.configure(CONFIG)
    return corpus


def digests(version: Path, without: tuple[str, ...] = MAY_DIFFER) -> dict[str, str]:
    """Return relative path -> SHA-256 of every file of a build that must not differ."""
    files = sorted(path for path in version.rglob("*") if path.is_file())
    found = {path.relative_to(version).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return {name: digest for name, digest in found.items() if name not in without}


def command(corpus: Corpus, *options: str) -> list[str]:
    return [sys.executable, "-m", "corpus_sql", "run", str(corpus.config), *options]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The made corpus, built by one thread."""
    corpus = fill(Corpus(tmp_path_factory.mktemp("reference")))
    corpus.run(threads=1)
    found = digests(corpus.version)
    assert len([name for name in found if name.startswith("shard-")]) >= 3, "too few shards to compare"
    assert {"_MANIFEST.json", "_audit/decisions.parquet", "_audit/documents.parquet", "_audit/hashes.u64"} <= set(found)
    return found


@pytest.mark.parametrize("options", [{"threads": 2}, {"threads": 4}, {"threads": 2, "memory": "512MB"}], ids=str)
def test_threads_and_memory(corpus: Corpus, reference: dict[str, str], options: dict):
    fill(corpus).run(**options)
    assert digests(corpus.version) == reference


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
        {"PYTHONHASHSEED": "4242", "LC_ALL": "C.UTF-8", "TZ": "Asia/Shanghai"},
    ],
    ids=["seed 0", "seed 4242, another locale and time zone"],
)
def test_hash_seed_locale_and_time_zone(corpus: Corpus, reference: dict[str, str], environment: dict[str, str]):
    fill(corpus)
    subprocess.run(command(corpus, "--threads", "2"), env=os.environ | environment, check=True, capture_output=True)
    assert digests(corpus.version) == reference


def test_frames_of_the_raw_files(corpus: Corpus, reference: dict[str, str]):
    """Each line in a zstd frame of its own."""
    fill(corpus, frames=1000).run(threads=2)
    found = digests(corpus.version, NAMES_RAW_FILES)
    assert found == {name: digest for name, digest in reference.items() if name not in NAMES_RAW_FILES}
    assert digests(corpus.version)["_audit/files.parquet"] != reference["_audit/files.parquet"], (
        "the files are the same"
    )


def test_reading_in_small_batches(corpus: Corpus, reference: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("corpus_sql.raw.BATCH_ROWS", 7)
    monkeypatch.setattr("corpus_sql.raw_stream.CHUNK", 1000)
    fill(corpus).run(threads=2)
    assert digests(corpus.version) == reference


def test_a_build_from_the_cache(corpus: Corpus, reference: dict[str, str]):
    fill(corpus)
    corpus.run(CONFIG.replace("keep = [", "min_score = 0.999999\nkeep = ["), threads=2)
    assert digests(corpus.version) != reference
    corpus.configure(CONFIG)
    outcome = corpus.run(threads=2, replace=True)
    assert not next(step.why for step in outcome.steps if step.name == "measures.words"), "nothing came from the cache"
    assert digests(corpus.version) == reference


def when_it_says(text: str) -> Callable[[Corpus, subprocess.Popen], None]:
    def wait(corpus: Corpus, process: subprocess.Popen) -> None:
        for line in process.stderr:
            if line.startswith(text):
                return
        raise AssertionError(f"the run ended without saying {text!r}")

    return wait


def when_there_is(name: str) -> Callable[[Corpus, subprocess.Popen], None]:
    def wait(corpus: Corpus, process: subprocess.Popen) -> None:
        path = corpus.version.parent / ".v1.building" / name
        while not path.exists():
            assert process.poll() is None, f"the run ended without {name}"
            time.sleep(0.0005)

    return wait


KILLS = {
    "after reading": when_it_says("ran  read"),
    "between two measures": when_it_says("ran  measure words"),
    "while shards are written": when_there_is("_audit/measures"),
    "before the hashes of the folder": when_there_is("_audit/build.json"),
}


@pytest.mark.parametrize("wait", KILLS.values(), ids=list(KILLS))
def test_killed_and_run_again(corpus: Corpus, reference: dict[str, str], wait: Callable):
    fill(corpus)
    process = subprocess.Popen(
        command(corpus, "--threads", "2"), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    wait(corpus, process)
    process.send_signal(signal.SIGKILL)
    process.stderr.close()
    assert process.wait() == -signal.SIGKILL
    assert not corpus.version.exists()
    outcome = corpus.run(threads=2)
    assert [step.why for step in outcome.steps if step.name == "read.documents"] == [""], "reading was done again"
    assert digests(corpus.version) == reference
    left = sorted(path.name for path in corpus.version.parent.iterdir())
    assert left == ["v1"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    """A project over the small shared slice: 2,000 real documents."""
    corpus = Corpus(tmp_path_factory.mktemp("small"))
    raw = shared("data", "slice-small", "corpus")
    (corpus.folder / "artifacts" / "corpus").mkdir(parents=True)
    (corpus.folder / "artifacts" / "corpus" / "raw").symlink_to(raw / "raw")
    (corpus.folder / "artifacts" / "corpus" / "LEDGER.jsonl").symlink_to(raw / "LEDGER.jsonl")
    corpus.rows = dict.fromkeys(sorted(path.name for path in (raw / "raw").iterdir()))
    items = shared("data", "eval.jsonl")
    corpus.configure(CONFIG.replace("eval/*.jsonl", str(items)).replace("shard_rows = 25", "shard_rows = 500"))
    return corpus


def test_real_documents(small: Corpus):
    small.run(threads=1)
    one = digests(small.version)
    small.run(threads=2, memory="600MB", cache=False, replace=True)
    assert digests(small.version) == one
    assert len([name for name in one if name.startswith("shard-")]) >= 3
