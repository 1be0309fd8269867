"""What goes wrong while a build is made: nothing half-made is published, nothing published is spoilt."""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import made_corpus
import pyarrow.parquet as pq
import pytest
from conftest import Corpus, raw_line

from corpus_sql import build, checking, exporting, fetching, files, importing, reporting, sampling
from corpus_sql.errors import AuditError, ConfigError, DataError
from corpus_sql.progress import Report

WORDS = "the keeper of the lamp and the ladder went to the bridge to be with them that have bells"
NOTHING_NEW = "is there already, and this build comes out different"
WAY_OUT = "Give the build another version in the config, or let it take the place of the old one with --replace."


@pytest.fixture
def tiny(corpus: Corpus) -> Corpus:
    """Three documents, no stages, built as v1."""
    corpus.source("s", ["first", "second", "third"])
    corpus.run("stages = []")
    return corpus


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def cli(corpus: Corpus, *options: str, program: str = "", file_limit: int | None = None) -> subprocess.CompletedProcess:
    """Run `corpus-sql run` in a process of its own, after `program`; no file may grow beyond file_limit bytes."""
    arguments = ["run", str(corpus.config), *options]
    code = f"{program}\nimport sys\nfrom corpus_sql.cli import main\nsys.argv[1:] = {arguments!r}\nmain()"

    def limit() -> None:
        if file_limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=limit)


def errors(done: subprocess.CompletedProcess) -> str:
    """What a run said, without its lines of progress."""
    return "\n".join(line for line in done.stderr.splitlines() if not line.startswith(("ran ", "reused ")))


# ------------------------------------------------------------------------------------------- versions that are there


def test_the_same_build_again_changes_nothing(tiny: Corpus):
    before = content(tiny.version)
    assert tiny.run().status == "same"
    assert content(tiny.version) == before


def test_another_build_under_the_same_version_is_refused(tiny: Corpus):
    before = content(tiny.version)
    with pytest.raises(ConfigError) as error:
        tiny.run("stages = []\nshard_rows = 2")
    assert str(error.value) == f"{tiny.version}: the version v1 {NOTHING_NEW}\n    {WAY_OUT}"
    assert content(tiny.version) == before
    assert names(tiny.version.parent) == ["v1"]


def test_replace_swaps(tiny: Corpus):
    assert tiny.run("stages = []\nshard_rows = 2", replace=True).status == "published"
    assert [name for name in names(tiny.version) if name.startswith("shard-")] == [
        "shard-00000-of-00002.parquet",
        "shard-00001-of-00002.parquet",
    ]
    assert names(tiny.version.parent) == ["v1"]


def test_a_damaged_shard_is_not_the_same_build(tiny: Corpus):
    shard = tiny.version / "shard-00000-of-00001.parquet"
    good = shard.read_bytes()
    shard.write_bytes(good[:-1] + b"\0")
    with pytest.raises(ConfigError) as error:
        tiny.run()
    assert (
        str(error.value)
        == f"{tiny.version}: the version v1 is there already, and damaged: shard-00000-of-00001.parquet\n    {WAY_OUT}"
    )
    assert tiny.run(replace=True).status == "published"
    assert shard.read_bytes() == good


# --------------------------------------------------------------------------------------------------------- kills


def test_a_kill_while_writing_spoils_no_earlier_version(tiny: Corpus):
    before = content(tiny.version)
    tiny.configure("stages = []\nshard_rows = 1")
    kill = "import corpus_sql.publish as p, os\np._write_sums = lambda folder: os.kill(os.getpid(), 9)"
    assert cli(tiny, "--replace", program=kill).returncode == -signal.SIGKILL
    assert names(tiny.version.parent) == [".v1.building", "v1"]
    assert content(tiny.version) == before
    assert tiny.run(replace=True).status == "published"
    assert names(tiny.version.parent) == ["v1"]


@pytest.fixture
def between_the_renames(tiny: Corpus) -> tuple[Corpus, dict[str, bytes]]:
    """A --replace that was killed when the old version had lost its name and the new one had not got it."""
    before = content(tiny.version)
    tiny.configure("stages = []\nshard_rows = 2")
    kill = (
        "import os\nfrom corpus_sql import files\nfiles.exchange = lambda one, other: False\n"  # as on other systems
        "rename, calls = os.rename, []\n"
        "def stop(*paths):\n    calls.append(paths)\n"
        "    os.kill(os.getpid(), 9) if len(calls) == 2 else rename(*paths)\n"
        "files.os.rename = stop"
    )
    assert cli(tiny, "--replace", program=kill).returncode == -signal.SIGKILL
    assert names(tiny.version.parent) == [".v1.building", ".v1.replaced"]
    return tiny, before


def test_a_replacement_that_was_killed_is_undone(between_the_renames):
    corpus, before = between_the_renames
    with pytest.raises(ConfigError, match=NOTHING_NEW):
        corpus.run()
    assert content(corpus.version) == before
    assert names(corpus.version.parent) == ["v1"]


def test_a_replacement_that_was_killed_can_be_done_again(between_the_renames):
    corpus, before = between_the_renames
    assert corpus.run(replace=True).status == "published"
    assert content(corpus.version).keys() != before.keys()
    assert names(corpus.version.parent) == ["v1"]


def test_a_plan_brings_the_old_version_back_as_well(between_the_renames):
    corpus, before = between_the_renames
    assert corpus.run(plan=True).status == "planned"
    assert content(corpus.version) == before


def test_killed_after_the_swap(tiny: Corpus):
    tiny.configure("stages = []\nshard_rows = 2")
    kill = (
        "import os\nfrom corpus_sql import files\n"
        "class Killing:\n    def __getattr__(self, name):\n        import shutil\n"
        "        return getattr(shutil, name)\n"
        "    def rmtree(self, path, **options):\n        os.kill(os.getpid(), 9)\n"
        "files.shutil = Killing()"
    )
    assert cli(tiny, "--replace", program=kill).returncode == -signal.SIGKILL
    assert names(tiny.version.parent) == [".v1.building", "v1"]
    assert tiny.run().status == "same"
    assert names(tiny.version.parent) == ["v1"]


def test_a_version_is_there_at_every_moment_of_its_replacement(tiny: Corpus, monkeypatch: pytest.MonkeyPatch):
    """Killed before or after the one step, the name stands for a whole version."""
    seen = []
    for name in ("rename", "rmdir", "unlink"):
        step = getattr(os, name)
        monkeypatch.setattr(
            os,
            name,
            lambda *paths, step=step, **more: (
                seen.append((tiny.version / "_audit" / "SHA256SUMS").is_file()),
                step(*paths, **more),
            )[1],
        )
    assert tiny.run("stages = []\nshard_rows = 2", replace=True).status == "published"
    assert seen and all(seen)


def test_two_folders_change_places(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert files.exchange(tmp_path / "a", tmp_path / "b")
    assert (names(tmp_path / "a"), names(tmp_path / "b")) == (["b"], ["a"])
    assert not files.exchange(tmp_path / "a", tmp_path / "c")


# ------------------------------------------------------------------------------------- what lies in a version's place

ANOTHER = "Nothing but a build is ever replaced: move it away, or give the build another version."


def folder(path: Path) -> None:
    path.mkdir()
    for name in ("notes.txt", "a.csv", "b.csv", "c.csv"):
        (path / name).write_text("not to be lost")


def manifest_alone(path: Path) -> None:
    path.mkdir()
    (path / "_MANIFEST.json").write_text("{}")


IN_THE_WAY = {
    "a folder that is no build": ("v1", folder, f"is no build; it holds a.csv, b.csv, c.csv, …\n    {ANOTHER}"),
    "a folder with a manifest of another kind": (
        *("v1", manifest_alone, f"is no build; it holds _MANIFEST.json\n    {ANOTHER}"),
    ),
    "a file": (
        "v1",
        lambda path: path.write_text("x"),
        f"is a file, where the folder of a version belongs\n    {ANOTHER}",
    ),
    "a dangling link": (
        *("v1", lambda path: path.symlink_to("nowhere"), f"is a link to nowhere, which is not there\n    {ANOTHER}"),
    ),
    "a file where it is made": (
        ".v1.building",
        lambda path: path.write_text("x"),
        "is a file, where a folder belongs\n    A run makes v1 under this name: move the file away.",
    ),
    "a file where it is set aside": (
        ".v1.replaced",
        lambda path: path.write_text("x"),
        "is a file, where a folder belongs\n    A run makes v1 under this name: move the file away.",
    ),
}


@pytest.mark.parametrize(("name", "lay", "message"), IN_THE_WAY.values(), ids=list(IN_THE_WAY))
def test_what_no_run_made_is_told_before_the_work_and_stays(corpus: Corpus, name: str, lay, message: str):
    corpus.source("s", ["one"])
    corpus.configure()
    corpus.version.parent.mkdir(parents=True)
    path = corpus.version.parent / name
    lay(path)
    before = content(corpus.version.parent)
    for options in ({}, {"replace": True}):
        with pytest.raises(ConfigError) as error:
            corpus.run(**options)
        assert str(error.value) == f"{path}: {message}"
    assert [str(problem) for problem in checking.check(corpus.config).problems] == [f"{path}: {message}"]
    assert content(corpus.version.parent) == before
    assert not (corpus.folder / "artifacts" / ".work").exists()


@pytest.mark.parametrize("name", [".v1.building", ".v1.replaced", "v1"])
def test_the_hashes_alone_touch_nothing_there(corpus: Corpus, name: str):
    corpus.source("s", ["one"])
    corpus.version.parent.mkdir(parents=True)
    (corpus.version.parent / name).write_text("not to be lost")
    assert corpus.run("stages = []", emit="none").status == "hashes"
    assert (corpus.version.parent / name).read_text() == "not to be lost"


def test_an_empty_folder_is_in_nobody_s_way(corpus: Corpus):
    corpus.source("s", ["one"])
    corpus.version.mkdir(parents=True)
    assert corpus.run("stages = []").status == "published"


def test_a_version_that_is_a_link_stays_one(tiny: Corpus):
    elsewhere = tiny.folder / "elsewhere"
    os.rename(tiny.version, elsewhere)
    tiny.version.symlink_to(elsewhere)
    before = content(elsewhere)
    assert tiny.run().status == "same"
    with pytest.raises(ConfigError) as error:
        tiny.run("stages = []\nshard_rows = 2", replace=True)
    fix = "Remove the link, or give the build another version."
    assert str(error.value) == f"{tiny.version}: is a link to {elsewhere}, and is not replaced\n    {fix}"
    assert content(elsewhere) == before and tiny.version.is_symlink()


def test_a_link_that_an_earlier_replacement_left_goes_and_what_it_leads_to_stays(tiny: Corpus):
    elsewhere = tiny.folder / "elsewhere"
    folder(elsewhere)
    (tiny.version.parent / ".v1.replaced").symlink_to(elsewhere)
    (tiny.version.parent / ".v1.building").symlink_to(elsewhere)
    assert tiny.run().status == "same"
    assert names(tiny.version.parent) == ["v1"]
    assert len(names(elsewhere)) == 4


# ---------------------------------------------------------------------------------------------- the folder of the work


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_work_folder_is_for_its_owner_alone(tiny: Corpus):
    work = tiny.folder / "artifacts" / ".work"
    assert (mode(work), mode(work / "spill")) == (0o700, 0o700)


def test_a_work_folder_that_is_open_is_narrowed(tiny: Corpus):
    work = tiny.folder / "artifacts" / ".work"
    work.chmod(0o755)
    tiny.run()
    assert mode(work) == 0o700


def test_a_work_folder_with_other_things_in_it_is_told_and_left(tiny: Corpus):
    work = tiny.folder / "artifacts" / ".work"
    (work / "mine.txt").touch()
    work.chmod(0o755)
    said: list[str] = []
    report = Report(quiet=True)
    report.line = said.append
    tiny.run(report=report)
    assert f"{work}: holds texts, and other users may enter it; chmod 700 keeps them out" in said
    assert mode(work) == 0o755


# ------------------------------------------------------------------------------------------------- two at a time


def test_a_second_run_in_the_same_work_folder(tiny: Corpus):
    work = tiny.folder / "artifacts" / ".work"
    with files.locked(work):
        done = cli(tiny)
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        f"error: {work}: another run is working here\n"
        "    Wait for it, or give this run another folder ([paths] work) and version.\n",
    )
    assert cli(tiny).returncode == 0


def test_a_second_run_of_the_same_data_set_with_its_own_work_folder(tiny: Corpus):
    tiny.configure('stages = []\n[paths]\nwork = "other"')
    with files.locked(tiny.version.parent):
        done = cli(tiny)
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        f"error: {tiny.version.parent}: another run is working here",
    )


# ------------------------------------------------------------------------------------------- a damaged work file


def damage_the_head(good: bytes) -> bytes:
    return b"x" * 4096 + good[4096:]


def damage_the_middle(good: bytes) -> bytes:
    half = len(good) // 2
    return good[:half] + bytes(300_000) + good[half + 300_000 :]


def cut(good: bytes) -> bytes:
    return good[: len(good) // 2]


@pytest.mark.parametrize("damage", [damage_the_head, damage_the_middle, cut])
def test_a_damaged_work_file_is_started_over(corpus: Corpus, damage):
    made_corpus.fill(corpus, 10).run()
    before = content(corpus.version)
    work = corpus.folder / "artifacts" / ".work" / "t.duckdb"
    work.write_bytes(damage(work.read_bytes()))
    said: list[str] = []
    report = Report(quiet=True)
    report.line = said.append
    corpus.run(report=report)
    (told,) = [line for line in said if "damaged" in line]
    assert told.startswith("the work file is damaged: ") and told.endswith(": starting over")
    assert content(corpus.version) == before
    assert all(not step.why for step in corpus.run(plan=True).steps if step.name.startswith("stages."))


def spoilt(good: bytes, seed: int) -> bytes:
    """Flip bits, cut, or write noise over a stretch, at places that the seed draws; each seventh in the head."""
    draw, data = random.Random(seed), bytearray(good)
    if seed % 3 == 0:
        for _ in range(draw.choice([1, 4, 64])):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    elif seed % 3 == 1:
        del data[draw.randrange(len(data)) :]
    else:
        start = draw.randrange(len(data))
        end = min(start + draw.choice([16, 4096, 70_000]), len(data))
        data[start:end] = draw.randbytes(end - start)
    if seed % 7 == 0:
        start = draw.randrange(12_288)
        data[start : start + 8] = draw.randbytes(8)
    return bytes(data)


def test_a_work_file_that_is_spoilt_anywhere_gives_the_same_build(tiny: Corpus):
    before = content(tiny.version)
    work = tiny.folder / "artifacts" / ".work" / "t.duckdb"
    good = work.read_bytes()
    told = 0
    for seed in range(42):
        work.write_bytes(spoilt(good, seed))
        said: list[str] = []
        report = Report(quiet=True)
        report.line = said.append
        assert tiny.run(report=report, threads=1).status == "same", seed
        told += any(line.endswith(": starting over") for line in said)
        assert content(tiny.version) == before, seed
    assert told > 20


def test_a_log_of_the_work_file_that_is_noise(tiny: Corpus):
    before = content(tiny.version)
    Path(f"{tiny.folder}/artifacts/.work/t.duckdb.wal").write_bytes(random.Random(0).randbytes(5_000))
    assert tiny.run().status == "same"
    assert content(tiny.version) == before


@pytest.mark.parametrize(
    "spoil",
    [
        "update work.main.stored set made_from = '{'",
        'drop table work.measures."{table}"',
        "drop table work.main.stored; create table work.main.stored (name varchar)",
    ],
)
def test_a_work_file_whose_own_records_are_wrong(tiny: Corpus, spoil: str):
    before = content(tiny.version)
    with duckdb.connect() as run:
        run.execute(f"attach '{tiny.folder}/artifacts/.work/t.duckdb' as work")
        ((table,),) = run.execute(
            "select table_name from duckdb_tables() where table_name like 'content__%'"
        ).fetchall()
        run.execute(spoil.replace("{table}", table))
    said: list[str] = []
    report = Report(quiet=True)
    report.line = said.append
    assert tiny.run(report=report).status == "same"
    assert [line for line in said if line.startswith("the work file is damaged: ") and line.endswith(": starting over")]
    assert content(tiny.version) == before


@pytest.mark.parametrize("most", [10, 13])
def test_too_few_open_files(tiny: Corpus, most: int):
    tiny.configure("stages = []\nshard_rows = 1", version="v2")
    done = cli(tiny, program=f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({most}, {most}))")
    assert (done.returncode, errors(done).splitlines()[-2:]) == (
        1,
        ["error: corpus-sql: this process may open too few files", "    Raise `ulimit -n`, and run again."],
    )
    assert "v2" not in names(tiny.version.parent)
    assert tiny.run().status == "published"  # and what could not be removed without a file handle is gone
    assert names(tiny.version.parent) == ["v1", "v2"]


def test_a_udf_that_gets_no_memory(corpus: Corpus):
    corpus.source("s", ["one"])
    for name, text in {
        "udfs/odd.py": (
            "import pyarrow as pa\nfrom corpus_sql.functions import udf\n\n\n"
            "@udf(args=('VARCHAR',), returns='BIGINT')\n"
            "def odd_number(texts):\n    raise MemoryError('no room') if len(texts) else None\n"
        ),
        "sql/measures/odd.sql": (
            "-- odd: a number.\n--\n-- column: id VARCHAR | the document\n-- column: n BIGINT | a number\n"
            "select\n    id,\n    odd_number(text) as n\nfrom read.documents\n"
        ),
    }.items():
        (corpus.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (corpus.folder / name).write_text(text)
    with pytest.raises(DataError) as error:
        corpus.run("stages = []")
    assert str(error.value) == (
        "corpus-sql: the system gives this process too little memory\n"
        "    Raise `ulimit -v`, or free some memory, and run again."
    )


def test_a_folder_where_the_work_file_belongs(tiny: Corpus):
    work = tiny.folder / "artifacts" / ".work" / "t.duckdb"
    work.unlink()
    work.mkdir()
    with pytest.raises(DataError) as error:
        tiny.run()
    assert str(error.value) == (
        f'{work}: the work file cannot be opened: IO Error: Could not read from file "{work}": Is a directory\n'
        "    Mend its rights, or point [paths] work elsewhere."
    )
    assert work.is_dir()


# ------------------------------------------------------------------------------------------------------ full disks


def noise(n: int) -> str:
    """A text of n words that does not compress."""
    return " ".join(hashlib.sha256(str(i).encode()).hexdigest() for i in range(n))


def test_the_disk_of_the_work_folder_is_full(corpus: Corpus):
    corpus.source("s", [noise(10_000)])
    corpus.configure()
    done = cli(corpus, file_limit=300_000)
    assert done.returncode == 1
    head, *rest = errors(done).splitlines()
    assert head.startswith(f"error: {corpus.folder}/artifacts/.work: ") and head.endswith("File too large")
    assert rest == ["    Raise `ulimit -f`, and run again."]
    assert names(corpus.version.parent) == []
    assert cli(corpus).returncode == 0


def test_the_disk_of_the_build_is_full(corpus: Corpus):
    corpus.source("s", ["short"])
    corpus.run("stages = []")
    (corpus.version / "config.toml").write_text("an earlier version")
    before = content(corpus.version)
    corpus.configure("stages = []" + "\n# a long comment" * 10_000, version="v2")
    done = cli(corpus, file_limit=100_000)
    assert (done.returncode, errors(done)) == (
        1,
        f"error: {corpus.version.parent}: takes no more: File too large\n    Raise `ulimit -f`, and run again.",
    )
    assert names(corpus.version.parent) == ["v1"]
    assert content(corpus.version) == before
    assert cli(corpus).returncode == 0
    assert names(corpus.version.parent) == ["v1", "v2"]


def test_a_disk_with_too_little_room_is_refused_before_writing(tiny: Corpus, monkeypatch: pytest.MonkeyPatch):
    class Usage:
        free = 3

    monkeypatch.setattr("corpus_sql.publish.shutil.disk_usage", lambda path: Usage)
    tiny.configure(version="v2")
    with pytest.raises(DataError) as error:
        tiny.run()
    assert str(error.value) == (
        f"{tiny.version.parent}: 0.0 MiB free, about 0.0 MiB needed for the shards\n"
        "    Free some disk and run again; what was measured is kept."
    )
    assert names(tiny.version.parent) == ["v1"]


def test_a_file_where_a_folder_belongs(corpus: Corpus):
    corpus.source("s", ["one"])
    corpus.configure()
    corpus.version.parent.write_text("in the way")
    done = cli(corpus)
    message = f"{corpus.version.parent}: is a file, where a folder belongs\n    {ELSEWHERE}"
    assert (done.returncode, done.stderr) == (2, f"error: {message}\n")
    assert corpus.version.parent.read_text() == "in the way"


ELSEWHERE = "Move it away, or choose another folder."


@pytest.mark.parametrize("place", ["artifacts/.work", "artifacts/corpus/t", "artifacts/corpus/t/reports"])
def test_a_target_that_cannot_be_made_is_told_before_the_work(corpus: Corpus, place: str):
    corpus.source("s", ["one"])
    corpus.configure()
    path = corpus.folder / place
    path.parent.mkdir(exist_ok=True)
    path.symlink_to("nowhere")
    with pytest.raises(ConfigError) as error:
        corpus.run(emit="none" if place.endswith("reports") else "all")
    assert str(error.value) == f"{path}: is a link to nowhere, which is not there\n    Mend the link."
    assert not (corpus.folder / "artifacts" / ".work").exists()


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch):
    """read_only(folder): the system says that nobody may write there. Root may write everywhere, so it is made up."""

    def make(*folders: Path) -> None:
        may = os.access
        monkeypatch.setattr(
            "corpus_sql.files.os.access", lambda path, how: Path(path) not in folders and may(path, how)
        )

    return make


def test_a_read_only_target_is_told_by_check_and_run(corpus: Corpus, read_only):
    corpus.source("s", ["one"])
    corpus.configure()
    artifacts = corpus.folder / "artifacts"
    read_only(artifacts, artifacts / "corpus")
    fix = "Mend its rights, or choose another folder."
    message = "\n".join(f"{path}: cannot be written into\n    {fix}" for path in (artifacts, artifacts / "corpus"))
    assert "\n".join(map(str, checking.check(corpus.config).problems)) == message
    with pytest.raises(ConfigError) as error:
        corpus.run()
    assert str(error.value) == message


def test_commands_tell_a_target_that_cannot_be_written_before_they_read(tiny: Corpus, read_only):
    read_only(tiny.folder, tiny.version.parent, tiny.folder / "artifacts" / "corpus")
    source = tiny.folder / "x.txt"
    source.write_text("a text")
    calls = {
        tiny.version.parent: [
            lambda: reporting.report(tiny.version),
            lambda: sampling.sample(tiny.version, "stratified"),
        ],
        tiny.folder: [lambda: exporting.export("jsonl", tiny.version, tiny.folder / "out")],
        tiny.folder / "artifacts" / "corpus": [
            lambda: importing.import_files(
                "text",
                [source],
                source="x",
                config_path=tiny.config,
                license_spdx="MIT",
                data_class="self-written",
                url="https://example.org",
                fetched_at="2026-01-02T03:04:05Z",
            ),  # fmt: skip
            lambda: fetching.fetch(tiny.config),
        ],
    }
    for folder_, tried in calls.items():
        for call in tried:
            with pytest.raises(ConfigError) as error:
                call()
            assert str(error.value) == (
                f"{folder_}: cannot be written into\n    Mend its rights, or choose another folder."
            )


# ------------------------------------------------------------------------------------------------------- raw files


def test_a_raw_file_that_changes_after_the_gate(corpus: Corpus, monkeypatch: pytest.MonkeyPatch):
    corpus.source("s", ["one", "two"])
    corpus.configure()
    name = "s/20260102/part-00000.jsonl.zst"
    raw = corpus.folder / "artifacts" / "corpus" / "raw" / name
    listed = corpus.rows["s"]["files"][0]
    judge = build.ledger.gate

    def gate(config, **options):
        passed = judge(config, **options)
        other = Corpus(corpus.folder / "other")
        other.source("s", ["one", "changed"])
        raw.write_bytes((other.folder / "artifacts" / "corpus" / "raw" / name).read_bytes())
        return passed

    monkeypatch.setattr("corpus_sql.ledger.gate", gate)
    with pytest.raises(DataError) as error:
        corpus.run()
    now = raw.read_bytes()
    assert str(error.value) == (
        f"{name}: {len(now)} bytes with SHA-256 {hashlib.sha256(now).hexdigest()} were read, the ledger lists "
        f"{listed['bytes']} bytes with SHA-256 {listed['sha256']}\n"
        "    It was changed while it was read, or since the ledger was written: restore it, or import it anew."
    )
    assert not corpus.version.exists()


def test_a_truncated_raw_file_is_named_with_its_offset(corpus: Corpus):
    corpus.source("s", [noise(200)] * 3, frames=3)
    name = "s/20260102/part-00000.jsonl.zst"
    raw = corpus.folder / "artifacts" / "corpus" / "raw" / name
    whole = raw.read_bytes()
    second_frame = whole.index(whole[:4], 4)
    raw.write_bytes(whole[: second_frame + 100])
    cut = raw.read_bytes()
    corpus.rows["s"]["files"][0] |= {"bytes": len(cut), "sha256": hashlib.sha256(cut).hexdigest()}
    (corpus.folder / "artifacts" / "corpus" / "LEDGER.jsonl").write_text(json.dumps(corpus.rows["s"]) + "\n")
    with pytest.raises(DataError) as error:
        corpus.run("stages = []")
    assert str(error.value).startswith(
        f"{name}: is truncated: the zstd frame at byte {second_frame} does not end within the file's {len(cut)} bytes; "
    )
    assert not corpus.version.exists()


# ------------------------------------------------------------------------------------------------------------ audits


def test_an_audit_that_finds_something_stops_the_build(tiny: Corpus):
    audit = tiny.folder / "sql" / "audits" / "no_second.sql"
    audit.parent.mkdir(parents=True)
    audit.write_text("-- no_second: No document is the second.\nselect id, k from documents where k >= 1\n")
    tiny.configure(version="v2")
    with pytest.raises(AuditError) as error:
        tiny.run()
    assert str(error.value) == (
        "audit no_second: No document is the second. It is not so: id='s:1', k=1; id='s:2', k=2\n"
        "    Nothing was published."
    )
    assert names(tiny.version.parent) == ["v1"]


# -------------------------------------------------------------------------------------------- texts that must not stay

REJECTED, QUARANTINED, KEPT = "xylographer", "quinquereme", "weathercock"


def places(folder: Path, word: str) -> list[str]:
    """Return every file, or column of a Parquet file, that holds a word."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            found += [f"{name}: {column}" for column in table.column_names if word in repr(table[column].to_pylist())]
        elif word.encode() in path.read_bytes():
            found.append(name)
    return found


@pytest.mark.parametrize("keep", [True, False])
def test_rejected_and_quarantined_texts(corpus: Corpus, keep: bool):
    made_corpus.fill(corpus, 12)
    near = made_corpus.text("en", 300)
    item = made_corpus.PROTECTED.replace("lighthouses", f"{REJECTED}s")
    (corpus.folder / "eval" / "items.jsonl").write_text(f'{{"id": "item", "text": "{item}"}}\n')
    corpus.source(
        "s",
        [
            f"{REJECTED} alone",  # too few words
            f"{near} {KEPT}",
            f"{near} {KEPT} {REJECTED}",  # a near duplicate
            f"{made_corpus.text('en', 301)} {item}",  # contaminated
            f"{WORDS} {REJECTED} " * 40,  # repeats itself
            raw_line(f"{REJECTED} with a title", title=f"{REJECTED}, a story"),
            raw_line(f"{QUARANTINED} of another licence", license_spdx="MIT"),
            f'{{"text": "{QUARANTINED}'.encode(),
            f'{{"text": "{QUARANTINED}", "text": "twice"}}'.encode(),
            raw_line("t").replace(b'"t"', f'["{QUARANTINED}"]'.encode()),
            f'["{QUARANTINED}"]'.encode(),
            raw_line("t", fetched_at=f"{QUARANTINED} o'clock"),
        ],
    )
    outcome = corpus.run(f"keep_rejected_text = {str(keep).lower()}\n{made_corpus.CONFIG}")
    found = dict(outcome.written.manifest["filters"]) | outcome.written.manifest["dedup"]
    assert min(found["gopher"], found["repetition"], found["near_dropped"], found["decontaminated"]) >= 1
    assert sum(outcome.written.manifest["quarantined"].values()) >= 6
    assert "shard-00000-of-00001.parquet: text" in places(corpus.version, KEPT)
    if keep:
        assert "_audit/rejected.parquet: text" in places(corpus.version, REJECTED)
        assert "_audit/quarantine.parquet: raw" in places(corpus.version, QUARANTINED)
    else:
        # the protected items are an input of the build, kept whole; they are the user's own, not a rejected text
        items = "_audit/inputs/protected/0/items.jsonl"
        assert places(corpus.version, REJECTED) + places(corpus.version, QUARANTINED) == [items]
