"""A file that a function reads is an input: it is named in the config, its content decides what is measured again.

Each test shows the project's own files above and what a run says of them below.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import Corpus

from corpus_sql import diffing, verifying
from corpus_sql.errors import ConfigError, CorpusError, ModelError
from corpus_sql.explain import open_build
from corpus_sql.project import builtin

BLOCK = """\
import pyarrow as pa

from corpus_sql.functions import udf


@udf(args=("VARCHAR", "VARCHAR"), returns="BIGINT", files=("blocked",))
def block_count(texts, blocked):
    words = set(blocked.path.read_text("utf-8").split())
    return pa.array([None if t is None else sum(w in words for w in t.split()) for t in texts.to_pylist()], pa.int64())
"""
MEASURE = """\
-- block: How many words of each text are on the list of blocked words.
--
-- column: id VARCHAR | the document
-- column: n_blocked BIGINT | words on the list
select d.id as id, block_count(d.text, {{ file("blocked") }}) as n_blocked
from read.documents as d
"""
STAGE = """\
-- block: Texts with blocked words are dropped.
--
-- config: max_n_blocked | words on the list
select
    d.id as id,
    {{ hits([high("n_blocked")]) }} as hits
from {{ input }} as d
join measures.block using (id)
join relations.languages using (id)
"""
CONFIG = 'stages = ["block"]\n[block]\nmax_n_blocked = 0\n[files]\nblocked = "blocked.txt"\n'


def put(corpus: Corpus, name: str, text: str) -> Path:
    path = corpus.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


@pytest.fixture
def blocking(corpus: Corpus) -> Corpus:
    """A project that drops texts with blocked words; ham is blocked."""
    corpus.source("s", ["eggs and ham", "eggs and spam", "火腿 和 鸡蛋"])
    put(corpus, "udfs/block.py", BLOCK)
    put(corpus, "sql/measures/block.sql", MEASURE)
    put(corpus, "sql/stages/block.sql", STAGE)
    put(corpus, "blocked.txt", "ham\n")
    corpus.configure(CONFIG)
    return corpus


def rejected(corpus: Corpus, version: str = "v1") -> list[str]:
    with open_build(corpus.version.with_name(version)) as connection:
        rows = connection.execute("select id from decisions where verdict = 'reject' order by id").fetchall()
    return [id for (id,) in rows]


def why(outcome) -> dict[str, str]:
    return {step.name: step.why for step in outcome.steps if step.name in ("measures.block", "measures.content")}


# the story


def test_a_list_that_grew_is_measured_again_and_nothing_else(blocking: Corpus):
    first = blocking.run()
    assert rejected(blocking) == ["s:0"]
    put(blocking, "blocked.txt", "ham\n火腿\n")
    assert why(blocking.run(plan=True)) == {"measures.block": "changed: the file blocked", "measures.content": ""}
    blocking.configure(CONFIG, version="v2")
    second = blocking.run()
    assert rejected(blocking, "v2") == ["s:0", "s:2"]
    hashes = [one.written.hashes["filtered_build_hash"] for one in (first, second)]
    assert hashes[0] != hashes[1]
    assert verifying.verify(blocking.version.with_name("v2")).errors == []
    blocking.configure(CONFIG, version="v3")
    assert blocking.run(cache=False).written.hashes["filtered_build_hash"] == hashes[1]


def test_diff_names_the_file(blocking: Corpus):
    blocking.run()
    put(blocking, "blocked.txt", "ham\n火腿\n")
    blocking.configure(CONFIG, version="v2")
    blocking.run()
    with diffing.diff(blocking.version, blocking.version.with_name("v2")) as found:
        (one,) = found.changes()
    assert (one["id"], one["change"], one["cause"]) == ("s:2", "verdict", "model_file")
    assert one["detail"]["key"] == "files.blocked"


def test_the_same_content_under_another_path_changes_nothing(blocking: Corpus):
    blocking.run()
    (blocking.folder / "lists").mkdir()
    (blocking.folder / "blocked.txt").rename(blocking.folder / "lists" / "b.txt")
    blocking.configure(CONFIG.replace("blocked.txt", "lists/b.txt"), version="v2")
    assert why(blocking.run()) == {"measures.block": "", "measures.content": ""}


def test_a_build_with_a_file_is_made_again_from_its_folder(blocking: Corpus):
    blocking.run()
    kept = blocking.version / "_audit/inputs/files/blocked/blocked.txt"
    assert kept.read_text() == "ham\n"
    assert json.loads((blocking.version / "_audit/build.json").read_text())["model_files"]["files.blocked"]
    put(blocking, "blocked.txt", "eggs\n")  # what lies there now is no part of the build
    found = verifying.verify(blocking.version, rebuild=True)
    assert found.errors == []
    assert [one.outcome for one in found.checks if one.name == "rebuild"] == ["ok"]


def test_a_file_that_changes_while_the_build_is_made_is_an_error(blocking: Corpus):
    put(
        blocking,
        "udfs/block.py",
        BLOCK.replace("    return pa", "    open(blocked.path, 'w').write('eggs')\n    return pa"),
    )
    with pytest.raises(CorpusError, match=r"\[files\] blocked: has changed meanwhile"):
        blocking.run()
    assert not blocking.version.exists()


# a set of files


def test_a_set_of_files_is_read_in_order_and_its_names_count(blocking: Corpus):
    put(blocking, "udfs/block.py", BLOCK.replace("blocked.path", "blocked.paths[-1]"))
    put(blocking, "lists/a.txt", "eggs\n")
    put(blocking, "lists/b.txt", "spam\n")
    config = CONFIG.replace('"blocked.txt"', '["lists/*.txt"]')
    blocking.run(config)
    assert rejected(blocking) == ["s:1"]
    (blocking.folder / "lists/b.txt").rename(blocking.folder / "lists/0.txt")
    blocking.configure(config, version="v2")
    assert why(blocking.run())["measures.block"] == "changed: the file blocked"
    assert rejected(blocking, "v2") == ["s:0", "s:1"]
    assert verifying.verify(blocking.version, rebuild=True).errors == []


# what is wrong with [files]


NO_MATCH = "matches no file\n    Relative patterns start at the folder of the config file."


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ('blocked = "no.txt"', f'{{config}}:8: [files] blocked: "no.txt" {NO_MATCH}'),
        ('blocked = ["blocked.txt", "no/*"]', f'{{config}}:8: [files] blocked: "no/*" {NO_MATCH}'),
        (
            'blokced = "blocked.txt"',
            "sql/measures/block.sql: reads the file 'blocked', which the config does not name\n"
            "    Did you mean blokced?",
        ),
    ],
    ids=["no such file", "a pattern that matches nothing", "another name"],
)
def test_a_file_that_is_not_there(blocking: Corpus, files: str, message: str):
    blocking.configure(CONFIG.replace('blocked = "blocked.txt"', files))
    with pytest.raises((ConfigError, ModelError)) as raised:
        blocking.run()
    assert str(raised.value) == message.format(config=blocking.config)


def test_an_entry_that_nothing_reads_is_a_notice(blocking: Corpus):
    outcome = blocking.run(CONFIG + 'unread = "blocked.txt"\n')
    assert "[files] unread: no model of this build reads it" in outcome.notices


def test_an_argument_that_is_no_file_of_the_config(blocking: Corpus):
    put(blocking, "sql/measures/block.sql", MEASURE.replace('{{ file("blocked") }}', "'blocked.txt'"))
    with pytest.raises(ModelError) as raised:
        blocking.run()
    assert str(raised.value).splitlines() == [
        "UDF block_count (block.py), called by sql/measures/block.sql (yours): "
        'its argument 2 takes a file and got "blocked.txt"',
        '    Pass a file that the config names: {{ file("NAME") }}.',
    ]


# what a function may not touch

DECLARE = (
    'Name it in the table [files] of the config, let the model pass {{ file("NAME") }}, and say which parameter takes '
    'it: @udf(..., files=("PARAMETER",)).'
)
OPENED = "opens {path}, which it was not given; a change of it would go unnoticed"
READS = {
    "open": "open({path!r}).read()",
    "pathlib": "__import__('pathlib').Path({path!r}).read_text()",
    "numpy": "__import__('numpy').loadtxt({path!r}, dtype=str)",
    "json": "__import__('json').load(open({path!r}))",
    "the error is caught": r'exec("try:\n    open({path!r})\nexcept OSError:\n    pass")',
}


@pytest.mark.parametrize("read", READS.values(), ids=list(READS))
@pytest.mark.parametrize("when", ["called", "loaded"])
def test_a_file_that_was_not_declared(blocking: Corpus, read: str, when: str):
    path = put(blocking, "other.txt", '"ham"\n')
    line = read.format(path=str(path))
    at = "    words =" if when == "called" else "@udf("
    put(blocking, "udfs/block.py", BLOCK.replace(at, f"{'    ' * (when == 'called')}{line}\n{at}"))
    with pytest.raises(ModelError) as raised:
        blocking.run()
    first, fix = str(raised.value).splitlines()
    assert first.endswith(": " + OPENED.format(path=path))
    assert fix.strip() == DECLARE


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("__import__('subprocess').run(['true'])", "runs another program"),
        ("__import__('os').system('true')", "runs another program"),
        ("__import__('socket').create_connection(('127.0.0.1', 9))", "asks the network"),
        ("__import__('urllib.request').request.urlopen('http://127.0.0.1:9/')", "asks the network"),
        ("__import__('sqlite3').connect(':memory:')", "opens a database"),
    ],
)
def test_the_network_and_other_programs(blocking: Corpus, line: str, what: str):
    put(blocking, "udfs/block.py", BLOCK.replace("    words =", f"    {line}\n    words ="))
    with pytest.raises(ModelError) as raised:
        blocking.run()
    assert f"{what}; what it gets there may be another the next time" in str(raised.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("import os\nLIMIT = os.environ.get('LIMIT')", "2: reads an environment variable"),
        ("from os import getenv", "1: reads an environment variable"),
        ("import mywords", "1: imports mywords, which is no installed package"),
        ("from . import words", "1: imports ., which is no installed package"),
    ],
    ids=["os.environ", "getenv", "a module beside the project", "a relative import"],
)
def test_what_the_code_says_is_refused_before_it_runs(blocking: Corpus, monkeypatch, line: str, message: str):
    put(blocking, "modules/mywords.py", "raise SystemExit('must not be run')\n")
    monkeypatch.syspath_prepend(str(blocking.folder / "modules"))
    put(blocking, "udfs/block.py", f"{line}\n{BLOCK}")
    with pytest.raises(ModelError) as raised:
        blocking.run()
    assert str(raised.value).splitlines()[0] == f"udfs/block.py:{message}; a change of it would go unnoticed"


def test_what_a_function_writes_and_reads_again_is_its_own_affair(blocking: Corpus):
    scratch = (
        "    import tempfile\n    with tempfile.NamedTemporaryFile('w+') as file:\n        file.write('x')\n"
        "        open(file.name).read()\n"
    )
    put(blocking, "udfs/block.py", BLOCK.replace("    words =", f"{scratch}    words ="))
    blocking.run()
    assert rejected(blocking) == ["s:0"]


def test_a_librarys_cache_in_the_temporary_folder_is_done_without(blocking: Corpus, monkeypatch, tmp_path_factory):
    """As jieba keeps its dictionary there, and reads it by itself where it cannot."""
    cache = tmp_path_factory.mktemp("temporary") / "words.cache"
    cache.write_text("of another run")
    monkeypatch.setattr("tempfile.tempdir", str(cache.parent))
    lines = f"    try:\n        assert not open({str(cache)!r})\n    except PermissionError:\n        pass\n"
    put(blocking, "udfs/block.py", BLOCK.replace("    words =", f"{lines}    words ="))
    blocking.run()
    assert rejected(blocking) == ["s:0"]


STREAM = """\
from corpus_sql.functions import stream_udf


@stream_udf(returns=(("id", "VARCHAR"), ("place", "BIGINT")))
def order_places(batches):
    for batch in batches:
        {line}
        yield batch
"""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("open({path!r}).read()", OPENED),
        ("raise ValueError('no such place')", "ValueError: no such place"),
    ],
    ids=["it reads a file", "it fails"],
)
def test_a_streamed_function(corpus: Corpus, line: str, said: str):
    corpus.source("s", ["one", "two"])
    path = put(corpus, "other.txt", "x")
    put(corpus, "udfs/order.py", STREAM.format(line=line.format(path=str(path))))
    put(
        corpus,
        "sql/measures/order.sql",
        "-- order: A place for each document.\n--\n-- stream: order_places\n-- column: id VARCHAR | the document\n"
        "-- column: place BIGINT | where it stands\n"
        "select d.id as id, cast(0 as bigint) as place from read.documents as d order by d.id\n",
    )
    with pytest.raises(ModelError) as raised:
        corpus.run("stages = []")
    assert str(raised.value).splitlines()[0] == (
        f"UDF order_places (order.py), called by sql/measures/order.sql (yours): {said.format(path=path)}"
    )


# what is built in takes its files in the same way


def test_a_fresh_process_needs_nothing_but_the_files(tmp_path: Path):
    """No dictionary of this process stands between a function and its file."""
    items = tmp_path / "items.jsonl"
    items.write_text('{"id": "one", "text": "which of the seven lighthouses was the last one to be lit by hand"}\n')
    code = f"""
import pyarrow as pa
from pathlib import Path
from corpus_sql import input_files
from corpus_sql.project import load_udf_file
ngrams = load_udf_file(Path({str(builtin() / "udfs" / "ngrams.py")!r}))
given = input_files.hashed([Path({str(items)!r})], ["items"])
texts = pa.array(["He asked which of the seven lighthouses was the last one to be lit by hand."])
n, least = pa.array([8], pa.int32()), pa.array([4], pa.int32())
print(ngrams.ngrams_contaminated(texts, given, n, least)[0][0]["item"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert done.stdout == "items:one\n", done.stderr
