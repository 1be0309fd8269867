"""The OSCAR 21.09 layout, read: text and metadata above, records or the whole message below."""

import gzip
import hashlib
import json
import tempfile
import unicodedata
from pathlib import Path

import pytest
import zstandard
from conftest import shared
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_sql import build, exporting, import_inputs, oscar, oscar_writing
from corpus_sql.errors import ConfigError, DataError
from corpus_sql.import_inputs import Bad, Record
from corpus_sql.importing import import_files

MANY = 1 << 20  # bytes a text may have


def meta(offset, nb_sentences, **headers) -> dict:
    return {"headers": headers, "offset": offset, "nb_sentences": nb_sentences}


class Layout:
    """A folder that a test fills with languages."""

    def __init__(self, root: Path):
        self.root = root

    def put(self, name: str, content: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def part(self, language: str, text: str | bytes, records=None, part: int | None = None) -> None:
        """One part: its text and, unless records is None, its metadata (a str is a line as it is)."""
        content = text.encode() if isinstance(text, str) else text
        self.put(f"{language}/{oscar.text_name(language, part)}", gzip.compress(content))
        if records is not None:
            lines = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records)
            self.put(f"{language}/{oscar.metadata_name(language, part)}", gzip.compress(lines.encode()))
        self.sums(language)

    def sums(self, language: str, between: str = "  ", end: str = "\n") -> None:
        """The checksum file of all that is there."""
        names = sorted(path.name for path in (self.root / language).iterdir() if path.name.endswith(".gz"))
        hashes = [hashlib.sha256((self.root / language / name).read_bytes()).hexdigest() for name in names]
        lines = [one + between + name + end for one, name in zip(hashes, names, strict=True)]
        self.put(f"{language}/{language}_sha256.txt", "".join(lines))

    def names(self) -> list[str]:
        return [one.name for one in oscar.find([self.root])[0]]

    def verify(self) -> None:
        found = oscar.files(oscar.find([self.root])[0])
        oscar.verify(found, [import_inputs.fingerprint(one.path)[0] for one in found])

    def read(self, max_bytes: int = MANY) -> list[Record | Bad]:
        return [one for part in oscar.find([self.root])[0] for one in oscar.read(part.path, max_bytes)]

    def texts(self) -> list[str]:
        found = self.read()
        assert all(isinstance(one, Record) for one in found), found
        return [one.fields["text"] for one in found]

    def last(self, max_bytes: int = MANY) -> tuple[int | None, str]:
        """The line and the message at which reading stopped."""
        found = self.read(max_bytes)[-1]
        assert isinstance(found, Bad), found
        return found.number, found.what

    def problems(self) -> str:
        with pytest.raises(ConfigError) as error:
            self.verify()
        return str(error.value).replace(f"{self.root}/", "")


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path / "oscar")


# --- records ---------------------------------------------------------------------------------------------------------


def test_a_record_is_its_lines_and_its_headers(layout):
    headers = {
        "content-length": "999",
        "warc-target-uri": "https://example.org/eins",
        "warc-date": "2021-02-24T17:55:29Z",
        "warc-record-id": "<urn:uuid:00000000-0000-0000-0000-000000000001>",
    }
    layout.part("de", "eins\nzwei\n\ndrei\n\n", [meta(0, 2, **headers), meta(3, 1)])
    assert layout.read() == [
        Record(
            1,
            {
                "text": "eins\nzwei",
                "url": "https://example.org/eins",
                "fetched_at": "2021-02-24T17:55:29Z",
                "source_record_id": "<urn:uuid:00000000-0000-0000-0000-000000000001>",
                "headers": headers,
                "oscar_language": "de",
            },
        ),
        Record(2, {"text": "drei", "headers": {}, "oscar_language": "de"}),
    ]


def test_each_part_counts_its_own_lines_and_ten_comes_after_nine(layout):
    for part in (10, 2, 9, 1):
        layout.part("en", f"first of {part}\n\nsecond of {part}\n\n", [meta(0, 1), meta(2, 1)], part)
    layout.part("af", "een\n\n", [meta(0, 1)])
    assert layout.names() == [
        "oscar/af/af_meta.jsonl.gz",
        "oscar/en/en_meta_part_1.jsonl.gz",
        "oscar/en/en_meta_part_2.jsonl.gz",
        "oscar/en/en_meta_part_9.jsonl.gz",
        "oscar/en/en_meta_part_10.jsonl.gz",
    ]
    assert layout.texts() == ["een"] + [f"{which} of {n}" for n in (1, 2, 9, 10) for which in ("first", "second")]


def test_a_language_folder_can_be_named_itself(layout):
    layout.part("bat-smg", "vėins\n\n", [meta(0, 1)])
    assert [one.name for one in oscar.find([layout.root / "bat-smg"])[0]] == ["bat-smg/bat-smg_meta.jsonl.gz"]


@pytest.mark.parametrize(
    ("text", "records", "texts"),
    [
        ("a\rb\r\nc\u2028d\u0085e\x0bf\n\ng\n\n", [(0, 2), (3, 1)], ["a\rb\r\nc\u2028d\u0085e\x0bf", "g"]),
        ("a\n\n\nb\n\nc\n\n", [(0, 4), (5, 1)], ["a\n\n\nb", "c"]),
        ("\na\n\n\n\nb\n\n", [(0, 3), (4, 2)], ["\na\n", "\nb"]),
        ("a\r\n\r\nb\r\n\n", [(0, 1), (2, 1)], ["a\r", "b\r"]),
        ("a\r\nb\r\n\r\n\r\nc\rd\r\r\n\r\n", [(0, 2), (4, 1)], ["a\nb", "c\rd\r"]),
        ("a\r\n\r\nb", [(0, 1), (2, 1)], ["a", "b"]),
        ("a\r", [(0, 1)], ["a\r"]),
        ("a\nb\n", [(0, 1), (1, 1)], ["a", "b"]),
        ("a\n\nb", [(0, 1), (2, 1)], ["a", "b"]),
        ("\n\na\n\n\n\nb\n\n\n", [(2, 1), (6, 1)], ["a", "b"]),
        ("a\n\n\nb\n\n", [(0, 1), (2, 0), (3, 1)], ["a", "", "b"]),
        ("\ufeffa\n\n", [(0, 1)], ["\ufeffa"]),
        ("", [], []),
    ],
    ids=[
        "only a line feed ends a line",
        "blank lines inside a text",
        "blank lines at the ends of a text, and one between two texts",
        "carriage returns stay in the text, and make no blank line a text",
        "they belong to the line ends where all lines have one",
        "a last line without an end",
        "no line end at all",
        "records without a blank line between them",
        "no line end at the end of the file",
        "several blank lines between two records",
        "a record of no lines",
        "a byte order mark is text",
        "an empty part",
    ],
)
def test_a_text_is_its_lines_to_the_letter(layout, text, records, texts):
    layout.part("en", text, [meta(*one) for one in records])
    assert layout.texts() == texts


def test_metadata_whose_lines_end_in_crlf(layout):
    layout.part("en", "a\r\nb\r\n\r\nc\r\n\r\n", [json.dumps(meta(*one)) + "\r" for one in [(0, 2), (3, 1)]])
    assert layout.texts() == ["a\nb", "c"]


@pytest.mark.parametrize(("text", "found"), [("x" * 49, True), ("x" * 50, True), ("x" * 51, False)])
def test_a_line_end_does_not_count_to_the_bytes_of_a_text(layout, text, found):
    layout.part("en", f"{text}\r\n\r\n", [meta(0, 1)])
    assert isinstance(layout.read(50)[-1], Record) == found


@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_a_line_end_between_two_reads(layout, size):
    layout.part("en", "x" * size + "\r\n\r\n", [meta(0, 1)])
    assert [one.fields["text"] for one in layout.read(2 << 20)] == ["x" * size]


def test_members_beyond_the_layout_are_kept(layout):
    layout.part("en", "a\n\n", [{**meta(0, 1), "annotation": ["short", None]}])
    assert layout.read()[0].fields["oscar_metadata"] == {"annotation": ["short", None]}


# --- what does not fit -----------------------------------------------------------------------------------------------

ORPHAN = "en.txt.gz is text that belongs to no record"
THREE = "a1\na2\n\nb1\nb2\n\nc1\nc2\n\n"  # three texts of two lines: lines 1-2, 4-5, 7-8


@pytest.mark.parametrize(
    ("second", "line", "message"),
    [
        ((4, 2), 2, f"line 4 of {ORPHAN}: it comes before this record"),
        ((2, 2), 2, "begins with line 3 of en.txt.gz, the blank line after the record before"),
        ((1, 2), 2, "offset is 1, but the records above take en.txt.gz up to line 2"),
        ((3, 1), 2, f"line 5 of {ORPHAN}: it follows this record's last line, 4"),
        ((3, 3), 2, "ends with line 6 of en.txt.gz, the blank line before the next record"),
        ((3, 4), 3, "offset is 6, but the records above take en.txt.gz up to line 7"),
        ((3, 99), 2, "offset 3 and nb_sentences 99 go to line 102, but en.txt.gz has 9 lines"),
        ((99, 1), 2, f"line 4 of {ORPHAN}: it comes before this record"),
        ((-3, 2), 2, "offset is -3, less than 0"),
        ((3, -2), 2, "nb_sentences is -2, less than 0"),
    ],
    ids=[
        "an offset one too large",
        "an offset one too small",
        "an offset in the record before",
        "a count one too small",
        "a count one too large",
        "a count that reaches into the next record",
        "a count beyond the end",
        "an offset beyond the end",
        "a negative offset",
        "a negative count",
    ],
)
def test_an_offset_or_count_that_does_not_fit_stops_at_its_record(layout, second, line, message):
    layout.part("en", THREE, [meta(0, 2), meta(*second), meta(6, 2)])
    assert layout.last() == (line, message)


@pytest.mark.parametrize(
    ("text", "records", "line", "message"),
    [
        ("a\nb\n\n", [meta(1, 1)], 1, f"line 1 of {ORPHAN}: it comes before this record"),
        ("a\n\n", [meta(0, 2)], 1, "ends with line 2 of en.txt.gz, the blank line after the last record"),
        ("a\n\nb\n\n", [meta(0, 1)], None, f"line 3 of {ORPHAN}"),
        ("a\nb\n\n", [meta(0, 1)], 1, f"line 2 of {ORPHAN}: it follows this record's last line, 1"),
        ("a\n", [], None, f"line 1 of {ORPHAN}"),
        ("a\n\n", [meta(0, 1), meta(5, 0)], 2, "offset is 5, but en.txt.gz has 2 lines"),
        ("", [meta(0, 1)], 1, "offset 0 and nb_sentences 1 go to line 1, but en.txt.gz has 0 lines"),
        (b"a\nb\xff\n\n", [meta(0, 2)], 1, "line 2 of en.txt.gz is not UTF-8: byte 0xff at byte 1"),
    ],
    ids=[
        "the first record begins too late",
        "the last record takes the last blank line",
        "text after the last record",
        "the last record is too short",
        "text without metadata",
        "an offset beyond the end, of a record of no lines",
        "an empty text file",
        "a text that is not UTF-8",
    ],
)  # fmt: skip
def test_text_and_metadata_of_a_part_must_fit(layout, text, records, line, message):
    layout.part("en", text, records)
    assert layout.last() == (line, message)


def test_swapped_texts_of_two_parts_are_noticed(layout):
    layout.part("en", "a\n\nb\n\n", [meta(0, 2)], 1)
    layout.part("en", "c\nd\n\n", [meta(0, 1), meta(2, 1)], 2)
    assert [one for one in layout.read() if isinstance(one, Bad)] == [
        Bad(1, "line 3 of en_part_1.txt.gz is text that belongs to no record: it follows this record's last line, 2"),
        Bad(1, "line 2 of en_part_2.txt.gz is text that belongs to no record: it follows this record's last line, 1"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"headers": {}, "offset": 0}', "nb_sentences is missing"),
        ("{}", "headers is missing; nb_sentences is missing; offset is missing"),
        (json.dumps(meta(0, 1, count=11)), "headers.count is 11, not a string"),
        (json.dumps(meta(0, 1, date=None)), "headers.date is null, not a string"),
        ('{"headers": [], "offset": 0, "nb_sentences": 1}', "headers is [], not an object"),
        (json.dumps(meta("0", 1)), 'offset is "0", not a whole number'),
        (json.dumps(meta(0.5, True)), "nb_sentences is true, not a whole number; offset is 0.5, not a whole number"),
        ("[0, 1]", "not_an_object: the line is an array"),
        ('{"offset": 0, "offset": 3, "nb_sentences": 1}', 'duplicate_key: "offset" again in its object at byte 14'),
    ],
)
def test_metadata_that_breaks_the_schema_is_named(layout, line, message):
    layout.part("en", "a\n\nb\n\n", [line, meta(2, 1)])
    assert layout.read() == [Bad(1, message)]


def test_the_schema_and_the_reader_agree_on_what_is_valid(layout):
    import jsonschema

    schema = json.loads((Path(oscar.builtin()) / "schemas" / "oscar-metadata.schema.json").read_text())
    valid = jsonschema.Draft7Validator(schema).is_valid
    good = [meta(0, 0), meta(1, 2, a="b"), {**meta(0, 1), "more": 1}]
    bad = [{}, meta(-1, 0), meta(0, -1), meta("0", 0), meta(None, 0), meta(0, 0.5), meta(0, 1, a=1)]
    bad += [{**meta(0, 1), "headers": None}, {"offset": 0, "nb_sentences": 1}]
    assert [(valid(one), oscar._fault(one) == "") for one in good] == [(True, True)] * len(good)
    assert [(valid(one), oscar._fault(one) == "") for one in bad] == [(False, False)] * len(bad)


def test_a_text_may_have_so_many_bytes(layout):
    layout.part("en", f"{'x' * 50}\n{'y' * 50}\n\n{'x' * 50}\n{'y' * 51}\n\n", [meta(0, 2), meta(3, 2)])
    assert layout.last(101) == (2, "has a text of more than 101 bytes (max_line_bytes of the config)")
    assert [len(one.fields["text"]) for one in layout.read(102)] == [101, 102]


def test_one_long_line_is_not_held(layout):
    layout.part("en", "x" * 5_000_000 + "\nend\n\n", [meta(0, 2)])
    assert layout.last(1000) == (1, "has a text of more than 1000 bytes (max_line_bytes of the config)")


@pytest.mark.parametrize("name", ["en/en.txt.gz", "en/en_meta.jsonl.gz"])
def test_a_cut_file_is_no_shorter_part(layout, name):
    lines = [hashlib.sha256(b"%d" % n).hexdigest() for n in range(5000)]
    headers = [meta(2 * n, 1, digest=line) for n, line in enumerate(lines)]
    layout.part("en", "".join(f"{line}\n\n" for line in lines), headers)
    path = layout.root / name
    path.write_bytes(path.read_bytes()[:-9000])
    line, message = layout.last()
    assert line is None
    shown = "en.txt.gz: " if name == "en/en.txt.gz" else ""
    assert message == f"cannot be read: {shown}Compressed file ended before the end-of-stream marker was reached"


# --- the older layout ------------------------------------------------------------------------------------------------


def test_without_metadata_blank_lines_separate_documents(layout):
    layout.part("de", "\n\neins\nzwei\n\n\n \ndrei\r\n\r\nvier")
    assert layout.names() == ["oscar/de/de.txt.gz"]
    assert layout.read() == [
        Record(3, {"text": "eins\nzwei", "oscar_language": "de"}),
        Record(7, {"text": " \ndrei\r", "oscar_language": "de"}),
        Record(10, {"text": "vier", "oscar_language": "de"}),
    ]


def test_without_metadata_line_ends_of_crlf(layout):
    layout.part("de", "\r\neins\r\nzwei\r\n\r\ndr\rei\r\n")
    assert layout.read() == [
        Record(2, {"text": "eins\nzwei", "oscar_language": "de"}),
        Record(5, {"text": "dr\rei", "oscar_language": "de"}),
    ]


def test_without_metadata_a_fault_is_named_by_the_line_of_its_document(layout):
    layout.part("de", b"eins\n\nzwei\n\xe4\n\n")
    assert layout.last() == (3, "line 4 of the file is not UTF-8: byte 0xe4 at byte 0")
    layout.part("de", "eins\n\n" + "x" * 99)
    assert layout.last(50) == (3, "has a text of more than 50 bytes (max_line_bytes of the config)")


# --- checksums and counterparts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("between", "end"),
    [("  ", "\n"), (" ", "\n"), (" *", "\n"), ("  ", "\r\n"), ("  ./", "\n")],
    ids=["two spaces", "one space", "binary mode", "CRLF", "a path"],
)
def test_checksum_files_are_read_as_they_come(layout, between, end):
    layout.part("en", "a\n\n", [meta(0, 1)])
    layout.sums("en", between, end)
    layout.verify()
    assert len(oscar.read_sums(layout.root / "en/en_sha256.txt")[0]) == 2


def test_checksums_in_capitals_count(layout):
    layout.part("en", "a\n\n", [meta(0, 1)])
    path = layout.root / "en/en_sha256.txt"
    names = [line.split("  ") for line in path.read_text().splitlines()]
    path.write_text("\n".join(f"{digest.upper()}  {name}" for digest, name in names) + "\n\n")
    layout.verify()
    assert len(oscar.read_sums(path)[0]) == 2


def test_every_damaged_file_is_named(layout):
    layout.part("de", "eins\n\n", [meta(0, 1)])
    layout.part("en", "one\n\n", [meta(0, 1)])
    for name in ("de/de.txt.gz", "en/en_meta.jsonl.gz"):
        content = bytearray((layout.root / name).read_bytes())
        content[12] ^= 1
        layout.put(name, bytes(content))
    damaged = ("de/de.txt.gz", "en/en_meta.jsonl.gz")
    now = {name: hashlib.sha256((layout.root / name).read_bytes()).hexdigest() for name in damaged}
    was = {name: oscar.read_sums(layout.root / name[:2] / f"{name[:2]}_sha256.txt")[0][name[3:]] for name in damaged}
    assert layout.problems() == (
        f"de/de.txt.gz: has the SHA-256 {now['de/de.txt.gz']}, de_sha256.txt says {was['de/de.txt.gz']}\n"
        "    It is not what was published: fetch it anew.\n"
        f"en/en_meta.jsonl.gz: has the SHA-256 {now['en/en_meta.jsonl.gz']}, en_sha256.txt says "
        f"{was['en/en_meta.jsonl.gz']}\n"
        "    It is not what was published: fetch it anew."
    )


SUMMED = "    Every file of a language has its SHA-256 in there: nothing is read that was not verified."


def drop(*names):
    def change(layout):
        for name in names:
            (layout.root / name).unlink()

    return change


def drop_and_sum(*names):
    def change(layout):
        drop(*names)(layout)
        layout.sums(names[0][:2])

    return change


def unlist(layout):
    path = layout.root / "en/en_sha256.txt"
    path.write_text("".join(line for line in path.read_text().splitlines(True) if "part_2.txt" not in line))


def list_another(layout):
    path = layout.root / "de/de_sha256.txt"
    path.write_text(path.read_text() + f"{'0' * 64}  de_part_x.txt.gz\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("en/en_sha256.txt"), f"en/en_sha256.txt: there is no such file\n{SUMMED}"),
        (unlist, f"en/en_sha256.txt: does not list en_part_2.txt.gz\n{SUMMED}"),
        (
            drop("en/en_meta_part_2.jsonl.gz"),
            "en/en_meta_part_2.jsonl.gz: there is no such file, but other parts have metadata\n"
            "en/en_sha256.txt: lists en_meta_part_2.jsonl.gz, but there is no such file\n"
            "    Fetch it anew, or take its line out.",
        ),
        (
            drop_and_sum("en/en_part_1.txt.gz"),
            "en/en_part_1.txt.gz: there is no such file, but there is its metadata",
        ),
        (
            drop_and_sum("de/de_meta.jsonl.gz"),
            "de: has no metadata, but other languages have\n    Import what has no metadata from a folder of its own.",
        ),
        (
            drop("en/en_part_2.txt.gz", "en/en_meta_part_2.jsonl.gz"),
            "en/en_sha256.txt: lists en_meta_part_2.jsonl.gz, but there is no such file\n"
            "    Fetch it anew, or take its line out.\n"
            "en/en_sha256.txt: lists en_part_2.txt.gz, but there is no such file\n"
            "    Fetch it anew, or take its line out.",
        ),
        (
            lambda layout: layout.part("en", "x\n", [meta(0, 1)]),
            "en: holds en.txt.gz and en_part_1.txt.gz\n    A language is one file or numbered parts.",
        ),
        (
            lambda layout: layout.put("de/de_sha256.txt", "0123  de.txt.gz\n"),
            'de/de_sha256.txt:1: is "0123  de.txt.gz", no checksum\n'
            "    A line is 64 hex digits, two spaces and a file name, as sha256sum writes it.",
        ),
        (
            lambda layout: layout.put("de/de_sha256.txt", f"{'0' * 64}  de.txt.gz\n{'1' * 64}  de.txt.gz\n"),
            "de/de_sha256.txt:2: gives de.txt.gz another SHA-256 than a line above",
        ),
        (
            list_another,
            "de/de_sha256.txt: lists de_part_x.txt.gz, but that is no name of the layout",
        ),
    ],
    ids=[
        "no checksum file", "a file that is not listed", "metadata that is missing", "text that is missing",
        "a language that lost its metadata", "a listed part that is missing", "one file and parts",
        "no checksum on a line", "two checksums of a file", "a listed name of another form",
    ],
)  # fmt: skip
def test_files_that_lack_their_counterpart_are_named(layout, change, message):
    layout.part("de", "eins\n\n", [meta(0, 1)])
    layout.part("en", "one\n\n", [meta(0, 1)], 1)
    layout.part("en", "two\n\n", [meta(0, 1)], 2)
    change(layout)
    assert layout.problems() == message


def test_what_is_no_language_is_passed_over(layout):
    layout.part("de", "eins\n\n", [meta(0, 1)])
    layout.put("README.md", "about")
    layout.put("old/notes.txt", "about")
    layout.put("de/de_part_01.txt.gz", gzip.compress(b"leading nought\n"))
    layout.put("de/fr.txt.gz", gzip.compress(b"another language\n"))
    layout.put("de/.hidden", "")
    inputs, passed = oscar.find([layout.root])
    assert [one.name for one in inputs] == ["oscar/de/de_meta.jsonl.gz"]
    assert passed == [str(layout.root / name) for name in ("README.md", "old", "de/de_part_01.txt.gz", "de/fr.txt.gz")]


def test_a_path_that_is_no_such_folder_is_refused(layout):
    layout.put("empty/note", "")
    paths = [layout.root / "empty", layout.root / "none", layout.root / "empty/note"]
    with pytest.raises(ConfigError) as error:
        oscar.find(paths)
    assert str(error.value).replace(f"{layout.root}/", "") == (
        "empty: holds no language of the OSCAR layout\n"
        "    Looked for a folder xx with xx.txt.gz, xx_meta.jsonl.gz and xx_sha256.txt for each language xx.\n"
        "none: there is no such folder\n"
        "    OSCAR is a folder with one folder for each language.\n"
        "empty/note: is no folder\n"
        "    OSCAR is a folder with one folder for each language."
    )


def test_a_folder_named_twice_is_refused(layout):
    layout.part("de", "eins\n\n", [meta(0, 1)])
    with pytest.raises(ConfigError) as error:
        oscar.find([layout.root, layout.root / "de"])
    assert str(error.value) == f"{layout.root / 'de'}: is named twice\n    Each language is read once."


# --- properties ------------------------------------------------------------------------------------------------------

ANY = st.text(
    st.sampled_from("a\n\r\t \0é中😀\u2028\u0085\ufeff") | st.characters(exclude_categories=["Cs"]), max_size=30
)
WORDS = st.lists(st.sampled_from(["a", "bb", ""]), max_size=4).map(lambda inner: "\n".join(["first", *inner, "last"]))


def fitting(texts: list[str]) -> list[dict]:
    records, line = [], 0
    for text in texts:
        records.append(meta(line, text.count("\n") + 1))
        line += text.count("\n") + 2
    return records


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(ANY, max_size=6), part_bytes=st.integers(1, 60))
def test_whatever_is_written_is_read(texts, part_bytes):
    with tempfile.TemporaryDirectory() as folder:
        language = oscar_writing.Language(Path(folder), "en", part_bytes)
        for text in texts:
            language.write(text, {"warc-type": "conversion"})
        language.close()
        if texts:
            layout = Layout(Path(folder))
            layout.verify()
            assert layout.texts() == texts


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(WORDS, min_size=1, max_size=5), which=st.data())
def test_a_shift_by_one_is_always_noticed(texts, which):
    records = fitting(texts)
    broken = which.draw(st.sampled_from(records))
    shift, change = which.draw(st.sampled_from([(o, n) for o in (-1, 0, 1) for n in (-1, 0, 1) if o or n]))
    broken["offset"] += shift
    broken["nb_sentences"] += change
    with tempfile.TemporaryDirectory() as folder:
        layout = Layout(Path(folder))
        layout.part("en", "".join(f"{text}\n\n" for text in texts), records)
        assert isinstance(layout.read()[-1], Bad)


# --- the samples -----------------------------------------------------------------------------------------------------


def test_the_sample_with_metadata_is_read_whole():
    root = shared("data", "oscar", "21.09")
    inputs, passed = oscar.find([root])
    found = oscar.files(inputs)
    oscar.verify(found, [import_inputs.fingerprint(one.path)[0] for one in found])
    counts: dict[str, int] = {}
    for part in inputs:
        content = gzip.decompress(oscar.text_path(part.path).read_bytes())
        texts = []
        for one in oscar.read(part.path, MANY):
            assert isinstance(one, Record), one
            assert one.fields["url"] == one.fields["headers"]["warc-target-uri"]
            texts.append(one.fields["text"])
            counts[one.fields["oscar_language"]] = counts.get(one.fields["oscar_language"], 0) + 1
        assert "".join(f"{text}\n\n" for text in texts).encode() == content
    assert (passed, counts) == ([], {"de": 6, "en": 240, "fr": 7, "hi": 40, "ko": 4, "ru": 8, "ta": 4, "zh": 320})


def test_the_sample_without_metadata_is_read_whole():
    root = shared("data", "oscar", "21.09-nometa")
    counts: dict[str, int] = {}
    for part in oscar.find([root])[0]:
        lines = gzip.decompress(part.path.read_bytes()).decode().split("\n")
        for one in oscar.read(part.path, MANY):
            text = one.fields["text"].split("\n")
            assert lines[one.number - 1 : one.number + len(text)] == [*text, ""]
            counts[one.fields["oscar_language"]] = counts.get(one.fields["oscar_language"], 0) + 1
    assert sum(counts.values()) == 86
    assert list(counts) == ["de", "hi", "zh"]


# --- import ----------------------------------------------------------------------------------------------------------

MINE = {"license_spdx": "CC0-1.0", "data_class": "public"}


class Importing:
    """A project that a test imports OSCAR folders into."""

    def __init__(self, root: Path):
        self.root, self.config = root, root / "corpus.toml"
        self.config.write_text('dataset = "d"\nversion = "v1"\nsources = ["osc"]\nstages = []\n')

    def run(self, folder: Path, source: str = "osc", **more):
        return import_files("oscar", [folder], source=source, config_path=self.config, **{**MINE, **more})

    def lines(self, source: str = "osc") -> list[dict]:
        parts = sorted((self.root / "artifacts/corpus/raw" / source).rglob("*.zst"))
        content = b"".join(zstandard.ZstdDecompressor().decompressobj().decompress(one.read_bytes()) for one in parts)
        return [json.loads(line) for line in content.decode().split("\n")[:-1]]

    def upstream(self) -> list[str]:
        (row,) = map(json.loads, (self.root / "artifacts/corpus/LEDGER.jsonl").read_text().splitlines())
        return [one["url"] for one in row["upstream"]]


@pytest.fixture
def project(tmp_path):
    return Importing(tmp_path)


def test_import_writes_raw_documents_with_the_headers(project, layout):
    headers = {
        "warc-target-uri": "https://example.org/eins",
        "warc-date": "2021-02-24T17:55:29Z",
        "warc-record-id": "<urn:uuid:00000000-0000-0000-0000-000000000001>",
        "content-length": "999",
    }
    layout.part("de", "eins\nzwei\n\ndrei\n\n", [meta(0, 2, **headers), meta(3, 1)])
    done = project.run(layout.root, fetched_at="2026-10-09")
    assert project.lines() == [
        {
            "url": "https://example.org/eins",
            "fetched_at": "2021-02-24T17:55:29Z",
            "license_spdx": "CC0-1.0",
            "text": "eins\nzwei",
            "source_record_id": "<urn:uuid:00000000-0000-0000-0000-000000000001>",
            "headers": headers,
            "oscar_language": "de",
        },
        {
            "url": "oscar/de/de_meta.jsonl.gz#2",
            "fetched_at": "2026-10-09T00:00:00Z",
            "license_spdx": "CC0-1.0",
            "text": "drei",
            "headers": {},
            "oscar_language": "de",
        },
    ]
    assert project.upstream() == ["oscar/de/de_meta.jsonl.gz", "oscar/de/de.txt.gz"]
    assert done.lines()[0] == "osc: 2 documents imported"


def test_import_without_metadata_points_into_the_file(project, layout):
    layout.part("de", "eins\nzwei\n\n\ndrei\n\n")
    project.run(layout.root, fetched_at="2021-11-01T12:00:00Z")
    common = {"fetched_at": "2021-11-01T12:00:00Z", "license_spdx": "CC0-1.0"}
    assert project.lines() == [
        {"url": "oscar/de/de.txt.gz#1", **common, "text": "eins\nzwei", "oscar_language": "de"},
        {"url": "oscar/de/de.txt.gz#5", **common, "text": "drei", "oscar_language": "de"},
    ]
    assert project.upstream() == ["oscar/de/de.txt.gz"]


def test_import_asks_for_licence_and_class(project, layout):
    layout.part("de", "eins\n\n", [meta(0, 1)])
    with pytest.raises(ConfigError) as error:
        project.run(layout.root, license_spdx=None, data_class=None)
    assert str(error.value) == (
        "--license: is not given\n"
        "    Name the SPDX licence of the documents, such as --license CC0-1.0.\n"
        "--data-class: is not given\n"
        "    Say what the documents are: public, licensed, synthetic, self-written."
    )


def test_import_verifies_before_it_reads(project, layout):
    layout.part("de", "eins\n\n", [meta(5, 1)])
    layout.put("de/de.txt.gz", gzip.compress(b"other\n\n"))
    with pytest.raises(ConfigError) as error:
        project.run(layout.root)
    (problem,) = error.value.problems
    assert (problem.where, problem.fix) == (
        str(layout.root / "de/de.txt.gz"),
        "It is not what was published: fetch it anew.",
    )
    assert not (project.root / "artifacts/corpus/LEDGER.jsonl").exists()


def test_import_names_file_and_line_of_each_part_that_does_not_fit(project, layout):
    layout.part("en", "a\n\nb\n\n", [meta(0, 1), meta(3, 1), "{}"], 1)
    layout.part("en", "c\n\n", [meta(0, 1)], 2)
    layout.part("en", "d\n\n", ['{"offset": 0}'], 3)
    with pytest.raises(DataError) as error:
        project.run(layout.root)
    assert str(error.value).replace(f"{layout.root}/", "") == (
        "en/en_meta_part_1.jsonl.gz:2: line 3 of en_part_1.txt.gz is text that belongs to no record: "
        "it comes before this record\n"
        "en/en_meta_part_3.jsonl.gz:1: headers is missing; nb_sentences is missing\n"
        "osc: nothing was written\n"
        "    Mend these lines, or take them out."
    )
    assert not (project.root / "artifacts/corpus/LEDGER.jsonl").exists()


def test_import_names_a_time_that_is_none(project, layout):
    layout.part("en", "a\n\n", [meta(0, 1, **{"warc-date": "yesterday"})])
    with pytest.raises(DataError) as error:
        project.run(layout.root)
    assert error.value.problems[0].what == ('invalid_fetched_at: fetched_at is "yesterday", no RFC 3339 time in UTC')


def test_one_record_in_two_languages_is_told(project, layout):
    record = {"warc-record-id": "<urn:uuid:00000000-0000-0000-0000-000000000001>", "warc-date": "2021-02-24T17:55:29Z"}
    layout.part("de", "eins\n\n", [meta(0, 1, **record)])
    layout.part("en", "one\n\n", [meta(0, 1, **record)])
    assert project.run(layout.root).notes == (
        "1 document with the record id of an earlier one: the build takes them for the same upstream record",
    )


# --- there and back --------------------------------------------------------------------------------------------------


def there_and_back(project: Importing, folder: Path) -> tuple[list[dict], list[dict]]:
    """Import a folder, build it without stages, export it, import that: the lines before and after."""
    project.run(folder, fetched_at="2026-01-02")
    build.run(project.config)
    exporting.export("oscar", project.root / "artifacts/corpus/d/v1", project.root / "again")
    project.run(project.root / "again", source="again")
    return project.lines(), project.lines("again")


def test_an_export_of_an_import_is_the_same_corpus(project, layout):
    headers = {"warc-target-uri": "https://example.org/1", "warc-date": "2021-02-24T17:55:29Z", "content-length": "7"}
    lines = ["\n\none\r", "two\u2028\n\nthree\n", "four", "\ufefffive\r\n\r\nsix"]
    text, records = "", []
    for n, one in enumerate(lines):
        record = {**headers, "warc-record-id": f"<urn:uuid:00000000-0000-0000-0000-00000000000{n}>"}
        records.append(meta(text.count("\n"), one.count("\n") + 1, **record))
        text += one + "\n\n"
    layout.part("en", text, records)
    before, after = there_and_back(project, layout.root)
    for one in (*before, *after):
        del one["oscar_language"]  # of the export: what the build made of it
    assert after == before and [one["text"] for one in before] == lines


@pytest.mark.parametrize("name", ["21.09", "21.09-nometa"])
def test_an_export_of_the_sample_is_the_same_corpus(project, name):
    before, after = there_and_back(project, shared("data", "oscar", name))
    assert len(before) == {"21.09": 629, "21.09-nometa": 86}[name]
    keys = ("text", "url", "fetched_at") + (("source_record_id", "headers") if name == "21.09" else ())

    def chosen(lines: list[dict]) -> list[list]:
        return sorted([unicodedata.normalize("NFC", str(line[key])) for key in keys] for line in lines)

    assert chosen(after) == chosen(before)
