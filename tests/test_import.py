"""Import: own files in, raw files and a ledger row out. Each test shows the input above and the raw lines below."""

import datetime
import gzip
import json
import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from corpus_sql import config as config_module
from corpus_sql import files, ledger, raw
from corpus_sql.errors import ConfigError, DataError, RefusedError
from corpus_sql.importing import import_files
from corpus_sql.project import builtin

TODAY = datetime.date(2026, 11, 30)
MINE = {"license_spdx": "CC0-1.0", "data_class": "self-written"}


class Folder:
    """A project folder with input files beside it."""

    def __init__(self, root: Path):
        self.root = root
        self.config = root / "corpus.toml"
        self.config.write_text('dataset = "d"\nversion = "v1"\nsources = ["mine"]\nstages = []\n')
        self.ledger = root / "artifacts/corpus/LEDGER.jsonl"
        self.raw = root / "artifacts/corpus/raw"

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run(self, format: str, *paths: Path, source: str = "mine", **more):
        more = {"today": TODAY, **MINE, **more}
        return import_files(format, list(paths), source=source, config_path=self.config, **more)

    def row(self, source: str = "mine") -> dict:
        return next(r for r in map(json.loads, self.ledger.read_text().splitlines()) if r["source_id"] == source)

    def lines(self, source: str = "mine") -> list[dict]:
        """The raw lines that the ledger has in force, in the order in which they are read."""
        found = []
        for one in sorted(self.row(source)["files"], key=lambda one: one["path"]):
            content = zstandard.ZstdDecompressor().decompressobj().decompress((self.raw / one["path"]).read_bytes())
            found += [json.loads(line) for line in content.decode().removesuffix("\n").split("\n")]
        return found

    def everything(self) -> dict[str, bytes]:
        return {p.relative_to(self.root).as_posix(): p.read_bytes() for p in self.root.rglob("*") if p.is_file()}


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_a_line_becomes_a_raw_document(folder):
    notes = folder.file(
        "notes.jsonl", '{"text": "一篇短文。", "title": "短文", "id": 7, "tags": ["a", null], "n": 1.50}\n'
    )
    done = folder.run("jsonl", notes, fetched_at="2026-10-09T12:00:00Z")
    assert folder.lines() == [
        {
            "url": "notes.jsonl#1",
            "fetched_at": "2026-10-09T12:00:00Z",
            "license_spdx": "CC0-1.0",
            "text": "一篇短文。",
            "source_record_id": "7",
            "title": "短文",
            "tags": ["a", None],
            "n": 1.5,
        }
    ]
    (entry,) = done.files
    assert folder.row() == {
        "source_id": "mine",
        "url": "notes.jsonl",
        "license_spdx": "CC0-1.0",
        "data_class": "self-written",
        "retrieved": "2026-10-09",
        "revision": None,
        "reviewer": None,
        "files": [{"path": "mine/20261009/part-00000.jsonl.zst", "sha256": entry.sha256, "bytes": entry.bytes}],
        "upstream": [
            {
                "url": "notes.jsonl",
                "sha256": subprocess.check_output(["sha256sum", notes], text=True).split()[0],
                "bytes": notes.stat().st_size,
            }
        ],
    }
    assert done.lines() == [
        "mine: 1 document imported",
        f"    mine/20261009/part-00000.jsonl.zst  {entry.bytes} bytes",
    ]


def test_what_was_imported_passes_the_gate_and_the_reader(folder):
    folder.run("jsonl", folder.file("a.jsonl", '{"text": "one"}\n\n{"text": ""}\n{"text": null}\n{"text": "four"}\n'))
    config = config_module.load(folder.config, stage_keys={}, default=builtin() / "configs" / "default.toml")
    batches = list(raw.read(ledger.gate(config).files, config.max_line_bytes))
    rows = {
        kind: [r for k, batch in batches if k == kind for r in batch.to_pylist()]
        for kind in ("documents", "quarantine")
    }
    assert [(r["id"], r["url"], r["text"]) for r in rows["documents"]] == [
        ("mine:0", "a.jsonl#1", "one"),
        ("mine:3", "a.jsonl#5", "four"),
    ]
    assert [(r["id"], r["reason"]) for r in rows["quarantine"]] == [("mine:1", "empty_text"), ("mine:2", "null_text")]


def test_blank_lines_and_documents_without_text_are_told(folder):
    done = folder.run("jsonl", folder.file("a.jsonl", '{"text": "one"}\n \t\r\n{"text": " \\u200b"}\n{"text": null}'))
    assert (done.documents, done.blank, done.quarantined) == (3, 1, {"empty_text": 1, "null_text": 1})
    assert done.lines()[2:] == [
        "1 blank line without a document",
        "    1 document that the build will quarantine: empty_text",
        "    1 document that the build will quarantine: null_text",
        f"        {folder.root}/a.jsonl:3: empty_text: "
        "text has 2 code points, none but white space and default-ignorable ones",
        f"        {folder.root}/a.jsonl:4: null_text: text is null",
        "3 documents without a time of fetching got 2026-11-30; --fetched-at says another",
    ]


def test_lines_end_at_line_feeds_alone(folder):
    text = "one\u2028two\u0085three\r\nfour"
    line = json.dumps({"text": text}, ensure_ascii=False)
    folder.run("jsonl", folder.file("a.jsonl", b"\xef\xbb\xbf" + f"{line}\r\n{line}".encode()))
    assert [(row["url"], row["text"]) for row in folder.lines()] == [("a.jsonl#1", text), ("a.jsonl#2", text)]


def test_large_numbers_and_odd_strings_stay_as_they_are(folder):
    folder.run(
        "jsonl",
        folder.file("a.jsonl", '{"text": "x", "big": 123456789012345678901234567890, "z": "\\u0000\\ud83d\\ude00"}'),
    )
    assert folder.lines()[0]["big"] == 123456789012345678901234567890
    assert folder.lines()[0]["z"] == "\0😀"


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_a_compressed_file_is_told_by_its_first_bytes(folder, packed):
    folder.run("jsonl", folder.file("a.data", packed(b'{"text": "one"}\n') + packed(b'{"text": "two"}\n')))
    assert [row["text"] for row in folder.lines()] == ["one", "two"]


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_a_cut_file_is_no_shorter_corpus(folder, packed):
    content = packed(b"".join(b'{"text": "%d"}\n' % (i * i) for i in range(9999)))
    path = folder.file("a.jsonl.x", content[: len(content) // 2])
    with pytest.raises(DataError) as error:
        folder.run("jsonl", path)
    assert error.value.problems[0].where == str(path)
    assert error.value.problems[0].what.startswith("cannot be read: ")
    assert not folder.ledger.exists() and not (folder.raw / "mine").exists()


def test_fields_of_the_raw_contract_are_taken_as_given(folder):
    given = {
        "url": "https://example.org/1",
        "fetched_at": "2026-10-08T23:30:00-02:00",
        "license_spdx": "CC-BY-4.0",
        "text": "t",
        "source_record_id": "r1",
        "parent_ids": ["r0"],
        "group_id": "g",
        "id": "other",
    }
    folder.run("jsonl", folder.file("a.jsonl", json.dumps(given)), license_spdx=None)
    assert folder.lines() == [{**given, "fetched_at": "2026-10-09T01:30:00Z"}]
    assert (folder.row()["license_spdx"], folder.row()["retrieved"]) == ("CC-BY-4.0", "2026-10-09")


def test_a_given_time_beats_the_fields(folder):
    path = folder.file("a.jsonl", '{"text": "t", "fetched_at": "2020-01-01T00:00:00Z"}')
    folder.run("jsonl", path, fetched_at="2026-10-09")
    assert folder.lines()[0]["fetched_at"] == "2026-10-09T00:00:00Z"


def test_the_day_of_the_folder_is_the_latest_fetch(folder):
    days = ["2026-10-07", "2026-10-09", "2026-10-08"]
    lines = [json.dumps({"text": day, "fetched_at": f"{day}T05:00:00Z"}) for day in days]
    done = folder.run("jsonl", folder.file("a.jsonl", "\n".join(lines)))
    assert [one.path for one in done.files] == ["mine/20261009/part-00000.jsonl.zst"]


def test_a_url_of_the_source(folder):
    one, two = folder.file("in/one.jsonl", '{"text": "1"}'), folder.file("in/zwei ü.jsonl", '{"text": "2"}')
    folder.run("jsonl", one, source="alone", url="https://example.org/one.jsonl")
    folder.run("jsonl", one, two, source="both", url="https://example.org/all/")
    assert folder.lines("alone")[0]["url"] == "https://example.org/one.jsonl#1"
    assert [row["url"] for row in folder.lines("both")] == [
        "https://example.org/all/one.jsonl#1",
        "https://example.org/all/zwei%20%C3%BC.jsonl#1",
    ]


def test_another_text_field_and_no_id_field(folder):
    folder.run("jsonl", folder.file("a.jsonl", '{"content": "c", "id": "i"}'), text_field="content", id_field="")
    line = folder.lines()[0]
    assert (line["text"], line["id"], "content" in line, "source_record_id" in line) == ("c", "i", False, False)


def test_an_id_that_comes_twice_is_told(folder):
    done = folder.run(
        "jsonl", folder.file("a.jsonl", '{"text": "a", "id": 1}\n{"text": "b", "id": 1}\n{"text": "c", "id": 2}')
    )
    assert done.repeated == 1
    assert done.notes[-1] == (
        "1 document with the record id of an earlier one: the build takes them for the same upstream record; "
        'if they are not, import with --id-field ""'
    )


def test_text_files_in_byte_order_of_their_paths(folder):
    folder.file("notes/b.txt", "second\r\nline\n")
    folder.file("notes/a/z.md", "# first\n")
    folder.file("notes/B.TXT", b"\xef\xbb\xbfcapital")
    folder.file("notes/picture.png", b"\x89PNG")
    folder.file("notes/.hidden.txt", "not looked at")
    done = folder.run("text", folder.root / "notes")
    assert [(row["url"], row["source_record_id"], row["text"]) for row in folder.lines()] == [
        ("notes/B.TXT", "notes/B.TXT", "capital"),
        ("notes/a/z.md", "notes/a/z.md", "# first\n"),
        ("notes/b.txt", "notes/b.txt", "second\r\nline\n"),
    ]
    assert done.passed_over == (str(folder.root / "notes/picture.png"),)
    assert folder.row()["url"] == "notes"


def test_parquet_rows(folder):
    table = pa.table(
        {
            "text": pa.array(["one", None, "三"]),
            "id": pa.array([5, 6, 7], pa.int32()),
            "fetched_at": pa.array([datetime.datetime(2026, 10, 9, 12)] * 3, pa.timestamp("us", "UTC")),
            "score": pa.array([0.5, float("nan"), None]),
            "day": pa.array([datetime.date(2026, 1, 2)] * 3),
            "meta": [{"a": b"\x00\xff"}] * 3,
        }
    )
    path = folder.root / "rows.parquet"
    pq.write_table(table, path)
    done = folder.run("parquet", path)
    assert folder.lines()[2] == {
        "url": "rows.parquet#3",
        "fetched_at": "2026-10-09T12:00:00Z",
        "license_spdx": "CC0-1.0",
        "text": "三",
        "source_record_id": "7",
        "score": None,
        "day": "2026-01-02",
        "meta": {"a": "AP8="},
    }
    assert (done.documents, done.quarantined) == (3, {"null_text": 1})


# what is asked for, refused, wrong


def problems(error) -> list[str]:
    return [str(one) for one in error.value.problems]


BINARY = {
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "fixed-size binary": pa.binary(6),
    "dictionary": pa.dictionary(pa.int32(), pa.binary()),
}


def parquet(folder: Folder, columns: dict) -> Path:
    path = folder.root / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("kind", BINARY)
def test_a_binary_column_of_text_is_decoded(folder, kind):
    """So are the other columns that a raw line has as strings; further binary columns are base64."""

    def column(*values: str | None) -> pa.Array:
        values = [value and value.encode() for value in values]
        if kind == "dictionary":
            return pa.array(values, pa.binary()).dictionary_encode()
        return pa.array(values, BINARY[kind])

    columns = {"body": column("zwölf", None), "url": column("x://ab", "x://cd"), "id": column("record", "other1")}
    path = parquet(folder, {**columns, "more": column("binary", None)})
    assert pq.read_schema(path).field("body").type == BINARY[kind]
    folder.run("parquet", path, text_field="body")
    made = {"fetched_at": "2026-11-30T00:00:00Z", "license_spdx": "CC0-1.0"}
    assert folder.lines() == [
        {"url": "x://ab", **made, "text": "zwölf", "source_record_id": "record", "more": "YmluYXJ5"},
        {"url": "x://cd", **made, "text": None, "source_record_id": "other1", "more": None},
    ]


@pytest.mark.parametrize("kind", BINARY)
def test_a_binary_text_that_is_not_utf8(folder, kind):
    values = ["sécon".encode(), "sécond".encode("latin-1")]  # six bytes each
    column = pa.array(values, pa.binary() if kind == "dictionary" else BINARY[kind])
    path = parquet(folder, {"body": column.dictionary_encode() if kind == "dictionary" else column})
    with pytest.raises(DataError) as error:
        folder.run("parquet", path, text_field="body")
    assert problems(error)[0] == f'{path}:2: the binary column "body" is not UTF-8: byte 1 (0xe9)'


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"text": [["a"]], "texts": ["a"], "url": ["u"]},
            'the column "text" is list<element: string>, not text; the nearest column of text is "texts"',
        ),
        (
            {"text": [1.5], "body": [b"a"]},
            'the column "text" is double, not text; the nearest column of text is "body"',
        ),
        ({"text": [1], "n": [1]}, 'the column "text" is int64, not text; it has no column of text'),
        (
            {"text": [{"a": "b"}], "Text": ["a"]},
            'the column "text" is struct<a: string>, not text; the nearest column of text is "Text"',
        ),
    ],
)
def test_a_column_that_is_no_text_is_told_once(folder, columns, message):
    path = parquet(folder, columns)
    with pytest.raises(ConfigError) as error:
        folder.run("parquet", path)
    assert problems(error) == [f"{path}: {message}\n    --text-field names another."]


def test_a_licence_in_a_binary_column(folder):
    path = parquet(folder, {"text": ["a"], "license_spdx": [b"CC0-1.0"]})
    folder.run("parquet", path, license_spdx=None)
    assert folder.lines()[0]["license_spdx"] == "CC0-1.0"


def test_csv_that_is_not_utf8_is_told_by_file_and_line(folder):
    path = folder.file("a.csv", b"text,id\none,1\nna\xefve,2\n")
    with pytest.raises(DataError) as error:
        folder.run("csv", path)
    assert problems(error)[0] == f"{path}:3: is not UTF-8: byte 2 (0xef) of the line"


def test_licence_and_class_are_asked_for_at_once(folder):
    with pytest.raises(ConfigError) as error:
        folder.run(
            "jsonl", folder.file("a.jsonl", '{"text": "t"}'), license_spdx=None, data_class=None, fetched_at="now"
        )
    assert problems(error) == [
        '--fetched-at: "now" is no RFC 3339 time\n'
        "    Write a date, 2026-10-09, or a time with its zone, 2026-10-09T12:00:00Z.",
        "--license: is not given, and the first document has no license_spdx\n"
        "    Name the SPDX licence of the documents, such as --license CC0-1.0.",
        "--data-class: is not given\n    Say what the documents are: public, licensed, synthetic, self-written.",
    ]


def test_a_licence_is_spelled_as_spdx_does(folder):
    with pytest.raises(ConfigError) as error:
        folder.run("text", folder.file("a.txt", "t"), license_spdx="mit")
    assert problems(error) == ['--license: "mit" is not spelled as SPDX does\n    Write MIT.']


@pytest.mark.parametrize("data_class", ["customer", "customer-derived", "evaluation-only"])
def test_customer_and_evaluation_data_is_refused_whoever_signs(folder, data_class):
    with pytest.raises(RefusedError) as error:
        folder.run("text", folder.file("a.txt", "t"), data_class=data_class, reviewer="somebody")
    assert problems(error) == [f"mine: refused: {data_class} data is never trained on"]
    assert not folder.ledger.exists()


def test_a_file_that_is_called_like_an_evaluation_set_needs_a_reviewer(folder):
    path = folder.file("my-eval.jsonl", '{"text": "t"}')
    with pytest.raises(RefusedError) as error:
        folder.run("jsonl", path)
    assert problems(error) == [
        f'{path}: refused: looks like customer or evaluation data ("eval" in its name)\n'
        "    If it is none: a person has to look at it and sign with --reviewer NAME."
    ]
    folder.run("jsonl", path, reviewer="somebody")
    assert folder.row()["reviewer"] == "somebody"


BAD = [
    (b'{"text": "cut', "invalid_json", "the string from byte 9 on does not end"),
    (b'{"text": "1", "text": "2"}', "duplicate_key", '"text" again in its object at byte 14'),
    (b'{"text": "\xff"}', "invalid_utf8", "byte 0xff at byte 10: invalid start byte"),
    (b'{"text": "\\ud83d"}', "lone_surrogate", "\\ud83d at byte 10 has no partner"),
    (b"[1]", "not_an_object", "the line is an array"),
    (b'{"txt": "t", "b": 1}', "missing_text", 'has no field "text"; --text-field names another; its fields: txt, b'),
    (b'{"text": 5}', "text_not_string", "text is a number"),
    (b'{"text": "t", "license_spdx": "MIT"}', "license_mismatch", 'license_spdx is "MIT", the ledger says "CC0-1.0"'),
    (b'{"text": "t", "fetched_at": "2026-10-09 12:00"}', "invalid_fetched_at",
     'fetched_at is "2026-10-09 12:00", no RFC 3339 time in UTC'),
    (b'{"text": "t", "id": [1]}', "source_record_id_not_string", "source_record_id is an array"),
]  # fmt: skip


def bad_lines(folder) -> Path:
    return folder.file("a.jsonl", b'{"text": "good"}\n' + b"".join(line + b"\n" for line, _, _ in BAD))


def raw_bytes(folder, done) -> list[bytes]:
    (entry,) = done.files
    content = zstandard.ZstdDecompressor().decompressobj().decompress((folder.raw / entry.path).read_bytes())
    return content.split(b"\n")


def test_a_line_that_cannot_be_read_goes_in_as_it_is(folder):
    """The build quarantines each with its place; what is no object keeps its bytes."""
    path = bad_lines(folder)
    done = folder.run("jsonl", path)
    assert (done.documents, done.quarantined) == (11, {reason: 1 for _, reason, _ in BAD})
    assert raw_bytes(folder, done)[1:6] == [line for line, _, _ in BAD[:5]]
    assert [line for line in done.lines() if line.startswith("        ")] == [
        f"        {path}:{number}: {reason}: {what}" for number, (_, reason, what) in enumerate(BAD[:5], 2)
    ]
    config = config_module.load(folder.config, stage_keys={}, default=builtin() / "configs" / "default.toml")
    batches = raw.read(ledger.gate(config).files, config.max_line_bytes)
    rows = [row for kind, batch in batches if kind == "quarantine" for row in batch.to_pylist()]
    assert [(row["id"], row["line"], row["reason"]) for row in rows] == [
        (f"mine:{k}", k + 1, reason) for k, (_, reason, _) in enumerate(BAD, 1)
    ]


def test_strict_names_every_bad_line_and_writes_nothing(folder):
    path = bad_lines(folder)
    with pytest.raises(DataError) as error:
        folder.run("jsonl", path, strict=True)
    assert problems(error) == [
        *(f"{path}:{number}: {reason}: {what}" for number, (_, reason, what) in enumerate(BAD, 2)),
        "mine: nothing was written\n    Mend these lines, or take them out.",
    ]
    assert not folder.ledger.exists() and not (folder.raw / "mine").exists()


def test_a_text_field_that_no_document_has(folder):
    path = folder.file("a.jsonl", '{"body": "t", "n": 1}\n')
    with pytest.raises(DataError) as error:
        folder.run("jsonl", path)
    assert problems(error)[0] == (
        f'{path}:1: missing_text: has no field "text"; --text-field names another; its fields: body, n'
    )
    assert not folder.ledger.exists()


def test_a_number_beyond_any_double_stays_as_it_is(folder):
    line = b'{"url":"u","fetched_at":"2026-10-09T00:00:00Z","license_spdx":"CC0-1.0","text":"t","n":1e999}'
    done = folder.run("jsonl", folder.file("a.jsonl", b'{"text": "good"}\n' + line))
    assert (done.documents, done.quarantined) == (2, {})
    assert raw_bytes(folder, done)[1] == line


@pytest.mark.parametrize(
    ("end", "is_cut"),
    [
        (b'{"text": "tw', True),
        (b'{"text": "two"', True),
        ('{"text": "zwöl'.encode()[:-2], True),
        (b'{"text": "tw\n', False),  # the line has its end: it is bad, the file is whole
        (b'{"text": "two"}}', False),
        (b'{"text": "two"}', False),
    ],
)
def test_a_cut_last_line_says_that_the_file_may_be_incomplete(folder, end, is_cut):
    path = folder.file("a.jsonl", b'{"text": "one"}\n' + end)
    told = f"    {path}: its last line is cut: the file may be incomplete"
    assert (told in folder.run("jsonl", path).lines()) == is_cut


def test_text_by_lines_is_cut_inside_a_character(folder):
    path = folder.file("a.txt", "eins\nzwö".encode()[:-1])
    assert folder.run("lines", path).lines()[2:5] == [
        "    1 document that the build will quarantine: invalid_utf8",
        f"        {path}:2: invalid_utf8: byte 0xc3 at byte 2: unexpected end of data",
        f"    {path}: its last line is cut: the file may be incomplete",
    ]


def test_reading_stops_after_twenty_bad_lines(folder):
    path = folder.file("a.jsonl", "{\n" * 1000)
    with pytest.raises(DataError) as error:
        folder.run("jsonl", path, strict=True)
    assert len(error.value.problems) == 22
    assert problems(error)[20:] == [
        f"{path}: more than 20 lines cannot be imported; the rest was not read",
        "mine: nothing was written\n    Mend these lines, or take them out.",
    ]


def test_a_line_longer_than_the_build_would_read(folder):
    folder.config.write_text(folder.config.read_text() + "max_line_bytes = 1000\n")
    long = json.dumps({"text": "x" * 2000})
    path = folder.file("a.jsonl", f'{long}\n{{"text": "short"}}\n{json.dumps({"text": "y" * 950})}\n')
    with pytest.raises(DataError) as error:
        folder.run("jsonl", path, strict=True)
    assert problems(error)[:2] == [
        f"{path}:1: is longer than 1000 bytes (max_line_bytes of the config)",
        f"{path}:3: oversize_line: makes a raw line of 1040 bytes, more than 1000 (max_line_bytes of the config)",
    ]


def test_a_text_that_is_not_utf8(folder):
    path = folder.file("a.txt", "first\nsécond".encode("latin-1"))
    with pytest.raises(DataError) as error:
        folder.run("text", path)
    assert problems(error)[0] == f"{path}: null_text: is not UTF-8: byte 7 (0xe9), on line 2"


def test_pages_that_cannot_be_decoded_are_left_out_and_named(folder):
    latin = "<html><body><p>Größere Füchse über müden Hunden.</p></body></html>".encode("latin-1")
    folder.file("pages/0.html", latin)
    for i in range(1, 8):
        folder.file(f"pages/{i}.html", b'<meta charset="utf-8">\xff')
    folder.file("pages/9.html", "<html><body><p>Noch eine Seite mit einem Satz.</p></body></html>")
    done = folder.run("html", folder.root / "pages")
    assert [line["text"] for line in folder.lines()] == [
        "Größere Füchse über müden Hunden.",
        "Noch eine Seite mit einem Satz.",
    ]
    assert list(done.notes[:6]) == [
        "left out: 7 pages that cannot be decoded, the first 5:",
        *(f"    {folder.root}/pages/{i}.html: is not utf-8: byte 22 (0xff)" for i in range(1, 6)),
    ]


def test_a_folder_of_which_no_page_can_be_decoded(folder):
    path = folder.file("a.html", b'<meta charset="utf-8">\xff')
    with pytest.raises(DataError) as error:
        folder.run("html", path)
    assert str(error.value) == (
        "mine: there is no document in the input\n    Nothing was written.\n"
        "    left out: 1 page that cannot be decoded:\n"
        f"        {path}: is not utf-8: byte 22 (0xff)"
    )


def test_wrong_paths_and_formats(folder):
    (folder.root / "empty").mkdir()
    one = folder.file("one.jsonl", '{"text": "t"}')
    with pytest.raises(ConfigError) as error:
        folder.run("jsonl", folder.root / "nowhere", folder.root / "empty", one, one)
    assert problems(error) == [
        f"{folder.root}/nowhere: there is no such file or folder",
        f"{folder.root}/empty: holds no file of the format jsonl\n"
        "    Looked for names that end in .jsonl, .ndjson, .jsonl.gz, .ndjson.gz, .jsonl.zst, .ndjson.zst.",
        f"{one}: is named twice\n    Each file is read once.",
    ]
    with pytest.raises(ConfigError) as error:
        folder.run("jsnl", one)
    assert problems(error) == ['import: there is no format "jsnl"\n    Did you mean jsonl?']


def test_a_data_class_that_is_misspelt_is_named(folder):
    with pytest.raises(RefusedError) as error:
        folder.run("text", folder.file("a.txt", "t"), data_class="pubic")
    assert problems(error) == ['mine: refused: the data_class "pubic" is unknown\n    Did you mean public?']


@pytest.mark.parametrize(
    ("abbreviated", "meant"),
    [("md", "markdown"), ("txt", "text"), ("htm", "html"), ("pq", "parquet"), ("ndjson", "jsonl")],
)
def test_a_format_may_be_meant_by_a_file_names_ending(folder, abbreviated, meant):
    with pytest.raises(ConfigError) as error:
        folder.run(abbreviated, folder.file("a.txt", "t"))
    assert problems(error) == [f'import: there is no format "{abbreviated}"\n    Did you mean {meant}?']


def test_a_source_id_is_checked_before_anything_is_made(folder):
    with pytest.raises(ConfigError) as error:
        folder.run("text", folder.file("a.txt", "t"), source="../Mine")
    assert problems(error) == [
        '--source: "../Mine" is no source id\n'
        '    Lower-case letters, digits, ".", "_" and "-", beginning with a letter or digit.'
    ]
    assert not (folder.root / "artifacts").exists()


def test_an_input_without_documents(folder):
    with pytest.raises(DataError) as error:
        folder.run("jsonl", folder.file("a.jsonl", "\n\n"))
    assert problems(error) == ["mine: there is no document in the input\n    Nothing was written."]


# again


def test_the_same_again_does_nothing_whatever_the_day(folder):
    path = folder.file("a.jsonl", '{"text": "t"}\n')
    folder.run("jsonl", path)
    before = folder.everything()
    done = folder.run("jsonl", path, today=datetime.date(2027, 1, 1))
    assert done.state == "unchanged"
    assert done.lines() == ["mine is imported already, with the same content: nothing to do"]
    assert folder.everything() == before


def test_the_row_says_what_the_flags_leave_out(folder):
    path = folder.file("in/a.txt", "t")
    folder.run("text", folder.root / "in", url="https://example.org/x", reviewer="somebody", revision="r2")
    done = folder.run("text", folder.root / "in", license_spdx=None, data_class=None)
    assert (done.state, folder.lines()[0]["url"]) == ("unchanged", "https://example.org/x")
    assert path.exists()


def test_other_content_needs_replace_and_leaves_the_old_files(folder):
    path = folder.file("a.jsonl", '{"text": "old"}\n')
    old = folder.run("jsonl", path)
    before = folder.everything()
    folder.file("a.jsonl", '{"text": "new"}\n')
    with pytest.raises(ConfigError) as error:
        folder.run("jsonl", path)
    assert problems(error) == [
        f"mine: is in {folder.ledger} already, with other content\n"
        "    --replace puts this in its place; the present files stay where they are, as superseded."
    ]
    assert {k: v for k, v in folder.everything().items() if k != "a.jsonl"} == {
        k: v for k, v in before.items() if k != "a.jsonl"
    }
    done = folder.run("jsonl", path, replace=True)
    assert (done.state, done.superseded) == ("replaced", old.files)
    assert [one.path for one in done.files] == ["mine/20261130/part-00001.jsonl.zst"]
    assert [row["text"] for row in folder.lines()] == ["new"]
    assert (folder.raw / old.files[0].path).exists()


def test_raw_files_that_are_gone_or_damaged_come_back(folder):
    lines = "".join(json.dumps({"text": "x" * n}) + "\n" for n in (900, 800, 700))
    path = folder.file("a.jsonl", lines)
    folder.run("jsonl", path, part_bytes=500)
    before = folder.everything()
    (folder.raw / "mine/20261130/part-00000.jsonl.zst").unlink()
    (folder.raw / "mine/20261130/part-00002.jsonl.zst").write_bytes(b"damaged")
    done = folder.run("jsonl", path, part_bytes=500, today=datetime.date(2027, 1, 1))
    assert done.lines()[0] == "mine: 3 documents restored"
    assert folder.everything() == before


def test_a_new_reviewer_changes_the_row_and_no_file(folder):
    path = folder.file("a.jsonl", '{"text": "t"}\n')
    first = folder.run("jsonl", path)
    done = folder.run("jsonl", path, reviewer="somebody", replace=True)
    assert (done.files, done.superseded, folder.row()["reviewer"]) == (first.files, (), "somebody")


def test_a_part_that_no_row_names_is_not_imported_over(folder):
    left = folder.file("artifacts/corpus/raw/mine/20261001/part-00000.jsonl.zst", b"")
    with pytest.raises(ConfigError) as error:
        folder.run("text", folder.file("a.txt", "t"))
    assert problems(error) == [
        f"{left}: lies among the raw files, but the ledger does not name it\n"
        "    Move it away: no import has noted it, and it may be changed or belong elsewhere."
    ]


STEPS = [(files, "write"), (os, "rename"), (os, "replace"), (ledger, "write_source"), (Path, "unlink")]


def test_stopped_before_any_step_and_run_again(tmp_path, monkeypatch):
    """Every step that makes something final: the note, the part, the row, one after the other."""
    for step in range(1, 20):
        count, root = 0, tmp_path / str(step)
        root.mkdir()
        folder = Folder(root)
        path = folder.file("a.jsonl", '{"text": "one"}\n{"text": "two"}\n')

        def counting(original, step=step):
            def counted(*arguments, **more):
                nonlocal count
                count += 1
                if count == step:
                    raise KeyboardInterrupt
                return original(*arguments, **more)

            return counted

        stopped = False
        with monkeypatch.context() as patched:
            for module, name in STEPS:
                patched.setattr(module, name, counting(getattr(module, name)))
            try:
                folder.run("jsonl", path)
            except KeyboardInterrupt:
                stopped = True
        folder.run("jsonl", path)
        (part,) = [path for path in folder.raw.rglob("*") if path.is_file()]
        assert [one["path"] for one in folder.row()["files"]] == [part.relative_to(folder.raw).as_posix()], step
        assert [one["text"] for one in folder.lines()] == ["one", "two"]
        if not stopped:
            break
    assert step > 5


def test_other_rows_of_the_ledger_stay_as_they_are(folder):
    row = (
        '{"source_id":"other", "url":"u", "license_spdx":"MIT",  "data_class":"public", '
        '"retrieved":"2026-01-01", "files":[]}\n'
    )
    folder.file("artifacts/corpus/LEDGER.jsonl", row)
    folder.run("text", folder.file("a.txt", "t"))
    assert folder.ledger.read_text().startswith(row)
    assert len(folder.ledger.read_text().splitlines()) == 2


def test_a_source_that_the_config_does_not_list_is_told(folder):
    done = folder.run("text", folder.file("a.txt", "t"), source="more")
    assert done.notes[-1] == f'add "more" to sources in {folder.config} to build with it'


# bytes


def test_parts_end_by_size_and_lines_are_never_cut(folder):
    lines = "".join(json.dumps({"text": "x" * n}) + "\n" for n in (900, 50, 5000, 10, 10))
    done = folder.run("jsonl", folder.file("a.jsonl", lines), part_bytes=1100)
    assert [one.path for one in done.files] == [f"mine/20261130/part-{i:05d}.jsonl.zst" for i in range(3)]
    assert [len(row["text"]) for row in folder.lines()] == [900, 50, 5000, 10, 10]


def test_the_same_input_gives_the_same_bytes(tmp_path):
    trees = []
    for name, seed in (("one", "1"), ("two", "2")):
        (tmp_path / name).mkdir()
        folder = Folder(tmp_path / name)
        path = folder.file("a.jsonl", "".join(json.dumps({"text": f"t{i}", "b": 1, "a": 2}) + "\n" for i in range(50)))
        code = (
            "from corpus_sql.importing import import_files; from pathlib import Path; import datetime, sys\n"
            "import_files('jsonl', [Path(sys.argv[1])], source='mine', config_path=Path(sys.argv[2]),"
            " license_spdx='MIT', data_class='public', today=datetime.date(2026, 11, 30))"
        )
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "TZ": "Asia/Kolkata" if seed == "1" else "UTC",
            "LC_ALL": "C",
        }
        subprocess.run([os.sys.executable, "-c", code, path, folder.config], check=True, env=environment)
        trees.append(folder.everything())
    assert trees[0] == trees[1]


# the command


def command(folder: Folder, *arguments: str) -> subprocess.CompletedProcess:
    words = [os.sys.executable, "-m", "corpus_sql", *arguments, "--source", "mine", "--config", "corpus.toml"]
    return subprocess.run(words, cwd=folder.root, capture_output=True, text=True)


def test_the_command_imports_and_the_build_reads_it(folder):
    folder.file("a.jsonl", '{"text": "one"}\n{"text": "two"}\n')
    done = command(
        folder, "import", "jsonl", "a.jsonl", "--license", "MIT", "--data-class", "public", "--fetched-at", "2026-10-09"
    )
    (entry,) = folder.row()["files"]
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"mine: 2 documents imported\n    {entry['path']}  {entry['bytes']} bytes\n"
    run = [os.sys.executable, "-m", "corpus_sql", "run", "corpus.toml"]
    assert subprocess.run(run, cwd=folder.root, capture_output=True).returncode == 0
    manifest = json.loads((folder.root / "artifacts/corpus/d/v1/_MANIFEST.json").read_text())
    assert manifest["n_docs"] == 2


def test_the_command_says_what_is_wrong_without_a_traceback(folder):
    folder.file("a.jsonl", "{")
    missing = command(folder, "import", "jsonl", "a.jsonl", "--license", "MIT")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr == (
        "error: --data-class: is not given\n"
        "    Say what the documents are: public, licensed, synthetic, self-written.\n"
    )
    bad = command(folder, "import", "jsonl", "a.jsonl", "--license", "MIT", "--data-class", "public")
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.splitlines()[0].startswith("error: a.jsonl:1: invalid_json: ")
    assert "Traceback" not in bad.stderr
