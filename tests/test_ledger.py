"""The ledger and the provenance gate: what may be read, what is refused, and that a refusal opens nothing."""

from __future__ import annotations

import builtins
import hashlib
import io
import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from jsonschema import Draft202012Validator

from corpus_sql import spdx
from corpus_sql.errors import ConfigError, RefusedError
from corpus_sql.ledger import LedgerFile, Source, Upstream, gate, read_ledger, refusals, write_source

ROOT = Path(__file__).parents[1]
DAY = "20261009"
PART = "part-00000.jsonl.zst"


class Corpus:
    """A corpus/ folder in the making: raw files, a ledger, and what the gate says of them."""

    def __init__(self, folder: Path):
        self.corpus, self.raw, self.ledger = folder, folder / "raw", folder / "LEDGER.jsonl"
        self.raw.mkdir(parents=True)

    def put(self, name: str, content: bytes = b"compressed") -> dict:
        """Write a raw file; return its entry for the ledger."""
        path = self.raw / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return {"path": name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}

    def row(self, source_id: str = "wiki", **changes) -> dict:
        """Return a row that passes, with one raw file that lies there; "ABSENT" takes a key out."""
        row = {
            "source_id": source_id,
            "url": f"https://example.org/{source_id}",
            "license_spdx": "CC-BY-SA-4.0",
            "data_class": "public",
            "retrieved": "2026-10-09",
            "revision": "2026-10",
            "reviewer": None,
        }
        row["files"] = [self.put(f"{source_id}/{DAY}/{PART}")] if "files" not in changes else []
        return {key: value for key, value in (row | changes).items() if value != "ABSENT"}

    def write(self, *rows: dict | str) -> Corpus:
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
        self.ledger.write_text("".join(line + "\n" for line in lines), "utf-8")
        return self

    def gate(self, *sources: str, **more):
        return gate(SimpleNamespace(corpus=self.corpus, sources=sources or ("wiki",)), **more)

    def complaint(self, *sources: str, error: type[Exception] = ConfigError) -> str:
        """Return the whole message with the ledger's path cut to its name."""
        with pytest.raises(error) as caught:
            self.gate(*sources)
        assert caught.value.exit_code == 2
        return str(caught.value).replace(f"{self.corpus}/", "")


@pytest.fixture
def corpus(tmp_path):
    return Corpus(tmp_path / "corpus")


# what passes


def test_what_passes_is_the_listed_files_in_order(corpus):
    names = [f"wiki/20261010/{PART}", f"wiki/{DAY}/part-00001.jsonl.zst", f"wiki/{DAY}/{PART}"]
    files = [corpus.put(name, name.encode()) for name in names]
    passed = corpus.write(corpus.row(files=files)).gate()

    assert [file.name for file in passed.files] == [names[2], names[1], names[0]]
    first = passed.files[0]
    assert (first.source_id, first.path, first.license_spdx) == ("wiki", corpus.raw / names[2], "CC-BY-SA-4.0")
    assert (first.sha256, first.bytes) == (hashlib.sha256(names[2].encode()).hexdigest(), len(names[2]))
    assert (passed.ignored, passed.superseded) == ([], [])
    assert passed.sources == [read_ledger(corpus.ledger)["wiki"]]


def test_sources_come_in_the_order_of_the_config(corpus):
    corpus.write(corpus.row("a"), corpus.row("b"), corpus.row("c"))
    passed = corpus.gate("c", "a")
    assert [source.source_id for source in passed.sources] == ["c", "a"]
    assert [file.source_id for file in passed.files] == ["c", "a"]


@pytest.mark.parametrize("data_class", ["public", "licensed", "synthetic", "self-written"])
def test_four_classes_may_be_trained_on(corpus, data_class):
    assert len(corpus.write(corpus.row(data_class=data_class)).gate().files) == 1


def test_rows_of_sources_that_the_config_does_not_name_may_be_of_any_class(corpus):
    corpus.write(corpus.row(), corpus.row("shop", data_class="customer"), corpus.row("quiz", data_class="ABSENT"))
    assert [file.source_id for file in corpus.gate("wiki").files] == ["wiki"]


def test_hashing_reports_every_byte(corpus):
    files = [corpus.put(f"wiki/{DAY}/part-0000{i}.jsonl.zst", bytes(3_000_000)) for i in range(2)]
    seen = []
    corpus.write(corpus.row(files=files)).gate(threads=2, progress=lambda *told: seen.append(told))
    assert sum(count for _, count, _ in seen) == 6_000_000
    assert {(name, total) for name, _, total in seen} == {(file["path"], 6_000_000) for file in files}


# what is refused

REFUSED = {
    "untagged": (
        {"data_class": "ABSENT"},
        "wiki: refused: untagged: the row has no data_class\n"
        "    LEDGER.jsonl:1: write one of public, licensed, synthetic, self-written, if it is one.",
    ),
    "tagged with null": (
        {"data_class": None},
        "wiki: refused: untagged: the row has no data_class\n"
        "    LEDGER.jsonl:1: write one of public, licensed, synthetic, self-written, if it is one.",
    ),
    "tagged with nothing": (
        {"data_class": ""},
        "wiki: refused: untagged: the row has no data_class\n"
        "    LEDGER.jsonl:1: write one of public, licensed, synthetic, self-written, if it is one.",
    ),
    "a misspelt class": (
        {"data_class": "self_written"},
        'wiki: refused: the data_class "self_written" is unknown\n    LEDGER.jsonl:1: Did you mean self-written?',
    ),
    "a class in capitals": (
        {"data_class": "Public"},
        'wiki: refused: the data_class "Public" is unknown\n    LEDGER.jsonl:1: Did you mean public?',
    ),
    "an unknown class": (
        {"data_class": "vendor"},
        'wiki: refused: the data_class "vendor" is unknown\n'
        "    LEDGER.jsonl:1: Known are: licensed, public, self-written, synthetic.",
    ),
    "customer data": (
        {"data_class": "customer"},
        "wiki: refused: customer data is never trained on\n    LEDGER.jsonl:1",
    ),
    "data made from customer data": (
        {"data_class": "customer-derived"},
        "wiki: refused: customer-derived data is never trained on\n    LEDGER.jsonl:1",
    ),
    "evaluation data": (
        {"data_class": "evaluation-only"},
        "wiki: refused: evaluation-only data is never trained on\n    LEDGER.jsonl:1",
    ),
    "customer data that is spelt otherwise": (
        {"data_class": " Customer_Derived"},
        "wiki: refused: Customer_Derived data is never trained on\n    LEDGER.jsonl:1",
    ),
    "customer data that a reviewer has signed": (
        {"data_class": "customer", "reviewer": "A. Reader"},
        "wiki: refused: customer data is never trained on\n    LEDGER.jsonl:1",
    ),
    "no licence": (
        {"license_spdx": None},
        "wiki: refused: the row has no license_spdx\n    LEDGER.jsonl:1: write the SPDX licence of the source.",
    ),
    "neither class nor licence": (
        {"license_spdx": "ABSENT", "data_class": "ABSENT"},
        "wiki: refused: untagged: the row has no data_class\n"
        "    LEDGER.jsonl:1: write one of public, licensed, synthetic, self-written, if it is one.\n"
        "wiki: refused: the row has no license_spdx\n    LEDGER.jsonl:1: write the SPDX licence of the source.",
    ),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(corpus, changes, message):
    assert corpus.write(corpus.row(**changes)).complaint(error=RefusedError) == message


def test_a_source_without_a_row_is_refused(corpus):
    assert corpus.write(corpus.row()).complaint("wikis", error=RefusedError) == (
        "wikis: refused: has no row in LEDGER.jsonl\n"
        "    Did you mean wiki? `corpus-sql fetch` writes it by a recipe, `corpus-sql import` for your own data."
    )


def test_without_a_ledger_nothing_passes(corpus):
    assert corpus.complaint(error=RefusedError) == (
        "LEDGER.jsonl: there is no ledger\n"
        "    `corpus-sql fetch` writes it by recipes, `corpus-sql import` for your own data."
    )


def test_all_refused_sources_are_named_at_once_with_what_is_malformed_elsewhere(corpus):
    corpus.write(corpus.row("a", data_class="customer"), corpus.row("b"), corpus.row("c", license_spdx=""), "{")
    assert corpus.complaint("a", "b", "c", "d", error=RefusedError) == (
        "a: refused: customer data is never trained on\n"
        "    LEDGER.jsonl:1\n"
        "c: refused: the row has no license_spdx\n"
        "    LEDGER.jsonl:3: write the SPDX licence of the source.\n"
        "d: refused: has no row in LEDGER.jsonl\n"
        "    `corpus-sql fetch` writes it by a recipe, `corpus-sql import` for your own data.\n"
        "LEDGER.jsonl:4:2: is not JSON: Expecting property name enclosed in double quotes\n"
        "    Each line is one JSON object."
    )


def test_a_second_row_does_not_make_customer_data_trainable(corpus):
    corpus.write(corpus.row(data_class="customer"), corpus.row(data_class="public"))
    assert corpus.complaint(error=RefusedError) == (
        "wiki: refused: customer data is never trained on\n"
        "    LEDGER.jsonl:1\n"
        'LEDGER.jsonl:2: source_id "wiki" has a row already, in line 1\n'
        "    A source has one row."
    )


def test_a_second_key_does_not_make_customer_data_trainable(corpus):
    row = json.dumps(corpus.row(data_class="customer"))
    corpus.write(row[:-1] + ', "data_class": "public"}')
    with pytest.raises(ConfigError) as caught:
        read_ledger(corpus.ledger)
    assert str(caught.value) == f'{corpus.ledger}:1: names the key "data_class" twice'
    with pytest.raises(RefusedError):
        corpus.gate()


SUSPICIOUS = """customer customers client clients crm ticket tickets private confidential internal pii eval evaluation
benchmark test testset holdout gold answers""".split()


@pytest.mark.parametrize("word", SUSPICIOUS)
@pytest.mark.parametrize("form", ["{}", "shop-{}", "{}.2026", "old_{}-v2"])
def test_a_name_that_looks_like_customer_or_evaluation_data_needs_a_reviewer(corpus, word, form):
    name = form.format(word)
    message = corpus.write(corpus.row(name)).complaint(name, error=RefusedError)
    assert message == (
        f'{name}: refused: looks like customer or evaluation data ("{word}" in {name}) and has no reviewer\n'
        "    LEDGER.jsonl:1: a person has to look at it and put their name there."
    )
    assert len(corpus.write(corpus.row(name, reviewer="A. Reader")).gate(name).files) == 1


@pytest.mark.parametrize("reviewer", [None, "", "  ", "ABSENT"])
def test_a_reviewer_without_a_name_is_none(corpus, reviewer):
    corpus.write(corpus.row("pii-forum", reviewer=reviewer))
    assert corpus.complaint("pii-forum", error=RefusedError).startswith("pii-forum: refused: looks like")


@pytest.mark.parametrize("name", ["latest-news", "goldberg", "clientele", "evaluations", "contest", "testimony"])
def test_a_word_within_a_word_is_not_suspicious(corpus, name):
    assert len(corpus.write(corpus.row(name)).gate(name).files) == 1


def test_a_files_path_is_looked_at_as_well(corpus):
    row = corpus.row(files=[{"path": f"wiki/{DAY}/holdout.jsonl.zst", "sha256": "0" * 64, "bytes": 1}])
    assert corpus.write(row).complaint(error=RefusedError).splitlines()[0] == (
        f'wiki: refused: looks like customer or evaluation data ("holdout" in wiki/{DAY}/holdout.jsonl.zst) '
        "and has no reviewer"
    )


def test_why_a_source_may_not_be_trained_on_can_be_asked_before_it_has_a_row():
    source = Source("crm", "https://example.org", "MIT", "public", "2026-10-09")
    what = 'looks like customer or evaluation data ("crm" in crm) and has no reviewer'
    assert refusals(source) == [(what, "A person has to look at it and put their name there.")]
    assert refusals(Source("blog", "https://example.org", "MIT", "self-written", "2026-10-09")) == []


@pytest.mark.parametrize("changes", [changes for changes, _ in REFUSED.values()], ids=REFUSED)
def test_nothing_but_the_ledger_is_opened_when_any_source_is_refused(corpus, changes, monkeypatch):
    """A good source stands first, and its file is not opened either, nor is any folder listed."""
    corpus.write(corpus.row("good"), corpus.row(**changes))
    read_ledger(corpus.ledger)  # the schema is read once
    touched = []

    def watch(module, name):
        real = getattr(module, name)

        def watched(path, *args, **more):
            touched.append(str(path))
            return real(path, *args, **more)

        monkeypatch.setattr(module, name, watched)

    watch(builtins, "open")
    watch(io, "open")
    for name in ("open", "scandir", "listdir", "stat", "lstat"):
        watch(os, name)
    with pytest.raises(RefusedError):
        corpus.gate("good", "wiki")
    monkeypatch.undo()

    assert str(corpus.ledger) in touched
    assert [path for path in touched if "raw" in Path(path).parts] == []


# what a ledger may not be

MALFORMED = {
    "no JSON": ('{"source_id": wiki}', ":15: is not JSON: Expecting value\n    Each line is one JSON object."),
    "a number that JSON does not have": ('{"source_id": NaN}', ": NaN is not JSON"),
    "no object": ('["wiki"]', ': is ["wiki"], not a JSON object'),
    "no text": ('{"source_id": "\\ud800"}', ": holds a lone surrogate escape, which is no text"),
    "brackets in brackets": (100_000 * "[", ": is nested too deeply"),
    "a misspelt key": ({"licence_spdx": "MIT"}, ": licence_spdx is not a known key\n    Did you mean license_spdx?"),
    "no url": ({"url": "ABSENT"}, ": url is missing"),
    "an empty url": ({"url": ""}, ": url is empty"),
    "no list of files": ({"files": "ABSENT"}, ": files is missing"),
    "an id in capitals": (
        {"source_id": "Wiki", "files": []},
        ': source_id is "Wiki", not a source id: lower-case letters, digits, ".", "_" and "-", '
        "beginning with a letter or digit",
    ),
    "an id that leaves its folder": (
        {"source_id": "../wiki", "files": []},
        ': source_id is "../wiki", not a source id: lower-case letters, digits, ".", "_" and "-", '
        "beginning with a letter or digit",
    ),
    "a class that is a list": ({"data_class": ["public"]}, ': data_class is ["public"], not a string or null'),
    "a licence that is none": (
        {"license_spdx": "CC0"},
        ': license_spdx "CC0" is not an SPDX licence expression\n    Did you mean CC0-1.0?',
    ),
    "a time for a date": (
        {"retrieved": "2026-10-09T12:00:00Z"},
        ': retrieved is "2026-10-09T12:00:00Z", not a date of the form yyyy-mm-dd',
    ),
    "a day that no calendar has": ({"retrieved": "2026-02-30"}, ': retrieved is "2026-02-30", which is no date'),
    "a file of another source": (
        {"files": [{"path": f"other/{DAY}/{PART}", "sha256": "0" * 64, "bytes": 1}]},
        f": files names other/{DAY}/{PART}, which is not of the source wiki",
    ),
    "a file of another form": (
        {"files": [{"path": "wiki/2026-10-09/a.jsonl", "sha256": "0" * 64, "bytes": 1}]},
        ': files[0].path is "wiki/2026-10-09/a.jsonl", not of the form <source_id>/<yyyymmdd>/part-<nnnnn>.jsonl.zst',
    ),
    "a file that leaves its folder": (
        {"files": [{"path": f"wiki/../{DAY}/{PART}", "sha256": "0" * 64, "bytes": 1}]},
        f': files[0].path is "wiki/../{DAY}/{PART}", not of the form <source_id>/<yyyymmdd>/part-<nnnnn>.jsonl.zst',
    ),
    "a file of no day": (
        {"files": [{"path": f"wiki/20261332/{PART}", "sha256": "0" * 64, "bytes": 1}]},
        f": files names wiki/20261332/{PART}, and 20261332 is no date",
    ),
    "a hash in capitals": (
        {"files": [{"path": f"wiki/{DAY}/{PART}", "sha256": "A" * 64, "bytes": 1}]},
        f': files[0].sha256 is "{"A" * 55}...", not 64 lower-case hex digits',
    ),
    "a size as text": (
        {"files": [{"path": f"wiki/{DAY}/{PART}", "sha256": "0" * 64, "bytes": "1"}]},
        ': files[0].bytes is "1", not a whole number',
    ),
    "a file without a hash": (
        {"files": [{"path": f"wiki/{DAY}/{PART}", "bytes": 1}]},
        ": files[0].sha256 is missing",
    ),
    "a file twice": (
        {"files": 2 * [{"path": f"wiki/{DAY}/{PART}", "sha256": "0" * 64, "bytes": 1}]},
        f": files names wiki/{DAY}/{PART} again\n    A file is listed once, in files or in superseded.",
    ),
    "a file in force and superseded": (
        {
            "files": [{"path": f"wiki/{DAY}/{PART}", "sha256": "0" * 64, "bytes": 1}],
            "superseded": [{"path": f"wiki/{DAY}/{PART}", "sha256": "1" * 64, "bytes": 1}],
        },
        f": superseded names wiki/{DAY}/{PART} again\n    A file is listed once, in files or in superseded.",
    ),
    "an upstream hash of another kind": (
        {"upstream": [{"url": "https://example.org/a", "sha256": "d41d8cd9", "bytes": None}]},
        ': upstream[0].sha256 is "d41d8cd9", not 64 lower-case hex digits',
    ),
}


@pytest.mark.parametrize(("line", "message"), MALFORMED.values(), ids=MALFORMED)
def test_malformed(corpus, line, message):
    corpus.write(corpus.row("good"), "", line if isinstance(line, str) else corpus.row(**line))
    with pytest.raises(ConfigError) as caught:
        read_ledger(corpus.ledger)
    assert str(caught.value) == f"{corpus.ledger}:3{message}"


def test_a_ledger_that_is_not_utf8(corpus):
    corpus.ledger.write_bytes(json.dumps(corpus.row()).encode() + b"\n" + '{"url": "语'.encode("gbk"))
    with pytest.raises(ConfigError) as caught:
        read_ledger(corpus.ledger)
    assert str(caught.value) == f"{corpus.ledger}:2: byte 9 of the line (0xd3) is not UTF-8"


def test_a_malformed_row_of_another_source_stops_the_build_too(corpus):
    corpus.write(corpus.row(), corpus.row("blog", revision=7))
    assert corpus.complaint() == "LEDGER.jsonl:2: revision is 7, not a string or null"


def test_a_ledger_may_have_a_byte_order_mark_blank_lines_and_windows_line_ends(corpus):
    row = json.dumps(corpus.row(), ensure_ascii=False)
    corpus.ledger.write_bytes(f"\ufeff\r\n{row}\r\n\r\n".encode())
    assert read_ledger(corpus.ledger)["wiki"].line == 2


@pytest.mark.parametrize(
    "expression",
    [
        "MIT", "CC0-1.0", "CDLA-Sharing-1.0", "GPL-2.0", "Apache-2.0 OR MIT", "(MIT AND BSD-3-Clause) OR ISC",
        "GPL-2.0-only WITH Classpath-exception-2.0", "LicenseRef-selfwritten", "DocumentRef-a:LicenseRef-b AND MIT",
    ],
)  # fmt: skip
def test_licences(expression):
    assert spdx.problem(expression) is None


OWN = "Write an identifier of spdx.org/licenses, or LicenseRef-<name> for a licence of another kind."


@pytest.mark.parametrize(
    ("expression", "what", "fix"),
    [
        ("mit", "is not spelled as SPDX does", "Write MIT."),
        (" MIT", "is not spelled as SPDX does", "Write MIT."),
        ("MIT or Apache-2.0", "is not spelled as SPDX does", "Write MIT OR Apache-2.0."),
        ("apache 2.0", "is not an SPDX licence expression", "Did you mean Apache-2.0?"),
        ("GPLv3", "is not an SPDX licence expression", "Did you mean GPL-3.0-only?"),
        ("BSD3", "is not an SPDX licence expression", "Did you mean BSD-3-Clause?"),
        ("MIT License", "is not an SPDX licence expression", "Did you mean MIT?"),
        ("cc-by", "is not an SPDX licence expression", "Did you mean CC-BY-4.0?"),
        ("MIT OR CC0", "is not an SPDX licence expression: CC0 is unknown", "Did you mean CC0-1.0?"),
        ("NOASSERTION", "is not an SPDX licence expression", OWN),
        ("proprietary", "is not an SPDX licence expression", OWN),
        ("MIT AND (", "is not an SPDX licence expression", OWN),
        ("Classpath-exception-2.0", "is not an SPDX licence expression", OWN),
        ("LicenseRef-a b", "is not an SPDX licence expression", OWN),
        ("许可", "is not an SPDX licence expression", OWN),
    ],
)
def test_what_is_no_licence(expression, what, fix):
    assert spdx.problem(expression) == (f'"{expression}" {what}', fix)


# what lies in the folders


def test_everything_of_another_form_is_ignored_and_listed(corpus):
    row = corpus.row()
    others = [
        f"wiki/{DAY}/.part-00000.jsonl.zst.tmp",
        f"wiki/{DAY}/deep/part-00000.jsonl.zst",
        f"wiki/{DAY}/part-0.jsonl.zst",
        f"wiki/{DAY}/part-00000.jsonl",
        f"wiki/{DAY}/part-00000.jsonl.zst.bak",
        f"wiki/{DAY}/part-000000.jsonl.zst",
        "wiki/2026-10-09/part-00000.jsonl.zst",
        f"wiki/20261332/{PART}",  # no day of the calendar
        "wiki/笔记.txt",
        f"wiki/{PART}",
    ]
    for i, name in enumerate(others):
        corpus.put(name, bytes(i))
    corpus.put(f"elsewhere/{DAY}/{PART}")
    passed = corpus.write(row).gate()
    assert sorted(passed.ignored) == sorted(("wiki", name, i) for i, name in enumerate(others))
    assert [name for _, name, _ in passed.ignored] == sorted((name for _, name, _ in passed.ignored), key=str.encode)
    assert [file.name for file in passed.files] == [f"wiki/{DAY}/{PART}"]


def test_a_name_that_is_not_utf8_is_shown_by_its_bytes(corpus):
    row = corpus.row()
    try:
        os.close(os.open(os.fsencode(corpus.raw / "wiki") + b"/\xd3\xef.txt", os.O_CREAT | os.O_WRONLY))
    except OSError:
        pytest.skip("this file system takes no name that is not UTF-8; how one is shown is not tested")
    assert corpus.write(row).gate().ignored == [("wiki", "wiki/\\xd3\\xef.txt", 0)]


def test_superseded_files_are_not_read_wherever_they_are(corpus):
    row = corpus.row()
    there = corpus.put(f"wiki/20250101/{PART}", b"old")
    gone = {"path": f"wiki/20240101/{PART}", "sha256": "0" * 64, "bytes": 5}
    passed = corpus.write(row | {"superseded": [there, gone]}).gate()
    assert passed.superseded == [("wiki", f"wiki/20250101/{PART}", 3)]
    assert [file.name for file in passed.files] == [f"wiki/{DAY}/{PART}"]


def test_a_file_of_the_right_form_that_the_ledger_does_not_name_stops_the_build(corpus):
    row = corpus.row()
    corpus.put(f"wiki/{DAY}/part-00001.jsonl.zst")
    assert corpus.write(row).complaint() == (
        f"wiki/{DAY}/part-00001.jsonl.zst: lies among the raw files, but the ledger does not name it\n"
        "    List it in files or in superseded of LEDGER.jsonl:1, or move it away."
    )


def test_what_is_missing_or_has_another_size_is_named_at_once_for_all_sources(corpus):
    rows = [corpus.row("a"), corpus.row("b"), corpus.row("c", files=[])]
    (corpus.raw / "a" / DAY / PART).unlink()
    corpus.put(f"b/{DAY}/{PART}", b"longer than it was")
    assert corpus.write(*rows).complaint("a", "b", "c") == (
        f"a/{DAY}/{PART}: is listed in the ledger, but missing\n"
        "    `corpus-sql fetch` gets it again where its upstream is known.\n"
        f"b/{DAY}/{PART}: has 18 bytes, the ledger says 10\n"
        "    It changed since it was listed: fetch or import it again.\n"
        "LEDGER.jsonl:3: c has no raw files\n"
        "    `corpus-sql fetch` or `corpus-sql import` gets them."
    )


def test_a_folder_in_the_place_of_a_file(corpus):
    row = corpus.row()
    (corpus.raw / "wiki" / DAY / PART).unlink()
    (corpus.raw / "wiki" / DAY / PART).mkdir()
    assert corpus.write(row).complaint() == f"wiki/{DAY}/{PART}: is not a regular file"


def test_a_file_of_the_same_size_and_another_content(corpus):
    row = corpus.row()
    corpus.put(f"wiki/{DAY}/{PART}", b"COMPRESSED")
    listed, found = (hashlib.sha256(content).hexdigest() for content in (b"compressed", b"COMPRESSED"))
    assert corpus.write(row).complaint() == (
        f"wiki/{DAY}/{PART}: has the SHA-256 {found}, the ledger says {listed}\n"
        "    It changed since it was listed: fetch or import it again."
    )


def test_a_file_that_may_not_be_read(corpus):
    row = corpus.row()
    (corpus.raw / "wiki" / DAY / PART).chmod(0)
    if os.access(corpus.raw / "wiki" / DAY / PART, os.R_OK):
        pytest.skip("this user may read every file; a file without the right to read is not tested")
    assert corpus.write(row).complaint() == f"wiki/{DAY}/{PART}: cannot be read: Permission denied"


@pytest.mark.parametrize("linked", [f"wiki/{DAY}/{PART}", f"wiki/{DAY}", "wiki"])
def test_a_link_out_of_the_sources_folder_is_not_followed(corpus, tmp_path, linked):
    """Not even into the folder of another source, whose class may be another one."""
    row = corpus.row()
    target = corpus.raw / "shop" / linked.removeprefix("wiki").strip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    (corpus.raw / linked).rename(target)
    (corpus.raw / linked).symlink_to(target)
    message = corpus.write(row).complaint()
    assert message.startswith(
        f"wiki/{DAY}/{PART}: is a symbolic link out of its source's folder, to raw/shop/{DAY}/{PART}\n"
        "    Copy it there, or point [paths] artifacts at the other place."
    )


def test_a_link_to_an_unlisted_day_outside_stops_the_build(corpus, tmp_path):
    row = corpus.row()
    (tmp_path / "outside").mkdir()
    (corpus.raw / "wiki" / "20261010").symlink_to(tmp_path / "outside")
    assert corpus.write(row).complaint() == (
        f"wiki/20261010: is a symbolic link out of its source's folder, to {tmp_path}/outside\n"
        "    Copy it there, or point [paths] artifacts at the other place."
    )


def test_links_inside_the_sources_folder_are_followed_and_circles_are_not(corpus):
    entry = corpus.put(f"wiki/store/{PART}")
    (corpus.raw / "wiki" / DAY).symlink_to("store")
    (corpus.raw / "wiki" / "store" / "round").symlink_to("..")
    passed = corpus.write(corpus.row(files=[entry | {"path": f"wiki/{DAY}/{PART}"}])).gate()
    assert [file.name for file in passed.files] == [f"wiki/{DAY}/{PART}"]
    assert [name for _, name, _ in passed.ignored] == [f"wiki/{DAY}/round", f"wiki/store/{PART}", "wiki/store/round"]


def test_the_whole_raw_folder_may_be_a_link_to_another_disk(corpus, tmp_path):
    corpus.write(corpus.row())
    corpus.raw.rename(tmp_path / "disk")
    corpus.raw.symlink_to(tmp_path / "disk")
    assert len(corpus.gate().files) == 1


# writing a row

NEWS = Source(
    "news", "https://example.org/新闻", "CC-BY-4.0", "public", "2026-10-09", revision="r1",
    files=(LedgerFile(f"news/{DAY}/{PART}", "0" * 64, 12),),
    superseded=(LedgerFile(f"news/20250101/{PART}", "1" * 64, 3),),
    upstream=(Upstream("https://example.org/dump.gz"),),
)  # fmt: skip


def test_a_row_comes_back_as_it_was_written(tmp_path):
    ledger = tmp_path / "corpus" / "LEDGER.jsonl"
    write_source(ledger, NEWS)
    assert read_ledger(ledger) == {"news": NEWS}
    schema = json.loads((ROOT / "schemas" / "corpus-ledger.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(json.loads(ledger.read_text("utf-8")))


def test_a_row_replaces_its_own_and_no_other_byte(corpus):
    odd = json.dumps(corpus.row("odd"), indent=None, separators=(" ,", " : "))
    corpus.write(odd, "", corpus.row("news"), corpus.row("last"))
    lines = corpus.ledger.read_bytes().splitlines(keepends=True)
    write_source(corpus.ledger, NEWS)
    lines[2] = NEWS.to_json().encode() + b"\n"
    assert corpus.ledger.read_bytes() == b"".join(lines)


def test_a_new_row_goes_to_the_end_of_a_ledger_without_a_last_line_end(corpus):
    corpus.ledger.write_text(json.dumps(corpus.row()))
    write_source(corpus.ledger, NEWS)
    assert list(read_ledger(corpus.ledger)) == ["wiki", "news"]


def test_a_malformed_row_or_ledger_is_left_alone(corpus):
    corpus.write(corpus.row())
    before = corpus.ledger.read_bytes()
    with pytest.raises(ConfigError) as caught:
        write_source(corpus.ledger, Source("News", "", "MIT", "public", "today"))
    assert str(caught.value) == (
        'News: retrieved is "today", not a date of the form yyyy-mm-dd\n'
        'News: source_id is "News", not a source id: lower-case letters, digits, ".", "_" and "-", '
        "beginning with a letter or digit\n"
        "News: url is empty"
    )
    assert corpus.ledger.read_bytes() == before
    corpus.ledger.write_bytes(before + b"{\n")
    with pytest.raises(ConfigError):
        write_source(corpus.ledger, NEWS)
    assert corpus.ledger.read_bytes() == before + b"{\n"


def test_a_write_that_fails_leaves_the_old_ledger_and_no_other_file(corpus, monkeypatch):
    corpus.write(corpus.row())
    before = corpus.ledger.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_source(corpus.ledger, NEWS)
    assert corpus.ledger.read_bytes() == before
    assert sorted(path.name for path in corpus.corpus.iterdir()) == [".LEDGER.jsonl.lock", "LEDGER.jsonl", "raw"]


def test_the_ledgers_mode_and_a_link_to_it_stay(corpus, tmp_path):
    corpus.write(corpus.row())
    corpus.ledger.chmod(0o640)
    (tmp_path / "link.jsonl").symlink_to(corpus.ledger)
    write_source(tmp_path / "link.jsonl", NEWS)
    assert stat.S_IMODE(corpus.ledger.stat().st_mode) == 0o640
    assert (tmp_path / "link.jsonl").is_symlink()
    assert list(read_ledger(corpus.ledger)) == ["wiki", "news"]


def test_writers_wait_for_each_other(tmp_path):
    ledger = tmp_path / "LEDGER.jsonl"
    code = """if True:
        import sys
        from pathlib import Path
        from corpus_sql.ledger import Source, write_source
        for i in range(5):
            write_source(Path(sys.argv[1]), Source(f"{sys.argv[2]}-{i}", "u:x", "MIT", "public", "2026-10-09"))
    """
    command = [sys.executable, "-c", code, str(ledger)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda name: subprocess.run([*command, name], check=True, cwd=ROOT), ("a", "b", "c")))
    assert sorted(read_ledger(ledger)) == [f"{name}-{i}" for name in "abc" for i in range(5)]
