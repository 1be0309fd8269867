"""Every format, by way of `fetch` from a loopback server or of `import`: the file above, the raw lines below."""

import gzip
import hashlib
import io
import json
import sys
import tarfile
import time
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import shared
from loopback import serving
from test_fetch import DAY, Folder, problems

from corpus_sql import build, convert_html
from corpus_sql.convert_html import decoded
from corpus_sql.errors import ConfigError, DataError, install
from corpus_sql.explain import open_build
from corpus_sql.import_inputs import SUFFIXES, WHOLE, Bad, Blank, Other, Record, records
from corpus_sql.importing import import_files

MAX = 1 << 20


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def server():
    with serving() as one:
        yield one


def read(kind: str, path: Path, content: bytes | str) -> list:
    """Read a file of this content; of records number and fields."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return [(one.number, one.fields) if isinstance(one, Record) else one for one in records(kind, path, MAX)]


# JSON arrays


def test_a_json_array_of_any_layout(tmp_path):
    layout = '\ufeff [ {"text": "one",\n "n": [1, {"a": null}]}\r\n,{"text": "zw\\u00f6lf, ]} \\" \\\\"} ] \n'
    assert read("json", tmp_path / "a.json", layout) == [
        (1, {"text": "one", "n": [1, {"a": None}]}),
        (2, {"text": 'zwölf, ]} " \\'}),
    ]
    assert read("json", tmp_path / "a.json", "[]") == []


def test_a_json_array_longer_than_what_is_held_at_a_time(tmp_path):
    rows = [{"text": f"{i} " + "é" * (i * 97 % 5000)} for i in range(200)]
    found = read("json", tmp_path / "a.json.gz", gzip.compress(json.dumps(rows, ensure_ascii=False).encode()))
    assert [fields for _, fields in found] == rows


@pytest.mark.parametrize(
    ("content", "bad"),
    [
        ('{"text": "t"}', Bad(None, "is no JSON array: it does not begin with [")),
        ("", Bad(None, "is no JSON array: it does not begin with [")),
        ("[{]", Bad(1, "invalid_json: Expecting property name enclosed in double quotes")),
        ('[{"a": 1} {"a": 2}]', Bad(1, "is followed by '{', not by a comma or ]")),
        ('[{"a": 1}', Bad(1, "is followed by the end of the file")),
        ('[{"a": 1}] x', Bad(None, "has 'x' after the end of the array")),
        ("[1]", Bad(1, "not_an_object: the line is a number")),
        ('[{"a": 1, "a": 2}]', Bad(1, 'duplicate_key: "a" again in its object at byte 9')),
        ('[{"a": NaN}]', None),
    ],
)
def test_what_is_no_json_array(tmp_path, content, bad):
    last = read("json", tmp_path / "a.json", content)[-1]
    if bad is None:
        assert isinstance(last, Bad) and last.what.startswith("invalid_json")
    else:
        assert last == bad


# CSV and TSV


def test_csv(tmp_path):
    content = '\ufefftext,id,note\r\n"one, ""quoted""\nand a second line",1,\r\n\r\nthree,2,x\r\n'
    assert read("csv", tmp_path / "a.csv", content) == [
        (2, {"text": 'one, "quoted"\nand a second line', "id": "1", "note": None}),
        Blank(4),
        (5, {"text": "three", "id": "2", "note": "x"}),
    ]


def test_tsv_has_no_quotes(tmp_path):
    assert read("tsv", tmp_path / "a.tsv", 'text\tid\n"one\t1\ntwo"\t2\n') == [
        (2, {"text": '"one', "id": "1"}),
        (3, {"text": 'two"', "id": "2"}),
    ]


@pytest.mark.parametrize(
    ("content", "bad"),
    [
        ("text,text\n1,2\n", Bad(1, "names the column text twice")),
        ("text,\n1,2\n", Bad(1, "has a column without a name")),
        ("text,id\nonly\n", Bad(2, "has 1 cells, the first line names 2 columns")),
        ('text\n"open\n', Bad(2, "is not CSV: unexpected end of data")),
        ('text\n"a"b\n', Bad(2, "is not CSV: ',' expected after '\"'")),
    ],
)
def test_what_is_no_csv(tmp_path, content, bad):
    assert read("csv", tmp_path / "a.csv", content)[-1] == bad


def test_csv_that_is_not_utf8(tmp_path):
    one, bad = read(
        "csv", tmp_path / "a.csv", '\ufefftext,id\r\n"ü\rb",1\r\n'.encode() + b"\xc3\xa4\xefve,2\r\nx,3\r\n"
    )
    assert one == (2, {"text": "ü\rb", "id": "1"})
    assert bad == Bad(4, "is not UTF-8: byte 2 (0xef) of the line")
    assert read("tsv", tmp_path / "a.tsv", "text\tid\n".encode("utf-16")) == [
        Bad(1, "is not UTF-8: byte 0 (0xff) of the line")
    ]
    assert read("tsv", tmp_path / "a.tsv", b"text\nab\xed\xa0\x80\n") == [
        Bad(2, "is not UTF-8: byte 2 (0xed) of the line")  # half of a surrogate pair
    ]


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_a_line_of_a_table_that_is_too_long_is_not_held(tmp_path, kind):
    bad = "is longer than 1048576 bytes (max_line_bytes of the config)"
    whole = "a" * MAX
    found = read(kind, tmp_path / f"a.{kind}", f"text\n{whole}\n{whole}a\n")
    assert found == [(2, {"text": whole}), Bad(3, bad)]
    packed = gzip.compress(b"text\n" + bytes(100 << 20), 1)
    tracemalloc.start()
    assert read(kind, tmp_path / f"a.{kind}.gz", packed) == [Bad(2, bad)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20


def test_a_row_of_doubled_quotes_is_as_long_as_what_it_says(tmp_path):
    content = 'text\n"' + '""' * (MAX - 1) + '"\n'
    assert read("csv", tmp_path / "a.csv", content) == [(2, {"text": '"' * (MAX - 1)})]


# text


def test_a_line_a_document(folder, server):
    server.files["/a.txt"] = "first\r\n\n \nzweite\u2028Zeile\nlast".encode()
    folder.write({"s": {"url": f"{server.url}/a.txt", "format": "lines"}})
    (done,) = folder.fetch()
    assert [(one["url"].removeprefix(server.url), one["text"]) for one in folder.lines()] == [
        ("/a.txt#1", "first"),
        ("/a.txt#4", "zweite\u2028Zeile"),
        ("/a.txt#5", "last"),
    ]
    assert done.blank == 2


def test_a_file_a_document_and_markdown_as_it_is_written(folder, server):
    server.files = {"/a.txt": b"\xef\xbb\xbfone\r\ntwo\n", "/b.md": b"# Title\n\n* item\n", "/c.txt": b"na\xefve"}
    folder.write(
        {
            "text": {"url": [f"{server.url}/a.txt", f"{server.url}/c.txt"], "format": "text"},
            "md": {"url": f"{server.url}/b.md", "format": "markdown"},
        }
    )
    text, _ = folder.fetch()
    assert [(one["url"], one["text"]) for one in folder.lines("text")] == [
        (f"{server.url}/a.txt", "one\r\ntwo\n"),
        (f"{server.url}/c.txt", None),
    ]
    assert folder.lines("text")[1]["extraction_error"] == "is not UTF-8: byte 2 (0xef), on line 1"
    assert text.quarantined == {"null_text": 1}
    assert folder.lines("md")[0]["text"] == "# Title\n\n* item\n"


# Parquet, fields


def test_parquet_and_which_field_becomes_which(folder, server):
    packed = io.BytesIO()
    pq.write_table(pa.table({"content": ["一", "two"], "key": [5, 6], "link": ["https://x/1", None]}), packed)
    server.files["/a.parquet"] = packed.getvalue()
    fields = {"text": "content", "source_record_id": "key", "url": "link"}
    folder.write({"s": {"url": f"{server.url}/a.parquet", "format": "parquet", "fields": fields}})
    folder.fetch()
    assert [(one["url"], one["text"], one["source_record_id"]) for one in folder.lines()] == [
        ("https://x/1", "一", "5"),
        (f"{server.url}/a.parquet#2", "two", "6"),
    ]


def test_a_binary_column_of_text_and_one_that_is_none(folder, server):
    def parquet(**columns) -> bytes:
        packed = io.BytesIO()
        pq.write_table(pa.table(columns), packed)
        return packed.getvalue()

    def fetched(name: str, content: bytes) -> list[dict]:
        server.files[f"/{name}"] = content
        fields = {"text": "body"}
        folder.write({"s": {"url": f"{server.url}/{name}", "format": "parquet", "fields": fields}})
        folder.fetch()
        return folder.lines()

    with pytest.raises(DataError) as error:
        fetched("a.parquet", parquet(body=[b"a", b"na\xefve"]))
    assert problems(error)[0] == f'{server.url}/a.parquet#2: the binary column "body" is not UTF-8: byte 2 (0xef)'
    with pytest.raises(DataError) as error:
        fetched("b.parquet", parquet(body=[["a"]], bodies=["a"]))
    what = 'the column "body" is list<element: string>, not text; the nearest column of text is "bodies"'
    assert problems(error)[0] == f"{server.url}/b.parquet: {what}"
    (line,) = fetched("c.parquet", parquet(body=["zwölf".encode()], id=[b"key"], more=[b"\xff"]))
    assert (line["text"], line["source_record_id"], line["more"]) == ("zwölf", "key", "/w==")


def test_a_field_that_is_there_twice(folder, server):
    server.files["/a.jsonl"] = b'{"text": "a", "content": "b"}\n'
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl", "fields": {"text": "content"}}})
    with pytest.raises(DataError) as error:
        folder.fetch()
    assert problems(error) == [
        f'{server.url}/a.jsonl#1: has a field "text" besides "content", which the recipe takes for it',
        "s: nothing was written; what was fetched is kept",
    ]


# archives


@pytest.mark.parametrize("name", ["/all.zip", "/all.tar.gz", "/all.tar"])
def test_archives(folder, server, name):
    files = {"docs/b.md": b"b", "docs/a ü.md": "ä".encode(), "docs/picture.png": b"\x89PNG"}
    packed = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(packed, "w") as archive:
            for member, content in files.items():
                archive.writestr(member, content)
    else:
        with tarfile.open(fileobj=packed, mode="w:gz" if name.endswith("gz") else "w") as archive:
            for member, content in files.items():
                info = tarfile.TarInfo(member)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    server.files[name] = packed.getvalue()
    folder.write({"s": {"url": f"{server.url}{name}", "format": "markdown"}})
    (done,) = folder.fetch()
    assert [(one["url"], one["text"]) for one in folder.lines()] == [
        (f"{server.url}{name}!/docs/b.md", "b"),
        (f"{server.url}{name}!/docs/a%20%C3%BC.md", "ä"),
    ]
    assert done.lines()[-1] == "    passed over: 1 file of another format"


# HTML

PAGE = """<!DOCTYPE html><html><head>{}<title>T</title></head><body><nav><a href="/">Home</a></nav>
<article><h1>Ein Titel</h1><p>{}</p></article></body></html>"""
SENTENCE = "Dies ist ein längerer Absatz über Füchse, die über träge Hunde springen, und er hat einen zweiten Satz."


def test_html_with_its_hash_and_the_extractor(folder, server):
    import trafilatura

    server.files["/p.html"] = page = PAGE.format('<meta charset="utf-8">', SENTENCE).encode()
    folder.write({"s": {"url": f"{server.url}/p.html", "format": "html"}})
    folder.fetch()
    (line,) = folder.lines()
    assert SENTENCE in line["text"] and "Home" not in line["text"] and "<" not in line["text"]
    assert line["html_sha256"] == hashlib.sha256(page).hexdigest()
    assert line["extractor"] == f"trafilatura {trafilatura.__version__}"


def test_a_page_without_a_text_is_left_to_quarantine(folder, server):
    server.files = {
        "/p.html": b"<html><body></body></html>",
        "/q.html": b"",
        "/r.html": PAGE.format("", "x" * 99).encode(),
    }
    folder.write({"s": {"url": [f"{server.url}/{name}.html" for name in "pqr"], "format": "html"}})
    (done,) = folder.fetch()
    assert (done.documents, done.quarantined) == (3, {"empty_text": 2})


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ('<meta charset="gb2312">中文镕'.encode("gb18030"), None, "中文镕"),
        ('<meta http-equiv=Content-Type content="text/html; charset=iso-8859-1">“ä”'.encode("cp1252"), None, "“ä”"),
        ('<meta charset="gb2312">中文'.encode(), "utf-8", "中文"),
        ("\ufeff中文".encode("utf-16-le"), "gbk", "中文"),
        ('<?xml version="1.0" encoding="Shift_JIS"?>日本①'.encode("cp932"), None, "日本①"),
        ('<meta charset="utf-16">ä'.encode(), None, "ä"),
        ("ä".encode(), None, "ä"),
        ('\ufeff<meta charset="gbk">ä'.encode(), "gbk", "ä"),
        ('<meta charset="x-sjis">日本①'.encode("cp932"), None, "日本①"),
        ('<meta charset="euc-jp">日本①'.encode("euc_jis_2004"), None, "日本①"),
        ('<meta charset="ks_c_5601-1987">똠방각하'.encode("cp949"), None, "똠방각하"),
        ('<meta charset="windows-874">ไทย'.encode("cp874"), None, "ไทย"),
        ('<meta charset="klingon">ä'.encode(), None, "ä"),
        ('<meta charset="gbk">中文'.encode("gbk"), "klingon", "中文"),
        ('<meta charset="base64">ä'.encode(), None, "ä"),
        ('<!-- <meta charset="gbk"> -->ä'.encode(), None, "ä"),
        ('<meta name="description" content="write charset=gbk">ä'.encode(), None, "ä"),
        (b'<meta charset="latin1">a\x81', None, "a\x81"),
    ],
)
def test_the_encoding_of_a_page(content, charset, text):
    assert decoded(content, charset).endswith(text)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("latin-1", SENTENCE),
        ("latin-1", "Café Noël"),
        (
            "cp1252",
            "Les élèves étaient étonnés de découvrir la forêt près du château, où l’été n’était qu’un souvenir.",
        ),
        ("cp1250", "Żółw idzie powoli przez łąkę, a słońce świeci nad jeziorem; dzieci śpiewają wesołe pieśni."),
        ("cp1251", "Лиса быстро бежит через поле, а собака лежит на солнце и ничего не замечает."),
        ("koi8-r", "Лиса быстро бежит через поле, а собака лежит на солнце и ничего не замечает."),
        ("gb18030", "狐狸很快地跑过田野，小狗躺在阳光下睡觉，孩子们在河边唱歌。今天的天气非常好，我们一起去公园散步。"),
        ("big5", "狐狸很快地跑過田野，小狗躺在陽光下睡覺，孩子們在河邊唱歌。今天的天氣非常好，我們一起去公園散步。"),
        ("shift_jis", "きつねは野原を速く走り、犬は日なたで眠っています。子どもたちは川のそばで歌を歌いました。"),
        (
            "euc_kr",
            "여우는 들판을 빠르게 달리고 강아지는 햇볕 아래에서 잠을 잡니다. 아이들은 강가에서 노래를 불렀습니다.",
        ),
        ("euc_kr", "오늘 정말 재미있었어요 ㅋㅋㅋㅋㅋㅋㅋㅋ"),
        ("euc_jp", "今日はとても寒いです。"),
        ("euc_jp", "昨日、友達と駅前の喫茶店で会いました。"),
        ("shift_jis", "今日はとても寒いです。"),
        ("gb18030", "春天来了，山上的花都开了。"),
        ("gb18030", "他每天早上六点起床，先去河边跑步。"),
    ],
)
def test_the_encoding_of_a_page_that_names_none(encoding, text):
    page = PAGE.format("", text)
    assert decoded(page.encode(encoding)) == page


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'<meta charset="utf-8">na\xefve', "is not utf-8: byte 24 (0xef)"),
        (b'<meta charset="gbk">\xff', "is not gbk: byte 20 (0xff)"),
        (b"\xff\xff\xfe\x80\x81" * 20, "names no encoding, is not UTF-8, and no other could be detected"),
    ],
)
def test_a_page_that_cannot_be_decoded(content, message):
    with pytest.raises(ValueError) as error:
        decoded(content)
    assert str(error.value) == message


def test_the_help_pages_round_trip(folder, server):
    """60 real pages: fetched, built, and found in the build with the hash of their HTML."""
    pages = sorted(shared("data", "html").glob("*.html"))
    server.files = {f"/{page.name}": page.read_bytes() for page in pages}
    folder.write({"s": {"url": [f"{server.url}/{page.name}" for page in pages], "format": "html"}})
    (done,) = folder.fetch()
    assert (done.documents, done.quarantined) == (60, {})
    assert [one["html_sha256"] for one in folder.lines()] == [hashlib.sha256(p.read_bytes()).hexdigest() for p in pages]
    first = folder.everything()
    build.run(folder.config)
    with open_build(folder.root / "artifacts/corpus/d/v1") as connection:
        rows = connection.execute("select url, text, license_spdx from shards").fetchall()
    assert sorted(rows) == sorted((one["url"], one["text"], "CC0-1.0") for one in folder.lines())
    again = Folder(folder.root / "again")
    again.root.mkdir()
    again.config.write_bytes(folder.config.read_bytes())
    again.fetch()
    assert again.everything() == {name: content for name, content in first.items()}


def test_import_takes_html_as_well(folder):
    folder.config.write_text('dataset = "d"\nversion = "v1"\nsources = ["s"]\nstages = []\n')
    (folder.root / "p.html").write_text(PAGE.format("", SENTENCE), "utf-8")
    import_files("html", [folder.root / "p.html"], source="s", config_path=folder.config, license_spdx="CC0-1.0",
                 data_class="public", fetched_at=DAY)  # fmt: skip
    assert SENTENCE in folder.lines()[0]["text"]


# WARC


def texts_of(name: str, kind: str = "warc") -> list[tuple]:
    """What a sample holds: its documents as (record number, url, first words), the others by what they are."""
    found = []
    for one in records(kind, shared("data", "warc", name), MAX):
        if isinstance(one, Record):
            text = one.fields["text"]
            found.append((one.number, one.fields["url"], text and " ".join(text.split()[:3])))
        elif isinstance(one, Bad):
            found.append((one.number, one.what))
    return found


EXAMPLE = "This domain is"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("example.warc", [(3, "http://example.com/", EXAMPLE)]),
        ("example.warc.gz", [(3, "http://example.com/", EXAMPLE)]),
        ("example.arc", [(2, "http://example.com/", EXAMPLE)]),
        ("example.arc.gz", [(2, "http://example.com/", EXAMPLE)]),
        ("example-resource.warc.gz", [(3, "http://example.com/", EXAMPLE)]),
        ("example-iana.org-chunked.warc", [(2, "http://www.iana.org/", "Domain Names Management")]),
        ("example-bad-non-chunked.warc.gz", [(3, "http://example.com/", EXAMPLE)]),
        ("whirlwind.warc.gz", [(3, "https://an.wikipedia.org/wiki/Escopete", "Escopete | |")]),
        ("whirlwind.warc.wet.gz", [(2, "https://an.wikipedia.org/wiki/Escopete", "Escopete - Biquipedia,")]),
        ("whirlwind.warc.wat.gz", []),
        ("post-test.warc.gz", []),
        ("bad.arc", []),
        ("example-space-in-url.arc", [(2, "is cut: 12 of the 1591 bytes that it announces are missing")]),
        (
            "example-trunc.warc",
            [(3, "http://example.com/", None), (4, "comes after a record that is longer than it says")],
        ),
        ("example-wrong-chunks.warc.gz", [(1, "http://example.com/", None)]),
    ],
)
def test_archives_of_the_web_whole_and_damaged(name, found):
    assert texts_of(name) == found


def test_a_warc_record_with_its_id_and_headers(folder, server):
    server.files["/w.warc.gz"] = shared("data", "warc", "example.warc.gz").read_bytes()
    folder.write({"s": {"url": f"{server.url}/w.warc.gz", "format": "warc"}})
    (done,) = folder.fetch()
    (line,) = folder.lines()
    assert {key: line[key] for key in ("url", "fetched_at", "source_record_id")} == {
        "url": "http://example.com/",
        "fetched_at": "2017-03-06T04:02:06Z",
        "source_record_id": "<urn:uuid:a9c51e3e-0221-11e7-bf66-0242ac120005>",
    }
    assert line["headers"]["warc-ip-address"] == "93.184.216.34"
    assert line["http_headers"]["content-type"] == "text/html"
    assert done.passed_over == {
        "WARC record of type warcinfo": 2,
        "WARC record of type request": 2,
        "WARC record of type revisit": 1,
    }
    assert "    passed over: 2 WARC records of type warcinfo" in done.lines()
    build.run(folder.config)
    with open_build(folder.root / "artifacts/corpus/d/v1") as connection:
        record_id, extra = connection.execute("select source_record_id, extra from documents").fetchone()
    assert (record_id, json.loads(extra)["headers"]["warc-type"]) == (line["source_record_id"], "response")


def warc(*records_: tuple[dict[str, str], bytes]) -> bytes:
    content = b""
    for headers, body in records_:
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        content += f"WARC/1.0\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body + b"\r\n\r\n"
    return content


def response(body: bytes, headers: str = "Content-Type: text/html", status: str = "200 OK", **more: str) -> tuple:
    record = {
        "WARC-Type": "response", "WARC-Target-URI": "https://example.org/", "WARC-Date": "2026-01-02T03:04:05Z",
        "WARC-Record-ID": "<urn:uuid:1>", "Content-Type": "application/http; msgtype=response", **more,
    }  # fmt: skip
    return record, f"HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    ("record", "error"),
    [
        (response(b"na\xefve", "Content-Type: text/plain; charset=utf-8"), "is not utf-8: byte 2 (0xef)"),
        (response(b"na\xefve", "Content-Type: text/html; charset=utf-8"), "is not utf-8: byte 2 (0xef)"),
        (response(b"x", "Content-Type: text/html\r\nContent-Encoding: zstd"), "is packed as 'zstd', which cannot be"),
        (response(b"x" * (MAX + 1)), f"has more than {MAX} bytes (max_line_bytes of the config)"),
        (response(b"x", **{"WARC-Truncated": "length"}), "was cut when it was archived: length"),
        (response(b"x", **{"WARC-Payload-Digest": "sha1:AAAA"}), "payload digest failed sha1:AAAA"),
    ],
)
def test_a_record_whose_text_cannot_be_had_is_left_to_quarantine(tmp_path, record, error):
    ((_, fields),) = read("warc", tmp_path / "a.warc", warc(record))
    assert fields["text"] is None and fields["extraction_error"].startswith(error)


def test_a_record_that_the_build_will_quarantine_is_named_with_why(folder, server):
    server.files["/w.warc"] = warc(
        response(b"one", "Content-Type: text/plain"), response(b"na\xefve", "Content-Type: text/plain; charset=utf-8")
    )
    folder.write({"s": {"url": f"{server.url}/w.warc", "format": "warc"}})
    (done,) = folder.fetch()
    assert done.lines()[-2:] == [
        "    1 document that the build will quarantine: null_text",
        f"        {server.url}/w.warc#2: null_text: is not utf-8: byte 2 (0xef)",
    ]


def test_a_record_is_decoded_as_its_server_says_before_the_page(tmp_path):
    page = PAGE.format('<meta charset="utf-8">', SENTENCE).encode("latin-1")
    plain = response("“ä”".encode("cp1252"), "Content-Type: text/plain; charset=latin1")
    records_ = warc(response(page, "Content-Type: text/html; charset=ISO-8859-1"), plain)
    (_, first), (_, second) = read("warc", tmp_path / "a.warc", records_)
    assert SENTENCE in first["text"] and second["text"] == "“ä”"


def test_other_records_are_counted_by_what_they_are(tmp_path):
    found = read(
        "warc",
        tmp_path / "a.warc",
        warc(response(b"", status="404 Not Found"), response(b"GIF8", "Content-Type: image/gif")),
    )
    assert found == [
        Other(1, "WARC record of type response with status 404"),
        Other(2, "WARC record of type response and medium image/gif"),
    ]


def test_a_warc_that_is_cut_is_an_error_of_the_file(folder, server):
    server.files["/w.warc"] = warc(response(b"<p>one</p>"), response(b"<p>two</p>"))[:-30]
    folder.write({"s": {"url": f"{server.url}/w.warc", "format": "warc"}})
    with pytest.raises(DataError) as error:
        folder.fetch()
    assert problems(error)[0].startswith(f"{server.url}/w.warc#2: is cut: ")


# OSCAR


def test_oscar_is_fetched_with_its_checksums(folder, server):
    home = shared("data", "oscar", "21.09", "en")
    names = sorted(path.name for path in home.iterdir())
    server.files = {f"/21.09/en/{name}": (home / name).read_bytes() for name in names}
    folder.write({"s": {"url": [f"{server.url}/21.09/en/{name}" for name in names], "format": "oscar"}})
    (done,) = folder.fetch()
    imported = Folder(folder.root / "imported")
    imported.root.mkdir()
    imported.config.write_text('dataset = "d"\nversion = "v1"\nsources = ["s"]\nstages = []\n')
    import_files("oscar", [home], source="s", config_path=imported.config, license_spdx="CC0-1.0", data_class="public",
                 fetched_at=DAY)  # fmt: skip
    assert [one["text"] for one in folder.lines()] == [one["text"] for one in imported.lines()]
    server.files["/21.09/en/en_sha256.txt"] = server.files["/21.09/en/en_sha256.txt"].replace(b"0", b"1")
    with pytest.raises(ConfigError) as error:
        folder.fetch(replace=True)
    assert all(one.where.startswith(f"{server.url}/21.09/en/") for one in error.value.problems)


# libraries that are not installed


def missing(where: str, library: str, extra: str) -> str:
    return f"{where}: needs {library}, which is not installed\n    Install it: {install(extra)}"


@pytest.mark.parametrize(
    ("module", "kind", "message"),
    [
        ("trafilatura", "html", missing("html", "trafilatura", "html")),
        ("warcio.archiveiterator", "warc", missing("warc", "warcio", "warc")),
    ],
)
def test_a_format_whose_library_is_not_installed(tmp_path, monkeypatch, module, kind, message):
    convert_html._trafilatura.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError) as error:
        read(kind, tmp_path / f"a.{kind}", b"<p>one</p>")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("module", "url", "message"),
    [
        ("requests", "http://127.0.0.1:9/a", missing("fetch", "requests", "fetch")),
        ("fsspec", "file:///a", missing("fetch", "fsspec", "fetch")),
        ("huggingface_hub", "hf://datasets/a/b/c", missing("hf://", "huggingface_hub", "fetch")),
        ("s3fs", "s3://a/b", missing("s3://a/b", "s3fs", "s3")),
        ("gcsfs", "gs://a/b", missing("gs://a/b", "gcsfs", "gcs")),
    ],
)
def test_a_place_whose_library_is_not_installed(folder, monkeypatch, module, url, message):
    monkeypatch.setitem(sys.modules, module, None)
    folder.write({"s": {"url": url, "format": "text"}})
    with pytest.raises(ConfigError) as error:
        folder.fetch()
    assert str(error.value) == message


@pytest.mark.parametrize("kind", sorted(set(SUFFIXES) - {"oscar"}))  # it reads pairs of files
def test_a_file_without_anything(tmp_path, kind):
    found = read(kind, tmp_path / "empty", b"")
    if kind in WHOLE:
        assert [fields["text"] for _, fields in found] == [""]
    else:
        assert all(isinstance(one, Bad) for one in found)


def test_a_header_without_an_end_is_read_in_linear_time(tmp_path):
    """50 MB in one line, in many, and in the headers of HTTP: minutes if each block copied all before it."""
    size, what = 50 << 20, "has a header of more than 1048576 bytes"
    head = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://example.org/\r\n"
    long, length = b"A" * size, b"Content-Length: %d\r\n\r\nHTTP/1.1 200 OK\r\n" % size
    for content in (
        head + b"X: " + long,
        long,
        head + b"X: y\r\n" * (size // 6),
        head + b"X: y\r\n" + b" z\r\n" * (size // 4),
        head + length + b"X: " + long,
    ):
        begun = time.process_time()
        assert read("warc", tmp_path / "a.warc", content) == [Bad(1, what)]
        assert time.process_time() - begun < 5
    after = read("warc", tmp_path / "a.warc", warc(response(b"<p>one</p>")) + head + b"X: " + long)
    assert [one[0] for one in after[:1]] == [1] and after[1:] == [Bad(2, what)]


def test_a_header_of_a_long_url_and_many_records_without_a_body(tmp_path):
    url = "https://example.org/?" + "q" * 500_000
    empty = ({"WARC-Type": "metadata", "X": "y" * 2000}, b"")
    found = read(
        "warc", tmp_path / "a.warc", warc(*[empty] * 1000, response(b"<p>one</p>", **{"WARC-Target-URI": url}))
    )
    assert len(found) == 1001 and found[-1][1]["url"] == url


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate"])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_packed_body_is_unpacked_no_further_than_a_text_may_go(tmp_path, encoding, chunked):
    def body(text: bytes) -> tuple:
        content = zlib.compress(text) if encoding == "deflate" else gzip.compress(text)
        headers = f"Content-Type: text/plain\r\nContent-Encoding: {encoding}"
        if chunked:
            content = b"%x\r\n" % len(content) + content + b"\r\n0\r\n\r\n"
            headers += "\r\nTransfer-Encoding: chunked"
        return response(content, headers)

    content = warc(body(b"short"), body(bytes(100 << 20)))
    tracemalloc.start()
    (_, short), (_, long) = read("warc", tmp_path / "a.warc", content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert short["text"] == "short"
    assert long["text"] is None
    assert long["extraction_error"] == f"has more than {MAX} bytes (max_line_bytes of the config)"
    assert peak < 32 << 20
