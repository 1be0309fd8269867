"""Lines: what becomes of each, and where it stood. Whole files and damaged ones: test_raw_files.py."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from pathlib import Path

import jsonschema
import orjson
import pytest
import raw_cases
from hypothesis import example, given, settings
from hypothesis import strategies as st
from raw_cases import LICENSE, Case, line, more, raw_file, read_all, text

from corpus_sql.raw_fields import Document, Fault, nfc, nfkc
from corpus_sql.raw_line import parse, parse_exactly

SCHEMA = json.loads((Path(__file__).parents[1] / "schemas" / "raw-document.schema.json").read_text())


def named(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


@named(raw_cases.DOCUMENTS)
def test_documents(case: Case):
    found = parse(case.line, LICENSE)
    assert isinstance(found, Document), found
    assert {name: getattr(found, name) for name in case.becomes} == case.becomes


@named(raw_cases.QUARANTINED)
def test_quarantined(case: Case):
    assert parse(case.line, LICENSE) == Fault(*case.becomes)


def test_case_names_are_unique():
    names = [case.name for case in raw_cases.DOCUMENTS + raw_cases.QUARANTINED]
    assert len(set(names)) == len(names)


@named(raw_cases.DOCUMENTS + raw_cases.QUARANTINED)
def test_the_scan_alone_says_the_same(case: Case):
    assert parse(case.line, LICENSE) == parse_exactly(case.line, LICENSE)


@named(raw_cases.DOCUMENTS)
def test_the_schema_accepts_what_becomes_a_document(case: Case):
    document = orjson.loads(case.line.replace(b"1e999", b"1e99"))
    assert [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(document)] == []


FIELD_REASON = re.compile("not_an_object|missing_.*|null_.*|.*_not_strings?|invalid_fetched_at")
BEYOND_THE_PATTERN = {"time '2026-02-29T00:00:00Z'", "time '2026-10-09T12:00:60Z'"}  # leap days and leap seconds


@named([case for case in raw_cases.QUARANTINED if FIELD_REASON.fullmatch(case.becomes[0])])
def test_the_schema_refuses_what_is_wrong_in_a_field(case: Case):
    fields = orjson.loads(case.line.replace(b"1e999", b"1e99"))
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(fields) == (case.name in BEYOND_THE_PATTERN)


def test_good_lines_need_no_scan(monkeypatch):
    monkeypatch.delattr("corpus_sql.raw_line.parse_exactly")
    assert parse(text(rb"{\"a\": 1, \"b\" : \\\": \u0020:"), LICENSE).text == '{"a": 1, "b" : \\":  :'
    assert (
        parse(more(b'"m": {"a": [{"b": 1.50}, -0], "c": null}'), LICENSE).extra
        == '{"m":{"a":[{"b":1.50},-0],"c":null}}'
    )


# --- the fast way and the scan ---------------------------------------------------------------------------------------

members = st.sampled_from(
    [b'"n": 1', b'"n": -0', b'"x": 0.50', b'"x" : [1e999]', b'"o": {"a": 0, "b": {"a": []}}', b'"o": {"a": 1, "a": 2}']
    + [
        b'"t\\u0065xt": "y"',
        b'"a\\\\": 1',
        b'"c": ": : \\":"',
        b'"u": "\\ud83d\\udea2"',
        b'"u": "\\ud83d"',
        b'"d"\t: null',
    ]
    + [b'"group_id": "g"', b'"parent_ids": ["p", 1e999]', b'"deep": ' + b"[" * 210 + b"]" * 210]
)
texts = st.sampled_from([b"a", b"", b"a : b", b'\\"k\\": \\" :', b"\\u0020: \\\\", b": x", "é\u0301 船".encode()])


@settings(max_examples=300, deadline=None)
@given(texts, st.lists(members, max_size=4), st.binary(max_size=2), st.integers(0, 400), st.integers(0, 2))
def test_orjson_and_the_scan_agree(content, further, noise, at, removed):
    whole = text(content)
    for member in further:
        whole = whole[:-1] + b", " + member + b"}"
    for candidate in (whole, whole[:at] + noise + whole[at + removed :]):
        found = parse(candidate, LICENSE)
        assert found == parse_exactly(candidate, LICENSE)
        syntax = {"invalid_utf8", "invalid_json", "too_deep", "lone_surrogate"}
        if b"1e999" not in candidate and isinstance(found, Fault) and found.reason in syntax:
            with pytest.raises(orjson.JSONDecodeError):
                orjson.loads(candidate)
        elif b"1e999" not in candidate:
            orjson.loads(candidate)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=8,
), max_size=4))  # fmt: skip
def test_other_fields_come_back_as_they_were(others):
    others = {key: value for key, value in others.items() if key not in raw_cases.GOOD and "_id" not in key}
    try:
        whole = line(**others)
    except UnicodeEncodeError:  # a surrogate in a nested name
        return
    found = parse(whole, LICENSE)
    assert isinstance(found, Document)
    assert (None if found.extra is None else json.loads(found.extra)) == (others or None)


def test_empty_knows_the_white_space_of_unicode():
    white = {char for char in map(chr, range(0x110000)) if char.isspace()} - set(
        "\x1c\x1d\x1e\x1f"
    )  # Python's own four
    for char in white:
        assert parse(line(text=char), LICENSE).reason == "empty_text", hex(ord(char))
    for char in "\x1c\0\x7f.\u0301":
        assert parse(line(text=char), LICENSE).text == char


def test_a_flood_of_marks_is_normalised_in_linear_time():
    marks = "\u0301\u0323" * 300_000  # by unicodedata alone minutes; a line of 32 MiB may hold 16 million of them
    assert nfc("a" + marks) == nfkc("a" + marks) == "ạ" + "\u0323" * 299_999 + "\u0301" * 300_000
    tibetan = "\u0f71" * 333_333 + "\u0f72" * 333_333 + "\u0f74" * 333_333
    assert nfc("\u0f74\u0f72\u0f71" * 333_333) == nfkc("\u0f74\u0f72\u0f71" * 333_333) == tibetan
    # a halfwidth sound mark is one only in the compatibility form
    assert nfkc("x" + "\u0301\uff9e" * 300_000) == "x" + "\u3099" * 300_000 + "\u0301" * 300_000


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["a", "\u1ec7", "\u0958", "각", "ﷺ", "\u0301" * 40, "\u0323\u0344" * 30, "\u0f73" * 40, "\u0345"]
            + ["\u0301\uff9e" * 40]
        )
    )
)
def test_sorted_marks_give_the_same_normal_form(parts):
    assert nfc("".join(parts)) == unicodedata.normalize("NFC", "".join(parts))
    assert nfkc("".join(parts)) == unicodedata.normalize("NFKC", "".join(parts))


# --- positions -------------------------------------------------------------------------------------------------------


def test_positions_offsets_and_neighbours(tmp_path):
    lines = [line(url="0"), b"oops", b"  \t", line(url="3") + b"\r", b"\xff", line(url="5", text="e\u0301")]
    stream = b"\n".join(lines)
    found = read_all([raw_file(tmp_path, stream)])
    assert [(row["id"], row["k"], row["line"], row["byte_offset"], row["url"]) for row in found["documents"]] == [
        ("demo:0", 0, 1, 0, "0"),
        ("demo:3", 3, 4, stream.index(lines[3]), "3"),
        ("demo:5", 5, 6, stream.index(lines[5]), "5"),
    ]
    assert [row["n_chars"] for row in found["documents"]] == [22, 22, 1]
    assert found["quarantine"] == [
        {
            "id": f"demo:{k}",
            "source_id": "demo",
            "k": k,
            "file": "demo/20261009/part-00000.jsonl.zst",
            "line": k + 1,
            "byte_offset": stream.index(raw),
            "reason": reason,
            "detail": f"{detail}; the line has {len(raw)} bytes, SHA-256 {hashlib.sha256(raw).hexdigest()}",
            "raw": raw,
        }
        for k, raw, reason, detail in [
            (1, b"oops", "invalid_json", "expected an object at byte 0, found oops"),
            (4, b"\xff", "invalid_utf8", "byte 0xff at byte 0: invalid start byte"),
        ]
    ]
    counts = {name: found["files"][0][name] for name in ("lines", "documents", "quarantined", "blank", "bom")}
    assert counts == {"lines": 6, "documents": 3, "quarantined": 2, "blank": 1, "bom": 0}


@pytest.mark.parametrize(
    "stream, lines, blank, quarantined",
    [
        (b"", 0, 0, 0),
        (b"\n", 1, 1, 0),
        (b"\r\n", 1, 1, 0),
        (b"\n\n \t\r\n", 3, 3, 0),
        (b"\r", 1, 1, 0),
        (b" ", 1, 1, 0),
        (b"x", 1, 0, 1),
        (b"x\n", 1, 0, 1),
        (b"x\n\n", 2, 1, 1),
        (b"x\ry\n", 1, 0, 1),
        ("\x0b\x0c\x1c\x85\u2028\n".encode(), 1, 0, 1),
        (b"\xef\xbb\xbf", 0, 0, 0),
        (b"\xef\xbb\xbf\n", 1, 1, 0),
        (b"\xef\xbb\xbf\xef\xbb\xbf\n", 1, 0, 1),
        (b"\xef\xbb", 1, 0, 1),
    ],
)
def test_what_is_a_line_and_what_is_blank(tmp_path, stream, lines, blank, quarantined):
    file = read_all([raw_file(tmp_path, stream)])["files"][0]
    assert (file["lines"], file["blank"], file["quarantined"]) == (lines, blank, quarantined)
    assert file["bom"] == (stream[:3] == b"\xef\xbb\xbf")


@pytest.mark.parametrize("piece", [1, 2, 2 << 20])
def test_a_byte_order_mark_is_dropped_at_the_start_of_each_file_and_nowhere_else(tmp_path, monkeypatch, piece):
    monkeypatch.setattr("corpus_sql.raw_stream.CHUNK", piece)
    bom = b"\xef\xbb\xbf"
    found = read_all(
        [raw_file(tmp_path, bom + line(), number=0), raw_file(tmp_path, bom + line() + b"\n" + bom + line(), number=1)]
    )
    assert [(row["id"], row["byte_offset"]) for row in found["documents"]] == [("demo:0", 3), ("demo:1", 3)]
    assert [(row["id"], row["reason"]) for row in found["quarantine"]] == [("demo:2", "invalid_json")]
    assert [file["bom"] for file in found["files"]] == [1, 1]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b""])
@pytest.mark.parametrize("size", [18, 19, 20, 21, 22, 70_000])
@pytest.mark.parametrize("piece", [1, 21, 1 << 20])
def test_a_line_over_the_limit_is_kept_by_its_head_and_hash(tmp_path, monkeypatch, size, piece, end):
    monkeypatch.setattr("corpus_sql.raw_stream.CHUNK", piece if size < 1000 else max(piece, 999))
    long = (b"abcdefghij" * 7000)[:size]
    found = read_all([raw_file(tmp_path, b"{}\n" + long + end)], max_line_bytes=20)["quarantine"][1]
    if end == b"\r":  # no line feed follows: it belongs to the line
        long += end
    is_long = len(long) > 20
    what = "longer than max_line_bytes = 20" if is_long else "expected an object at byte 0, found abcdefghij"
    assert found["reason"] == ("oversize_line" if is_long else "invalid_json")
    assert found["detail"] == f"{what}; the line has {len(long)} bytes, SHA-256 {hashlib.sha256(long).hexdigest()}"
    assert found["raw"] == long[: 64 << 10]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from([line(), b"", b" \r", b"oops", b"\xff", more(b'"a": 1.0'), b"9" * 300]) | st.binary()),
    st.booleans(),
    st.integers(1, 400),
    st.integers(20, 300),
)  # fmt: skip
@example([b"\xef\xbb\xbf", b"\r", b"\r\r"], True, 1, 20)
def test_every_line_is_in_one_place_and_every_offset_finds_it(tmp_path_factory, lines, ends, piece, limit):
    stream = b"\n".join(lines) + (b"\n" if ends else b"")
    tmp_path = tmp_path_factory.mktemp("raw")
    found = read_all([raw_file(tmp_path, stream, frame=piece)], max_line_bytes=limit)
    body = stream[3:] if stream.startswith(b"\xef\xbb\xbf") else stream
    expected = body.split(b"\n")[:-1] if body.endswith(b"\n") else (body.split(b"\n") if body else [])
    file = found["files"][0]
    assert file["lines"] == len(expected)
    assert file["documents"] == len(found["documents"])
    assert file["quarantined"] == len(found["quarantine"])
    assert file["blank"] == sum(not one.strip(b" \t\r") and len(one.removesuffix(b"\r")) <= limit for one in expected)
    assert file["lines"] == file["documents"] + file["quarantined"] + file["blank"]
    places = sorted((row["line"], row["byte_offset"]) for row in found["documents"] + found["quarantine"])
    for number, offset in places:
        assert stream[offset:].split(b"\n")[0] == expected[number - 1]
        assert offset == len(stream) - len(body) + sum(len(one) + 1 for one in expected[: number - 1])
    for row in found["quarantine"]:
        assert stream[row["byte_offset"] :].startswith(row["raw"])
