"""`run --first N`: quick, whole in itself, and never to be taken for the corpus."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
import zstandard
from conftest import Corpus
from typer.testing import CliRunner

from corpus_sql import earlier, exporting, raw, raw_stream, reporting
from corpus_sql.cli import app
from corpus_sql.errors import ConfigError
from corpus_sql.explain import open_build
from corpus_sql.verifying import verify

CONFIG = 'stages = ["exact_dedup"]\n[lang]\nmodel = "script"\n'


def ask(folder: Path, sql: str) -> list[tuple]:
    with open_build(folder) as connection:
        return connection.execute(sql).fetchall()


def look_of(corpus: Corpus, n: int) -> Path:
    return corpus.version.parent / f"v1-first-{n}"


@pytest.fixture
def two(corpus: Corpus) -> Corpus:
    """Source a: two files of 3 lines, of which line 2 is blank and line 3 broken; source b: one line."""
    corpus.source("a", ["text 0", b"", b"{", "text 3", "text 0", "text 5"], parts=2)
    corpus.source("b", ["text b"])
    corpus.configure(CONFIG)
    return corpus


# -------------------------------------------------------------------------------------------- what it holds


def test_the_first_lines_of_each_source_blank_and_broken_ones_among_them(two: Corpus):
    outcome = two.run(first=5)
    assert (outcome.status, outcome.folder) == ("published", look_of(two, 5))
    assert not two.version.exists()
    read = "select source_id, entered, kept, quarantined, blank from reconciliation where seq = 0 order by all"
    assert ask(outcome.folder, read) == [("a", 5, 3, 1, 1), ("b", 1, 1, 0, 0), (None, 6, 4, 1, 1)]
    assert ask(outcome.folder, "select file[:-11], lines, documents from files order by file") == [
        ("a/20260102/part-00000", 3, 1),
        ("a/20260102/part-00001", 2, 2),
        ("b/20260102/part-00000", 1, 1),
    ]
    assert ask(outcome.folder, "select id, verdict from documents order by id") == [
        ("a:0", "keep"), ("a:3", "keep"), ("a:4", "reject"), ("b:0", "keep"),
    ]  # fmt: skip


@pytest.mark.parametrize("first", [1, 2, 3, 4, 6, 1000])
def test_it_holds_what_it_says_wherever_it_ends(two: Corpus, first: int):
    """Within a file, at its end, at the end of all of them, beyond."""
    folder = two.run(first=first).folder
    assert ask(folder, "select sum(lines) from files where source_id = 'a'") == [(min(first, 6),)]
    assert verify(folder).errors == []


def test_files_behind_the_last_line_are_neither_hashed_nor_opened(two: Corpus):
    behind = two.folder / "artifacts/corpus/raw/a/20260102/part-00001.jsonl.zst"
    behind.write_bytes(bytes(len(behind.read_bytes())))
    assert two.run(first=3).status == "published"
    with pytest.raises(ConfigError, match="has the SHA-256"):
        two.run()


def test_other_lines_in_a_file_of_the_same_size_are_another_look(two: Corpus):
    two.run(first=1)
    path = two.folder / "artifacts/corpus/raw/a/20260102/part-00000.jsonl.zst"
    content, size = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes()), path.stat().st_size
    packed = zstandard.ZstdCompressor(19).compress(content.replace(b"text 0", b"word 0")[:-40] + b"\n")
    skipped = size - len(packed) - 8  # a frame that readers skip fills the file up
    path.write_bytes(packed + b"\x50\x2a\x4d\x18" + skipped.to_bytes(4, "little") + bytes(skipped))
    assert path.stat().st_size == size
    assert two.run(first=1).status == "published"  # not the same: a first look takes the place of another
    assert ("text 0",) not in ask(look_of(two, 1), "select text from shards where source_id = 'a'")


def test_a_file_that_is_missing_or_of_another_size_stops_it(two: Corpus):
    (two.folder / "artifacts/corpus/raw/a/20260102/part-00001.jsonl.zst").write_bytes(b"")
    with pytest.raises(ConfigError, match="has 0 bytes, the ledger says"):
        two.run(first=1)


def test_reading_stops_early(corpus: Corpus, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(raw_stream, "CHUNK", 10_000)
    corpus.source("s", [hashlib.sha256(str(i).encode()).hexdigest() * 2 for i in range(20_000)], frames=50)
    ((path,),) = [list((corpus.folder / "artifacts/corpus/raw/s/20260102").iterdir())]
    file = corpus.rows["s"]["files"][0]
    one = raw.RawFile("s", file["path"], path, file["sha256"], file["bytes"], "CC0-1.0")
    told: list[int] = []
    found = list(raw.read([one], 1 << 20, told.append, first=10))
    assert sum(batch.num_rows for kind, batch in found if kind == "documents") == 10
    assert max(told) < 0.2 * file["bytes"] and file["bytes"] > 500_000


# ------------------------------------------------------------------------------------------- what it is called


def test_manifest_card_report_and_verify_say_so(two: Corpus):
    folder = two.run(first=2).folder
    said = "a first look, at the first 2 lines of each source: not the corpus"
    record = json.loads((folder / "_audit/build.json").read_text())
    assert json.loads((folder / "_MANIFEST.json").read_text())["version"] == "v1-first-2"
    assert (record["first"], record["notices"][0]) == (2, said)
    assert f"**This is {said}.** It shows what a config does, quickly; nothing should be trained on it." in (
        folder / "README.md"
    ).read_text("utf-8")
    assert json.loads((folder / "croissant.json").read_text())["description"].endswith(f"This is {said}.")
    composition, page = reporting.report(folder)
    assert f"This is {said}." in composition.read_text("utf-8").split("##")[0]
    assert f"This is {said}." in page.read_text("utf-8").split("<nav")[0]
    assert [one.what for one in verify(folder).findings if "first look" in one.what] == [f"this is {said}"]


def test_it_is_made_again_as_it_was(two: Corpus):
    folder = two.run(first=2).folder
    found = verify(folder, rebuild=True)
    assert found.errors == []
    assert [one.outcome for one in found.checks if one.name == "rebuild"] == ["ok"]


def test_a_whole_build_says_nothing_of_it(two: Corpus):
    folder = two.run().folder
    assert "first" not in json.loads((folder / "_audit/build.json").read_text())
    assert "first look" not in (folder / "README.md").read_text("utf-8")


def test_export_refuses_it(two: Corpus):
    folder = two.run(first=2).folder
    with pytest.raises(ConfigError) as error:
        exporting.export("jsonl", folder, two.folder / "out")
    assert str(error.value) == (
        f"{folder}: is a first look, at the first 2 lines of each source: not the corpus\n"
        "    Run without --first, and export that."
    )


@pytest.mark.parametrize(
    ("table", "config"),
    [
        ("split", '[split]\nmethod = "group_hash"\nagainst = ["{}"]\n'),
        ("exact_dedup", '[exact_dedup]\nagainst = ["{}"]\n'),
    ],
)
def test_no_build_goes_on_from_it(two: Corpus, table: str, config: str):
    folder = two.run(first=2).folder
    two.configure(CONFIG + config.format(folder), version="v2")
    with pytest.raises(ConfigError) as error:
        two.run()
    assert f"{folder} is a first look, at the first 2 lines of each source: not the corpus" in str(error.value)


def test_a_number_that_is_none(two: Corpus):
    with pytest.raises(ConfigError) as error:
        two.run(first=0)
    assert str(error.value) == "--first: 0 is no number of lines\n    Give 1 or more."


# -------------------------------------------------------------------------- the cache, and versions that are there


def content(folder: Path) -> dict[str, bytes]:
    left_out = {"_audit/run.json", "_audit/SHA256SUMS"}
    return {
        name: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (name := str(path.relative_to(folder))) not in left_out
    }


def test_a_first_look_and_the_whole_keep_out_of_each_others_way(two: Corpus):
    whole = content(two.run().folder)
    shutil.rmtree(two.version)
    shutil.rmtree(two.folder / "artifacts/.work")
    look = content(two.run(first=2).folder)
    assert content(two.run().folder) == whole, "the look came into the whole"
    again = two.run(first=2)
    assert again.status == "same" and content(again.folder) == look
    stored = [step for step in again.steps if step.name.startswith(("read.", "measures.", "stages."))]
    assert [step.name for step in stored if step.why] == [], "the whole threw away what the look had measured"
    assert [step.name for step in two.run(plan=True).steps if step.why and step.name.startswith("measures.")] == []


def test_a_look_gives_way_to_the_next_and_a_whole_build_of_that_name_does_not(two: Corpus):
    two.run(first=2)
    two.configure(CONFIG.replace('"exact_dedup"', ""))
    assert two.run(first=2).status == "published"
    two.configure(CONFIG, version="v1-first-4")
    two.run()
    two.configure(CONFIG)
    with pytest.raises(ConfigError, match="the version v1-first-4 is there already"):
        two.run(first=4)


def test_the_command(two: Corpus):
    done = CliRunner().invoke(app, ["run", str(two.config), "--first", "2"])
    assert done.exit_code == 0
    assert done.stderr.splitlines()[0].endswith("a first look, at the first 2 lines of each source: not the corpus")
    assert f"2 documents in 1 shard: {look_of(two, 2)}" in done.stdout
    assert earlier._opened(look_of(two, 2)).manifest["n_docs"] == 2
