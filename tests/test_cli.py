"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import made_corpus
import pytest
from conftest import Corpus, raw_line

from corpus_sql import cli, shown
from corpus_sql.progress import Report


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A finished build of a few documents; the tests of this file only read it."""
    corpus = Corpus(tmp_path_factory.mktemp("made"))
    chinese = made_corpus.text("zh", 1)
    corpus.source("books", [chinese, raw_line("short", title="Über", tags=["a", "b"]), b"\xff\x00{", "", b""])
    corpus.run('stages = ["gopher", "pii"]\n[gopher]\nmin_n_words = 5')
    return corpus


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """command("sql", build, "select 1") -> (exit code, stdout, stderr)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["corpus-sql", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


# -------------------------------------------------------------------------------------------------------- sql, formats

VALUES = {
    "Chinese": ("select '云在青天' as 标题", "标题\n云在青天\n", '[\n{"标题": "云在青天"}\n]\n'),
    "nothing is not zero": (
        "select cast(null as bigint) as n, 0 as zero, '' as empty",
        "n,zero,empty\n,0,\n",
        '[\n{"n": null, "zero": 0, "empty": ""}\n]\n',
    ),
    "lists and structs": (
        "select ['水', null] as l, {'a': 1, 'b': ['x']} as s",
        'l,s\n"[""水"", null]","{""a"": 1, ""b"": [""x""]}"\n',
        '[\n{"l": ["水", null], "s": {"a": 1, "b": ["x"]}}\n]\n',
    ),
    "bytes are hex, in lists as well": (
        "select unhex('00ff') as b, [unhex('0a')] as l",
        'b,l\n00ff,"[""0a""]"\n',
        '[\n{"b": "00ff", "l": ["0a"]}\n]\n',
    ),
    "NaN is nothing": (
        "select cast('nan' as double) as a, cast('inf' as double) as b, [cast('nan' as double)] as l",
        "a,b,l\n,,[null]\n",
        '[\n{"a": null, "b": null, "l": [null]}\n]\n',
    ),
    "decimals are numbers": (
        "select 0.5 as half, 1.0 as one, sum(x) as total from (select unnest([1, 2]) as x)",
        "half,one,total\n0.5,1,3\n",
        '[\n{"half": 0.5, "one": 1, "total": 3}\n]\n',
    ),
    "truth": ("select true as yes, [false] as no", "yes,no\ntrue,[false]\n", '[\n{"yes": true, "no": [false]}\n]\n'),
    "line ends and quotes": (
        """select 'a "b"' || chr(10) || 'c,d' as text""",
        'text\n"a ""b""\nc,d"\n',
        '[\n{"text": "a \\"b\\"\\nc,d"}\n]\n',
    ),
    "a name twice": ("select 1 as a, 2 as a", "a,a\n1,2\n", '[\n{"a": 1, "a_1": 2}\n]\n'),
    "a name twice, and the name that would tell them apart": (
        "select 1 as a, 2 as a, 3 as a_1, 4 as a, 5 as a_1",
        "a,a,a_1,a,a_1\n1,2,3,4,5\n",
        '[\n{"a": 1, "a_2": 2, "a_1": 3, "a_3": 4, "a_1_1": 5}\n]\n',
    ),
    "several rows": (
        "select k, verdict from documents order by k",
        "k,verdict\n0,keep\n1,reject\n",
        '[\n{"k": 0, "verdict": "keep"},\n{"k": 1, "verdict": "reject"}\n]\n',
    ),
    "no row": ("select id from documents where false", "id\n", "[]\n"),
    "a day": ("select date '2026-01-02' as day", "day\n2026-01-02\n", '[\n{"day": "2026-01-02"}\n]\n'),
}


@pytest.mark.parametrize(("query", "as_csv", "as_json"), VALUES.values(), ids=list(VALUES))
def test_formats(made: Corpus, command, query: str, as_csv: str, as_json: str):
    assert command("sql", made.version, query, "--format", "csv") == (0, as_csv, "")
    assert command("sql", made.version, query, "--format", "json") == (0, as_json, "")
    json.loads(as_json, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_a_table(made: Corpus, command):
    code, out, err = command("sql", made.version, "select id, verdict from documents order by id")
    assert (code, err) == (0, "")
    assert [line.replace("│", "").split() for line in out.splitlines() if "books" in line] == [
        ["books:0", "keep"],
        ["books:1", "reject"],
    ]


def test_an_unknown_format(made: Corpus, command):
    assert command("sql", made.version, "select 1", "--format", "xml") == (
        2,
        "",
        'error: --format: is "xml", which is not known\n    Known are: csv, json, table.\n',
    )


def test_a_prompt_takes_statements_from_a_pipe(made: Corpus):
    done = subprocess.run(
        [sys.executable, "-m", "corpus_sql", "sql", str(made.version), "--format", "csv"],
        input="select 1\n  as one;\nselect x from nowhere;\nselect 2 as two",
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "one\n1\ntwo\n2\n")
    assert done.stderr.splitlines()[0] == "error: query: Catalog Error: Table with name nowhere does not exist!"


VIEWS = (
    "decisions documents files measures.content measures.language measures.words pairs pii quarantine reconciliation"
    " rejected shards"
).split()


@pytest.mark.parametrize("view", VIEWS)
def test_the_views_of_a_build(made: Corpus, command, view: str):
    code, out, _ = command("sql", made.version, f"select count(*) as n from {view}", "--format", "csv")
    assert code == 0 and out.startswith("n\n")


# ------------------------------------------------------------------------------------------------------ sql, refusals

WRITES = {
    "insert into manifest_counts values ('a', 1)": "insert",
    "update manifest_counts set n = 1": "update",
    "delete from manifest_counts": "delete",
    "drop view decisions": "drop",
    "create table x as select 1 as n": "create",
    "create macro f() as 1": "create",
    "alter view decisions rename to d": "alter",
    "copy decisions to 'stolen.csv'": "copy",
    "copy (select 1) to 'stolen.csv'": "copy",
    "export database 'stolen'": "export",
    "attach ':memory:' as m": "attach",
    "detach memory": "detach",
    "install httpfs": "load",
    "load httpfs": "load",
    "pragma threads = 1": "set",
    "pragma show_tables": "pragma",
    "set threads = 1": "set",
    "reset threads": "set",
    "set variable x = 1": "set",
    "use measures": "set",
    "call pragma_version()": "call",
    "vacuum": "vacuum",
    "begin": "transaction",
    "prepare a as select 1": "prepare",
    "explain analyze insert into manifest_counts values ('a', 1)": "insert",
    "explain insert into manifest_counts values ('a', 1)": "insert",
    "explain /* select */ analyze -- select\n delete from manifest_counts": "delete",
    "explain with x as (delete from manifest_counts returning *) select * from x": "delete",
    "explain analyze create table x as select 1 as n": "create",
    "explain (analyze) select 1": "explain",
    "with x as (insert into manifest_counts values ('a', 1) returning *) select * from x": "insert",
    "with x as (delete from manifest_counts returning *) select * from x": "delete",
}


@pytest.mark.parametrize(("query", "kind"), WRITES.items(), ids=[query[:30] for query in WRITES])
def test_what_writes_is_refused(made: Corpus, command, query: str, kind: str):
    assert command("sql", made.version, query) == (
        2,
        "",
        f"error: query: a statement that can write ({kind}); a build is only read\n"
        "    Ask with select, from, describe, summarize or explain.\n",
    )


@pytest.mark.parametrize("head", ["explain", "EXPLAIN ANALYZE", "/* a plan */ explain -- of this\n"])
def test_a_plan_of_what_reads(made: Corpus, command, head: str):
    code, out, err = command("sql", made.version, f"{head} select verdict, max(k) from documents group by all")
    assert (code, err) == (0, "")
    assert out.startswith("╭─ ") and "PARQUET" in out.upper() and "explain_value" not in out


def test_a_pivot_over_values_that_are_not_named(made: Corpus, command):
    assert command("sql", made.version, "pivot documents on lang using count(*)") == (
        2,
        "",
        "error: query: a pivot over values that are not named is run as several statements, one of which creates a "
        "type\n    Name the values: pivot … on lang in ('en', 'zh') using ….\n",
    )
    query = "pivot (select k, verdict from documents) on verdict in ('keep', 'reject') using sum(k)"
    assert command("sql", made.version, query, "--format", "csv") == (0, "keep,reject\n0,1\n", "")


@pytest.mark.parametrize(
    "query", ["-- all of them\nselect 1 as n", "--all\nselect 1 as n", "-- a\n-- b\nselect 1 as n"]
)
def test_a_query_that_begins_with_a_comment(made: Corpus, command, query: str):
    assert command("sql", made.version, query, "--format", "csv") == (0, "n\n1\n", "")
    assert command("sql", "--format", "csv", made.version, query) == (0, "n\n1\n", "")


# --------------------------------------------------------------------------------------- what a terminal would act on

ACTING = {
    "ESC": ("\x1b[31m", r"\x1b[31m", r"\u001b[31m"),
    "BEL": ("\x07", r"\x07", r"\u0007"),
    "DEL": ("\x7f", r"\x7f", r"\u007f"),
    "CSI of eight bits": ("\x9b31m", r"\x9b31m", r"\u009b31m"),
    "a text turned around": ("\u202egnp.exe\u202c", r"\u202egnp.exe\u202c", r"\u202egnp.exe\u202c"),
    "an isolate": ("\u2066x\u2069", r"\u2066x\u2069", r"\u2066x\u2069"),
    "what is not seen": ("\u200b\ufeff\u2060", r"\u200b\ufeff\u2060", r"\u200b\ufeff\u2060"),
    "tags": ("\U000e0041", r"\U000e0041", r"\udb40\udc41"),
    "joiners of scripts and emoji stay": ("می\u200cروم 👩\u200d🌾", "می\u200cروم 👩\u200d🌾", "می\u200cروم 👩\u200d🌾"),
}


@pytest.mark.parametrize(("text", "seen", "as_json"), ACTING.values(), ids=list(ACTING))
def test_what_a_terminal_would_act_on(
    made: Corpus, command, monkeypatch: pytest.MonkeyPatch, text: str, seen: str, as_json: str
):
    points = ", ".join(f"chr({ord(c)})" for c in text)
    query = f"select concat({points}) as c"
    assert command("sql", made.version, query, "--format", "json") == (0, f'[\n{{"c": "{as_json}"}}\n]\n', "")
    assert json.loads(f'"{as_json}"') == text
    code, out, _ = command("sql", made.version, query)
    assert code == 0 and shown.plain(out) == out
    # a file gets what is in the data
    assert command("sql", made.version, query, "--format", "csv")[1] == f"c\n{text}\n"
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True)
    assert command("sql", made.version, query, "--format", "csv")[1] == f"c\n{seen}\n"
    assert shown.plain(text) == seen


def test_a_notice_of_a_run(capsys: pytest.CaptureFixture[str]):
    Report().line("parents in no raw file: a\x1b[2J, b\u202e")
    assert capsys.readouterr().err == "parents in no raw file: a\\x1b[2J, b\\u202e\n"


@pytest.mark.parametrize(("query", "n"), [("select 1; select 2", 2), ("", 0), ("/* nothing */", 0), ("; ;", 0)])
def test_one_statement_is_asked_for(made: Corpus, command, query: str, n: int):
    assert command("sql", made.version, query) == (2, "", f"error: query: {n} statements, where one is asked for\n")


@pytest.mark.parametrize(
    "reader", ["read_csv('{}')", "read_text('{}')", "read_blob('{}')", "glob('{}')", "'{}'", "sniff_csv('{}')"]
)
def test_files_outside_the_build_are_out_of_reach(made: Corpus, command, reader: str):
    outside = made.folder / "outside.csv"
    outside.write_text("secret\n1\n")
    code, out, err = command("sql", made.version, f"select * from {reader.format(outside)}")
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == (
        f'error: query: Permission Error: Cannot access file "{outside}" - file system operations are disabled by '
        "configuration"
    )


def test_a_way_out_over_the_parent_folder(made: Corpus, command):
    code, _, err = command("sql", made.version, f"from read_text('{made.version}/../../LEDGER.jsonl')")
    assert code == 2 and "Permission Error" in err


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select * from decision", "Catalog Error: Table with name decision does not exist!"),
        ("select nope from decisions", 'Binder Error: Referenced column "nope" not found in FROM clause!'),
        ("selec 1", 'Parser Error: syntax error at or near "selec"'),
        ("select cast('x' as integer) as n", "Conversion Error: Could not convert string 'x' to INT32"),
    ],
)
def test_a_query_that_fails(made: Corpus, command, query: str, message: str):
    code, out, err = command("sql", made.version, query, "--format", "csv")
    assert (code, err.splitlines()[0]) == (2, f"error: query: {message}")


def test_no_build(command, tmp_path: Path):
    message = (
        f"error: {tmp_path}: this is no build: it has no _MANIFEST.json and _audit/\n"
        "    Give a version folder, corpus/<dataset>/<version>, or the config that it was built from.\n"
    )
    assert command("sql", tmp_path, "select 1") == (2, "", message)
    assert command("why", tmp_path, "s:0") == (2, "", message)


def test_asking_leaves_a_build_as_it_is(made: Corpus, command):
    before = {path: path.stat().st_mtime_ns for path in made.version.rglob("*")}
    command("sql", made.version, "from decisions")
    command("why", made.version, "books:0")
    assert {path: path.stat().st_mtime_ns for path in made.version.rglob("*")} == before


# ------------------------------------------------------------------------------------------------------- check and run


def test_the_list_of_model_commands_cuts_no_sentence(command):
    out = command("model", "--help")[1]
    assert "  get  Put the language model where every project finds it.\n" in out


def test_check_counts_what_a_build_is_made_of(made: Corpus, command):
    code, out, err = command("check", made.config)
    size = made.rows["books"]["files"][0]["bytes"]
    assert (code, err) == (0, "")
    assert f"1 source with 1 raw file, {size:,} bytes: all may be trained on" in out.splitlines()


def test_check_finds_everything_at_once(corpus: Corpus, command):
    corpus.source("s", ["one"])
    corpus.rows["t"] = corpus.rows["s"] | {"source_id": "t", "data_class": "customer", "files": []}
    corpus.source("s", ["one"])
    corpus.configure('stages = ["mine"]')
    model = corpus.folder / "sql" / "stages" / "mine.sql"
    model.parent.mkdir(parents=True)
    model.write_text(
        "-- mine: Nothing of use.\n"
        "select d.id as id, n_wrds as hits from {{ input }} as d join measures.words using (id)\n"
    )
    code, out, _ = command("check", corpus.config)
    lines = [line for line in out.splitlines() if not line.startswith("notice: ")]
    assert code == 2
    assert lines[0] == "error: t: refused: customer data is never trained on"
    assert lines[2].startswith(
        'error: sql/stages/mine.sql: Binder Error: Referenced column "n_wrds" not found in FROM clause!'
    )
    assert lines[-1] == "2 problems"
    code, out, _ = command("check", corpus.config, "--json")
    assert code == 2
    assert [one["where"] for one in json.loads(out)["problems"]] == ["t", "sql/stages/mine.sql"]


def test_check_json_names_models_and_udfs(made: Corpus, command):
    found = json.loads(command("check", made.config, "--json")[1])
    assert found["problems"] == []
    assert {"name": "stages.gopher", "layer": "built-in"} in found["models"]
    assert {"name": "words_measure", "file": "words.py"} in found["udfs"]
    assert found["sources"] == [{"source_id": "books", "files": 1, "bytes": made.rows["books"]["files"][0]["bytes"]}]


RUN_MISTAKES = {
    "memory that is no size": (
        ["--memory", "much"],
        "error: --memory: 'much' is no size\n    Write it like 4GB or 800MB.\n",
    ),
    "memory without an end": (
        ["--memory", "inf"],
        "error: --memory: 'inf' is no size\n    Write it like 4GB or 800MB.\n",
    ),
    "too little memory": (
        ["--memory", "100MB"],
        "error: --memory: 100MB is less than the 512MB that sorting the shards needs\n    Give at least 512MB.\n",
    ),
    "another kind of output": (
        ["--emit", "some"],
        'error: --emit: is "some", which is not known\n    Known are: all, none.\n',
    ),
}


@pytest.mark.parametrize(("options", "message"), RUN_MISTAKES.values(), ids=list(RUN_MISTAKES))
def test_run_options(made: Corpus, command, options: list[str], message: str):
    assert command("run", made.config, *options) == (2, "", message)


@pytest.mark.parametrize(
    ("text", "size"), [("512MB", 512 << 20), ("2g", 2 << 30), ("1.5GiB", 3 << 29), ("600000000", 600_000_000)]
)
def test_memory_sizes(text: str, size: int):
    from corpus_sql.build import memory_bytes

    assert memory_bytes(text) == size


def test_check_reads_the_ledger_also_where_the_config_cannot_be_taken(corpus: Corpus, command):
    corpus.source("s", ["one"])
    corpus.configure('stages = []\nshard_row = 3\n[paths]\nartifacts = "artifacts"')
    ledger = corpus.folder / "artifacts" / "corpus" / "LEDGER.jsonl"
    ledger.write_text(ledger.read_text() + "{\n")
    code, out, _ = command("check", corpus.config)
    assert code == 2
    assert [line for line in out.splitlines() if line.startswith("error: ")] == [
        f"error: {corpus.config}:5: shard_row: is not a known key",
        f"error: {ledger}:2:2: is not JSON: Expecting property name enclosed in double quotes",
    ]


def test_no_config(command, tmp_path: Path):
    missing = tmp_path / "corpus.toml"
    fix = "    Give the path of a TOML config; `corpus-sql init DIR` writes one to start from.\n"
    for name in ("check", "run"):
        code, out, err = command(name, missing)
        assert (code, out + err) == (
            2,
            f"error: {missing}: there is no such config file\n{fix}" + "1 problem\n" * (name == "check"),
        )
    assert command("run", tmp_path) == (2, "", f"error: {tmp_path}: this is a folder, not a config file\n{fix}")


def test_run_says_how_to_ask(made: Corpus, command):
    code, out, _ = command("run", made.config)
    assert code == 0
    assert out.splitlines()[0].split() == ["stage", "entered", "kept", "rejected", "quarantined", "blank"]
    assert f"{made.version} holds this very build already; nothing was changed." in out
    asked, query, question = out.splitlines()[-3:]
    assert asked == f"  corpus-sql sql {made.version} \\"  # the shell goes on with the next line
    assert command("sql", made.version, query.strip().strip('"'))[0] == 0
    assert command("why", *question.split()[2:])[0] == 0


def test_emit_none_prints_the_hashes(corpus: Corpus, command):
    corpus.source("s", ["one", "two", "one"])
    corpus.configure()
    code, out, _ = command("run", corpus.config, "--emit", "none")
    found = json.loads((corpus.version.parent / "reports" / "v1" / "hashes.json").read_text())
    assert code == 0
    assert (
        out == f"corpus_build_hash {found['corpus_build_hash']}\nfiltered_build_hash {found['filtered_build_hash']}\n"
    )
    assert not corpus.version.exists()


def test_version_and_help(command):
    code, out, _ = command("--version")
    assert (code, out.split()[0]) == (0, "corpus-sql")
    code, out, _ = command("--help")
    assert code == 0
    assert {"init", "import", "check", "run", "why", "sql"} <= {
        line.split()[0] for line in out.splitlines() if line.strip()
    }
