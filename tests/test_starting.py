"""Init: what a new project holds, what the demo holds, and what is never overwritten."""

import json
import tomllib
from pathlib import Path

import pytest

from corpus_sql import config as config_module
from corpus_sql import ledger, raw
from corpus_sql.errors import ConfigError
from corpus_sql.project import builtin, open_project
from corpus_sql.starting import init


def tree(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def read_demo(root: Path) -> dict[str, list[dict]]:
    names = tomllib.loads((root / "corpus.toml").read_text())["stages"]
    stage_keys = {stage: {"min_n_words", "jaccard_threshold"} for stage in names}
    config = config_module.load(root / "corpus.toml", stage_keys=stage_keys, default=builtin() / "configs/default.toml")
    rows = {"documents": [], "quarantine": [], "files": []}
    for kind, batch in raw.read(ledger.gate(config).files, config.max_line_bytes):
        rows[kind] += batch.to_pylist()
    return rows


def test_a_project_to_start_from(tmp_path):
    written = init(tmp_path / "new")
    names = ["corpus.toml", "sql/README.md", "udfs/README.md"]
    assert written == [tmp_path / "new" / name for name in names]
    assert list(tree(tmp_path / "new")) == names
    assert open_project(tmp_path / "new/corpus.toml").config.sources == ("mine",)


def test_every_table_of_the_start_that_is_commented_out_is_valid_when_it_is_not(tmp_path):
    init(tmp_path)
    path = tmp_path / "corpus.toml"
    text = path.read_text().replace("min_n_words = 50  ", "# min_n_words = 50")
    text = text.replace("# [gopher.zh]", "[gopher.zh]").replace("# min_n_words = 40", "min_n_words = 40")
    text = text.replace("# min_n_words = false", "min_n_words = false")
    text = text.replace("# [decontaminate]", "[decontaminate]").replace("# protected =", "protected =")
    path.write_text(text)
    config = open_project(path).config
    assert config.values["gopher"]["zh"]["min_n_words"] == 40
    assert "min_n_words" not in config.values["gopher"]
    assert config.values["decontaminate"]["protected"] == ["eval/*.jsonl"]


def test_the_demo_passes_the_gate_and_the_reader(tmp_path):
    init(tmp_path, demo=True)
    rows = read_demo(tmp_path)
    assert [(r["source_id"], r["lines"], r["documents"], r["quarantined"], r["blank"]) for r in rows["files"]] == [
        ("selfwritten-zh", 43, 38, 4, 1),
        ("selfwritten-en", 35, 28, 6, 1),
        ("selfwritten-hi", 9, 9, 0, 0),
    ]
    assert [r["reason"] for r in rows["quarantine"]] == [
        "invalid_json",
        "missing_text",
        "null_text",
        "empty_text",
        "duplicate_key",
        "lone_surrogate",
        "text_not_string",
        "not_an_object",
        "invalid_fetched_at",
        "license_mismatch",
    ]


def test_the_raw_lines_of_the_demo_are_the_lines_of_its_readable_files(tmp_path):
    init(tmp_path, demo=True)
    texts = {(r["source_id"], r["k"]): r["url"] for r in read_demo(tmp_path)["documents"]}
    for path in (builtin() / "configs/demo/documents").rglob("*.jsonl"):
        for k, line in enumerate(path.read_text("utf-8").removesuffix("\n").split("\n")):
            url = texts.pop((path.parts[-3], k), None)
            assert url is None or json.loads(line)["url"] == url
    assert texts == {}


def test_the_demo_is_the_same_every_time(tmp_path):
    init(tmp_path / "one", demo=True)
    init(tmp_path / "two", demo=True)
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


@pytest.mark.parametrize("demo", [False, True])
def test_init_again_leaves_everything_as_it_is(tmp_path, demo):
    init(tmp_path, demo)
    before = tree(tmp_path)
    assert init(tmp_path, demo) == []
    assert tree(tmp_path) == before


def test_init_again_brings_back_what_is_missing(tmp_path):
    init(tmp_path, demo=True)
    before = tree(tmp_path)
    (tmp_path / "sql/README.md").unlink()
    assert init(tmp_path, demo=True) == [tmp_path / "sql/README.md"]
    assert tree(tmp_path) == before


def test_a_changed_file_is_not_overwritten_and_nothing_else_is_written(tmp_path):
    (tmp_path / "corpus.toml").write_text("mine")
    (tmp_path / "sql").write_text("a file")
    (tmp_path / "other.txt").write_text("not in the way")
    before = tree(tmp_path)
    with pytest.raises(ConfigError) as error:
        init(tmp_path, demo=True)
    assert [str(one) for one in error.value.problems] == [
        f"{tmp_path}/corpus.toml: is there already, with other content\n    Move it away, or choose another folder.",
        f"{tmp_path}/sql/README.md: cannot be written: a part of its path is a file\n    Choose another folder.",
    ]
    assert tree(tmp_path) == before


def test_a_file_is_no_folder_to_start_in(tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(ConfigError) as error:
        init(path)
    assert [str(one) for one in error.value.problems] == [f"{path}: is not a folder"]


def test_the_demo_does_not_join_another_corpus(tmp_path):
    row = {"source_id": "mine", "url": "u", "license_spdx": "MIT", "data_class": "public", "retrieved": "2026-01-01"}
    path = tmp_path / "artifacts/corpus/LEDGER.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(row | {"files": []}))
    with pytest.raises(ConfigError) as error:
        init(tmp_path, demo=True)
    assert [str(one) for one in error.value.problems] == [
        f"{path}: has the sources mine, which are not the demo's\n    Choose another folder for the demo."
    ]
    assert not (tmp_path / "corpus.toml").exists()
