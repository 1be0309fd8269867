"""What signs or opens a URL is asked with, and neither written down nor said. All servers are on the loopback."""

import json

import pytest
from loopback import serving
from test_fetch import Folder, jsonl, problems

from corpus_sql.errors import ConfigError, CorpusError, DataError, RefusedError
from corpus_sql.importing import import_files
from corpus_sql.ledger import read_ledger
from corpus_sql.validation import shown
from corpus_sql.written_urls import in_text, written

SIGNED = "?part=2&X-Amz-Signature=s3cret&lang=de"
PLAIN = "?part=2&lang=de"


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def server():
    with serving() as one:
        yield one


def holds_secret(folder: Folder) -> list[str]:
    """Files below the project, but the config, that hold the secret, packed ones unpacked."""
    paths = [path for path in folder.root.rglob("*") if path.is_file() and path != folder.config]
    found = [path.name for path in paths if b"s3cret" in path.read_bytes()]
    lines = folder.raw_lines() if folder.ledger.exists() else []
    return found + [line.decode() for line in lines if b"s3cret" in line]


@pytest.mark.parametrize(
    "name",
    "X-Amz-Signature X-Amz-Credential X-Amz-Security-Token X-Goog-Signature X-Goog-Credential Signature sig token "
    "access_token api_key apikey key AWSAccessKeyId GoogleAccessId Key-Pair-Id password subscription-key "
    "accesstoken X%2DAmz%2DSignature".split(),
)
def test_a_secret_parameter_goes_and_the_others_stay_in_order(name):
    assert written(f"https://h/a?b=1&{name}=s3cret&a=2") == "https://h/a?b=1&a=2"
    assert written(f"https://h/a?{name}=s3cret") == "https://h/a"


@pytest.mark.parametrize(
    ("url", "fit"),
    [
        ("https://me:s3cret@h/a", "https://h/a"),
        ("https://s3cret@h:8080/a", "https://h:8080/a"),
        ("https://me:s3/cret@h/a", "https://h/a"),
        ("//me:s3cret@h/a", "//h/a"),
        ("me:s3cret@h/a", "h/a"),
        ("https://h/a?token=s3 cret&b=1", "https://h/a?b=1"),
        ("https://h/a#access_token=s3cret", "https://h/a"),
        ("https://h/a?token=s3cret;b=1#7", "https://h/a?b=1#7"),
    ],
)
def test_user_info_fragments_and_odd_urls(url, fit):
    assert written(url) == fit


@pytest.mark.parametrize(
    "url",
    [
        "https://h/a?b=2&a=1&&keyword=x&monkey=y&Expires=5",
        "https://h:8080/@scope/a",
        "https://[::1]:8080/a@b",
        "hf://datasets/o/n@main/data/*.parquet",
        "s3://bucket/part-?.jsonl",
        "file:///data/a@b.jsonl#12",
        "handbook/a.jsonl",
    ],
)
def test_what_opens_nothing_stays_as_it_is(url):
    assert written(url) == url


def test_within_messages():
    said = "HTTPConnectionPool(host='h'): Max retries exceeded with url: /a?token=s3cret&b=1 (Caused by x)"
    assert in_text(said) == "HTTPConnectionPool(host='h'): Max retries exceeded with url: /a?b=1 (Caused by x)"
    assert shown({"https://me:s3cret@h/a?sig=s3cret": 1}) == '{"https://h/a": 1}'
    assert shown("https://me:s3cret@h/a?sig=s3cret") == '"https://h/a"'


@pytest.mark.parametrize(
    ("said", "fit"),
    [
        ('hosts[0] is "me:s3cret@h", not a host', 'hosts[0] is "h", not a host'),
        ("https:/me:s3cret@h/corpus.toml: there is no such file", "https://h/corpus.toml: there is no such file"),
        ("corpus.toml:12:3: at 10:30 a@b.example wrote", "corpus.toml:12:3: at 10:30 a@b.example wrote"),
        ("data/a@b.jsonl:7: Did you mean gopher?", "data/a@b.jsonl:7: Did you mean gopher?"),
    ],
)
def test_passwords_in_what_a_command_says(said, fit):
    assert in_text(said) == fit


def test_a_row_that_was_written_by_hand(folder):
    url = f"https://me:s3cret@example.org/a.jsonl{SIGNED}"
    recipe = {"url": [url], "revision": None, "format": "jsonl", "fields": {}}
    row = {
        "source_id": "s",
        "url": url,
        "license_spdx": "CC0-1.0",
        "data_class": "public",
        "retrieved": "2026-01-02",
        "files": [],
        "upstream": [{"url": url}],
        "recipe": recipe,
    }
    folder.ledger.parent.mkdir(parents=True)
    folder.ledger.write_text(json.dumps(row))
    (source,) = read_ledger(folder.ledger).values()
    plain = f"https://example.org/a.jsonl{PLAIN}"
    assert (source.url, source.upstream[0].url, source.recipe["url"]) == (plain, plain, [plain])
    assert "s3cret" not in source.to_json()


def test_fetch_asks_with_the_signature_and_writes_the_url_without(folder, server):
    server.files[f"/a.jsonl{SIGNED}"] = jsonl("one")
    folder.write({"s": {"url": f"{server.url}/a.jsonl{SIGNED}", "format": "jsonl"}})
    folder.fetch()
    plain, row = f"{server.url}/a.jsonl{PLAIN}", folder.rows()["s"]
    assert [path for _, path, _ in server.asked] == [f"/a.jsonl{SIGNED}"]
    assert (row["url"], row["upstream"][0]["url"], row["recipe"]["url"]) == (plain, plain, [plain])
    assert folder.lines()[0]["url"] == f"{plain}#1"
    assert holds_secret(folder) == []


def test_a_new_signature_is_no_other_file(folder, server):
    server.files[f"/a.jsonl{SIGNED}"] = jsonl("one")
    folder.write({"s": {"url": f"{server.url}/a.jsonl{SIGNED}", "format": "jsonl"}})
    folder.fetch()
    server.asked.clear()
    folder.write({"s": {"url": f"{server.url}/a.jsonl{SIGNED.replace('s3cret', 'other')}", "format": "jsonl"}})
    assert (folder.fetch()[0].state, server.asked) == ("unchanged", [])


def test_what_a_broken_download_leaves(folder, server):
    server.files[f"/a.jsonl{SIGNED}"] = jsonl("one", size=4000)
    server.faults[f"/a.jsonl{SIGNED}"] = [100, *[503] * 6]
    folder.write({"s": {"url": f"{server.url}/a.jsonl{SIGNED}", "format": "jsonl"}})
    with pytest.raises(DataError) as error:
        folder.fetch()
    assert problems(error) == [
        f"{server.url}/a.jsonl{PLAIN}: answers 503 Service Unavailable, 6 times in a row\n"
        "    100 bytes are kept; run it again to go on."
    ]
    assert list(folder.root.rglob("*.part")) and holds_secret(folder) == []


def test_a_server_that_is_not_there(folder):
    with serving() as gone:
        pass
    folder.write({"s": {"url": f"{gone.url}/a.jsonl{SIGNED}", "format": "jsonl"}})
    with pytest.raises(DataError) as error:
        folder.fetch()
    assert "s3cret" not in str(error.value) and f"{gone.url}/a.jsonl{PLAIN}: breaks off" in str(error.value)


def test_left_out_by_size(folder, server):
    server.files[f"/b.jsonl{SIGNED}"] = jsonl("one", size=4000)
    server.files["/a.jsonl"] = jsonl("one")
    urls = [f"{server.url}/a.jsonl", f"{server.url}/b.jsonl{SIGNED}"]
    folder.write({"s": {"url": urls, "format": "jsonl"}})
    (done,) = folder.fetch(max_bytes=1000)
    assert list(done.left_out) == [f"{server.url}/b.jsonl{PLAIN}"]
    assert "s3cret" not in "\n".join(done.lines()) and holds_secret(folder) == []


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (
            "https://me:s3cret@127.0.0.1/b?sig=s3cret&b=1",
            "refused: redirects to another scheme, https://127.0.0.1/b?b=1\n"
            "    If that is the right place, write it into the recipe.",
        ),
        (
            "http://me:s3cret@localhost/b?sig=s3cret",
            "refused: redirects to localhost, a host that the recipe does not name\n"
            '    If it may be asked: hosts = ["localhost"].',
        ),
    ],
)
def test_targets_of_redirects(folder, server, target, said):
    server.redirects["/a.jsonl"] = target
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    with pytest.raises(RefusedError) as error:
        folder.fetch()
    assert problems(error) == [f"{server.url}/a.jsonl: {said}"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://me:s3cret@h/a", '"https://h/a" holds a user name or a password'),
        ("https://me:s3/cret@h/a", '"https://h/a" is no URL: its host or its port cannot be read'),
        ("https://h/*?token=s3cret", '"https://h/*" is a pattern, but a web server lists no files'),
        ("https://h/a#token=s3cret", '"https://h/a" has a part after #, which names a place in a file'),
        ("httpx://h/a?sig=s3cret", '"httpx://h/a" has the scheme "httpx", which is not known'),
        ("me:s3cret@h/a", '"h/a" is no URL'),
    ],
)
def test_urls_of_recipes_that_are_refused(folder, url, said):
    folder.write({"s": {"url": url, "format": "jsonl"}})
    with pytest.raises(ConfigError) as error:
        folder.fetch()
    assert problems(error)[0].split("\n")[0] == f"{folder.config}:9: [source.s] url: {said}"


def test_two_urls_that_differ_in_their_signature_alone(folder):
    folder.write({"s": {"url": ["https://h/a?sig=s3cret", "https://h/a?sig=other"], "format": "jsonl"}})
    with pytest.raises(ConfigError) as error:
        folder.fetch()
    assert problems(error) == [
        f"{folder.config}:6: https://h/a is named twice\n"
        "    Each file is read once, and a key, token or signature tells no file from another."
    ]


def imported(folder: Folder, path: str, **more) -> object:
    folder.config.write_text('dataset = "d"\nversion = "v1"\nsources = ["s"]\nstages = []\n')
    return import_files(
        "jsonl", [path], source="s", config_path=folder.config, license_spdx="MIT", data_class="public", **more
    )


def test_the_url_of_an_import(folder):
    own = folder.root / "a.jsonl"
    own.write_bytes(jsonl("one"))
    imported(folder, own, url=f"https://me:s3cret@h/a{SIGNED}")
    assert folder.rows()["s"]["url"] == f"https://h/a{PLAIN}"
    assert folder.lines()[0]["url"] == f"https://h/a{PLAIN}#1"
    assert holds_secret(folder) == []


def test_a_url_in_place_of_a_file_to_import(folder):
    with pytest.raises(CorpusError) as error:
        imported(folder, "https://me:s3cret@h/a.jsonl?token=s3cret")
    assert problems(error) == [
        "https://h/a.jsonl: is a URL, not a file\n    `corpus-sql fetch` downloads it by a recipe."
    ]


def test_a_row_of_the_ledger_that_is_refused(folder):
    folder.ledger.parent.mkdir(parents=True)
    folder.ledger.write_text(json.dumps({"source_id": "https://me:s3cret@h/a?sig=s3cret"}) + "\n")
    folder.write({"s": {"url": "https://h/a", "format": "jsonl"}})
    with pytest.raises(CorpusError) as error:
        folder.fetch()
    assert '"https://h/a"' in str(error.value) and "s3cret" not in str(error.value)
