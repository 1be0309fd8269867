"""The ledger's rows are kept in the build: asked in SQL, shown on the card, hashed, compared by diff and verify."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import Corpus, raw_line, shared
from typer.testing import CliRunner
from verify_cases import Copy

from corpus_sql import build, diffing, inputs, verifying
from corpus_sql.card import croissant
from corpus_sql.cli import app
from corpus_sql.explain import open_build

BEFORE = {
    "url": "https://example.org/books",
    "revision": "2026-01",
    "retrieved": "2026-01-02",
    "data_class": "public",
    "reviewer": "A. Reviewer",
    "upstream": [
        {"url": "https://example.org/books/1", "sha256": "a" * 64, "bytes": 10},
        {"url": "https://example.org/books/2", "sha256": None, "bytes": None},
    ],
}
AFTER = {
    "url": "https://example.org/library",
    "revision": None,
    "retrieved": "2026-02-03",
    "data_class": "licensed",
    "reviewer": "B. Reviewer",
    "upstream": [BEFORE["upstream"][0], {"url": "https://example.org/books/2", "sha256": "b" * 64, "bytes": 20}],
}
FIELDS = ["data_class", "retrieved", "reviewer", "revision", "upstream", "url"]


def state(corpus: Corpus, source: str, **fields: Any) -> None:
    """Write other fields into a source's row."""
    corpus.rows[source] |= fields
    ledger = corpus.folder / "artifacts" / "corpus" / "LEDGER.jsonl"
    ledger.write_text("".join(json.dumps(row) + "\n" for row in corpus.rows.values()))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """v1 and v2 of the same raw files; between them every field of one source's row was rewritten."""
    corpus = Corpus(tmp_path_factory.mktemp("ledger"))
    corpus.source("b", ["The text of a book.", "And of another one."])
    corpus.source("a", ["Another source's text, which stays as it is."])
    state(corpus, "b", **BEFORE)
    corpus.run("stages = []")
    state(corpus, "b", **AFTER)
    corpus.configure("stages = []", version="v2")
    corpus.run()
    return corpus


def test_the_rows_are_canonical_json_in_order_of_source_id_and_hashed(made: Corpus):
    content = (made.version / "_audit" / "ledger.jsonl").read_bytes()
    lines = content.decode().splitlines()
    assert [json.loads(line)["source_id"] for line in lines] == ["a", "b"]
    assert json.loads(lines[1]) == made.rows["b"] | BEFORE
    for line in lines:
        assert line == json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    chain = json.loads((made.version / "_audit" / "build.json").read_text())["hash_chain"]
    assert chain["ledger_sha256"] == hashlib.sha256(content).hexdigest()


def test_sources_that_the_config_does_not_name_are_not_in_it(corpus: Corpus):
    corpus.source("a", ["A text."])
    corpus.configure("stages = []")
    corpus.source("private-notes", ["None of this build."])
    corpus.run()
    assert list(inputs.rows(corpus.version)) == ["a"]


def test_the_same_ledger_gives_the_same_build_and_another_one_another(corpus: Corpus):
    corpus.source("a", ["A text."])
    assert corpus.run("stages = []").status == "published"
    state(corpus, "a", upstream=[])  # none is none
    assert corpus.run().status == "same"
    state(corpus, "a", revision="2")
    assert corpus.run(replace=True).status == "published"


def test_it_is_asked_in_sql(made: Corpus):
    with open_build(made.version) as connection:
        query = (
            "select source_id, revision, retrieved, data_class, reviewer, len(files), upstream[2], recipe from ledger"
        )
        assert connection.execute(query).fetchall() == [
            ("a", None, "2026-01-02", "self-written", None, 1, None, None),
            ("b", "2026-01", "2026-01-02", "public", "A. Reviewer", 1, BEFORE["upstream"][1], None),
        ]


def test_a_row_of_twenty_megabytes_is_read(corpus: Corpus):
    corpus.source("a", ["A text."])
    state(corpus, "a", upstream=[{"url": f"https://example.org/{i:0190}"} for i in range(100_000)])
    corpus.run("stages = []")
    with open_build(corpus.version) as connection:
        assert connection.execute("select len(upstream) from ledger").fetchall() == [(100_000,)]


def test_card_croissant_and_composition_show_where_each_source_is_from(made: Corpus):
    card = (made.version / "README.md").read_text()
    row = "| b | public | 2026-01 | 2026-01-02 | https://example.org/books/1 and 1 more |"
    assert row in card
    assert "A. Reviewer" not in card
    (_, source) = croissant(made.version)["isBasedOn"]
    assert source == {
        "@type": "sc:CreativeWork",
        "name": "b",
        "url": "https://example.org/books",
        "license": "https://spdx.org/licenses/CC0-1.0.html",
        "version": "2026-01",
        "dateModified": "2026-01-02",
        "isBasedOn": ["https://example.org/books/1", "https://example.org/books/2"],
    }
    pytest.importorskip("matplotlib", reason="reports draw charts with matplotlib, which is not installed")
    assert CliRunner().invoke(app, ["report", str(made.version)]).exit_code == 0
    reports = made.version.parent / "reports" / "v1"
    assert row in (reports / "COMPOSITION.md").read_text()
    assert "https://example.org/books/1 and 1 more" in (reports / "report.html").read_text()


# diff


def test_diff_tells_each_field_where_no_document_changed(made: Corpus):
    with diffing.diff(made.version, made.version.parent / "v2") as found:
        summary = found.summary
    assert set(summary["changes"].values()) == {0}
    assert [(one["cause"], one["key"]) for one in summary["ledger"]] == [("ledger", f"b {field}") for field in FIELDS]
    told = {one["key"]: (one["old"], one["new"]) for one in summary["ledger"]}
    assert told["b revision"] == ("2026-01", None)
    assert told["b upstream"] == ([BEFORE["upstream"][1]], [AFTER["upstream"][1]])


def test_diff_shows_them(made: Corpus):
    result = CliRunner().invoke(app, ["diff", str(made.version), str(made.version.parent / "v2"), "--note"])
    lines = [line.split() for line in result.output.splitlines()]
    assert ["ledger", "b", "revision", "2026-01", "none"] in lines
    assert ["ledger", "b", "upstream", "https://example.org/books/2", "https://example.org/books/2"] in lines
    note = (made.version.parent / "reports" / "v2" / "CHANGES.md").read_text()
    assert "## Ledger\n\n| cause | what | old | new |\n" in note
    assert "| ledger | b data_class | public | licensed |" in note


def test_a_line_that_the_licence_in_the_ledger_let_go_has_the_ledger_as_its_cause(corpus: Corpus):
    corpus.source("a", [raw_line("Under CC0."), raw_line("Under MIT.", license_spdx="MIT")])
    corpus.run("stages = []")
    state(corpus, "a", license_spdx="MIT")
    corpus.configure("stages = []", version="v2")
    corpus.run()
    with diffing.diff(corpus.version, corpus.version.parent / "v2") as found:
        told = {(one["id"], one["cause"], one["detail"]["key"]) for one in found.changes() if one["change"] != "split"}
    assert told == {("a:0", "ledger", "a license_spdx"), ("a:1", "ledger", "a license_spdx")}


def test_another_revision_of_a_source_of_the_slice(tmp_path: Path):
    source = shared("data", "slice-small", "corpus")
    shutil.copytree(source, tmp_path / "artifacts" / "corpus")
    ledger, config = tmp_path / "artifacts" / "corpus" / "LEDGER.jsonl", tmp_path / "corpus.toml"
    rows = [json.loads(line) for line in ledger.read_text().splitlines()]
    for version, revision in (("v1", rows[0]["revision"]), ("v2", "another")):
        rows[0]["revision"] = revision
        ledger.write_text("".join(json.dumps(row) + "\n" for row in rows))
        config.write_text(
            f'dataset = "small"\nversion = "{version}"\nsources = {json.dumps([row["source_id"] for row in rows])}\n'
            'stages = ["gopher"]\n'
        )
        build.run(config)
    folder = tmp_path / "artifacts" / "corpus" / "small"
    with diffing.diff(folder / "v1", folder / "v2") as found:
        assert set(found.summary["changes"].values()) == {0}
        (cause,) = found.summary["ledger"]
    assert (cause["cause"], cause["key"], cause["new"]) == ("ledger", f"{rows[0]['source_id']} revision", "another")


# verify


@pytest.fixture
def spoilt(made: Corpus, tmp_path: Path) -> Copy:
    return Copy(made, tmp_path / "copy")


def of_ledger(copy: Copy) -> list[tuple[str, str]]:
    found = verifying.verify(copy.build).findings
    return [(one.severity, one.what) for one in found if one.check == "ledger"]


def test_a_ledger_that_moved_on_is_a_notice_that_names_source_and_field(spoilt: Copy):
    assert of_ledger(spoilt) == [
        ("notice", "b: data_class was public when this was built, the ledger says licensed now"),
        ("notice", "b: retrieved was 2026-01-02 when this was built, the ledger says 2026-02-03 now"),
        ("notice", "b: reviewer was A. Reviewer when this was built, the ledger says B. Reviewer now"),
        ("notice", "b: revision was 2026-01 when this was built, the ledger says none now"),
        (
            "notice",
            "b: upstream: only when this was built: https://example.org/books/2; "
            "only in the ledger now: https://example.org/books/2",
        ),
        (
            "notice",
            "b: url was https://example.org/books when this was built, the ledger says https://example.org/library now",
        ),
    ]


def test_a_ledger_in_the_folder_that_is_not_the_one_hashed_is_an_error(spoilt: Copy):
    path = spoilt.build / "_audit" / "ledger.jsonl"
    content = path.read_text()
    path.write_text(content.replace("2026-01-02", "2026-01-03"))
    spoilt.sums()
    errors = [what for severity, what in of_ledger(spoilt) if severity == "error"]
    assert errors == [
        f"_audit/ledger.jsonl has the SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}, "
        f"the hash chain says {hashlib.sha256(content.encode()).hexdigest()}"
    ]


def test_without_the_sums_written_anew_it_is_a_damaged_file(spoilt: Copy):
    spoilt.flip("_audit/ledger.jsonl")
    assert spoilt.errors() == [("sums", "'_audit/ledger.jsonl' has other bytes than those that were hashed")]
