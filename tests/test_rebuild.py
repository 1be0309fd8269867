"""A build made again from its folder and the raw files alone: byte for byte, and whoever changed a value is found."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import made_corpus
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Corpus, raw_line
from test_build import SHOUT_MEASURE, SHOUT_STAGE, SHOUT_UDF, put
from test_language import trained
from typer.testing import CliRunner
from verify_cases import Copy

from corpus_sql import files, model_files, rebuilding, verifying
from corpus_sql.cli import app
from corpus_sql.import_splitting import children
from corpus_sql.opened import Opened

GOPHER = """-- gopher: only what has three words.
--
-- config: min_n_words | words
select
    d.id as id,
    {{ hits([low("n_words")]) }} as hits
from {{ input }} as d
join measures.words using (id)
join relations.languages using (id)
"""
CONFIG = """
stages = ["lang", "gopher", "shout", "exact_dedup", "expansion", "near_dedup", "decontaminate", "pii"]
shard_rows = 4
keep_rejected_text = false
[lang]
keep = ["*"]
min_score = 0.0
model = "models/mine.bin"
[gopher]
min_n_words = 3
[shout]
max_mark_ratio = 0.2
[decontaminate]
protected = ["eval/*/*.jsonl"]
[split]
method = "group_hash"
against = ["artifacts/corpus/t/v0"]
"""


def fill(corpus: Corpus) -> None:
    """A project in which everything that can decide is there: own files of each kind, protected files, a model."""
    text = made_corpus.text
    book = raw_line(text("en", 0) + "\n\n" + text("en", 1), source_record_id="book")
    pieces = [json.dumps(one, ensure_ascii=False).encode() for one in children(json.loads(book), "a:0", 500)]
    corpus.source("a", [
        book, *pieces,
        text("en", 2), text("en", 2), text("en", 2) + " Again.",
        text("zh", 3) + "请写信给anna@example.org。", "Hey! " * 40, "Short.", b"{", b" ",
        text("hi", 4) + " " + made_corpus.PROTECTED,
    ], parts=2)  # fmt: skip
    corpus.source("b", [raw_line(text("en", i), parent_ids=["a:2"], source_record_id=f"b{i}") for i in (5, 6)])
    put(corpus, "udfs/shout.py", SHOUT_UDF)
    put(corpus, "sql/measures/shout.sql", SHOUT_MEASURE)
    put(corpus, "sql/stages/shout.sql", SHOUT_STAGE)
    put(corpus, "sql/stages/gopher.sql", GOPHER)
    put(corpus, "sql/stages/unused.sql", SHOUT_STAGE.replace("-- shout:", "-- unused:"))
    item = {"id": "riddle", "text": made_corpus.PROTECTED}
    put(corpus, "eval/one/items.jsonl", json.dumps(item) + "\n")
    put(corpus, "eval/two/items.jsonl", json.dumps({**item, "id": "another"}) + "\n")
    put(corpus, "models/mine.bin", "")
    shutil.copyfile(trained("softmax", corpus.folder), corpus.folder / "models" / "mine.bin")
    raw = corpus.folder / "artifacts" / "corpus" / "raw" / "a"
    (raw / "notes.txt").write_text("lies there, is not read")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("whole"))
    fill(corpus)
    corpus.configure('stages = []\n[split]\nmethod = "group_hash"', version="v0")
    corpus.run()
    corpus.run(CONFIG)
    return corpus


@pytest.fixture(scope="module")
def again(whole: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same build, made again from its folder."""
    opened = Opened(whole.version)
    try:
        return rebuilding.make(opened, tmp_path_factory.mktemp("again"))
    finally:
        opened.close()


def moved(whole: Corpus, folder: Path, *versions: str) -> Path:
    """The version folders and the raw files in another place, and nothing else."""
    corpus = folder / "corpus"
    for version in ("v1", *versions):
        shutil.copytree(whole.version.parent / version, corpus / "t" / version)
    shutil.copytree(whole.version.parents[1] / "raw", corpus / "raw")
    return corpus / "t" / "v1"


def rebuilt(folder: Path) -> tuple[str, str, list[str]]:
    """Outcome and sentence of the check, and what it found."""
    found = verifying.verify(folder, rebuild=True)
    (check,) = [one for one in found.checks if one.name == "rebuild"]
    return check.outcome, check.says, [one.what for one in found.findings if one.check == "rebuild"]


# what is kept, and that it is enough


def test_the_folder_the_raw_files_and_the_versions_are_enough(whole: Corpus, tmp_path: Path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    folder = moved(whole, tmp_path / "far", "v0")
    outcome, says, found = rebuilt(folder)
    assert (outcome, found) == ("ok", [])
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert says == f"{len(files) - 2} files made again"
    assert list(scratch.iterdir()) == []


def test_what_decides_is_kept_and_nothing_else(whole: Corpus):
    inputs = whole.version / "_audit" / "inputs"
    kept = {path.relative_to(inputs).as_posix(): path for path in inputs.rglob("*") if path.is_file()}
    assert sorted(kept) == [
        "model/mine.bin",
        "project/sql/measures/shout.sql",
        "project/sql/stages/gopher.sql",
        "project/sql/stages/shout.sql",
        "project/udfs/shout.py",
        "protected/0/one/items.jsonl",
        "protected/1/two/items.jsonl",
    ]
    record = json.loads((whole.version / "_audit" / "build.json").read_text())
    assert record["inputs"] == {name: files.sha256_file(path) for name, path in kept.items()}
    assert record["replaced"] == ["sql/stages/gopher.sql"]
    assert "unused" not in (whole.version / "_audit" / "build.json").read_text()


def test_the_card_says_that_the_protected_items_are_in_it(whole: Corpus, corpus: Corpus):
    said = (
        "`_audit/inputs/protected/` holds the protected evaluation items whole, whatever `keep_rejected_text` says: "
        "who publishes them gives the evaluation away."
    )
    assert said in " ".join((whole.version / "README.md").read_text().split())
    corpus.source("a", ["A text."])
    corpus.run("stages = []")
    assert "inputs" not in (corpus.version / "README.md").read_text()


@pytest.mark.parametrize("format", ["oscar", "jsonl", "parquet-by-split"])
def test_exports_hold_no_protected_item(whole: Corpus, tmp_path: Path, format: str):
    assert CliRunner().invoke(app, ["export", format, str(whole.version), str(tmp_path / "out")]).exit_code == 0
    assert [one.name for one in (tmp_path / "out").rglob("*") if "items" in one.name or "ledger" in one.name] == []


def test_no_absolute_path_is_in_build_json(corpus: Corpus, tmp_path: Path):
    corpus.source("a", [made_corpus.text("en", i) for i in range(3)])
    put(corpus, "eval/items.jsonl", json.dumps({"id": "riddle", "text": made_corpus.PROTECTED}) + "\n")
    folder = corpus.folder
    corpus.run(
        f'stages = ["decontaminate"]\n[paths]\nartifacts = "{folder}/artifacts"\nwork = "{folder}/work"\n'
        f'[decontaminate]\nprotected = ["{folder}/eval/*.jsonl"]\n'
        f'[source.other]\nurl = ["file://{folder}/other.jsonl"]\nformat = "jsonl"\n'
        'license_spdx = "MIT"\ndata_class = "public"'
    )
    record = (corpus.version / "_audit" / "build.json").read_text()
    assert str(folder) not in record
    config = json.loads(record)["config"]
    assert (config["paths"]["work"], config["decontaminate"]["protected"]) == ("work", ["*.jsonl"])
    assert config["source"]["other"]["url"] == ["other.jsonl"]
    assert [one for one in verifying.verify(corpus.version, rebuild=True).errors] == []


def test_a_model_of_the_package_and_none_at_all_are_not_kept(corpus: Corpus, monkeypatch: pytest.MonkeyPatch):
    """Whoever has no model builds by script; made again where the model is installed, it is by script again."""
    corpus.source("a", ["The first text of all.", "的第二个文本"])
    with monkeypatch.context() as patched:
        patched.setattr(model_files, "shipped", lambda: None)
        corpus.run('stages = ["lang"]\n[lang]\nkeep = ["*"]')
    assert not (corpus.version / "_audit" / "inputs").exists()
    assert rebuilt(corpus.version)[::2] == ("ok", [])


# what is not here


def test_an_earlier_build_that_is_not_here(whole: Corpus, tmp_path: Path):
    said = (
        "t/v0: is not here as it was then: it would be beside this one, or where [split], [exact_dedup] or "
        "[near_dedup] against names it"
    )
    assert rebuilt(moved(whole, tmp_path)) == ("not checked", said, [])


def test_raw_files_that_are_not_here_or_others(whole: Corpus, tmp_path: Path):
    folder = moved(whole, tmp_path, "v0")
    raw = tmp_path / "corpus" / "raw"
    file = raw / "a" / "20260102" / "part-00001.jsonl.zst"
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    outcome, says, _ = rebuilt(folder)
    assert (outcome, says.split(": has the SHA-256 ")[0]) == ("not checked", "a/20260102/part-00001.jsonl.zst")
    file.unlink()
    assert rebuilt(folder)[1] == f"{raw}: the raw files are not here: a/20260102/part-00001.jsonl.zst"


def test_what_a_link_leads_to_is_not_run(whole: Corpus, tmp_path: Path):
    folder = moved(whole, tmp_path, "v0")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    udfs = folder / "_audit" / "inputs" / "project" / "udfs"
    shutil.rmtree(udfs, ignore_errors=True)
    udfs.parent.mkdir(parents=True, exist_ok=True)
    udfs.symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(rebuilding.RebuildError) as raised:  # of a folder whose sums were written anew
        rebuilding.make(Opened(folder), tmp_path)
    said = "holds links, which a build does not have; what they lead to is not read: _audit/inputs/project/udfs"
    assert str(raised.value) == f"{folder}: {said}"
    assert not (tmp_path / "ran").exists()


def test_other_versions_are_named_before_what_differs(whole: Corpus, tmp_path: Path):
    copy = Copy(whole, tmp_path)
    here = json.loads((copy.build / "_audit" / "build.json").read_text())["tools"]["numpy"]
    copy.record(lambda record: record["tools"].update(numpy="0.1"))
    outcome, says, _ = rebuilt(copy.build)
    assert outcome == "not checked"
    assert says == (
        f"made with numpy 0.1 (here {here}): the same bytes are not promised; _audit/build.json is another: tools.numpy"
    )


def test_a_failed_rebuild_leaves_nothing_behind(whole: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    copy = Copy(whole, tmp_path / "copy")
    (copy.build / "_audit" / "inputs" / "project" / "sql" / "stages" / "shout.sql").write_text("-- shout: no query.\n")
    copy.sums()
    outcome, _, found = rebuilt(copy.build)
    assert outcome == "error"
    assert found[0].startswith("what the folder holds makes no build: ")
    assert list(scratch.iterdir()) == []


# forgeries: each changes one value, and would write the sums anew


def another(value: Any, kind: pa.DataType) -> Any:
    """Another value of a type."""
    if pa.types.is_boolean(kind):
        return not value
    if pa.types.is_integer(kind):
        return (value or 0) + 1
    if pa.types.is_floating(kind):
        return (value or 0.0) + 0.5
    if pa.types.is_fixed_size_binary(kind):
        return bytes(kind.byte_width) if value != bytes(kind.byte_width) else b"\1" * kind.byte_width
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return (value or b"") + b"x"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [*(value or []), None]
    if pa.types.is_struct(kind):
        return None if value is not None else {}
    return (value or "") + "x"


def tables(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet"))


def forged(table: pa.Table, column: int, row: int) -> pa.Table:
    """The table with another value in one cell; where it has no row, with a row of nulls."""
    field = table.schema.field(column)
    if not table.num_rows:
        return pa.table([pa.nulls(1, one.type) for one in table.schema], schema=table.schema)
    values = table.column(column).to_pylist()
    values[row] = another(values[row], field.type)
    return table.set_column(column, field, pa.array(values, field.type)).cast(table.schema)


def test_one_value_of_any_column_of_any_table(whole: Corpus, again: Path, tmp_path: Path):
    copy = Copy(whole, tmp_path)
    empty = []
    for name in tables(copy.build):
        content, table = (copy.build / name).read_bytes(), pq.read_table(copy.build / name)
        empty += [name] * (not table.num_rows)
        row = max(table.num_rows - 1, 0)
        for column, field in enumerate(table.schema.names):
            pq.write_table(forged(table, column, row), copy.build / name, compression="zstd")
            (said,) = rebuilding.differing(copy.build, again)
            assert said.startswith(f"{name} is another: 1 row, the first "), (name, field)
        (copy.build / name).write_bytes(content)
    assert list(rebuilding.differing(copy.build, again)) == []
    assert empty == []


def nodes(value: Any, path: tuple = (), depth: int = 3) -> Iterator[tuple]:
    """The path of each key, down to a depth."""
    for key in value if isinstance(value, dict) and len(path) < depth else ():
        yield (*path, key)
        yield from nodes(value[key], (*path, key), depth)


def forge(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, list):
        return [*value, "x"]
    return {**value, "forged": 1} if isinstance(value, dict) else "x"


@pytest.mark.parametrize("name", ["_audit/build.json", "_MANIFEST.json", "croissant.json"])
def test_any_key_of_the_records(whole: Corpus, again: Path, tmp_path: Path, name: str):
    copy = Copy(whole, tmp_path)
    path = copy.build / name
    content = path.read_text()
    whole_record = json.loads(content)
    paths = list(nodes(whole_record))
    assert {path[0] for path in paths} == set(whole_record)
    for keys in paths:
        record = json.loads(content)
        inner = record
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = forge(inner[keys[-1]])
        path.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
        (said,) = rebuilding.differing(copy.build, again)
        assert said.startswith(f"{name} is another: {'.'.join(keys)}"), keys


def test_any_line_of_the_card_and_of_what_ran(whole: Corpus, again: Path, tmp_path: Path):
    copy = Copy(whole, tmp_path)
    for name in ("README.md", "_audit/compiled/stages/gopher.sql", "_audit/ledger.jsonl"):
        content = (copy.build / name).read_text()
        lines = content.split("\n")
        for i in range(len(lines)):
            (copy.build / name).write_text("\n".join([*lines[:i], lines[i] + " ", *lines[i + 1 :]]))
            assert list(rebuilding.differing(copy.build, again)) == [
                f"{name} is another: the first line that differs is {i + 1}"
            ]
        (copy.build / name).write_text(content)


def test_the_rest_of_the_folder(whole: Corpus, again: Path, tmp_path: Path):
    copy = Copy(whole, tmp_path)
    copy.flip("_audit/hashes.u64", 9)
    (copy.build / "_audit" / "compiled" / "stages" / "lang.sql").unlink()
    (copy.build / "_audit" / "more.txt").write_text("more")
    assert list(rebuilding.differing(copy.build, again)) == [
        "_audit/compiled/stages/lang.sql is not there",
        "_audit/hashes.u64 is another: the first byte that differs is 9",
        "there is _audit/more.txt, which no build of this makes",
    ]


def test_all_tables_at_once_and_the_sums_written_anew(whole: Corpus, tmp_path: Path):
    """The whole way, through the command: a measure that no rule judged by, a pair's similarity, the card."""
    copy = Copy(whole, tmp_path)
    words = copy.build / "_audit" / "measures" / "words.parquet"
    table = pq.read_table(words)
    pq.write_table(forged(table, table.schema.names.index("n_words"), 3), words, compression="zstd")
    card = copy.build / "README.md"
    card.write_text(card.read_text().replace("self-written", "public"))
    copy.sums()
    result = CliRunner().invoke(app, ["verify", str(copy.build), "--rebuild", "--json"])
    assert result.exit_code == 1
    found = [one["what"] for one in json.loads(result.stdout)["findings"] if one["check"] == "rebuild"]
    assert found == [
        "made again, README.md is another: the first line that differs is 69",
        "made again, _audit/measures/words.parquet is another: 1 row, the first id a:2",
    ]


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("model_files", "lang.model"), "script"),
        (("model_files", "decontaminate.protected"), "0" * 64),
        (("inputs", "project/udfs/shout.py"), "0" * 64),
        (("config", "sources"), ["a"]),
        (("coverage", "words", "n_words"), 3),
        (("corpus_sql",), "9.9"),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_a_key_that_the_rebuild_itself_reads(whole: Corpus, tmp_path: Path, keys: tuple[str, ...], value: Any):
    copy = Copy(whole, tmp_path)

    def change(record: dict) -> None:
        for key in keys[:-1]:
            record = record[key]
        record[keys[-1]] = value

    copy.record(change)
    outcome, says, found = rebuilt(copy.build)
    assert outcome == ("not checked" if keys == ("corpus_sql",) else "error")
    assert any("_audit/build.json is another: " in one for one in (says, *found))
