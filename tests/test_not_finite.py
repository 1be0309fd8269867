"""NaN and infinity are no measures: null where they enter a relation, counted, told, and never a verdict."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable

import duckdb
import pyarrow.parquet as pq
import pytest
from conftest import Corpus

from corpus_sql import cli, sampling
from corpus_sql.explain import open_build

TEXTS = ["one", "two two", "a b c", "!", "!!"]
UDF = """\
import math
import pyarrow as pa
from corpus_sql.functions import udf

KINDS = {{"one": math.nan, "two two": math.inf, "a b c": -math.inf, "!": 7.5, "!!": None}}


@udf(args=("VARCHAR",), returns="{returns}")
def odd_number(texts: pa.Array) -> pa.Array:
    return pa.array([{value} for x in [KINDS[t] for t in texts.to_pylist()]], {kind})
"""


def write(corpus: Corpus, relative: str, text: str) -> None:
    path = corpus.folder / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def odd(corpus: Corpus) -> Callable[..., Corpus]:
    """odd(returns, value, kind, select): a measure `odd` with one column made of what a UDF returns for five texts."""

    def make(returns: str, value: str, kind: str, select: str = "made", column: str = "") -> Corpus:
        corpus.source("s", TEXTS)
        write(corpus, "udfs/odd.py", UDF.format(returns=returns, value=value, kind=kind))
        write(
            corpus,
            "sql/measures/odd.sql",
            f"-- odd: numbers that are none.\n--\n-- column: id VARCHAR | the document\n"
            f"-- column: value {column or returns} | the number\n"
            f"select\n    id,\n    {select} as value\n"
            "from (\n    select id, odd_number(text) as made\n    from read.documents\n) as numbers\n",
        )
        return corpus

    return make


def values(corpus: Corpus) -> list[object]:
    return pq.read_table(corpus.version / "_audit/measures/odd.parquet").column("value").to_pylist()


def notices(corpus: Corpus) -> list[str]:
    return json.loads((corpus.version / "_audit" / "build.json").read_text())["notices"]


JUDGED = """\
-- odd: reject by a number.
--
-- config: min_value | least
-- config: max_value | most
select
    d.id as id,
    {{ hits([low("value"), high("value")]) }} as hits
from {{ input }} as d
join measures.odd using (id)
"""
LIMITS = "stages = ['odd']\n[odd]\nmin_value = 5\nmax_value = 7"
TOLD = "measures.odd: odd_number was NaN or infinite 3 times; it counts as not measured"


@pytest.mark.parametrize("number", ["DOUBLE", "FLOAT"])
def test_a_udf_s_nan_and_infinity_are_null_are_told_and_judge_nobody(odd, number: str):
    corpus = odd(number, "x", {"DOUBLE": "pa.float64()", "FLOAT": "pa.float32()"}[number])
    write(corpus, "sql/stages/odd.sql", JUDGED)
    corpus.run(LIMITS)
    assert values(corpus) == [None, None, None, 7.5, None]
    with open_build(corpus.version) as build:
        verdicts = build.execute(
            "select id, verdict, reason, value from decisions where seq = 1 order by id"
        ).fetchall()
    kept = [(f"s:{k}", "keep", None, None) for k in (0, 1, 2)]
    assert verdicts == [*kept, ("s:3", "reject", "high_value", 7.5), ("s:4", "keep", None, None)]
    assert [line for line in notices(corpus) if "NaN" in line] == [TOLD]


def test_a_run_that_reuses_the_measure_tells_it_as_well(odd):
    corpus = odd("DOUBLE", "x", "pa.float64()")
    write(corpus, "sql/stages/odd.sql", JUDGED)
    corpus.run(LIMITS)
    assert corpus.run().status == "same"
    corpus.run(LIMITS.replace("= 7", "= 8"), replace=True)
    assert TOLD in notices(corpus)


NESTED = {
    "a list": ("DOUBLE[]", "[x, 1.0]", "pa.list_(pa.float64())", [[None, 1.0]] * 3 + [[7.5, 1.0], [None, 1.0]]),
    "a struct": (
        "STRUCT(a DOUBLE, b INTEGER)",
        "{'a': x, 'b': 1}",
        "pa.struct([('a', pa.float64()), ('b', pa.int32())])",
        [{"a": None, "b": 1}] * 3 + [{"a": 7.5, "b": 1}, {"a": None, "b": 1}],
    ),
    "a list of structs": (
        "STRUCT(a DOUBLE)[]",
        "[{'a': x}]",
        "pa.list_(pa.struct([('a', pa.float64())]))",
        [[{"a": None}]] * 3 + [[{"a": 7.5}], [{"a": None}]],
    ),
}


@pytest.mark.parametrize(("returns", "value", "kind", "expected"), NESTED.values(), ids=list(NESTED))
def test_inside_lists_and_structs(odd, returns: str, value: str, kind: str, expected: list):
    corpus = odd(returns, value, kind)
    corpus.run("stages = []")
    assert values(corpus) == expected
    assert TOLD in notices(corpus)


@pytest.mark.parametrize(
    ("select", "column", "expected"),
    [
        ("made / 0", "DOUBLE", [None] * 5),
        ("[made / 0, 1.0]", "DOUBLE[]", [[None, 1.0]] * 5),
        ("{'a': [made / 0]}", "STRUCT(a DOUBLE[])", [{"a": [None]}] * 5),
        ("map {'a': made / 0, 'b': 1.0}", "MAP(VARCHAR, DOUBLE)", [[("a", None), ("b", 1.0)]] * 5),
        ("map {made / 0: 1, 2.0: 2}", "MAP(DOUBLE, INTEGER)", [[(2.0, 2)]] * 5),
        ("map {[made / 0]: 1.5, [2.0]: made / 0}", "MAP(DOUBLE[], DOUBLE)", [[([2.0], None)]] * 5),
        ("case when made = 1 then map {'a': made / 0} end", "MAP(VARCHAR, DOUBLE)", [None] * 3 + [[("a", None)], None]),
        ("[map {'a': [made / 0]}]", "MAP(VARCHAR, DOUBLE[])[]", [[[("a", [None])]]] * 5),
    ],
)
def test_a_division_in_the_sql_of_a_measure(odd, select: str, column: str, expected: list):
    corpus = odd("BIGINT", "1 if x == 7.5 else 0", "pa.int64()", select=select, column=column)
    corpus.run("stages = []")
    assert values(corpus) == expected
    times = "once" if select.startswith("case") else "5 times"
    assert f"measures.odd: value was NaN or infinite {times}; it counts as not measured" in notices(corpus)


# ------------------------------------------------- tables that are written as they come, and never stored before

LEAF = """\
-- pairs: numbers that are none.
--
-- column: a VARCHAR | a document
-- column: b VARCHAR | the same
-- column: kind VARCHAR | none
-- column: jaccard DOUBLE | infinite
-- column: parts STRUCT(a DOUBLE[], b INTEGER)[] | with a NaN inside
select
    id as a,
    id as b,
    'none' as kind,
    cast(k + 1 as double) / 0 as jaccard,
    [{'a': [cast(k as double), cast('nan' as double)], 'b': 1}] as parts
from read.documents
where k < 2
"""


def test_a_table_of_ones_own_that_is_never_stored(corpus: Corpus):
    corpus.source("s", TEXTS)
    write(corpus, "sql/outputs/pairs.sql", LEAF)
    corpus.run("stages = []")
    rows = pq.read_table(corpus.version / "_audit/pairs.parquet").to_pylist()
    assert [(row["a"], row["jaccard"], row["parts"]) for row in rows] == [
        ("s:0", None, [{"a": [0.0, None], "b": 1}]),
        ("s:1", None, [{"a": [1.0, None], "b": 1}]),
    ]
    assert [line for line in notices(corpus) if "NaN" in line] == [
        "outputs.pairs: jaccard was NaN or infinite 2 times; it counts as not measured",
        "outputs.pairs: parts was NaN or infinite 2 times; it counts as not measured",
    ]


REJECTED = """\
-- rejected: the documents that were dropped, with a number that is none.
--
-- column: id VARCHAR | the document
-- column: stage VARCHAR | the stage that dropped it
-- column: reason VARCHAR | why
-- column: source_id VARCHAR | its source
-- column: lang VARCHAR | its language
-- column: url VARCHAR | where it is from
-- column: text VARCHAR | as it was when rejected
-- column: share DOUBLE | infinite
select
    documents.id as id,
    ends.stage as stage,
    ends.reason as reason,
    documents.source_id as source_id,
    facts.lang as lang,
    documents.url as url,
    documents.text as text,
    cast(1 as double) / 0 as share
from read.documents as documents
join outputs.ends as ends using (id)
join outputs.facts as facts using (id)
where ends.verdict <> 'keep'
"""


def test_a_table_with_texts_of_ones_own(corpus: Corpus):
    """Tables with texts are written by another path."""
    corpus.source("s", TEXTS)
    write(corpus, "sql/outputs/rejected.sql", REJECTED)
    corpus.run("stages = ['gopher']\n[gopher]\nmin_n_words = 2")
    rows = pq.read_table(corpus.version / "_audit/rejected.parquet").to_pylist()
    assert {row["share"] for row in rows} == {None}
    assert f"outputs.rejected: share was NaN or infinite {len(rows)} times; it counts as not measured" in notices(
        corpus
    )


@pytest.mark.parametrize("called", ["odd_number(text)", "cast(odd_number(text) as BIGINT)"])
def test_a_udf_in_a_table_that_is_never_stored(odd, called: str):
    corpus = odd("DOUBLE", "x", "pa.float64()")
    (corpus.folder / "sql/measures/odd.sql").unlink()
    kind = "BIGINT" if "BIGINT" in called else "DOUBLE"
    text = LEAF.replace("cast(k + 1 as double) / 0", called).replace("jaccard DOUBLE", f"jaccard {kind}")
    write(corpus, "sql/outputs/pairs.sql", text.replace("where k < 2\n", ""))
    corpus.run("stages = []")
    rows = pq.read_table(corpus.version / "_audit/pairs.parquet").to_pylist()
    assert [row["jaccard"] for row in rows] == [None, None, None, {"BIGINT": 8, "DOUBLE": 7.5}[kind], None]
    assert "outputs.pairs: odd_number was NaN or infinite 3 times; it counts as not measured" in notices(corpus)


STAGE = """\
-- odd: reject by the share of exclamation marks in what is left without them.
--
-- config: min_share | least
-- config: max_share | most
-- reason: all_marks | nothing but marks
select
    id,
    {{ hits([low("share"), high("share"), reject("all_marks", "share > 100", value="share", threshold=100)]) }} as hits
from (
    select
        d.id as id,
        (length(text) - rest) / rest as share
    from {{ input }} as d
    join (select id, text, length(replace(text, '!', '')) as rest from read.documents) as counted using (id)
) as shares
"""


def test_a_division_in_the_sql_of_a_stage_is_no_verdict_and_is_counted(corpus: Corpus):
    corpus.source("s", ["!", "a", "a!!", "!!"])
    write(corpus, "sql/stages/odd.sql", STAGE)
    corpus.run("stages = ['odd']\n[odd]\nmin_share = 0.5\nmax_share = 1")
    with open_build(corpus.version) as build:
        found = build.execute("select id, verdict, reason, value, hits from decisions where seq = 1 order by id")
        rows = found.fetchall()
    assert [row[:4] for row in rows] == [
        ("s:0", "keep", None, None),
        ("s:1", "reject", "low_share", 0.0),
        ("s:2", "reject", "high_share", 2.0),
        ("s:3", "keep", None, None),
    ]
    assert [len(hits) for *_, hits in rows] == [0, 1, 1, 0]
    told = [line for line in notices(corpus) if "NaN" in line]
    assert told == [
        "stages.odd: hits was NaN or infinite 2 times; it counts as not measured",
        "stages.odd: share was NaN or infinite 4 times; it counts as not measured",
    ]


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_a_threshold_that_is_no_number_is_refused(corpus: Corpus, number: str):
    corpus.source("s", TEXTS)
    with pytest.raises(Exception, match=rf"corpus.toml:6: \[gopher\] min_n_words: is {number}, not a finite number"):
        corpus.run(f"stages = ['gopher']\n[gopher]\nmin_n_words = {number}")


# ------------------------------------------------------------------------------------ builds that hold such values


@pytest.fixture
def older(corpus: Corpus) -> Corpus:
    """A build as one made before could be: measures, decisions and hits with NaN and infinity."""
    corpus.source("s", [*TEXTS, "word " * 30])
    corpus.run("stages = ['gopher']\n[gopher]\nmin_n_words = 20")
    audit = corpus.version / "_audit"
    with duckdb.connect() as run:
        for name, column, by in (
            ("measures/words", "hash_ratio", "id"),
            ("measures/words", "mean_word_length", "id"),
            ("decisions", "value", "id"),
            ("decisions", "threshold", "id"),
        ):
            path = audit / f"{name}.parquet"
            odd = "case hash(id) % 4 when 0 then 'nan' when 1 then 'inf' when 2 then '-inf' else '7' end::double"
            table = run.sql(f"select * replace ({odd} as {column}) from '{path}' order by {by}").to_arrow_table()
            pq.write_table(table, path)
    return corpus


COMMANDS = [
    *(["why", f"s:{k}"] for k in range(6)),
    ["why", "s:0", "--json"],
    ["report"],
    ["sample"],
    ["sample", "--kind", "by-reason"],
    ["sample", "--kind", "near-threshold", "--rule", "low_n_words"],
    ["sample", "--kind", "near-threshold", "--rule", "low_mean_word_length"],
    ["sample", "--kind", "near-threshold", "--rule", "high_hash_ratio", "--format", "jsonl"],
    ["sql", "from decisions order by all"],
    ["sql", "from decisions order by all", "--format", "json"],
]


def test_commands_over_a_build_that_holds_nan(older: Corpus, capsys, monkeypatch: pytest.MonkeyPatch):
    for command, *rest in COMMANDS:
        arguments = [command, str(older.version), *rest]
        monkeypatch.setattr(sys, "argv", ["corpus-sql", *arguments])
        try:
            cli.main()
        except SystemExit as end:
            assert not end.code, arguments
        out = capsys.readouterr().out
        if "--json" in rest or "json" in rest:
            json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_a_sample_near_a_threshold_leaves_out_what_is_no_number(older: Corpus):
    found = sampling.sample(older.version, "near-threshold", rule="low_mean_word_length", n=20, seed=0)
    assert all(math.isfinite(row["value"]) for row in found.rows)
