"""What fetch refuses, each with its whole message, and that nothing was written. All servers are on the loopback."""

import gzip
import hashlib
import io
import json
import stat
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from loopback import Server, serving
from test_fetch import Folder, jsonl, problems

from corpus_sql.errors import ConfigError, CorpusError, DataError, RefusedError


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def server():
    with serving() as one:
        yield one


def refused(folder, kind=RefusedError) -> list[str]:
    """Fetch, and return the messages of what stops it; nothing may have been written."""
    with pytest.raises(kind) as error:
        folder.fetch()
    assert type(error.value) is kind
    assert not folder.ledger.exists() and not [path for path in folder.raw.rglob("*") if path.is_file()]
    return problems(error)


# redirects and hosts


def test_a_redirect_to_a_host_that_the_recipe_does_not_name(folder, server):
    with serving(Server(files={"/b.jsonl": jsonl("one")})) as other:
        server.redirects["/a.jsonl"] = f"{other.url}/b.jsonl"
        recipe = {"url": f"{server.url}/a.jsonl", "format": "jsonl"}
        folder.write({"s": recipe})
        assert refused(folder) == [
            f"{server.url}/a.jsonl: refused: redirects to {other.host}, a host that the recipe does not name\n"
            f'    If it may be asked: hosts = ["{other.host}"].'
        ]
        assert other.asked == []
        folder.write({"s": recipe | {"hosts": [other.host]}})
        assert folder.fetch()[0].state == "fetched"


@pytest.mark.parametrize("target", ["https://127.0.0.1/a.jsonl", "file:///etc/hostname", "ftp://127.0.0.1/a.jsonl"])
def test_a_redirect_to_another_scheme(folder, server, target):
    server.redirects["/a.jsonl"] = target
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl", "hosts": ["127.0.0.1"]}})
    assert refused(folder) == [
        f"{server.url}/a.jsonl: refused: redirects to another scheme, {target}\n"
        "    If that is the right place, write it into the recipe."
    ]


def test_a_redirect_that_never_ends(folder, server):
    server.redirects["/a.jsonl"] = "/a.jsonl"
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    assert refused(folder, DataError) == [f"{server.url}/a.jsonl: redirects more than 5 times"]
    assert len(server.asked) == 6


def test_a_redirect_within_the_host_is_followed(folder, server):
    server.files["/b.jsonl"] = jsonl("one")
    server.redirects["/a.jsonl"] = "/b.jsonl"
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    folder.fetch()
    assert folder.rows()["s"]["upstream"][0]["url"] == f"{server.url}/a.jsonl"


# urls and ids


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "a.jsonl",
            '"a.jsonl" is no URL\n    Write https://..., file:///... or hf://datasets/OWNER/NAME@REVISION/PATTERN.',
        ),
        (
            "zip://a.jsonl::https://example.org/a.zip",
            '"zip://a.jsonl::https://example.org/a.zip" is a chain of URLs\n'
            "    Name the file itself; archives are opened by their names.",
        ),
        (
            "https://me:secret@example.org/a.jsonl",
            '"https://example.org/a.jsonl" holds a user name or a password\n'
            "    Recipes are published: leave it to the environment.",
        ),
        (
            "https://example.org/*.jsonl",
            '"https://example.org/*.jsonl" is a pattern, but a web server lists no files\n    Name each file.',
        ),
        (
            "https://example.org/x/%2e%2e/a.jsonl",
            '"https://example.org/x/%2e%2e/a.jsonl" leads upwards\n    Write the path without .. in it.',
        ),
        (
            "file:///data/../../etc/passwd",
            '"file:///data/../../etc/passwd" leads upwards\n    Write the path without .. in it.',
        ),
        ("file://data/a.jsonl", '"file://data/a.jsonl" is no absolute path\n    Write file:///folder/file.'),
        (
            "httpx://example.org/a",
            '"httpx://example.org/a" has the scheme "httpx", which is not known\n    Did you mean http?',
        ),
        (
            "reference://a",
            '"reference://a" has the scheme "reference", which is not known\n    Known are: abfs, az, file, ftp, gcs, '
            "github, gs, hdfs, hf, http, https, memory, oci, oss, s3, s3a, sftp, smb, ssh, webhdfs.",
        ),
        (
            "hf://datasets/name/a.jsonl",
            '"hf://datasets/name/a.jsonl" is no file of a data set\n'
            "    Write hf://datasets/OWNER/NAME@REVISION/PATTERN.",
        ),
        (
            "hf://datasets/owner/name@main/../a.jsonl",
            '"hf://datasets/owner/name@main/../a.jsonl" leads upwards\n    Write the path without .. in it.',
        ),
    ],
)
def test_urls(folder, url, message):
    folder.write({"s": {"url": url, "format": "jsonl"}})
    assert refused(folder, ConfigError) == [f"{folder.config}:9: [source.s] url: {message}"]


def test_several_revisions_or_data_sets_in_one_source(folder):
    urls = ["hf://datasets/a/b@main/x", "hf://datasets/a/b@dev/y"]
    folder.write(
        {"s": {"url": urls, "format": "jsonl"}, "t": {"url": [urls[0], "hf://datasets/a/c/y"], "format": "jsonl"}}
    )
    assert refused(folder, ConfigError) == [
        f"{folder.config}:6: [source.s] revision: is named several times: dev, main\n    A source has one revision.",
        f"{folder.config}:15: [source.t] url: names several data sets: a/b, a/c\n"
        "    Make a source of each: a source has one revision.",
    ]


@pytest.mark.parametrize("source_id", ["../escape", "a/b", ".hidden", "Capital"])
def test_source_ids_that_are_no_folder_names(folder, source_id):
    folder.config.write_text(
        f'dataset = "d"\nversion = "v1"\nsources = ["s"]\nstages = []\n[source."{source_id}"]\nurl = "file:///a"\n'
        'format = "text"\n'
    )
    assert refused(folder, ConfigError) == [
        f"{folder.config}:5: [source.{source_id}]: is no source id\n"
        '    Lower-case letters, digits, ".", "_" and "-", beginning with a letter or digit.'
    ]


def test_keys_of_a_recipe(folder):
    folder.write({"s": {"urls": "https://example.org/a", "format": "jsnl", "hosts": ["https://x"], "sha256": "1"}})
    assert refused(folder, ConfigError) == [
        f"{folder.config}:6: [source.s] url: is missing",
        f"{folder.config}:9: [source.s] urls: is not a known key\n    Did you mean url?",
        f'{folder.config}:10: [source.s] format: is "jsnl", which is not known\n    Did you mean jsonl?',
        f'{folder.config}:11: [source.s] hosts: is "https://x", not a host in lower case, such as files.example.org or '
        "*.example.org",
        f'{folder.config}:12: [source.s] sha256: is "1", not 64 lower-case hex digits',
    ]


def test_a_recipe_in_two_places(folder):
    folder.write({"s": {"url": "file:///a", "format": "text"}})
    (folder.root / "sources").mkdir()
    own = folder.root / "sources/s.toml"
    own.write_text('url = "file:///a"\nformat = "text"\n')
    assert refused(folder, ConfigError) == [
        f"{folder.config}:6: [source.s] has a file of its own as well, {own}\n    Keep one of the two."
    ]


def test_a_recipe_of_its_own_is_checked_in_the_same_way(folder):
    folder.config.write_text('dataset = "d"\nversion = "v1"\nsources = ["s"]\nstages = []\n')
    (folder.root / "sources").mkdir()
    own = folder.root / "sources/s.toml"
    own.write_text('\nurl = "a"\nformat = "jsonl"\n')
    assert refused(folder, ConfigError) == [
        f'{own}:2: url: "a" is no URL\n    Write https://..., file:///... or hf://datasets/OWNER/NAME@REVISION/PATTERN.'
    ]
    own.write_text('urls = "a"\nformat = "jsonl"\n')
    assert refused(folder, ConfigError) == [
        f"{own}: url: is missing",
        f"{own}:1: urls: is not a known key\n    Did you mean url?",
    ]


def test_a_source_without_a_recipe(folder):
    folder.config.write_text('dataset = "d"\nversion = "v1"\nsources = ["s"]\nstages = []\n')
    assert refused(folder, ConfigError) == [
        f"{folder.config}: s has no recipe\n"
        "    Write [source.s] into the config or sources/s.toml beside it, or import it."
    ]


# what may not be trained on is refused before anything is asked for


@pytest.mark.parametrize("data_class", ["customer", "customer-derived", "evaluation-only"])
def test_customer_and_evaluation_data(folder, server, data_class):
    folder.write(
        {"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl", "data_class": data_class, "reviewer": "R. D."}}
    )
    assert refused(folder) == [f"s: refused: {data_class} data is never trained on"]
    assert server.asked == []


def test_a_file_that_is_called_like_an_evaluation_set(folder, server):
    server.files["/data/test-00.jsonl"] = jsonl("one")
    recipe = {"url": f"{server.url}/data/test-00.jsonl", "format": "jsonl"}
    folder.write({"s": recipe})
    assert refused(folder) == [
        f'{server.url}/data/test-00.jsonl: refused: looks like customer or evaluation data ("test" in its name)\n'
        "    If it is none: a person has to look at it and sign in the recipe, reviewer = NAME."
    ]
    assert server.asked == []
    folder.write({"s": recipe | {"reviewer": "R. Dupont"}})
    assert folder.fetch()[0].state == "fetched"


def test_no_licence_no_class(folder, server):
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl", "license_spdx": None, "data_class": None}})
    assert refused(folder, ConfigError) == [
        f'{folder.config}:6: s has no license_spdx\n    Say it in the recipe, such as license_spdx = "CC-BY-4.0".',
        f'{folder.config}:6: s has no data_class\n    Say it in the recipe, such as data_class = "public".',
    ]
    assert server.asked == []


def test_a_licence_is_spelled_as_spdx_does(folder):
    folder.write({"s": {"url": "file:///a", "format": "text", "license_spdx": "mit"}})
    assert refused(folder, ConfigError) == [
        f'{folder.config}:7: [source.s] license_spdx: "mit" is not spelled as SPDX does\n    Write MIT.'
    ]


def test_a_licence_other_than_the_ledger_has(folder):
    folder.ledger.parent.mkdir(parents=True)
    row = {"source_id": "s", "url": "u", "license_spdx": "MIT", "data_class": "public", "retrieved": "2026-01-01"}
    folder.ledger.write_text(json.dumps(row | {"files": []}) + "\n")
    folder.write({"s": {"url": "file:///a", "format": "text"}})
    with pytest.raises(ConfigError) as error:
        folder.fetch()
    assert problems(error) == [
        f'{folder.config}:6: license_spdx is "CC0-1.0", the ledger has "MIT"\n'
        "    The ledger's holds: write the same, or leave it out."
    ]


# archives and bombs


def tar(*members: tuple[str, bytes] | tarfile.TarInfo) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for one in members:
            info, content = (one, b"") if isinstance(one, tarfile.TarInfo) else (tarfile.TarInfo(one[0]), one[1])
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def zipped(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def linked_zip() -> bytes:
    packed, info = io.BytesIO(), zipfile.ZipInfo("a.txt")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    return packed.getvalue()


OUT, LINK = "a name that leads out of its folder", "which is a link or a device, not a file"
ESCAPES = {
    "/up.tar.gz": (tar(("../../a.txt", b"x")), f"holds '../../a.txt', {OUT}"),
    "/root.tar.gz": (tar(("/etc/a.txt", b"x")), f"holds '/etc/a.txt', {OUT}"),
    "/late.tar.gz": (tar(("a.txt", b"x"), ("b/../../c.txt", b"x")), f"holds 'b/../../c.txt', {OUT}"),
    "/symlink.tgz": (tar(link("a.txt", "/etc/passwd")), f"holds 'a.txt', {LINK}"),
    "/hardlink.tgz": (tar(link("a.txt", "/etc/passwd", tarfile.LNKTYPE)), f"holds 'a.txt', {LINK}"),
    "/pipe.tgz": (tar(link("a.txt", "", tarfile.FIFOTYPE)), f"holds 'a.txt', {LINK}"),
    "/up.zip": (zipped(**{"../a.txt": b"x"}), f"holds '../a.txt', {OUT}"),
    "/back.zip": (zipped(**{"..\\a.txt": b"x"}), f"holds '..\\\\a.txt', {OUT}"),
    "/drive.zip": (zipped(**{"C:/a.txt": b"x"}), f"holds 'C:/a.txt', {OUT}"),
    "/link.zip": (linked_zip(), f"holds 'a.txt', {LINK}"),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_archives_whose_members_lead_out(folder, server, name):
    server.files[name], message = ESCAPES[name]
    folder.write({"s": {"url": f"{server.url}{name}", "format": "text"}})
    assert refused(folder) == [f"{server.url}{name}: refused: {message}"]


SIZE = 80 << 20  # more than the 64 MiB from which on the ratio is judged
LONG = b"a" * (1 << 20)
RECORD = b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: %d\r\n\r\n" % SIZE
BOMBS = {
    "/a.txt.gz": ("lines", lambda: gzip.compress((LONG + b"\n") * 80, 1)),
    "/a.jsonl.zst": ("jsonl", lambda: zstandard.compress((b'{"text": "%s"}\n' % LONG) * 80, 1)),
    "/a.zip": ("text", lambda: zipped(**{f"{i}.txt": LONG * 10 for i in range(8)})),
    "/a.tar.gz": ("text", lambda: tar(*((f"{i}.txt", LONG * 10) for i in range(8)))),
    "/a.warc.gz": ("warc", lambda: gzip.compress(RECORD + LONG * 80, 1)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(folder, server, name):
    kind, made = BOMBS[name]
    server.files[name] = content = made()
    recipe = {"url": f"{server.url}{name}", "format": kind}
    folder.write({"s": recipe})
    what = f"{len(content)} bytes unpack to more than 200 times as many (max_ratio of the recipe)"
    assert refused(folder) == [f"{server.url}{name}: refused: {what}"]
    folder.write({"s": recipe | {"max_unpacked_bytes": 1000, "max_ratio": 1000000}})
    assert refused(folder) == [
        f"{server.url}{name}: refused: unpacks to more than 1000 bytes (max_unpacked_bytes of the recipe)"
    ]


def parquet(columns: dict, **options) -> bytes:
    packed = io.BytesIO()
    pq.write_table(pa.table(columns), packed, **options)
    return packed.getvalue()


def oscar(text: bytes) -> dict[str, bytes]:
    files = {"xx.txt.gz": gzip.compress(text)}
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    return {"/xx/xx.txt.gz": files["xx.txt.gz"], "/xx/xx_sha256.txt": sums.encode()}


def web(body: bytes, kind: str = "response", more: bytes = b"") -> bytes:
    if kind == "response":
        body = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + more + b"\r\n" + body
    head = b"WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: https://example.org/\r\n" % kind.encode()
    return head + b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n" % (len(body), body)


MANY = 100_000  # bytes that may come out
TEXT = "a" * 1000
LINE = b"a" * 999 + b"\n"
MAP = pa.map_(pa.string(), pa.string())
PACKED_BODY = web(gzip.compress(LINE * 60), more=b"Content-Encoding: gzip\r\n")
# what a format makes much of little with: file name, format, content
OVER = {
    "jsonl": ("a.jsonl.gz", "jsonl", gzip.compress(b'{"text": "%s"}\n' % LINE[:-1] * 100)),
    "json": ("a.json.gz", "json", gzip.compress(b'[{"text": "%s"}]' % (b"a" * MANY))),
    "csv": ("a.csv.gz", "csv", gzip.compress(b"text\n" + LINE * 100)),
    "tsv": ("a.tsv.gz", "tsv", gzip.compress(b"text\n" + LINE * 100)),
    "csv: names in each row": ("a.csv", "csv", b"text," + b"n" * 1000 + b"\n" + b"a,\n" * 100),
    "lines": ("a.txt.gz", "lines", gzip.compress(LINE * 101)),
    "text": ("a.txt", "text", gzip.compress(LINE * 101)),
    "markdown": ("a.md", "markdown", zstandard.compress(LINE * 101)),
    "html": ("a.html", "html", gzip.compress(b"<p>" + LINE * 100)),
    "warc": ("a.warc.gz", "warc", gzip.compress(web(LINE * 100))),
    "warc: a packed body": ("a.warc", "warc", PACKED_BODY * 2),
    "wet": ("a.wet.gz", "wet", gzip.compress(web(LINE * 100, "conversion"))),
    "parquet": ("a.parquet", "parquet", parquet({"text": [TEXT] * 100})),
    "parquet: deltas": (
        "a.parquet",
        "parquet",
        parquet({"text": [TEXT] * 100}, use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"}),
    ),
    "parquet: a list in one row": ("a.parquet", "parquet", parquet({"text": ["a"], "more": [[TEXT] * 100]})),
    "parquet: a map": (
        "a.parquet",
        "parquet",
        parquet({"text": ["a"] * 10, "more": pa.array([[("k", TEXT)] * 10] * 10, MAP)}),
    ),
    "parquet: nulls in a list": ("a.parquet", "parquet", parquet({"text": ["a"], "more": [[None] * (MANY + 1)]})),
    "parquet: nothing but names": ("a.parquet", "parquet", parquet({"text": ["a"] * 100, "n" * 1000: pa.nulls(100)})),
    "parquet: fields of a struct": (
        "a.parquet",
        "parquet",
        parquet({"text": ["a"], "l": [[{"n" * 1000: None}] * 100]}),
    ),
    "zip": ("a.zip", "text", zipped(**{"a.txt": LINE * 101})),
    "zip: each member a part": (
        "a.zip",
        "parquet",
        zipped(**{f"{i}.parquet": parquet({"text": [TEXT] * 50}) for i in range(2)}),
    ),
    "tar": ("a.tar.gz", "text", tar(("a.txt", LINE * 100))),
    "tar: packed members": (
        "a.tar",
        "jsonl",
        gzip.decompress(tar(*((f"{i}.jsonl.gz", gzip.compress(b'{"text": "%s"}\n' % LINE[:-1] * 60)) for i in "ab"))),
    ),
}


@pytest.mark.parametrize("case", OVER)
def test_every_format_is_stopped_by_what_is_really_unpacked(folder, server, case):
    name, kind, content = OVER[case]
    server.files[f"/{name}"] = content
    recipe = {"url": f"{server.url}/{name}", "format": kind, "max_unpacked_bytes": MANY}
    folder.write({"s": recipe})
    what = f"unpacks to more than {MANY} bytes (max_unpacked_bytes of the recipe)"
    assert refused(folder) == [f"{server.url}/{name}: refused: {what}"]
    folder.write({"s": recipe | {"max_unpacked_bytes": 3 * MANY}})
    assert folder.fetch()[0].state == "fetched"


def test_oscar_is_stopped_by_what_is_really_unpacked(folder, server):
    server.files = oscar(LINE * 101)
    recipe = {"url": [server.url + name for name in server.files], "format": "oscar", "max_unpacked_bytes": MANY}
    folder.write({"s": recipe})
    what = f"unpacks to more than {MANY} bytes (max_unpacked_bytes of the recipe)"
    assert refused(folder) == [f"{server.url}/xx/xx.txt.gz: refused: {what}"]
    folder.write({"s": recipe | {"max_unpacked_bytes": 2 * MANY}})
    assert folder.fetch()[0].state == "fetched"


def test_a_row_of_gigabytes_is_never_made(folder, server):
    """One value of 1 MB, 20,000 times in one list: 20 GB in a file of 2 kB."""
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), ["a" * (1 << 20)])
    lists = pa.ListArray.from_arrays([0, 20_000], dictionary)
    server.files["/a.parquet"] = content = parquet({"text": ["a"], "more": lists})
    folder.write({"s": {"url": f"{server.url}/a.parquet", "format": "parquet"}})
    before = pa.total_allocated_bytes()
    what = f"{len(content)} bytes unpack to more than 200 times as many (max_ratio of the recipe)"
    assert refused(folder) == [f"{server.url}/a.parquet: refused: {what}"]
    assert pa.default_memory_pool().max_memory() - before < 200 << 20


# damage


@pytest.mark.parametrize("name", ["/a.jsonl.gz", "/a.jsonl.zst", "/a.tar.gz", "/a.zip", "/a.parquet"])
def test_a_file_that_is_cut_is_no_shorter_corpus(folder, server, name):
    content = jsonl(size=300_000)
    whole = {
        "/a.jsonl.gz": gzip.compress(content),
        "/a.jsonl.zst": zstandard.compress(content),
        "/a.tar.gz": tar(("a.jsonl", content)),
        "/a.zip": zipped(**{"a.jsonl": content}),
        "/a.parquet": b"PAR1" + content,
    }[name]
    server.files[name] = whole[: len(whole) // 2]
    folder.write({"s": {"url": f"{server.url}{name}", "format": "parquet" if "parquet" in name else "jsonl"}})
    with pytest.raises(CorpusError) as error:
        folder.fetch()
    first, last = error.value.problems
    assert isinstance(error.value, DataError)
    assert first.where.startswith(f"{server.url}{name}") and first.what.startswith("cannot be read: ")
    assert str(last) == "s: nothing was written; what was fetched is kept"
    assert not folder.ledger.exists()
