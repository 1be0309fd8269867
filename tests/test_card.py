"""The dataset card and its Croissant metadata, read by the programs they are written for."""

import json

import pytest
import yaml
from conftest import Corpus, raw_line

from corpus_sql import card
from corpus_sql.explain import open_build

ENGLISH = "The old ferry left the harbour at seven, and the people on the pier waved until it was out of sight. "
CHINESE = "老人每天清晨都到河边散步，看一看新开的荷花，再慢慢走回家去。"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("card"))
    corpus.source("boats", [raw_line(f"{ENGLISH}Number {n} was the last.", license_spdx="CC0-1.0") for n in range(12)])
    corpus.source("river", [f"{CHINESE}第{n}天。" for n in "一二三四五六七八九"])
    corpus.run("stages = []\nshard_rows = 8\n[split]\nval_permille = 300\n[lang]\nmodel = 'script'")
    return corpus


def front(text: str) -> dict:
    _, head, _ = text.split("---\n", 2)
    return yaml.safe_load(head)


def test_the_hub_finds_what_it_looks_for(built):
    found = front((built.version / "README.md").read_text("utf-8"))
    assert found == {
        "pretty_name": "t v1",
        "license": ["cc0-1.0"],
        "language": ["en", "zh"],
        "size_categories": ["n<1K"],
        "task_categories": ["text-generation"],
        "configs": [{"config_name": "default", "data_files": [{"split": "full", "path": "shard-*.parquet"}]}],
    }


def test_a_norwegian_corpus_is_not_in_the_language_false():
    manifest = {"dataset": "fjord", "version": "2026: a", "n_docs": 5}
    found = yaml.safe_load(card._front(manifest, ["MIT"], ["no", "und", "en"]))
    assert found["language"] == ["no", "en"]
    assert found["pretty_name"] == "fjord 2026: a"


@pytest.mark.parametrize(
    "spdx, name",
    [
        ("CC-BY-SA-4.0", "cc-by-sa-4.0"),
        ("ODC-By-1.0", "odc-by"),
        ("GPL-3.0-or-later", "gpl-3.0"),
        ("GPL-2.0-only", "gpl-2.0"),
        ("GFDL-1.2-or-later", "gfdl"),
        ("CC-PDM-1.0", "other"),
        ("LicenseRef-house", "other"),
        ("MIT OR Apache-2.0", "other"),
        ("GFDL-1.2-only AND MIT", "other"),
    ],
)
def test_a_licence_has_the_hubs_name(spdx, name):
    assert card.hub_license(spdx) == name


def test_one_unknown_licence_is_named_and_several_are_not():
    manifest = {"dataset": "d", "version": "v1", "n_docs": 5}
    one = yaml.safe_load(card._front(manifest, ["MIT", "CC-PDM-1.0"], []))
    assert one["license"] == ["mit", "other"]
    assert one["license_name"] == "cc-pdm-1.0"
    assert one["license_link"] == "https://spdx.org/licenses/CC-PDM-1.0.html"
    own = yaml.safe_load(card._front(manifest, ["LicenseRef-Our House"], []))
    assert (own["license_name"], "license_link" in own) == ("licenseref-our-house", False)
    several = yaml.safe_load(card._front(manifest, ["CC-PDM-1.0", "MIT OR ISC"], []))
    assert (several["license"], several["license_name"], "license_link" in several) == (["other"], "several", False)


@pytest.mark.parametrize(
    "n, size",
    [
        (0, "n<1K"),
        (999, "n<1K"),
        (1000, "1K<n<10K"),
        (100_000_000, "100M<n<1B"),
        (10**12, "n>1T"),
    ],
)
def test_sizes_are_the_hubs(n, size):
    manifest = {"dataset": "d", "version": "v1", "n_docs": n}
    assert yaml.safe_load(card._front(manifest, [], []))["size_categories"] == [size]


def test_datasets_loads_the_folder_and_the_cards_line_filters_a_split(built, tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: the card was not loaded")
    # not by the environment: both read it once, when imported, and every later test of this process would be offline
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with open_build(built.version) as connection:
        wanted = dict(connection.execute("select split, count(*) from shards group by split").fetchall())
    assert wanted["train"] and wanted["val"]
    text = (built.version / "README.md").read_text("utf-8")
    (code,) = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    monkeypatch.chdir(built.folder / "artifacts")
    names: dict = {}
    cached = datasets.load_dataset
    monkeypatch.setattr(datasets, "load_dataset", lambda *a, **k: cached(*a, cache_dir=str(tmp_path), **k))
    exec(code, names)
    assert names["full"].num_rows == sum(wanted.values())
    assert names["train"].num_rows == wanted["train"]
    assert set(names["train"]["split"]) == {"train"}
    assert sorted(names["full"].column_names) == sorted(card._COLUMNS)
    assert list(cached(str(built.version), cache_dir=str(tmp_path))) == ["full"]


def test_mlcroissant_finds_it_valid_and_reads_the_shards_by_it(built):
    mlc = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed: croissant.json was not validated")
    found = mlc.Dataset(jsonld=built.version / "croissant.json")
    assert list(found.metadata.ctx.issues.errors) == []
    warnings = sorted(str(one) for one in found.metadata.ctx.issues.warnings)
    assert len(warnings) == 2, warnings
    # no date, or two equal builds would differ; a version is called as its user calls it
    assert "datePublished" in "".join(warnings) and "MAJOR.MINOR.PATCH: v1" in "".join(warnings)
    rows = {row["documents/id"].decode(): row for row in found.records("documents")}
    with open_build(built.version) as connection:
        shards = connection.execute("select id, text, sha256, n_chars from shards").fetchall()
    assert len(rows) == len(shards) == 21
    for id, text, sha256, n_chars in shards:
        row = rows[id]
        assert (row["documents/text"].decode(), row["documents/sha256"], row["documents/n_chars"]) == (
            text,
            sha256,
            n_chars,
        )


def test_croissant_names_every_shard_with_the_manifests_hash(built):
    found = json.loads((built.version / "croissant.json").read_text("utf-8"))
    manifest = json.loads((built.version / "_MANIFEST.json").read_text("utf-8"))
    files = [one for one in found["distribution"] if one["@type"] == "cr:FileObject"]
    assert [(one["contentUrl"], one["sha256"]) for one in files] == [
        (s["name"], s["sha256"]) for s in manifest["shards"]
    ]
    assert [one["contentSize"] for one in files] == [
        f"{(built.version / s['name']).stat().st_size} B" for s in manifest["shards"]
    ]
    assert found["license"] == ["https://spdx.org/licenses/CC0-1.0.html"]


def test_both_are_hashed_and_the_same_for_the_same_build(built):
    sums = (built.version / "_audit/SHA256SUMS").read_text()
    assert "  README.md\n" in sums and "  croissant.json\n" in sums
    before = [(built.version / name).read_bytes() for name in ("README.md", "croissant.json")]
    assert card.card(built.version).encode() == before[0]
    built.run(replace=True, threads=1, cache=False)
    assert [(built.version / name).read_bytes() for name in ("README.md", "croissant.json")] == before


def test_the_numbers_of_the_card_are_those_of_the_build(built):
    text = (built.version / "README.md").read_text("utf-8")
    with open_build(built.version) as connection:
        splits = connection.execute(
            "select split, count(*), count(distinct id), sum(n_chars)::bigint from shards group by split order by split"
        ).fetchall()
    for split, documents, groups, chars in splits:
        assert f"| {split} | {documents:,} | {groups:,} | {chars:,} |" in text
    assert "| boats | 12 | 12 |" in text and "| river | 9 | 9 |" in text
    assert "No stage is in the build: every document that could be read was kept." in text
    assert "Personal data was not looked for." in text


def test_a_build_that_keeps_nothing_has_a_card_too(corpus):
    corpus.source("s", ["short"])
    corpus.run("stages = ['gopher', 'pii']\n[lang]\nmodel = 'script'")
    text = (corpus.version / "README.md").read_text("utf-8")
    assert text.startswith('---\npretty_name: "t v1"\nsize_categories:\n- n<1K\n')
    assert "0 documents in" in text
    assert "| gopher | 1 | 0 | 1 |" in text
    mlc = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed: croissant.json was not validated")
    assert list(mlc.Dataset(jsonld=corpus.version / "croissant.json").metadata.ctx.issues.errors) == []


def test_a_cell_stays_in_its_cell():
    assert card.cell("a|b\n<script>&c\\") == "a\\|b &lt;script>&amp;c\\\\"
    assert card.cell(None) == ""
