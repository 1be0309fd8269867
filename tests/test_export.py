"""Exports of a build: what the layouts hold, to the byte where that matters, and what is refused."""

import gzip
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from conftest import Corpus, raw_line
from typer.testing import CliRunner

from corpus_sql import cli, exporting, oscar, oscar_writing
from corpus_sql.errors import ConfigError, DataError
from corpus_sql.files import sha256_file
from corpus_sql.import_inputs import Record
from corpus_sql.raw_fields import utc

ENGLISH = "The river was high after the rain, and the ferry stayed on the far side until noon. "
CHINESE = "我们今天去公园看花，然后回家吃饭。"

# what lines make hard: each is a document of its own
HARD = {
    "one line": ENGLISH,
    "blank lines inside": f"{ENGLISH}\n\n\n{ENGLISH}",
    "a line end at the end": f"{ENGLISH}\n",
    "line ends at both ends": f"\n\n{ENGLISH}\n\n",
    "CRLF": f"{ENGLISH}\r\n\r\n{ENGLISH}\r\n",
    "a bare carriage return": f"{ENGLISH}\r{ENGLISH}\r",
    "other line ends of Unicode": f"{ENGLISH}\u2028\u2029\u0085\x0b\x0c{ENGLISH}",
    "a byte order mark": f"\ufeff{ENGLISH}",
    "control characters": f"\0{ENGLISH}\x1b[0m",
    "Chinese": f"{CHINESE}\n{CHINESE}",
    "one letter": "😀",
}

HEADERS = {
    "content-length": "7380",
    "warc-target-uri": "https://example.org/post",
    "warc-type": "conversion",
    "warc-date": "2021-02-24T17:55:29Z",
    "warc-identified-content-language": "eng,zho",
    "warc-block-digest": "sha1:V4PYYGYA6ZYA2WACDKSNL6NXGDN6XK6X",
    "warc-record-id": "<urn:uuid:00000000-0000-0000-0000-00000000000a>",
}


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Path:
    """HARD as documents of one source; of another, documents with and without headers of their own."""
    corpus = Corpus(tmp_path_factory.mktemp("export"))
    corpus.source("hard", [raw_line(text, source_record_id=name) for name, text in HARD.items()], day="20260102")
    post = {"url": "https://example.org/post", "source_record_id": HEADERS["warc-record-id"]}
    corpus.source(
        "web",
        [
            raw_line(ENGLISH * 2, **post, fetched_at="2021-02-24T17:55:29Z", headers=HEADERS, oscar_language="en"),
            raw_line(ENGLISH * 3, **post, headers={"warc-type": "conversion"}),
            raw_line(ENGLISH * 4, **post, headers={"accept": "text/html"}),
            raw_line(ENGLISH * 5, **post, headers={"warc-type": 1}),
            raw_line(CHINESE * 3, fetched_at="2026-01-01T23:00:00+00:00"),
            "1 2 3",
        ],
    )
    corpus.run("stages = []\nshard_rows = 5\n[split]\nval_permille = 400")
    return corpus.version


def rows(build: Path) -> list[dict]:
    return pa.concat_tables(map(pq.read_table, sorted(build.glob("shard-*.parquet")))).to_pylist()


def listing(folder: Path) -> dict[str, bytes]:
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def read_oscar(folder: Path) -> list[dict]:
    found = [one for part in oscar.find([folder])[0] for one in oscar.read(part.path, 1 << 20)]
    assert all(isinstance(one, Record) for one in found), found
    return [one.fields for one in found]


def headers_of(build: Path, tmp_path: Path, text: str) -> dict:
    exporting.export("oscar", build, tmp_path / "out")
    (found,) = [one["headers"] for one in read_oscar(tmp_path / "out") if one["text"] == text]
    return found


# --- oscar -----------------------------------------------------------------------------------------------------------


def test_every_text_comes_back_to_the_letter(build, tmp_path):
    exporting.export("oscar", build, tmp_path / "out")
    found = read_oscar(tmp_path / "out")
    assert {one["source_record_id"]: one["text"] for one in found if one.get("source_record_id") in HARD} == HARD
    assert sorted(one["text"] for one in found) == sorted(row["text"] for row in rows(build))


def test_documents_lie_in_the_folder_of_their_language_in_order_of_id(build, tmp_path):
    exporting.export("oscar", build, tmp_path / "out")
    found = read_oscar(tmp_path / "out")
    by_language = {lang: [one["text"] for one in found if one["oscar_language"] == lang] for lang in ("en", "zh")}
    expected = {lang: [row["text"] for row in rows(build) if row["lang"] == lang] for lang in ("en", "zh")}
    assert by_language == expected
    assert len(expected["en"]) > 10 and len(expected["zh"]) == 2


def test_the_files_of_a_language_to_the_byte(build, tmp_path):
    exporting.export("oscar", build, tmp_path / "out")
    folder = tmp_path / "out/zh"
    assert sorted(one.name for one in folder.iterdir()) == ["zh.txt.gz", "zh_meta.jsonl.gz", "zh_sha256.txt"]
    assert gzip.decompress((folder / "zh.txt.gz").read_bytes()).decode() == (
        f"{CHINESE}\n{CHINESE}\n\n{CHINESE * 3}\n\n"
    )
    metadata = gzip.decompress((folder / "zh_meta.jsonl.gz").read_bytes()).decode().splitlines(keepends=True)
    assert [one[one.index('},"offset"') :] for one in metadata] == [
        '},"offset":0,"nb_sentences":2}\n',
        '},"offset":3,"nb_sentences":1}\n',
    ]
    sums = subprocess.run(["sha256sum", "zh.txt.gz", "zh_meta.jsonl.gz"], cwd=folder, capture_output=True, check=True)
    assert (folder / "zh_sha256.txt").read_bytes() == sums.stdout
    assert sums.stdout.count(b"  ") == 2


def test_gzip_files_hold_no_time_and_no_name(build, tmp_path):
    exporting.export("oscar", build, tmp_path / "out")
    heads = {one.read_bytes()[:8] for one in (tmp_path / "out").rglob("*.gz")}
    assert heads == {b"\x1f\x8b\x08\x00" + bytes(4)}


def test_headers_that_a_document_came_with_are_left_as_they_are(build, tmp_path):
    found = headers_of(build, tmp_path, ENGLISH * 2)
    assert list(found.items()) == list(HEADERS.items())


def test_headers_without_url_and_time_get_these(build, tmp_path):
    assert headers_of(build, tmp_path, ENGLISH * 3) == {
        "warc-type": "conversion",
        "warc-target-uri": "https://example.org/post",
        "warc-date": "2026-01-02T03:04:05Z",
    }


@pytest.mark.parametrize("times", [4, 5], ids=["no header of WARC", "a header that is no string"])
def test_headers_of_another_kind_are_none(build, tmp_path, times):
    assert headers_of(build, tmp_path, ENGLISH * times)["content-length"] == str(len(ENGLISH) * times)


def test_headers_are_made_of_what_is_known(build, tmp_path):
    assert headers_of(build, tmp_path, ENGLISH * 5) == {
        "warc-type": "conversion",
        "warc-target-uri": "https://example.org/post",
        "warc-date": "2026-01-02T03:04:05Z",
        "warc-record-id": "<urn:uuid:00000000-0000-0000-0000-00000000000a>",
        "content-type": "text/plain",
        "content-length": str(len(ENGLISH) * 5),
        "warc-identified-content-language": "eng",
    }


def test_a_record_id_is_made_from_the_id_and_the_time_is_utc(build, tmp_path):
    assert headers_of(build, tmp_path, CHINESE * 3) == {
        "warc-type": "conversion",
        "warc-target-uri": "https://example.org/a",
        "warc-date": "2026-01-01T23:00:00Z",
        "warc-record-id": "<urn:uuid:66030c11-eff1-5f51-9033-e8f62e1d6771>",
        "content-type": "text/plain",
        "content-length": str(len((CHINESE * 3).encode())),
        "warc-identified-content-language": "zho",
    }


def test_an_undetermined_language_is_not_named(build, tmp_path):
    assert "warc-identified-content-language" not in headers_of(build, tmp_path, "1 2 3")
    assert (tmp_path / "out/und/und.txt.gz").exists()


@pytest.mark.parametrize(
    ("time", "date"),
    [
        ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"),
        ("2026-01-02t03:04:05z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05-05:30", "2026-01-02T08:34:05Z"),
        ("2017-01-01T08:59:60.25+09:00", "2016-12-31T23:59:60.25Z"),
        ("0001-01-01T00:00:00+01:00", "0001-01-01T00:00:00+01:00"),
    ],
    ids=["a fraction", "small letters", "an offset", "a leap second", "before the year 1"],
)
def test_times_become_utc(time, date):
    assert utc(time) == date


def test_a_large_language_is_written_in_parts(tmp_path):
    language = oscar_writing.Language(tmp_path, "en", 10)
    for text in ("1234", "67", "9", "a document longer than a part", "x", "y\n\nz"):
        language.write(text, {})
    assert [(one.name, one.documents) for one in language.close()] == [
        ("en/en_meta_part_1.jsonl.gz", 2),
        ("en/en_meta_part_2.jsonl.gz", 1),
        ("en/en_meta_part_3.jsonl.gz", 1),
        ("en/en_meta_part_4.jsonl.gz", 2),
        ("en/en_part_1.txt.gz", 2),
        ("en/en_part_2.txt.gz", 1),
        ("en/en_part_3.txt.gz", 1),
        ("en/en_part_4.txt.gz", 2),
        ("en/en_sha256.txt", None),
    ]
    texts = [gzip.decompress((tmp_path / f"en/en_part_{n}.txt.gz").read_bytes()) for n in range(1, 5)]
    assert texts == [b"1234\n\n67\n\n", b"9\n\n", b"a document longer than a part\n\n", b"x\n\ny\n\nz\n\n"]
    assert [one["text"] for one in read_oscar(tmp_path)][-2:] == ["x", "y\n\nz"]
    subprocess.run(["sha256sum", "-c", "--strict", "en_sha256.txt"], cwd=tmp_path / "en", check=True)


def test_more_than_nine_parts_come_back_in_order(tmp_path):
    language = oscar_writing.Language(tmp_path, "en", 1)
    for n in range(12):
        language.write(f"text {n}", {})
    language.close()
    assert [one["text"] for one in read_oscar(tmp_path)] == [f"text {n}" for n in range(12)]


# --- parquet-by-split and jsonl --------------------------------------------------------------------------------------


def test_parquet_by_split_has_the_rows_and_columns_of_the_shards(build, tmp_path):
    exporting.export("parquet-by-split", build, tmp_path / "out")
    names = sorted(listing(tmp_path / "out"))
    assert names == ["train-00000-of-00001.parquet", "val-00000-of-00001.parquet"]
    shape = pq.read_schema(build / "shard-00000-of-00004.parquet")
    for name in names:
        table = pq.read_table(tmp_path / "out" / name)
        assert table.schema.equals(shape)
        assert table.to_pylist() == [row for row in rows(build) if row["split"] == name.split("-")[0]]


def test_jsonl_has_the_rows_and_columns_of_the_shards(build, tmp_path):
    exporting.export("jsonl", build, tmp_path / "out")
    files = listing(tmp_path / "out")
    assert sorted(files) == ["train-00000.jsonl.zst", "val-00000.jsonl.zst"]
    for name, content in files.items():
        lines = zstandard.ZstdDecompressor().decompressobj().decompress(content).decode().split("\n")
        expected = [row | {"sha256": row["sha256"].hex()} for row in rows(build) if row["split"] == name.split("-")[0]]
        assert [json.loads(line) for line in lines[:-1]] == expected
        assert (list(json.loads(lines[0])), lines[-1]) == (list(expected[0]), "")


def test_parquet_parts_are_cut_by_the_bytes_of_their_rows(build, tmp_path):
    exporting.export("parquet-by-split", build, tmp_path / "out", part_bytes=600)
    names = sorted(one.name for one in (tmp_path / "out").glob("train-*"))
    assert names == [f"train-{n:05d}-of-{len(names):05d}.parquet" for n in range(len(names))] and len(names) > 3
    found = [pq.read_table(tmp_path / "out" / name) for name in names]
    assert pa.concat_tables(found).to_pylist() == [row for row in rows(build) if row["split"] == "train"]
    sizes = [sum(exporting.shards.row_bytes(batch)) for table in found for batch in table.combine_chunks().to_batches()]
    assert all(size <= 600 or table.num_rows == 1 for size, table in zip(sizes, found, strict=True))


def test_jsonl_parts_are_cut_by_the_bytes_of_their_lines(build, tmp_path):
    exporting.export("jsonl", build, tmp_path / "out", part_bytes=700)
    names = sorted(one.name for one in (tmp_path / "out").glob("train-*"))
    assert names == [f"train-{n:05d}.jsonl.zst" for n in range(len(names))] and len(names) > 3
    whole = [
        zstandard.ZstdDecompressor().decompressobj().decompress((tmp_path / "out" / name).read_bytes())
        for name in names
    ]
    assert all(len(one) <= 700 or one.count(b"\n") == 1 for one in whole)
    expected = [row["id"] for row in rows(build) if row["split"] == "train"]
    assert [json.loads(line)["id"] for one in whole for line in one.splitlines()] == expected


# --- all of them -----------------------------------------------------------------------------------------------------

FORMATS = ("oscar", "parquet-by-split", "jsonl")


@pytest.mark.parametrize("format", FORMATS)
def test_two_exports_are_the_same_to_the_byte(build, tmp_path, format, monkeypatch):
    exporting.export(format, build, tmp_path / "one", part_bytes=1200)
    monkeypatch.setattr(exporting, "_BATCH", 2)  # how many rows are read at once must not show
    exporting.export(format, build, tmp_path / "two", part_bytes=1200)
    assert listing(tmp_path / "one") == listing(tmp_path / "two")
    assert len(listing(tmp_path / "one")) > 4


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_of_audit_and_nothing_hidden_is_exported(build, tmp_path, format):
    exporting.export(format, build, tmp_path / "out")
    endings = {"oscar": (".gz", "_sha256.txt"), "parquet-by-split": (".parquet",), "jsonl": (".jsonl.zst",)}[format]
    assert all(name.endswith(endings) for name in listing(tmp_path / "out"))
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("format", FORMATS)
def test_the_build_is_left_as_it_was(build, tmp_path, format):
    before = listing(build)
    exporting.export(format, build, tmp_path / "out")
    assert listing(build) == before


def test_the_lines_that_are_told(build, tmp_path):
    size = {}
    out = tmp_path / "out"
    said = exporting.export("jsonl", build, out)
    train = sum(row["split"] == "train" for row in rows(build))
    size = {name: len(content) for name, content in listing(out).items()}
    assert said == [
        f"{out}: 17 documents as jsonl in 2 files",
        f"    train-00000.jsonl.zst  {train} documents  {size['train-00000.jsonl.zst']} bytes",
        f"    val-00000.jsonl.zst  {17 - train} documents  {size['val-00000.jsonl.zst']} bytes",
    ]
    said = exporting.export("oscar", build, tmp_path / "oscar")
    assert said[-1] == "the layout has no place for licences; documents by licence: CC0-1.0 17"


def test_the_command(build, tmp_path):
    (tmp_path / "out").mkdir()
    arguments = ["export", "oscar", str(build), str(tmp_path / "out"), "--part-bytes", "700"]
    done = CliRunner().invoke(cli.app, arguments)
    files = listing(tmp_path / "out")
    assert done.stdout.splitlines()[0] == f"{tmp_path / 'out'}: 17 documents as oscar in {len(files)} files"
    assert done.exit_code == 0
    assert {"en/en_part_2.txt.gz", "en/en_meta_part_2.jsonl.gz", "zh/zh.txt.gz"} <= set(files)


def test_a_build_without_documents_makes_an_empty_folder(tmp_path):
    corpus = Corpus(tmp_path)
    corpus.source("s", [""])
    corpus.run("stages = []")
    for format in FORMATS:
        assert exporting.export(format, corpus.version, tmp_path / format) == [
            f"{tmp_path / format}: 0 documents as {format} in 0 files"
        ]
        assert listing(tmp_path / format) == {}


# --- what is refused, and what breaks --------------------------------------------------------------------------------


def test_what_is_refused(build, tmp_path):
    full, file = tmp_path / "full", tmp_path / "file"
    full.mkdir()
    (full / "note").write_text("mine")
    file.write_text("mine")
    inside = build / "export"
    refused = {
        ("josnl", build, tmp_path / "out", None): 'export: there is no format "josnl"\n    Did you mean jsonl?',
        ("jsonl", build, full, None): f"{full}: is not empty\n    Give a new folder, or an empty one.",
        ("jsonl", build, file, None): f"{file}: is no folder\n    Give a new folder, or an empty one.",
        ("jsonl", build, inside, None): (
            f"{inside}: lies in the build\n    A build is never written to: give another folder."
        ),
        ("jsonl", build, tmp_path / "out", 0): "--part-bytes: is 0, less than 1",
        ("jsonl", tmp_path, tmp_path / "out", None): (
            f"{tmp_path}: this is no build: it has no _MANIFEST.json and _audit/\n"
            "    Give a version folder, corpus/<dataset>/<version>, or the config that it was built from."
        ),
    }
    for (format, source, target, part_bytes), message in refused.items():
        with pytest.raises(ConfigError) as error:
            exporting.export(format, source, target, part_bytes=part_bytes)
        assert str(error.value) == message
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "full"]
    assert listing(full) == {"note": b"mine"} and not inside.exists()


@pytest.fixture
def damaged(build, tmp_path) -> Path:
    """A copy of the build that a test may damage."""
    return Path(shutil.copytree(build, tmp_path / "v1"))


def fails(format: str, build: Path, tmp_path: Path) -> str:
    with pytest.raises(DataError) as error:
        exporting.export(format, build, tmp_path / "out")
    assert [one.name for one in tmp_path.iterdir()] == ["v1"]  # neither the export nor a beginning of it
    return str(error.value).replace(f"{build.resolve()}/", "")


@pytest.mark.parametrize("format", FORMATS)
def test_a_missing_shard_stops_the_export(damaged, tmp_path, format):
    (damaged / "shard-00002-of-00004.parquet").unlink()
    assert fails(format, damaged, tmp_path) == (
        "shard-00002-of-00004.parquet: there is no such file\n"
        "    Nothing was exported. Run corpus-sql verify: it says what else is wrong."
    )


def test_a_shard_of_other_rows_stops_the_export(damaged, tmp_path):
    change_first_shard(damaged, lambda table: table.slice(0, 4), manifest_too=True)
    assert fails("jsonl", damaged, tmp_path) == f"{FIRST}: has 4 rows, the manifest says 5\n    {VERIFY}"


FIRST = "shard-00000-of-00004.parquet"
VERIFY = "Nothing was exported. Run corpus-sql verify: it says what else is wrong."


def change_first_shard(build: Path, change: Callable[[pa.Table], pa.Table], manifest_too: bool) -> None:
    pq.write_table(change(pq.read_table(build / FIRST)), build / FIRST)
    if manifest_too:
        manifest = json.loads((build / "_MANIFEST.json").read_text("utf-8"))
        manifest["shards"][0]["sha256"] = sha256_file(build / FIRST)
        (build / "_MANIFEST.json").write_text(json.dumps(manifest), "utf-8")


def with_another_text(table: pa.Table) -> pa.Table:
    """The last text of the table, with another first letter: as long as before."""
    texts = table["text"].to_pylist()
    place = table.schema.get_field_index("text")
    return table.set_column(place, table.schema.field(place), pa.array([*texts[:-1], "x" + texts[-1][1:]]))


@pytest.mark.parametrize("format", FORMATS)
def test_an_altered_shard_stops_the_export(damaged, tmp_path, format):
    change_first_shard(damaged, with_another_text, manifest_too=False)
    (damaged / "shard-00003-of-00004.parquet").write_bytes(b"")
    assert fails(format, damaged, tmp_path) == (
        f"{FIRST}: has another SHA-256 than the manifest says\n    {VERIFY}\n"
        f"shard-00003-of-00004.parquet: has another SHA-256 than the manifest says\n    {VERIFY}"
    )


@pytest.mark.parametrize("format", FORMATS)
def test_an_altered_text_stops_the_export_though_the_manifest_agrees(damaged, tmp_path, format):
    id = pq.read_table(damaged / FIRST)["id"].to_pylist()[-1]
    change_first_shard(damaged, with_another_text, manifest_too=True)
    assert fails(format, damaged, tmp_path) == (
        f"{id}: the text is not the one that its n_chars and sha256 were made of\n    {VERIFY}"
    )


def test_another_number_of_characters_stops_the_export(damaged, tmp_path):
    def longer(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index("n_chars")
        numbers = pa.array([n + 1 for n in table["n_chars"].to_pylist()], pa.int32())
        return table.set_column(place, table.schema.field(place), numbers)

    id = pq.read_table(damaged / FIRST)["id"].to_pylist()[0]
    change_first_shard(damaged, longer, manifest_too=True)
    assert fails("jsonl", damaged, tmp_path) == (
        f"{id}: the text is not the one that its n_chars and sha256 were made of\n    {VERIFY}"
    )


def test_provenance_that_does_not_fit_stops_the_export(damaged, tmp_path):
    path = damaged / "_audit/documents.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    assert fails("oscar", damaged, tmp_path) == (
        '_audit/documents.parquet: the kept document "hard:1" stands where the shards have hard:0\n'
        "    Nothing was exported. Run corpus-sql verify: it says what else is wrong."
    )


def test_what_a_killed_export_left_is_cleared(build, tmp_path):
    left = tmp_path / ".out.exporting/en"
    left.mkdir(parents=True)
    (left / "en_part_1.txt.gz").write_bytes(b"half")
    (left.parent / "train-00000.jsonl.zst").write_bytes(b"half")
    exporting.export("jsonl", build, tmp_path / "out")
    assert sorted(listing(tmp_path)) == ["out/train-00000.jsonl.zst", "out/val-00000.jsonl.zst"]


def test_a_disk_that_is_full_leaves_nothing(build, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(oscar_writing.Language, "write", full)
    with pytest.raises(DataError) as error:
        exporting.export("oscar", build, tmp_path / "out")
    assert str(error.value) == (
        f"{tmp_path / 'out'}: takes no more: No space left on device\n    Free some disk there, and run again."
    )
    assert list(tmp_path.iterdir()) == []
