"""Lines of raw files, and what becomes of each: a document with these fields, or a reason with this detail.

Where nothing else is said the ledger's licence is CC-BY-4.0, and `line()` makes a good line. The functions at the top
make lines and files for the tests of reading.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

from corpus_sql.raw import DOCUMENTS as DOCUMENTS_SCHEMA
from corpus_sql.raw import FILES, QUARANTINE, RawFile, read

LICENSE = "CC-BY-4.0"
LIMIT = 33554432
GOOD = {
    "url": "https://example.org/harbour/1",
    "fetched_at": "2026-10-09T12:00:00Z",
    "license_spdx": LICENSE,
    "text": "The ferry waits. 渡船在等。",
}
MISSING = object()


class Case(NamedTuple):
    name: str
    line: bytes
    becomes: dict[str, Any] | tuple[str, str]  # fields of the document, or (reason, detail)


def line(**changes: Any) -> bytes:
    """Return a good line with some fields changed, added, or (MISSING) taken out."""
    fields = {key: value for key, value in {**GOOD, **changes}.items() if value is not MISSING}
    return json.dumps(fields, ensure_ascii=False).encode()


def text(raw: bytes) -> bytes:
    """Return a good line whose text is given as it stands between the quotes."""
    return line(text="@").replace(b'"@"', b'"' + raw + b'"')


def more(members: bytes) -> bytes:
    """Return a good line with further members as they stand."""
    return line()[:-1] + b", " + members + b"}"


def frames(stream: bytes, size: int | None = None, **options: Any) -> bytes:
    """Compress a stream as one zstd frame, or as one for every `size` bytes."""
    options = {"write_checksum": True, **options}
    step = size or max(len(stream), 1)
    pieces = [stream[at : at + step] for at in range(0, len(stream), step)] or [b""]
    return b"".join(zstandard.ZstdCompressor(**options).compress(piece) for piece in pieces)


def streamed(stream: bytes, **options: Any) -> bytes:
    """Compress a stream as one frame that does not say its size."""
    sink = io.BytesIO()
    with zstandard.ZstdCompressor(**options).stream_writer(sink, closefd=False) as writer:
        writer.write(stream)
    return sink.getvalue()


def stored(folder: Path, data: bytes, number: int = 0, source: str = "demo") -> RawFile:
    """Store compressed bytes as a part that the ledger lists."""
    name = f"{source}/20261009/part-{number:05}.jsonl.zst"
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return RawFile(source, name, path, hashlib.sha256(data).hexdigest(), len(data), LICENSE)


def raw_file(
    folder: Path, stream: bytes, number: int = 0, source: str = "demo", frame: int | None = None
) -> RawFile:  # fmt: skip
    return stored(folder, frames(stream, frame), number, source)


def read_all(files: list[RawFile], max_line_bytes: int = LIMIT) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {"documents": [], "quarantine": [], "files": []}
    for kind, batch in read(files, max_line_bytes):
        batch.validate(full=True)
        assert batch.schema == {"documents": DOCUMENTS_SCHEMA, "quarantine": QUARANTINE, "files": FILES}[kind]
        found[kind] += batch.to_pylist()
    return found


T = len(line(text="")) - 2  # where the text of a good line begins
M = len(line())  # where the comma before `more` stands

DOCUMENTS = [
    Case(
        "a good line", line(), {**GOOD, "source_record_id": None, "parent_ids": None, "group_id": None, "extra": None}
    ),
    Case(
        "white space around tokens",
        b' { "url" : "u",\t"fetched_at": "2026-10-09T12:00:00Z" , "license_spdx"\t: "CC-BY-4.0", "text": "Rain." } ',
        {"url": "u", "text": "Rain."},
    ),
    # characters that stay
    Case("U+0000 escaped", text(rb"a\u0000b"), {"text": "a\0b"}),
    Case("U+2028 and U+0085 end no line", text("a\u2028b\x85c".encode()), {"text": "a\u2028b\x85c"}),
    Case("CRLF in the text", text(rb"a\r\nb"), {"text": "a\r\nb"}),
    Case("noncharacters and private use", text(rb"\ufffe\ufdd0\ue000"), {"text": "\ufffe\ufdd0\ue000"}),
    Case("U+FFFD of the source", text("\ufffd".encode()), {"text": "\ufffd"}),
    Case("zero-width and bidi inside", text("a\u200b\u202eb\ufeffc".encode()), {"text": "a\u200b\u202eb\ufeffc"}),
    Case("surrogate pair of escapes", text(rb"\ud83d\udea2"), {"text": "🚢"}),
    Case("an escaped backslash before ud800", text(rb"\\ud800"), {"text": r"\ud800"}),
    # normalisation: NFC and nothing else
    Case("decomposed", text("cafe\u0301  ".encode()), {"text": "café  "}),
    Case("singleton", text(rb"\u212b"), {"text": "Å"}),
    Case("composition exclusion", text(rb"\u0958"), {"text": "\u0915\u093c"}),
    Case("compatibility forms stay", text("ﬁ ① Ａ".encode()), {"text": "ﬁ ① Ａ"}),
    # times
    Case("fraction", line(fetched_at="2026-10-09T12:00:00.123456Z"), {"fetched_at": "2026-10-09T12:00:00.123456Z"}),
    Case("UTC as an offset", line(fetched_at="2026-10-09T12:00:00+00:00"), {"fetched_at": "2026-10-09T12:00:00+00:00"}),
    Case("year 0000", line(fetched_at="0000-02-29T00:00:00Z"), {"fetched_at": "0000-02-29T00:00:00Z"}),
    Case("lower case", line(fetched_at="2026-10-09t12:00:00z"), {"fetched_at": "2026-10-09t12:00:00z"}),
    Case("leap day", line(fetched_at="2024-02-29T00:00:00Z"), {"fetched_at": "2024-02-29T00:00:00Z"}),
    Case("leap second", line(fetched_at="2016-12-31T23:59:60Z"), {"fetched_at": "2016-12-31T23:59:60Z"}),
    Case(
        "leap second, +00:00", line(fetched_at="2016-12-31T23:59:60+00:00"), {"fetched_at": "2016-12-31T23:59:60+00:00"}
    ),
    # optional fields
    Case(
        "optional fields",
        line(source_record_id="r1", parent_ids=["r0", "demo:3"], group_id="g"),
        {"source_record_id": "r1", "parent_ids": ["r0", "demo:3"], "group_id": "g", "extra": None},
    ),
    Case(
        "optional fields null",
        line(source_record_id=None, parent_ids=None, group_id=None),
        {"source_record_id": None, "parent_ids": None, "group_id": None, "extra": None},
    ),
    Case("no parents", line(parent_ids=[]), {"parent_ids": []}),
    # other fields: as JSON text, in the order of the line, every number as written
    Case(
        "other fields",
        more(rb'"title": "\u6e2f Port", "tags": [ "a", {"b": null} ], "n": 7, "ok": true'),
        {"extra": '{"title":"港 Port","tags":["a",{"b":null}],"n":7,"ok":true}'},
    ),
    Case(
        "numbers keep every character",
        more(b'"x": 1.50, "y": [1E+5, -0, 0], "z": 1e999, "big": ' + b"9" * 30),
        {"extra": '{"x":1.50,"y":[1E+5,-0,0],"z":1e999,"big":' + "9" * 30 + "}"},
    ),
    Case(
        "integers of 64 bits and beyond",
        more(b'"a": 18446744073709551615, "b": 18446744073709551616'),
        {"extra": '{"a":18446744073709551615,"b":18446744073709551616}'},
    ),
    Case(
        "strings the same whichever way",
        more(rb'"a": "\u00e9\/\u0001", "b": 0.1'),
        {"extra": r'{"a":"é/\u0001","b":0.1}'},
    ),
    Case("names that differ in case", more(b'"Text": "x", "TEXT": "y"'), {"extra": '{"Text":"x","TEXT":"y"}'}),
    Case(
        "the same name in two objects",
        more(b'"a": {"n": 1}, "b": [{"n": 1}, {"n": 1}]'),
        {"extra": '{"a":{"n":1},"b":[{"n":1},{"n":1}]}'},
    ),
    Case("300 levels", more(b'"a": ' + b"[" * 300 + b"]" * 300), {"extra": '{"a":' + "[" * 300 + "]" * 300 + "}"}),
    Case(
        "1,024 levels", more(b'"a": ' + b"[" * 1023 + b"]" * 1023), {"extra": '{"a":' + "[" * 1023 + "]" * 1023 + "}"}
    ),
    # texts that look like JSON do not look like duplicate keys
    Case("JSON in the text", text(rb"{\"text\": 1, \"text\" : 2}"), {"text": '{"text": 1, "text" : 2}'}),
    Case("text that begins with a colon", text(b": a"), {"text": ": a"}),
    Case("escaped space before a colon", text(rb"a\u0020: b"), {"text": "a : b"}),
    Case("name that ends in a backslash", more(rb'"a\\": 1, "b": "\":"'), {"extra": r'{"a\\":1,"b":"\":"}'}),
]

NO_TIMES = [
    "",
    "2026-10-09",
    "2026-10-09T12:00:00",  # no zone
    "2026-10-09 12:00:00Z",
    "2026/10/09 12:00",
    "2026-13-01T00:00:00Z",
    "2026-02-29T00:00:00Z",  # no leap year
    "2026-00-10T00:00:00Z",
    "2026-10-09T24:00:00Z",
    "2026-10-09T12:60:00Z",
    "2026-10-09T12:00:60Z",  # a leap second stands at the end of a day
    "2026-10-09T12:00:00.Z",
    "2026-10-09T12:00:00+0800",
    "2026-10-09T12:00:00+24:00",
    "2026-10-09T12:00:00+08:60",
    " 2026-10-09T12:00:00Z",
    "2026-10-09T12:00:00Z ",
    "20261009T120000Z",
    "２０２６-10-09T12:00:00Z",
    "2026-10-09T24:00:00+00:00",
]
NOT_UTC = [
    "2026-10-09T20:00:00+08:00",
    "2026-10-09T12:00:00-00:00",  # in UTC, says RFC 3339, but of what place is not known
    "2026-10-09T12:00:00+00:01",
    "2026-10-09t04:30:00.5-07:30",
    "2017-01-01T05:29:60+05:30",  # a leap second there
]

QUARANTINED_BY_REASON = {
    # invalid_utf8: bytes that no reading as text explains
    "invalid_utf8": [
        ("Latin-1", text(b"caf\xe9"), f"byte 0xe9 at byte {T + 3}: invalid continuation byte"),
        ("GBK", text("渡船".encode("gbk")), f"byte 0xb6 at byte {T}: invalid start byte"),
        ("overlong NUL", text(b"\xc0\x80"), f"byte 0xc0 at byte {T}: invalid start byte"),
        ("surrogate in bytes", text(b"\xed\xa0\x80"), f"byte 0xed at byte {T}: invalid continuation byte"),
        ("beyond U+10FFFF", text(b"\xf4\x90\x80\x80"), f"byte 0xf4 at byte {T}: invalid continuation byte"),
        ("lone continuation", text(b"\x80"), f"byte 0x80 at byte {T}: invalid start byte"),
        ("UTF-16", '{"a":1}'.encode("utf-16"), "byte 0xff at byte 0: invalid start byte"),
        ("in a line that is no JSON either", b"\xff{", "byte 0xff at byte 0: invalid start byte"),
    ],
    # invalid_json
    "invalid_json": [
        ("cut in a string", line()[:60], "the string from byte 55 on does not end"),
        ("cut after a colon", b'{"url": ', "expected a value at byte 8, found the end of the line"),
        (
            "cut after a value",
            b'{"n": 1',
            "expected a comma or the end of the array or object at byte 7, found the end of the line",
        ),
        ("a word", b"hello", "expected an object at byte 0, found hello"),
        ("NULs", b"\0\0\0\0", "expected an object at byte 0, found byte 0x00"),
        ("raw tab in a string", text(b"a\tb"), f"control character 0x09 inside a string at byte {T + 1}"),
        ("bad escape", text(rb"a\x41"), f"invalid escape inside a string at byte {T + 1}"),
        ("bad unicode escape", text(rb"\u12G4"), f"invalid escape inside a string at byte {T}"),
        ("single quotes", b"{'a': 1}", "expected a key or } at byte 1, found 'a':"),
        ("trailing comma", b'{"a": 1,}', "expected a key at byte 8, found }"),
        ("trailing comma in an array", b'{"a": [1,]}', "expected a value at byte 9, found ]}"),
        ("wrong bracket", b'{"a": [1}', "expected a comma or the end of the array or object at byte 8, found }"),
        ("no colon", b'{"a" 1}', "expected a colon at byte 5, found 1}"),
        ("NaN", more(b'"a": NaN'), f"expected a value at byte {M + 6}, found NaN}}"),
        ("Infinity", b'{"a": -Infinity}', "expected a value at byte 6, found -Infinity}"),
        ("leading zero", b'{"a": 01}', "expected a comma or the end of the array or object at byte 7, found 1}"),
        ("two objects", line() + line(), f'expected the end of the line at byte {M}, found {{"url":'),
        ("trailing NUL", line() + b"\0", f"expected the end of the line at byte {M}, found byte 0x00"),
        ("a byte order mark", b"\xef\xbb\xbf" + line(), "expected an object at byte 0, found byte 0xef"),
        ("form feed is no white space", b"\x0c", "expected an object at byte 0, found byte 0x0c"),
    ],
    # too_deep
    "too_deep": [
        (
            "1,025 levels",
            more(b'"a": ' + b"[" * 1024 + b"]" * 1024),
            f"more than 1024 nested arrays and objects at byte {M + 6 + 1023}",
        ),
        ("100,000 brackets", b"[" * 100_000, "more than 1024 nested arrays and objects at byte 1024"),
    ],
    # lone_surrogate: anywhere, since `extra` is text as well
    "lone_surrogate": [
        ("high surrogate", text(rb"a\ud83d b"), rf"\ud83d at byte {T + 1} has no partner"),
        ("low surrogate", text(rb"\uDEA2"), rf"\uDEA2 at byte {T} has no partner"),
        ("wrong way round", text(rb"\udea2\ud83d"), rf"\udea2 at byte {T} has no partner"),
        ("after a pair", text(rb"\ud83d\udea2\ud83d"), rf"\ud83d at byte {T + 12} has no partner"),
        ("in another field", more(rb'"t": "\ud800"'), rf"\ud800 at byte {M + 7} has no partner"),
        ("in a name", more(rb'"\ud800": 1'), rf"\ud800 at byte {M + 2} has no partner"),
    ],
    # not_an_object
    "not_an_object": [
        ("array", b"[" + line() + b"]", "the line is an array"),
        ("string", b'"x"', "the line is a string"),
        ("null", b" null ", "the line is null"),
        ("number", b"-1.5e3", "the line is a number"),
        ("boolean", b"false", "the line is a boolean"),
    ],
    # duplicate_key: no last one wins, also where both say the same
    "duplicate_key": [
        ("text twice", more(b'"text": "x"'), f'"text" again in its object at byte {M + 1}'),
        ("twice, once escaped", more(rb'"t\u0065xt": "x"'), f'"text" again in its object at byte {M + 1}'),
        ("space before the colon", more(b'"text" : "x"'), f'"text" again in its object at byte {M + 1}'),
        ("tab before the colon", more(b'"text"\t: "x"'), f'"text" again in its object at byte {M + 1}'),
        (
            "hidden by a text with a colon",
            text(b'a : b", "text": "a : b'),
            f'"text" again in its object at byte {T + 8}',
        ),
        ("nested", more(b'"m": {"a": 1, "a": 1}'), f'"a" again in its object at byte {M + 15}'),
        ("names that end in a backslash", more(rb'"a\\": 1, "a\\": 2'), rf'"a\\" again in its object at byte {M + 11}'),
        ("empty names", b'{"": 1, "": 2}', '"" again in its object at byte 8'),
    ],
    # missing, null, of another type
    "missing_url": [
        ("empty object", b"{}", "url is missing; fetched_at is missing; license_spdx is missing; text is missing"),
        ("no url", line(url=MISSING), "url is missing"),
        ("an empty url", line(url=""), "url is an empty string, which names no place"),
        (
            "all faults are named",
            line(url=MISSING, text=None, fetched_at="soon", group_id=1),
            'url is missing; text is null; group_id is a number; fetched_at is "soon", no RFC 3339 time in UTC',
        ),
    ],
    "missing_fetched_at": [
        ("no fetched_at", line(fetched_at=MISSING), "fetched_at is missing"),
    ],
    "missing_license_spdx": [
        ("no licence", line(license_spdx=MISSING), "license_spdx is missing"),
    ],
    "missing_text": [
        ("no text", line(text=MISSING), "text is missing"),
        ("Text is not text", line(text=MISSING, Text="x"), "text is missing"),
    ],
    "null_url": [
        ("null url", line(url=None), "url is null"),
    ],
    "null_text": [
        ("null text", line(text=None), "text is null"),
    ],
    "text_not_string": [
        ("text a boolean", line(text=True), "text is a boolean"),
        ("text a number", line(text=5), "text is a number"),
        ("text too large a number", text(b"@").replace(b'"@"', b"1e999"), "text is a number"),
        ("text an array", line(text=["a"]), "text is an array"),
        ("text an object", line(text={"a": 1.5}), "text is an object"),
    ],
    "fetched_at_not_string": [
        ("time a number", line(fetched_at=1791547200), "fetched_at is a number"),
    ],
    "license_spdx_not_string": [
        ("licence a list", line(license_spdx=[LICENSE]), "license_spdx is an array"),
    ],
    "source_record_id_not_string": [
        ("record id a number", line(source_record_id=17), "source_record_id is a number"),
    ],
    "group_id_not_string": [
        ("group a boolean", line(group_id=False), "group_id is a boolean"),
    ],
    "parent_ids_not_strings": [
        ("one parent, no list", line(parent_ids="r0"), "parent_ids is a string"),
        ("a parent null", line(parent_ids=["r0", None]), "parent_ids holds null"),
    ],
    # values
    "invalid_fetched_at": [
        *(
            (f"time {time!r}", line(fetched_at=time), f'fetched_at is "{time}", no RFC 3339 time in UTC')
            for time in NO_TIMES
        ),
        *(
            (f"time {time!r}", line(fetched_at=time), f'fetched_at is "{time}", not in UTC (Z or +00:00)')
            for time in NOT_UTC
        ),
        (
            "a long time is cut",
            line(fetched_at="x" * 99),
            f'fetched_at is "{"x" * 37}...", no RFC 3339 time in UTC',
        ),
    ],
    "license_mismatch": [
        ("another licence", line(license_spdx="MIT"), 'license_spdx is "MIT", the ledger says "CC-BY-4.0"'),
        ("no licence in the string", line(license_spdx=""), 'license_spdx is "", the ledger says "CC-BY-4.0"'),
        (
            "case of the licence",
            line(license_spdx="cc-by-4.0"),
            'license_spdx is "cc-by-4.0", the ledger says "CC-BY-4.0"',
        ),
    ],
    "empty_text": [
        ("empty text", line(text=""), "text has 0 code points, none but white space and default-ignorable ones"),
        (
            "white space",
            line(text=" \n\t\u3000\xa0"),
            "text has 5 code points, none but white space and default-ignorable ones",
        ),
        (
            "default-ignorable",
            line(text="\u200b\ufeff\u00ad\ufe0f\U000e0041"),
            "text has 5 code points, none but white space and default-ignorable ones",
        ),
    ],
}
QUARANTINED = [
    Case(name, raw, (reason, detail)) for reason, cases in QUARANTINED_BY_REASON.items() for name, raw, detail in cases
]
