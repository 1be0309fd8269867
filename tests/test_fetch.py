"""fetch: a recipe above, the raw lines and the ledger row below. All servers are on the loopback."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from conftest import ROOT
from loopback import Server, hub, serving

from corpus_sql import fetch_source, fetching, files
from corpus_sql.downloading import allowed
from corpus_sql.errors import ConfigError, CorpusError, DataError

DAY = "2026-10-09"


class Folder:
    """A project folder with recipes."""

    def __init__(self, root: Path):
        self.root = root
        self.config = root / "corpus.toml"
        self.raw = root / "artifacts/corpus/raw"
        self.ledger = root / "artifacts/corpus/LEDGER.jsonl"

    def write(self, recipes: dict[str, dict], top: str = "") -> None:
        """Write a config with these recipes; licence and class are CC0-1.0 and public where a recipe has none."""
        text = f'dataset = "d"\nversion = "v1"\nsources = {json.dumps(list(recipes))}\nstages = []\n{top}'
        for source_id, recipe in recipes.items():
            recipe = {"license_spdx": "CC0-1.0", "data_class": "public", **recipe}
            text += f"\n[source.{source_id}]\n"
            for key, value in recipe.items():
                if isinstance(value, dict):
                    value = "{" + ", ".join(f"{name} = {json.dumps(one)}" for name, one in value.items()) + "}"
                    text += f"{key} = {value}\n"
                elif value is not None:
                    text += f"{key} = {json.dumps(value)}\n"
        self.config.write_text(text, "utf-8")

    def fetch(self, **more) -> list[fetching.Fetched]:
        return fetching.fetch(self.config, **{"date": DAY, "wait": 0.01, **more})

    def rows(self) -> dict[str, dict]:
        return {row["source_id"]: row for row in map(json.loads, self.ledger.read_text().splitlines())}

    def lines(self, source_id: str = "s") -> list[dict]:
        """The raw lines in force, parsed."""
        return [json.loads(line) for line in self.raw_lines(source_id)]

    def raw_lines(self, source_id: str = "s") -> list[bytes]:
        found = []
        for one in self.rows()[source_id]["files"]:
            with zstandard.open(self.raw / one["path"]) as file:
                found += file.read().removesuffix(b"\n").split(b"\n")
        return found

    def everything(self) -> dict[str, bytes]:
        """Ledger and raw files."""
        corpus = self.root / "artifacts/corpus"
        paths = (path for path in corpus.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
        return {path.relative_to(corpus).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def server():
    with serving() as one:
        yield one


def problems(error) -> list[str]:
    return [str(one) for one in error.value.problems]


def jsonl(*texts: str, size: int = 0) -> bytes:
    """JSON Lines of these texts, filled up to about `size` bytes with letters that do not pack."""
    lines = [json.dumps({"text": text}) for text in texts]
    draw = random.Random(7)
    while sum(map(len, lines)) < size:
        lines.append(json.dumps({"text": "".join(draw.choices("abcdefghijklmnopqrstuvwxyz ", k=2000))}))
    return "\n".join(lines).encode() + b"\n"


# what comes of a fetch


def test_a_file_becomes_raw_lines_and_a_ledger_row(folder, server):
    content = '{"text": "一篇短文。", "title": "短文"}\n\n{"text": "two", "id": 7}\n'.encode()
    server.files["/a.jsonl"] = content
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl", "revision": "v2", "reviewer": "R. Dupont"}})
    (done,) = folder.fetch()
    made_up = {"fetched_at": "2026-10-09T00:00:00Z", "license_spdx": "CC0-1.0"}
    assert folder.lines() == [
        {"url": f"{server.url}/a.jsonl#1", **made_up, "text": "一篇短文。", "title": "短文"},
        {"url": f"{server.url}/a.jsonl#3", **made_up, "text": "two", "source_record_id": "7"},
    ]
    (entry,) = done.files
    assert folder.rows()["s"] == {
        "source_id": "s",
        "url": f"{server.url}/a.jsonl",
        "license_spdx": "CC0-1.0",
        "data_class": "public",
        "retrieved": DAY,
        "revision": "v2",
        "reviewer": "R. Dupont",
        "files": [{"path": "s/20261009/part-00000.jsonl.zst", "sha256": entry.sha256, "bytes": entry.bytes}],
        "upstream": [
            {"url": f"{server.url}/a.jsonl", "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        ],
        "recipe": {"url": [f"{server.url}/a.jsonl"], "revision": "v2", "format": "jsonl", "fields": {}},
    }
    assert done.lines() == [
        "s at v2: 2 documents fetched",
        f"    s/20261009/part-00000.jsonl.zst  {entry.bytes} bytes",
        "    1 blank line without a document",
    ]
    assert not (folder.root / "artifacts/.work/fetch").exists()


def test_a_rerun_asks_for_nothing(folder, server):
    server.files["/a.jsonl"] = jsonl("one")
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    folder.fetch()
    before = folder.everything()
    server.asked.clear()
    (done,) = folder.fetch(date="2026-10-10")
    assert (done.lines(), server.asked, folder.everything()) == (["s: unchanged, nothing to fetch"], [], before)


def test_raw_files_that_are_gone_are_fetched_again_to_the_same_bytes(folder, server):
    server.files["/a.jsonl"] = jsonl("one", "two")
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    folder.fetch()
    before = folder.everything()
    (folder.raw / "s/20261009/part-00000.jsonl.zst").unlink()
    (done,) = folder.fetch(date="2027-01-01")
    assert (done.state, folder.everything()) == ("restored", before)


def test_a_file_that_changed_under_the_same_revision_is_an_error_with_both_hashes(folder, server):
    old, new = jsonl("old"), jsonl("new")
    server.files["/a.jsonl"] = old
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    folder.fetch()
    before = folder.everything()
    server.files["/a.jsonl"] = new
    raw = folder.raw / "s/20261009/part-00000.jsonl.zst"
    raw.write_bytes(b"damaged")
    with pytest.raises(ConfigError) as error:
        folder.fetch()
    assert problems(error) == [
        f"{server.url}/a.jsonl: has changed under the same revision: the ledger has the SHA-256 "
        f"{hashlib.sha256(old).hexdigest()}, upstream has {hashlib.sha256(new).hexdigest()}\n"
        "    Nothing was replaced. --replace takes what is there now; the present files become superseded."
    ]
    raw.write_bytes(before["raw/s/20261009/part-00000.jsonl.zst"])
    assert folder.everything() == before


def test_what_is_fetched_anew_is_in_force_and_the_old_is_superseded(folder, server):
    server.files["/a.jsonl"] = jsonl("old")
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    (first,) = folder.fetch()
    server.files["/a.jsonl"] = jsonl("new", "newer")
    (second,) = folder.fetch(replace=True, date="2026-10-10")
    row = folder.rows()["s"]
    assert [one["path"] for one in row["files"]] == ["s/20261010/part-00000.jsonl.zst"]
    assert row["superseded"] == [vars(one) for one in first.files]
    assert [line["text"] for line in folder.lines()] == ["new", "newer"]
    assert second.lines()[-1] == "    1 earlier raw file superseded: kept, not read any more"


@pytest.mark.parametrize("change", [{"revision": "v2"}, {"fields": {"text": "title"}}, {"license_spdx": "CC-BY-4.0"}])
def test_a_recipe_that_asks_for_something_else_is_fetched_anew(folder, server, change):
    server.files["/a.jsonl"] = b'{"text": "t", "title": "T"}\n' if "fields" not in change else b'{"title": "T"}\n'
    recipe = {"url": f"{server.url}/a.jsonl", "format": "jsonl", "revision": "v1"}
    folder.write({"s": recipe})
    folder.fetch()
    folder.write({"s": recipe | change})
    (done,) = folder.fetch()
    assert folder.fetch()[0].state == "unchanged"
    assert done.state == ("updated" if "revision" in change else "replaced")  # the same files under another name
    line, row = folder.lines()[0], folder.rows()["s"]
    assert (line["text"], line["license_spdx"], row["revision"]) == (
        "T" if "fields" in change else "t",
        change.get("license_spdx", "CC0-1.0"),
        change.get("revision", "v1"),
    )


def test_reviewer_and_class_change_the_row_alone(folder, server):
    server.files["/a.jsonl"] = jsonl("one")
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    folder.fetch()
    server.asked.clear()
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl", "data_class": "licensed"}})
    (done,) = folder.fetch()
    assert (done.state, server.asked, folder.rows()["s"]["data_class"]) == ("updated", [], "licensed")


def test_a_recipe_in_a_file_of_its_own(folder, server):
    server.files["/a.jsonl"] = jsonl("one")
    folder.config.write_text('dataset = "d"\nversion = "v1"\nsources = ["s"]\nstages = []\n')
    (folder.root / "sources").mkdir()
    (folder.root / "sources/s.toml").write_text(
        f'url = "{server.url}/a.jsonl"\nformat = "jsonl"\nlicense_spdx = "CC0-1.0"\ndata_class = "public"\n'
    )
    assert folder.fetch()[0].state == "fetched"


def test_nothing_is_left_out_and_nothing_repaired(folder, server):
    """What is wrong upstream goes into the raw file as it is; the build quarantines it with its place."""
    wrong = [
        b'{"text": "good"}',
        b'{"text": "cut',
        b'{"text": "\xff"}',
        b'{"txt": "no text"}',
        b'{"text": 5}',
        b'{"text": "other", "license_spdx": "MIT"}',
        b'{"text": "t", "fetched_at": "yesterday"}',
        b'{"text": " \\u200b"}',
    ]
    server.files["/a.jsonl"] = b"\n".join(wrong)
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    (done,) = folder.fetch()
    assert done.quarantined == {
        "invalid_json": 1,
        "invalid_utf8": 1,
        "missing_text": 1,
        "text_not_string": 1,
        "license_mismatch": 1,
        "invalid_fetched_at": 1,
        "empty_text": 1,
    }
    assert folder.raw_lines()[1:3] == wrong[1:3]
    assert json.loads(folder.raw_lines()[5])["license_spdx"] == "MIT"
    assert "    1 document that the build will quarantine: license_mismatch" in done.lines()
    at = f"{server.url}/a.jsonl"
    assert f"        {at}#2: invalid_json: the string from byte 9 on does not end" in done.lines()


def test_strict_writes_nothing_of_what_the_build_would_quarantine(folder, server):
    (folder.root / "a.jsonl").write_bytes(b'{"text": "good"}\n{"txt": "no text"}\n{"text": "cut')
    url = f"file://{folder.root}/a.jsonl"
    folder.write({"s": {"url": url, "format": "jsonl"}})
    with pytest.raises(DataError) as error:
        folder.fetch(strict=True)
    assert problems(error) == [
        f"{url}#2: missing_text: text is missing",
        f"{url}#3: invalid_json: the string from byte 9 on does not end",
        f"{url}: its last line is cut: the file may be incomplete",
        "s: nothing was written; what was fetched is kept",
    ]
    assert not folder.ledger.exists()
    assert f"    {url}: its last line is cut: the file may be incomplete" in folder.fetch()[0].lines()


@pytest.mark.parametrize(("only", "fetched"), [((), ["a", "b"]), (("b",), ["b"])])
def test_some_sources_alone(folder, server, only, fetched):
    server.files = {"/a.jsonl": jsonl("a"), "/b.jsonl": jsonl("b")}
    folder.write({name: {"url": f"{server.url}/{name}.jsonl", "format": "jsonl"} for name in "ab"})
    assert [one.source_id for one in folder.fetch(only=only)] == fetched == list(folder.rows())


def test_wrong_arguments(folder):
    folder.write({"handbook": {"url": "file:///a", "format": "text"}})
    with pytest.raises(ConfigError) as error:
        folder.fetch(only=("handbok",))
    assert problems(error) == ['--source: "handbok" is not in sources\n    Did you mean handbook?']
    with pytest.raises(ConfigError) as error:
        folder.fetch(date="09.10.2026")
    assert problems(error) == ['--date: "09.10.2026" is no date\n    Write it like 2026-10-09.']


def test_files_by_a_pattern_in_byte_order(folder):
    for name in ("b.txt", "B.txt", "sub/a.txt", "with space.txt", "other.md"):
        path = folder.root / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    folder.write({"s": {"url": f"file://{folder.root}/in/**/*.txt", "format": "text"}})
    folder.fetch()
    assert [line["text"] for line in folder.lines()] == ["B.txt", "b.txt", "sub/a.txt", "with space.txt"]
    folder.write({"s": {"url": f"file://{folder.root}/in/*.csv", "format": "csv"}})
    with pytest.raises(ConfigError) as error:
        folder.fetch()
    assert problems(error) == [f"{folder.config}:6: file://{folder.root}/in/*.csv matches no file"]


def test_files_that_are_not_there_or_no_files(folder):
    (folder.root / "in").mkdir()
    folder.write({name: {"url": f"file://{folder.root}/{name}", "format": "text"} for name in ("no", "in")})
    with pytest.raises(DataError) as error:
        folder.fetch()
    assert problems(error) == [
        f"file://{folder.root}/no: there is no such file",
        f"file://{folder.root}/in: is a folder, not a file\n    Name its files, or a pattern: folder/*.",
    ]


def test_a_row_written_by_hand_before_the_first_fetch(folder, server):
    """The licence comes from the ledger row; url and class stay as a person wrote them."""
    server.files["/a.jsonl"] = jsonl("one")
    folder.ledger.parent.mkdir(parents=True)
    row = {"source_id": "s", "url": "https://example.org/about", "license_spdx": "MIT", "data_class": "licensed"}
    folder.ledger.write_text(json.dumps({**row, "retrieved": "2026-01-01", "files": []}) + "\n")
    recipe = {"url": f"{server.url}/a.jsonl", "format": "jsonl", "license_spdx": None, "data_class": None}
    folder.write({"s": recipe})
    folder.fetch()
    assert folder.lines()[0]["license_spdx"] == "MIT"
    assert {key: folder.rows()["s"][key] for key in row} == row
    assert folder.fetch()[0].state == "unchanged"


def test_an_imported_source_is_replaced_only_on_request(folder, server):
    from corpus_sql.importing import import_files

    server.files["/a.jsonl"] = jsonl("fetched")
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    (folder.root / "a.txt").write_text("imported")
    import_files("text", [folder.root / "a.txt"], source="s", config_path=folder.config, license_spdx="CC0-1.0",
                 data_class="public", fetched_at="2026-01-01")  # fmt: skip
    with pytest.raises(ConfigError) as error:
        folder.fetch()
    assert problems(error) == [
        f"{folder.config}:6: s is in the ledger already, and was not fetched\n"
        "    --replace puts what is fetched in its place; the present files stay where they are, as superseded."
    ]
    assert folder.fetch(replace=True)[0].state == "replaced"
    assert [one["path"] for one in folder.rows()["s"]["superseded"]] == ["s/20260101/part-00000.jsonl.zst"]


def test_the_command_line(folder, server):
    server.files["/a.jsonl"] = jsonl("one")
    folder.write({name: {"url": f"{server.url}/{name}.jsonl", "format": "jsonl"} for name in "ab"})

    def run(*more: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "corpus_sql", "fetch", str(folder.config), "--date", DAY, *more]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    done = run("--source", "a", "--max-bytes", "1MB")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "a: 1 document fetched"
    done = run()
    assert (done.returncode, done.stdout) == (1, "a: unchanged, nothing to fetch\n")
    assert done.stderr == f"error: {server.url}/b.jsonl: answers 404 Not Found\n"
    server.redirects["/b.jsonl"] = "http://elsewhere.example/"
    done = run()
    assert (done.returncode, "refused: redirects to elsewhere.example" in done.stderr) == (2, True)


# servers that fail


def test_dropped_connections_are_resumed(folder, server):
    server.files["/a.jsonl"] = jsonl(size=300_000)
    server.faults["/a.jsonl"] = [-100_000, -50_000, 503, -100_000]
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    folder.fetch()
    assert [asked for _, _, asked in server.asked] == [
        None,
        "bytes=100000-",
        "bytes=150000-",
        "bytes=150000-",
        "bytes=250000-",
    ]
    assert server.sent == len(server.files["/a.jsonl"])
    assert folder.rows()["s"]["upstream"][0]["sha256"] == hashlib.sha256(server.files["/a.jsonl"]).hexdigest()


@pytest.mark.parametrize("how", [{"ranges": False}, {"tagged": False}, {"length": "chunked"}])
def test_a_server_without_ranges_tags_or_lengths_is_asked_for_the_whole_again(folder, server, how):
    for key, value in how.items():
        setattr(server, key, value)
    server.files["/a.jsonl"] = jsonl(size=200_000)
    server.faults["/a.jsonl"] = [-100_000]
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    folder.fetch()
    assert len(server.asked) == 2
    assert folder.rows()["s"]["upstream"][0]["sha256"] == hashlib.sha256(server.files["/a.jsonl"]).hexdigest()


def test_a_file_that_changes_while_it_is_fetched_is_never_joined(folder, server):
    old, new = jsonl("old", size=200_000), jsonl("new", size=220_000)
    server.files["/a.jsonl"] = old
    server.faults["/a.jsonl"] = [-100_000]
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})

    def advance(_count, seen=[0]):  # noqa: B006
        server.files["/a.jsonl"] = new

    folder.fetch(advance=advance)
    assert folder.lines()[0]["text"] == "new"
    assert folder.rows()["s"]["upstream"][0]["sha256"] == hashlib.sha256(new).hexdigest()


def test_a_server_that_announces_more_than_it_sends(folder, server):
    server.files["/a.jsonl"] = content = jsonl("one")
    server.length = 10
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    with pytest.raises(DataError) as error:
        folder.fetch()
    assert problems(error) == [
        f"{server.url}/a.jsonl: ends after {len(content)} of {len(content) + 10} bytes, 6 times in a row\n"
        "    Run it again later."
    ]
    assert not folder.ledger.exists() and not folder.raw.exists()


def test_a_server_that_announces_less_than_it_sends_is_caught_by_the_hash(folder, server):
    server.files["/a.jsonl"] = content = jsonl("one", "two")
    server.length = -5
    asked_for = hashlib.sha256(content).hexdigest()
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl", "sha256": asked_for}})
    with pytest.raises(ConfigError) as error:
        folder.fetch()
    assert problems(error) == [
        f"{server.url}/a.jsonl: has the SHA-256 {hashlib.sha256(content[:-5]).hexdigest()}, "
        f"the recipe asks for {asked_for}\n    Nothing was replaced."
    ]


def test_a_server_that_does_not_say_where_a_file_ends(folder, server):
    server.files["/a.jsonl"] = content = jsonl("one")
    server.length = "none"
    recipe = {"url": f"{server.url}/a.jsonl", "format": "jsonl"}
    folder.write({"s": recipe})
    with pytest.raises(DataError) as error:
        folder.fetch()
    assert problems(error) == [
        f"{server.url}/a.jsonl: comes from a server that says neither how long it is nor where it ends\n"
        "    Name its sha256 in the recipe: then it is known when it is whole."
    ]
    folder.write({"s": recipe | {"sha256": hashlib.sha256(content).hexdigest()}})
    assert folder.fetch()[0].state == "fetched"


def test_a_server_that_stays_down_and_one_that_asks_for_patience(folder, server):
    server.files["/a.jsonl"] = server.files["/b.jsonl"] = jsonl("one")
    server.faults = {"/a.jsonl": [503] * 9, "/b.jsonl": [(429, {"Retry-After": "86400"})], "/c.jsonl": []}
    folder.write({name: {"url": f"{server.url}/{name}.jsonl", "format": "jsonl"} for name in "abc"})
    with pytest.raises(DataError) as error:
        folder.fetch()
    assert problems(error) == [
        f"{server.url}/a.jsonl: answers 503 Service Unavailable, 6 times in a row\n    Run it again later.",
        f"{server.url}/b.jsonl: answers 429 Too Many Requests and asks to wait 86400 seconds\n    Run it again later.",
        f"{server.url}/c.jsonl: answers 404 Not Found",
    ]


def test_a_source_that_fails_keeps_no_other_from_being_fetched(folder, server):
    server.files = {"/a.jsonl": jsonl("a"), "/c.jsonl": jsonl("c")}
    folder.write({name: {"url": f"{server.url}/{name}.jsonl", "format": "jsonl"} for name in "abc"})
    with pytest.raises(DataError):
        folder.fetch()
    assert list(folder.rows()) == ["a", "c"]
    server.files["/b.jsonl"] = jsonl("b")
    assert [one.state for one in folder.fetch()] == ["unchanged", "fetched", "unchanged"]
    assert list(folder.rows()) == ["a", "b", "c"]


# kills

STEPS = [(os, "rename"), (os, "replace"), (os, "unlink"), (shutil, "rmtree"), (files, "write")]


def killed_at(step: int, folder: Folder) -> bool:
    """Fetch in a process of its own that ends, without any clearing up, before that step; whether it came so far."""
    child = os.fork()
    if child == 0:
        count = 0

        def counting(original):
            def counted(*arguments, **more):
                nonlocal count
                count += 1
                if count == step:
                    os._exit(9)
                return original(*arguments, **more)

            return counted

        try:
            for module, name in STEPS:
                setattr(module, name, counting(getattr(module, name)))
            folder.fetch(part_bytes=3000)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_killed_before_any_step_and_run_again(tmp_path, server):
    """Every step that makes something final or takes it away, one after the other."""
    server.files = {"/a.jsonl": jsonl(size=20_000), "/b.jsonl": jsonl("b")}
    recipes = {name: {"url": f"{server.url}/{name}.jsonl", "format": "jsonl"} for name in "ab"}
    undisturbed = Folder(tmp_path / "undisturbed")
    undisturbed.root.mkdir()
    undisturbed.write(recipes)
    undisturbed.fetch(part_bytes=3000)
    for step in range(1, 100):
        folder = Folder(tmp_path / f"killed-{step}")
        folder.root.mkdir()
        folder.write(recipes)
        killed = killed_at(step, folder)
        folder.fetch(part_bytes=3000)
        assert folder.everything() == undisturbed.everything(), step
        assert not (folder.root / "artifacts/.work/fetch").exists(), step
        if not killed:
            break
    assert step > 15  # so many there are, at least


def test_killed_at_random_and_run_again_until_whole(tmp_path, server):
    server.files = {f"/{name}.jsonl": jsonl(name, size=400_000) for name in "abc"}
    server.faults = {"/b.jsonl": [-100_000, 503, -50_000]}
    recipes = {name: {"url": f"{server.url}/{name}.jsonl", "format": "jsonl"} for name in "abc"}
    undisturbed, killed = Folder(tmp_path / "undisturbed"), Folder(tmp_path / "killed")
    for folder in (undisturbed, killed):
        folder.root.mkdir()
        folder.write(recipes)
    undisturbed.fetch()
    server.slowly, before = 0.05, len(server.asked)
    draw, tries = random.Random(3), 0
    while True:
        command = [sys.executable, "-m", "corpus_sql", "fetch", str(killed.config), "--date", DAY]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        tries += 1
        try:
            process.wait(timeout=draw.uniform(0.5, 2.5) if tries < 8 else 60)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            continue
        assert process.returncode == 0
        break
    assert tries > 1
    assert killed.everything() == undisturbed.everything()
    for path in server.files:  # what was received was used: no request begins before the one that went before it
        begins = [
            int((asked or "bytes=0-")[6:-1]) for _, asked_path, asked in server.asked[before:] if asked_path == path
        ]
        assert begins == sorted(begins), path


def test_two_at_a_time_on_one_source(folder, server):
    from corpus_sql import files

    server.files["/a.jsonl"] = jsonl("one")
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    with files.locked(folder.root / "artifacts/.work/fetch/s"), pytest.raises(ConfigError) as error:
        folder.fetch()
    assert error.value.problems[0].what == "another run is working here"
    assert server.asked == []


# limits


@pytest.mark.parametrize("parallel", [1, 2])
def test_so_many_sources_at_a_time(folder, server, parallel):
    server.slowly = 0.02
    names = ["a", "b", "c", "d"]
    server.files = {f"/{name}.jsonl": jsonl(size=100_000) for name in names}
    folder.write({name: {"url": f"{server.url}/{name}.jsonl", "format": "jsonl"} for name in names})
    folder.fetch(parallel=parallel)
    assert (server.most_at_once, list(folder.rows())) == (parallel, names)


def test_long_downloads_say_how_far_they_are(folder, server, monkeypatch):
    monkeypatch.setattr(fetch_source, "TELL", 0.0)
    monkeypatch.setattr(fetch_source, "LONG", 1)
    server.files["/a.jsonl"] = content = jsonl(size=400_000)
    folder.write({"s": {"url": f"{server.url}/a.jsonl", "format": "jsonl"}})
    said, pieces = [], []
    folder.fetch(say=said.append, advance=pieces.append)
    assert sum(pieces) == len(content) and len(pieces) > 1
    assert said[0] == f"s: {pieces[0]} bytes so far"
    assert said[-1] == f"s: {server.url}/a.jsonl  {len(content)} bytes"


def test_the_byte_cap_leaves_out_whole_files_and_says_so(folder, server):
    server.files = {f"/{name}.jsonl": jsonl(name, size=1000) for name in "abc"}
    size = len(server.files["/a.jsonl"])
    folder.write({"s": {"url": [f"{server.url}/{name}.jsonl" for name in "abc"], "format": "jsonl"}})
    (done,) = folder.fetch(max_bytes=size + 10)
    assert done.lines()[2:] == [
        f"    left out by --max-bytes: {server.url}/b.jsonl  {len(server.files['/b.jsonl'])} bytes",
        f"    left out by --max-bytes: {server.url}/c.jsonl",
    ]
    row = folder.rows()["s"]
    assert [one["url"] for one in row["upstream"]] == [f"{server.url}/a.jsonl"]
    assert row["recipe"]["left_out"] == [f"{server.url}/b.jsonl", f"{server.url}/c.jsonl"]
    assert folder.fetch(max_bytes=size + 10)[0].state == "unchanged"
    assert folder.fetch()[0].state == "replaced"
    assert [one["url"][-8:] for one in folder.rows()["s"]["upstream"]] == ["/a.jsonl", "/b.jsonl", "/c.jsonl"]


@pytest.mark.parametrize(("text", "size"), [("4096", 4096), ("10GB", 10 << 30), ("1.5 MiB", 3 << 19), ("2k", 2048)])
def test_sizes(text, size):
    assert fetching.size_bytes(text) == size


def test_no_size():
    with pytest.raises(ConfigError) as error:
        fetching.size_bytes("much")
    assert problems(error) == ['--max-bytes: "much" is no size\n    Write it like 10GB or 800MB.']


@pytest.mark.parametrize(
    ("host", "scheme", "hosts", "may"),
    [
        ("example.org", "https", ("example.org",), True),
        ("EXAMPLE.org:443", "https", ("example.org",), True),
        ("example.org:443", "http", ("example.org",), False),
        ("example.org", "https", ("example.org:443",), True),
        ("example.org:8443", "https", ("example.org",), False),
        ("a.example.org", "https", ("example.org",), False),
        ("a.example.org", "https", ("*.example.org",), True),
        ("example.org", "https", ("*.example.org",), False),
        ("badexample.org", "https", ("*.example.org",), False),
        ("example.org@evil.example", "https", ("example.org",), False),
    ],
)
def test_hosts(host, scheme, hosts, may):
    assert allowed(host, scheme, hosts) is may


# the hub

ONE, TWO = "1" * 40, "2" * 40


@pytest.fixture
def hub_folder(folder, server, monkeypatch):
    hub_is_at(server.url, monkeypatch)
    return folder


def hub_is_at(endpoint: str, monkeypatch) -> None:
    """Let the hub's client ask a server of the test's, also where the environment says that it shall ask nobody."""
    huggingface_hub = pytest.importorskip("huggingface_hub")
    original = huggingface_hub.HfApi.__init__

    def init(self, **more):
        original(self, **{"endpoint": endpoint, "token": "hub-token", **more})

    monkeypatch.setattr(huggingface_hub.HfApi, "__init__", init)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)


def test_a_moving_name_is_pinned_at_the_first_fetch(hub_folder, server):
    first = {"data/a.jsonl": jsonl("a1"), "data/b.jsonl": jsonl("b1"), "README.md": b"# no data"}
    hub(server, "owner/name", {ONE: first}, {"main": ONE})
    hub_folder.write({"s": {"url": "hf://datasets/owner/name@main/data/*.jsonl", "format": "jsonl"}})
    hub_folder.fetch()
    row = hub_folder.rows()["s"]
    assert (row["url"], row["revision"], row["recipe"]["revision"]) == (
        "hf://datasets/owner/name@main/data/*.jsonl",
        ONE,
        "main",
    )
    assert [one["url"] for one in row["upstream"]] == [
        f"hf://datasets/owner/name@{ONE}/data/a.jsonl",
        f"hf://datasets/owner/name@{ONE}/data/b.jsonl",
    ]
    assert hub_folder.lines()[0]["url"] == f"hf://datasets/owner/name@{ONE}/data/a.jsonl#1"
    before = hub_folder.everything()
    hub(server, "owner/name", {TWO: {"data/a.jsonl": jsonl("a2")}}, {"main": TWO})
    assert hub_folder.fetch()[0].state == "unchanged"
    (hub_folder.raw / row["files"][0]["path"]).unlink()
    assert hub_folder.fetch()[0].state == "restored"  # from the pinned commit, though main has moved
    assert hub_folder.everything() == before
    assert hub_folder.fetch(replace=True)[0].state == "replaced"
    assert (hub_folder.rows()["s"]["revision"], hub_folder.lines()[0]["text"]) == (TWO, "a2")


def test_a_file_that_is_not_what_the_hub_lists(hub_folder, server):
    hub(server, "owner/name", {ONE: {"a.jsonl": jsonl("listed")}}, {"main": ONE})
    server.files[f"/datasets/owner/name/resolve/{ONE}/a.jsonl"] = other = jsonl("LISTED")
    hub_folder.write({"s": {"url": "hf://datasets/owner/name@main/a.jsonl", "format": "jsonl"}})
    with pytest.raises(DataError) as error:
        hub_folder.fetch()
    blob = [hashlib.sha1(b"blob %d\0" % len(one) + one).hexdigest() for one in (other, jsonl("listed"))]
    assert problems(error) == [
        f"hf://datasets/owner/name@{ONE}/a.jsonl: has the git hash {blob[0]}, the host lists it with {blob[1]}\n"
        "    Nothing of it was kept; fetch it again."
    ]


def test_a_large_file_that_is_not_what_the_hub_lists(hub_folder, server):
    hub(server, "owner/name", {ONE: {"a.parquet": b"PAR1 listed"}}, {"main": ONE})
    server.files[f"/datasets/owner/name/resolve/{ONE}/a.parquet"] = b"PAR1 LISTED"
    hub_folder.write({"s": {"url": "hf://datasets/owner/name/a.parquet", "format": "parquet"}})
    with pytest.raises(ConfigError) as error:
        hub_folder.fetch()
    found, listed = (hashlib.sha256(one).hexdigest() for one in (b"PAR1 LISTED", b"PAR1 listed"))
    assert problems(error) == [
        f"hf://datasets/owner/name@{ONE}/a.parquet: has the SHA-256 {found}, the host lists {listed}\n"
        "    Nothing was replaced."
    ]


def test_the_token_of_the_hub_goes_to_the_hub_alone(hub_folder, server):
    hub(server, "owner/name", {ONE: {"a.jsonl": jsonl("one")}}, {"main": ONE})
    with serving(Server(files={"/a": jsonl("one")})) as mirror:
        server.redirects[f"/datasets/owner/name/resolve/{ONE}/a.jsonl"] = f"{mirror.url}/a"
        hub_folder.write(
            {"s": {"url": "hf://datasets/owner/name@main/a.jsonl", "format": "jsonl", "hosts": [mirror.host]}}
        )
        hub_folder.fetch()
        assert server.headers_seen[-1]["authorization"] == "Bearer hub-token"
        assert ["authorization" in seen for seen in mirror.headers_seen] == [False]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("hf://datasets/owner/nothing@main/*", "hf://datasets/owner/nothing@main: answers 404"),
        ("hf://datasets/owner/name@main/*.csv", "*.csv matches no file of owner/name at " + ONE),
    ],
)
def test_what_the_hub_does_not_have(hub_folder, server, url, message):
    hub(server, "owner/name", {ONE: {"a.jsonl": jsonl("one")}}, {"main": ONE})
    hub_folder.write({"s": {"url": url, "format": "csv"}})
    with pytest.raises(CorpusError) as error:
        hub_folder.fetch()
    assert message in str(error.value)
