"""fetch --check-upstream: what upstream has against what the ledger lists. All servers are on the loopback."""

import hashlib

import pytest
from loopback import hub, serving
from test_fetch import ONE, TWO, Folder, hub_is_at, jsonl, problems
from typer.testing import CliRunner

from corpus_sql.cli import app
from corpus_sql.errors import ConfigError, DataError, RefusedError
from corpus_sql.fetch_checking import check_upstream

OLD, NEW = jsonl("old"), jsonl("new")


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def server():
    with serving() as one:
        yield one


@pytest.fixture
def folder(tmp_path, server):
    """Two sources of one file each, fetched."""
    folder = Folder(tmp_path)
    server.files = {"/a.jsonl": OLD, "/b.jsonl": OLD}
    folder.write({name: {"url": f"{server.url}/{name}.jsonl", "format": "jsonl"} for name in "ab"})
    folder.fetch()
    server.asked.clear()
    return folder


def check(folder: Folder, **more) -> list[str]:
    """Return what is said; nothing may have been written or left behind."""
    before = folder.everything()
    work = sorted((folder.root / "artifacts").rglob("*"))
    said: list[str] = []
    check_upstream(folder.config, wait=0.01, tell=lambda one: said.extend(one.lines()), **more)
    assert folder.everything() == before and sorted((folder.root / "artifacts").rglob("*")) == work
    return said


def test_the_same(folder, server):
    assert check(folder) == [f"{name}: upstream is as the ledger has it, 1 file" for name in "ab"]
    assert sorted(path for _, path, _ in server.asked) == ["/a.jsonl", "/b.jsonl"]


def test_raw_files_that_are_gone_are_not_its_business(folder):
    for path in folder.raw.rglob("*.zst"):
        path.unlink()
    assert check(folder, only=("a",)) == ["a: upstream is as the ledger has it, 1 file"]


def test_changed(folder, server):
    server.files["/a.jsonl"] = NEW
    assert check(folder) == [
        "a: upstream differs from the ledger; nothing was written",
        f"    {server.url}/a.jsonl has changed: the ledger has the SHA-256 {sha(OLD)}, upstream has {sha(NEW)}",
        "b: upstream is as the ledger has it, 1 file",
    ]


def test_gone(folder, server):
    del server.files["/a.jsonl"]
    server.faults["/b.jsonl"] = [(410, {})]
    assert check(folder) == [
        "a: upstream differs from the ledger; nothing was written",
        f"    {server.url}/a.jsonl is gone: answers 404 Not Found",
        "b: upstream differs from the ledger; nothing was written",
        f"    {server.url}/b.jsonl is gone: answers 410 Gone",
    ]


def test_a_server_that_does_not_answer_is_neither_gone_nor_changed(folder, server):
    server.faults["/a.jsonl"] = [503] * 6
    with pytest.raises(DataError) as error:
        check(folder)
    assert problems(error) == [
        f"{server.url}/a.jsonl: answers 503 Service Unavailable, 6 times in a row\n    Run it again later."
    ]


def test_a_new_file_and_one_that_the_recipe_names_no_more(folder, server):
    folder.write({"a": {"url": f"{server.url}/c.jsonl", "format": "jsonl"}})
    assert check(folder) == [
        "a: upstream differs from the ledger; nothing was written",
        f"    {server.url}/c.jsonl is new: the ledger does not list it",
        f"    {server.url}/a.jsonl is gone: it is not listed upstream any more",
    ]
    assert server.asked == []


def test_a_folder_with_a_pattern(tmp_path):
    folder, there = Folder(tmp_path / "project"), tmp_path / "there"
    folder.root.mkdir()
    there.mkdir()
    for name in "abc":
        (there / f"{name}.jsonl").write_bytes(OLD)
    folder.write({"s": {"url": f"file://{there}/*.jsonl", "format": "jsonl"}})
    folder.fetch()
    (there / "a.jsonl").unlink()
    (there / "b.jsonl").write_bytes(NEW)
    (there / "d.jsonl").write_bytes(OLD)
    assert check(folder) == [
        "s: upstream differs from the ledger; nothing was written",
        f"    file://{there}/b.jsonl has changed: the ledger has the SHA-256 {sha(OLD)}, upstream has {sha(NEW)}",
        f"    file://{there}/d.jsonl is new: the ledger does not list it",
        f"    file://{there}/a.jsonl is gone: it is not listed upstream any more",
    ]


def test_what_was_left_out_by_size_is_not_new(folder, server):
    server.files["/c.jsonl"] = jsonl("long", size=4000)
    urls = [f"{server.url}/{name}.jsonl" for name in "ac"]
    folder.write({"s": {"url": urls, "format": "jsonl"}})
    folder.fetch(max_bytes=1000)
    assert check(folder) == ["s: upstream is as the ledger has it, 1 file"]


def test_a_signature_is_not_said(folder, server):
    server.files["/a.jsonl?sig=s3cret"] = NEW
    folder.write({"a": {"url": f"{server.url}/a.jsonl?sig=s3cret", "format": "jsonl"}})
    assert check(folder)[1] == (
        f"    {server.url}/a.jsonl has changed: the ledger has the SHA-256 {sha(OLD)}, upstream has {sha(NEW)}"
    )


# the hub


@pytest.fixture
def hub_folder(tmp_path, server, monkeypatch):
    hub_is_at(server.url, monkeypatch)
    folder = Folder(tmp_path)
    hub(server, "owner/name", {ONE: {"a.jsonl": OLD, "b.jsonl": OLD}}, {"main": ONE})
    folder.write({"s": {"url": "hf://datasets/owner/name@main/*.jsonl", "format": "jsonl"}})
    folder.fetch()
    server.asked.clear()
    return folder


def downloads(server) -> list[str]:
    return [path for _, path, _ in server.asked if "/resolve/" in path]


def test_the_same_commit_is_not_downloaded(hub_folder, server):
    assert check(hub_folder) == ["s: upstream is as the ledger has it, 2 files"]
    assert downloads(server) == []


def test_another_commit_with_the_same_files(hub_folder, server):
    hub(server, "owner/name", {TWO: {"a.jsonl": OLD, "b.jsonl": OLD}}, {"main": TWO})
    assert check(hub_folder) == [
        "s: upstream is as the ledger has it, 2 files",
        f"    main: the ledger has the commit {ONE}, upstream has {TWO}",
    ]


def test_another_commit_with_other_files(hub_folder, server):
    hub(server, "owner/name", {TWO: {"b.jsonl": NEW, "c.jsonl": OLD}}, {"main": TWO})
    at = f"hf://datasets/owner/name@{TWO}"
    assert check(hub_folder) == [
        "s: upstream differs from the ledger; nothing was written",
        f"    main: the ledger has the commit {ONE}, upstream has {TWO}",
        f"    {at}/b.jsonl has changed: the ledger has the SHA-256 {sha(OLD)}, upstream has {sha(NEW)}",
        f"    {at}/c.jsonl is new: the ledger does not list it",
        f"    hf://datasets/owner/name@{ONE}/a.jsonl is gone: it is not listed upstream any more",
    ]
    assert downloads(server) == [f"/datasets/owner/name/resolve/{TWO}/b.jsonl"]


# what cannot be compared


def test_a_source_that_was_not_fetched(folder, server):
    folder.write({"c": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    with pytest.raises(ConfigError) as error:
        check(folder)
    assert problems(error) == [
        f"{folder.config}:6: c was not fetched: the ledger lists no upstream files to compare with\n"
        "    Fetch it without --check-upstream."
    ]


def test_a_source_that_is_refused_is_not_asked_for(folder, server):
    folder.ledger.write_text(folder.ledger.read_text().replace('"public"', '"customer"'))
    with pytest.raises(RefusedError):
        check(folder)
    assert server.asked == []


# the command


def fetch(*options: object):
    return CliRunner().invoke(app, ["fetch", *map(str, options), "--check-upstream"])


def test_exit_codes(folder, server):
    done = fetch(folder.config)
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "a: upstream is as the ledger has it, 1 file")
    server.files["/b.jsonl"] = NEW
    assert fetch(folder.config).exit_code == 1
    assert fetch(folder.config, "--source", "a").exit_code == 0


def test_options_that_say_how_to_fetch(folder, server):
    done = fetch(folder.config, "--replace", "--max-bytes", "1GB")
    assert [str(one) for one in done.exception.problems] == [
        "--check-upstream: writes nothing, so --max-bytes, --replace has no meaning beside it\n"
        "    Leave one of them out."
    ]
    assert server.asked == []
