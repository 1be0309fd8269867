"""Which models a run makes and which it takes from the cache, and what a user's own files may do in a build."""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from pathlib import Path

import made_corpus
import pyarrow.parquet as pq
import pytest
from conftest import Corpus

from corpus_sql import build
from corpus_sql.engine_duckdb import DuckDB
from corpus_sql.errors import AuditError, CorpusError, ModelError
from corpus_sql.progress import Report


class Said(Report):
    """Keeps what a run says."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the calls of each UDF from here on."""
    found: Counter[str] = Counter()
    register = DuckDB.register

    def counting(engine: DuckDB, udf, files) -> None:
        def call(*columns):
            found[udf.name] += 1
            return udf.function(*columns)

        register(engine, dataclasses.replace(udf, function=call), files)

    monkeypatch.setattr(DuckDB, "register", counting)
    return found


def ran(outcome: build.Outcome) -> dict[str, str]:
    """Return relation -> why it had to run, without those that leave as files and are never stored."""
    return {step.name: step.why for step in outcome.steps if step.why and step.name not in build.leaves(outcome.steps)}


def put(corpus: Corpus, name: str, text: str) -> Path:
    """Write a file of the user's project."""
    path = corpus.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def made(corpus: Corpus) -> Corpus:
    """The made corpus with all stages, built once."""
    made_corpus.fill(corpus, 12).run()
    return corpus


@pytest.fixture
def tiny(corpus: Corpus) -> Corpus:
    corpus.source("s", ["one", "two words", "three words here"])
    corpus.configure()
    return corpus


# ---------------------------------------------------------------------------------------------------------- the cache


def test_nothing_changed_nothing_runs(made: Corpus, calls: Counter):
    assert ran(made.run()) == {}
    assert calls == {}


def test_a_new_threshold_measures_nothing(made: Corpus, calls: Counter):
    made.configure(made_corpus.CONFIG + "[gopher.en]\nmin_n_words = 60\n")
    why = ran(made.run(replace=True))
    assert why["stages.gopher"] == "changed: its SQL"
    assert why["stages.repetition"] == "changed: stages.gopher"
    assert why["stages.exact_dedup"] == "changed: stages.repetition"
    assert {"stages.near_dedup", "stages.decontaminate", "stages.pii", "outputs.decisions", "outputs.kept"} <= set(why)
    assert "stages.lang" not in why
    assert [name for name in why if name.startswith(("measures.", "read."))] == []
    measuring = {"language_detect", "words_measure", "repetition_measure", "content_hash", "ngrams_contaminated"}
    assert measuring & set(calls) == set()


def test_another_order_of_stages_measures_nothing(made: Corpus):
    swapped = made_corpus.CONFIG.replace('"lang", "gopher"', '"gopher", "lang"')
    assert swapped != made_corpus.CONFIG
    made.configure(swapped)
    why = ran(made.run(replace=True))
    assert why["stages.lang"] == "changed: its SQL, read.documents, stages.gopher"
    assert [name for name in why if name.startswith(("measures.", "read."))] == []


def test_a_comment_in_the_config_runs_nothing(made: Corpus):
    made.configure(made_corpus.CONFIG + "# a comment\n")
    assert ran(made.run(replace=True)) == {}


def test_what_a_raw_file_changes(made: Corpus):
    made.source("made-hi", made_corpus.lines("hi", 5), parts=2)
    made.configure(made_corpus.CONFIG)
    why = ran(made.run(replace=True))
    assert why["read.documents"] == "changed: the raw files"
    assert why["measures.words"] == "changed: measures.language, read.documents"
    assert why["outputs.kept"].startswith("changed: ")


def test_a_new_version_of_a_tool(made: Corpus, monkeypatch: pytest.MonkeyPatch):
    version = build.DuckDB.versions
    monkeypatch.setattr(build.DuckDB, "versions", lambda engine, tools=(): version(engine, tools) | {"numba": "999"})
    why = ran(made.run(replace=True))
    assert why["measures.content"] == "changed: the version of numba"
    assert why["stages.gopher"].startswith("changed: measures.words, ")
    assert "read.documents" not in why


def test_without_the_cache_everything_runs(made: Corpus, calls: Counter):
    outcome = made.run(cache=False)
    assert outcome.status == "same"
    assert {step.why for step in outcome.steps} == {"not built yet"}
    assert {"language_detect", "words_measure", "content_hash"} <= set(calls)


def test_a_plan_runs_nothing(corpus: Corpus, calls: Counter):
    made_corpus.fill(corpus, 12)
    outcome = corpus.run(plan=True)
    assert outcome.status == "planned"
    assert ran(outcome)["measures.words"] == "not built yet"
    assert set(outcome.estimate) == {"work", "spill", "build"} and min(outcome.estimate.values()) > 0
    assert calls == {}
    assert list(corpus.version.parent.iterdir()) == []
    assert ran(corpus.run(plan=True)) == ran(outcome), "the first plan left something behind"


def test_the_plan_is_what_runs(made: Corpus):
    made.configure(made_corpus.CONFIG + "[gopher.en]\nmin_n_words = 60\n")
    planned = ran(made.run(plan=True))
    assert planned == ran(made.run(replace=True))


def test_what_a_failed_run_finished_is_kept(tiny: Corpus):
    put(tiny, "udfs/bad.py", FAILING)
    put(tiny, "sql/measures/zz_bad.sql", measure("zz_bad", "bad_count"))
    with pytest.raises(ModelError):
        tiny.run()
    put(tiny, "udfs/bad.py", FAILING.replace("raise ValueError('no')", "return pc.utf8_length(texts).cast(pa.int64())"))
    why = ran(tiny.run())
    assert "read.documents" not in why and "measures.language" not in why
    assert why["measures.zz_bad"] == "not built yet"


# ----------------------------------------------------------------------------------------------- a user's own files

FAILING = """\
import pyarrow as pa
import pyarrow.compute as pc

from corpus_sql.functions import udf


@udf(args=("VARCHAR",), returns="BIGINT")
def bad_count(texts):
    raise ValueError('no')
"""


def measure(stem: str, function: str, kind: str = "BIGINT") -> str:
    return (
        f"-- {stem}: a measure.\n--\n-- column: id VARCHAR | document\n-- column: n {kind} | a number\n"
        f'select\n    id,\n    {function}("text") as n\nfrom read.documents\n'
    )


SHOUT_UDF = '''\
"""Exclamation marks."""

import pyarrow as pa
import pyarrow.compute as pc

from corpus_sql.functions import udf


@udf(args=("VARCHAR",), returns="STRUCT(n_marks BIGINT, n_chars BIGINT)", requires=("pyarrow",))
def shout_count(texts):
    """Count full-width and ASCII exclamation marks, and all characters."""
    marks = pc.add(pc.count_substring(texts, "!"), pc.count_substring(texts, "！")).cast(pa.int64())
    return pa.StructArray.from_arrays([marks, pc.utf8_length(texts).cast(pa.int64())], names=["n_marks", "n_chars"])
'''
SHOUT_MEASURE = """\
-- shout: how loud a document is.
--
-- column: id VARCHAR | document
-- column: mark_ratio DOUBLE | exclamation marks a character
select
    id,
    n.n_marks / nullif(n.n_chars, 0) as mark_ratio
from (
    select
        id,
        shout_count("text") as n
    from read.documents
) as counted
"""
SHOUT_STAGE = """\
-- shout: documents that shout go.
--
-- config: max_mark_ratio | exclamation marks a character
select
    d.id as id,
    {{ hits([high("mark_ratio")]) }} as hits
from {{ input }} as d
join measures.shout using (id)
join relations.languages using (id)
"""


def test_a_stage_of_ones_own(corpus: Corpus):
    """A UDF, a measure, a stage, its name in the list, and a table in the config with a language of its own."""
    put(corpus, "udfs/shout.py", SHOUT_UDF)
    put(corpus, "sql/measures/shout.sql", SHOUT_MEASURE)
    put(corpus, "sql/stages/shout.sql", SHOUT_STAGE)
    quiet, loud = made_corpus.text("zh", 3, 3), made_corpus.text("zh", 4, 3) + "！！！"
    english = made_corpus.text("en", 3, 3)
    corpus.source("s", [quiet, loud, english + "!!!", english + "!" * 60, ""])
    outcome = corpus.run('stages = ["shout"]\n[shout]\nmax_mark_ratio = 0.1\n[shout.zh]\nmax_mark_ratio = 0.01')
    rows = pq.read_table(corpus.version / "_audit" / "decisions.parquet").to_pylist()
    found = {row["id"]: (row["verdict"], row["reason"], row["threshold"]) for row in rows if row["stage"] == "shout"}
    assert found == {
        "s:0": ("keep", None, None),
        "s:1": ("reject", "high_mark_ratio", 0.01),
        "s:2": ("keep", None, None),
        "s:3": ("reject", "high_mark_ratio", 0.1),
    }
    assert outcome.written.manifest["filters"] == {"lang": 0, "gopher": 0, "repetition": 0, "ppl": 0, "shout": 2}
    measured = pq.read_table(corpus.version / "_audit" / "measures" / "shout.parquet")
    assert measured.column_names == ["id", "mark_ratio"]
    assert measured.column("mark_ratio").to_pylist()[1] == pytest.approx(3 / len(loud))


def test_a_changed_udf_runs_its_models_again(corpus: Corpus):
    udf = put(corpus, "udfs/shout.py", SHOUT_UDF)
    put(corpus, "sql/measures/shout.sql", SHOUT_MEASURE)
    put(corpus, "sql/stages/shout.sql", SHOUT_STAGE)
    corpus.source("s", ["一二三!", "四五六"])
    corpus.run('stages = ["shout"]\n[shout]\nmax_mark_ratio = 0.1')
    udf.write_text(SHOUT_UDF.replace('pc.count_substring(texts, "!")', 'pc.count_substring(texts, "?")'))
    os.utime(udf, ns=(1, 1))
    outcome = corpus.run(replace=True)
    why = ran(outcome)
    assert why["measures.shout"] == "changed: the code of shout_count"
    assert why["stages.shout"] == "changed: measures.shout"
    assert "measures.content" not in why
    assert outcome.written.manifest["n_docs"] == 2, "the old code ran"


def test_a_file_of_ones_own_replaces_a_built_in_one(tiny: Corpus):
    put(
        tiny,
        "sql/stages/gopher.sql",
        "-- gopher: only what has two words.\n--\n-- config: min_n_words | words\nselect\n    d.id as id,\n"
        '    {{ hits([low("n_words")]) }} as hits\nfrom {{ input }} as d\njoin measures.words using (id)\n'
        "join relations.languages using (id)\n",
    )
    said = Said()
    tiny.run('stages = ["gopher"]\n[gopher]\nmin_n_words = 2', report=said)
    assert said.lines[0] == "sql/stages/gopher.sql: yours replaces the built-in"
    told = json.loads((tiny.version / "_audit" / "build.json").read_text())
    assert told["replaced"] == ["sql/stages/gopher.sql"]
    assert told["relations"]["stages.gopher"]["layer"] == "yours"
    assert told["relations"]["measures.words"]["layer"] == "built-in"
    compiled = (tiny.version / "_audit" / "compiled" / "stages" / "gopher.sql").read_text()
    assert compiled.startswith("-- sql/stages/gopher.sql, yours, sha256 ")
    assert pq.read_table(tiny.version / "shard-00000-of-00001.parquet").column("id").to_pylist() == ["s:1", "s:2"]


def test_a_configs_key_of_another_stage_is_unknown(tiny: Corpus):
    put(tiny, "sql/stages/shout.sql", SHOUT_STAGE)
    tiny.configure('stages = ["shout"]\n[shout]\nmax_mark_rato = 1')
    with pytest.raises(CorpusError) as error:
        tiny.run()
    assert str(error.value) == (
        f"{tiny.config}:6: [shout] max_mark_rato: is not a known key\n    Did you mean max_mark_ratio?"
    )


def test_a_measure_that_nothing_reads_is_measured_all_the_same(tiny: Corpus):
    put(tiny, "udfs/shout.py", SHOUT_UDF)
    put(tiny, "sql/measures/shout.sql", SHOUT_MEASURE)
    tiny.run()
    assert pq.read_table(tiny.version / "_audit" / "measures" / "shout.parquet").num_rows == 3


# ------------------------------------------------------------------------------------------------ mistakes in them

HEAD = "-- mine: a stage.\n"
STAGE_MISTAKES = {
    "a relation that is none": (
        HEAD + "select d.id as id, {{ hits([]) }} as hits from {{ input }} as d join measures.word using (id)\n",
        "stages.mine: reads measures.word, which is no relation\n    Did you mean measures.words?",
    ),
    "a column that is none": (
        HEAD + "select d.id as id, {{ hits([reject('r', 'n_wrds = 1')]) }} as hits "
        "from {{ input }} as d join measures.words using (id)\n",
        'sql/stages/mine.sql (yours): SQL: Binder Error: Referenced column "n_wrds" not found in FROM clause!',
    ),
    "another column": (
        HEAD + "select d.id as id, 1 as hit from {{ input }} as d\n",
        'sql/stages/mine.sql (yours): SQL: Binder Error: Referenced column "hits" not found in FROM clause!',
    ),
    "no SQL": (
        HEAD + "select d.id as id,, hits from {{ input }} as d\n",
        'sql/stages/mine.sql, line 7 of the compiled SQL: syntax error at or near ","\n    Mend the model.',
    ),
    "an unknown name in the template": (
        HEAD + "select d.id as id, {{ hit([]) }} as hits from {{ input }} as d\n",
        "sql/stages/mine.sql: the template names something unknown: 'hit' is undefined\n"
        "    See the header of a built-in model for what a template may use.",
    ),
    "a template that does not close": (
        HEAD + "select d.id as id, {{ hits([]) as hits\nfrom {{ input }} as d\n",
        "sql/stages/mine.sql:2: the template does not parse: expected token 'end of print statement', got 'as'",
    ),
    "no header": (
        "select d.id as id from {{ input }} as d\n",
        "sql/stages/mine.sql:1: the file does not begin with its name and a sentence\n    Begin with `-- mine: …`.",
    ),
    "a misspelt key in the header": (
        HEAD + "-- confg: min_x | a minimum\nselect 1\n",
        "sql/stages/mine.sql:2: unknown header key 'confg'\n    Did you mean 'config'?",
    ),
    "itself as input": (
        HEAD + "select id, hits from stages.mine\n",
        "stages.mine: the models read each other in a circle: stages.mine -> stages.mine\n    Break the circle.",
    ),
    "a document twice": (
        HEAD + "select d.id as id, {{ hits([]) }} as hits from {{ input }} as d\n"
        "union all\nselect d.id as id, {{ hits([]) }} as hits from {{ input }} as d\n",
        "stages.mine: returned 6 rows for 3 documents, 0 with an unknown verdict\n"
        "    A stage returns each document of {{ input }} once.",
    ),
    "an unknown verdict": (
        HEAD
        + "select d.id as id, {{ hits([reject('r', 'true').replace(\"'verdict': 'reject'\", \"'verdict': 'drop'\")]) "
        "}} as hits "
        "from {{ input }} as d\n",
        "stages.mine: returned 3 rows for 3 documents, 3 with an unknown verdict\n"
        "    A stage returns each document of {{ input }} once.",
    ),
}


@pytest.mark.parametrize(("model", "message"), STAGE_MISTAKES.values(), ids=list(STAGE_MISTAKES))
def test_a_mistake_in_a_stage(tiny: Corpus, model: str, message: str):
    put(tiny, "sql/stages/mine.sql", model)
    tiny.configure('stages = ["mine"]')
    with pytest.raises(ModelError) as error:
        tiny.run()
    said = str(error.value)
    if "(yours): SQL" in message:  # the engine goes on to draw the place
        said = said.splitlines()[0]
    assert said == message
    assert not tiny.version.exists()


def test_a_stage_that_loses_documents_is_found_by_the_audit(tiny: Corpus):
    put(
        tiny,
        "sql/stages/mine.sql",
        HEAD + "select d.id as id, {{ hits([]) }} as hits from {{ input }} as d where d.id <> 's:1'\n",
    )
    tiny.configure('stages = ["mine"]')
    with pytest.raises(AuditError) as error:
        tiny.run()
    assert str(error.value).splitlines()[:2] == [
        "audit counts_balance: What enters a stage is kept, rejected, quarantined or blank. It is not so: "
        "seq=1, stage='mine', source_id='s', entered=3, kept=2, rejected=0, quarantined=0, blank=0; "
        "seq=1, stage='mine', source_id=None, entered=3, kept=2, rejected=0, quarantined=0, blank=0",
        "    Nothing was published.",
    ]
    assert list(tiny.version.parent.iterdir()) == []


def test_a_longer_circle(tiny: Corpus):
    for name, other in (("a", "b"), ("b", "c"), ("c", "a")):
        put(
            tiny,
            f"sql/measures/{name}.sql",
            f"-- {name}: one.\n-- column: id VARCHAR | d\nselect id from measures.{other}\n",
        )
    with pytest.raises(ModelError) as error:
        tiny.run()
    assert str(error.value) == (
        "measures.a: the models read each other in a circle: measures.a -> measures.b -> measures.c -> measures.a\n"
        "    Break the circle."
    )


MEASURE_MISTAKES = {
    "columns that are not those declared": (
        "-- mine: m.\n-- column: id VARCHAR | d\n-- column: n BIGINT | n\nselect id, k as m from read.documents\n",
        "measures.mine: declares the columns id, n but returns id, m\n"
        "    Make the `-- column:` lines and the select list agree, in order.",
    ),
    "no column declared": (
        "-- mine: m.\nselect id from read.documents\n",
        "sql/measures/mine.sql: no `-- column: name TYPE | meaning` line\n    Declare every column, in order.",
    ),
    "a column line of another form": (
        "-- mine: m.\n-- column: id VARCHAR | d\n-- column: n\nselect id, k as n from read.documents\n",
        "sql/measures/mine.sql: column line 'n' is not `name TYPE | meaning`",
    ),
}


@pytest.mark.parametrize(("model", "message"), MEASURE_MISTAKES.values(), ids=list(MEASURE_MISTAKES))
def test_a_mistake_in_a_measure(tiny: Corpus, model: str, message: str):
    put(tiny, "sql/measures/mine.sql", model)
    with pytest.raises(ModelError) as error:
        tiny.run()
    assert str(error.value) == message


def test_a_model_that_is_not_utf8(tiny: Corpus):
    put(tiny, "sql/measures/mine.sql", "").write_bytes(b"-- mine: \xff\n")
    with pytest.raises(ModelError) as error:
        tiny.run()
    assert str(error.value) == "sql/measures/mine.sql: byte 9 is not UTF-8\n    Save the file as UTF-8."


RETURNS = "return pc.utf8_length(texts).cast(pa.int64())"
UDF_MISTAKES = {
    "it raises": ("raise ValueError('no')", "ValueError: no at 'one'"),
    "it raises at one text": (
        "assert 'two words' not in texts.to_pylist()\n    " + RETURNS,
        "AssertionError:  at 'two words'",
    ),
    "another type": ("return pc.utf8_length(texts).cast(pa.int32())", "TypeError: returned int32, declared BIGINT"),
    "no array": ("return [1] * len(texts)", "TypeError: returned list, not a pyarrow Array"),
    "too few values": (RETURNS + ".slice(1)", "TypeError: returned 2 values for 3 rows"),
}


@pytest.mark.parametrize(("body", "message"), UDF_MISTAKES.values(), ids=list(UDF_MISTAKES))
def test_a_mistake_in_a_udf(tiny: Corpus, body: str, message: str):
    put(tiny, "udfs/bad.py", FAILING.replace("raise ValueError('no')", body))
    put(tiny, "sql/measures/mine.sql", measure("mine", "bad_count"))
    with pytest.raises(ModelError) as error:
        tiny.run()
    assert str(error.value) == (
        f"UDF bad_count (bad.py), called by sql/measures/mine.sql (yours): {message}\n"
        "    A UDF returns null for what it cannot measure; an exception is a fault of the UDF."
    )
    assert not tiny.version.exists()


STRUCT = 'returns="STRUCT(a BIGINT, b BIGINT)"'


def test_a_struct_with_a_misspelt_field(tiny: Corpus):
    """The engine alone would fill the declared field with null and say nothing."""
    text = FAILING.replace('returns="BIGINT"', STRUCT).replace(
        "raise ValueError('no')",
        "n = pc.utf8_length(texts).cast(pa.int64())\n    return pa.StructArray.from_arrays([n, n], names=['a', 'c'])",
    )
    put(tiny, "udfs/bad.py", text)
    put(tiny, "sql/measures/mine.sql", measure("mine", "bad_count", "STRUCT(a BIGINT, b BIGINT)"))
    with pytest.raises(ModelError) as error:
        tiny.run()
    assert "TypeError: returned struct<a: int64, c: int64>, declared STRUCT(a BIGINT, b BIGINT)" in str(error.value)


FILE_MISTAKES = {
    "a name without its family": (
        {"udfs/good.py": FAILING},
        "udfs/good.py: the UDF bad_count does not begin with the name of its file\n    Call it good_bad_count.",
    ),
    "a name twice": (
        {
            "udfs/bad.py": FAILING.replace("bad_count", "bad_words_count"),
            "udfs/bad_words.py": FAILING.replace("bad_count", "bad_words_count"),
        },
        "udfs/bad_words.py: the UDF bad_words_count is defined in bad.py as well\n    Rename one of the two.",
    ),
}


@pytest.mark.parametrize(("texts", "message"), FILE_MISTAKES.values(), ids=list(FILE_MISTAKES))
def test_a_mistake_in_the_names(tiny: Corpus, texts: dict[str, str], message: str):
    for path, text in texts.items():
        put(tiny, path, text)
    with pytest.raises(ModelError) as error:
        tiny.run()
    assert str(error.value) == message


def test_a_udf_with_a_type_that_is_none(tiny: Corpus):
    put(tiny, "udfs/bad.py", FAILING.replace('returns="BIGINT"', 'returns="BIGNT"'))
    put(tiny, "sql/measures/mine.sql", measure("mine", "bad_count"))
    with pytest.raises(ModelError) as error:
        tiny.run()
    assert (
        str(error.value) == "UDF bad_count (bad.py): returns BIGNT: Catalog Error: Type with name BIGNT does not exist!"
    )


def test_a_udf_file_that_does_not_load(tiny: Corpus):
    path = put(tiny, "udfs/bad.py", "import nowhere_to_be_found\n")
    with pytest.raises(ModelError) as error:
        tiny.run()
    assert str(error.value) == (
        f"{path}: cannot be loaded: ModuleNotFoundError: No module named 'nowhere_to_be_found'\n"
        "    Mend or remove the file."
    )


def test_all_headers_are_judged_at_once(tiny: Corpus):
    put(tiny, "sql/measures/a.sql", "select 1\n")
    put(tiny, "sql/stages/B.sql", "-- B: b.\nselect 1\n")
    with pytest.raises(ModelError) as error:
        tiny.run()
    assert [problem.where for problem in error.value.problems] == [
        "sql/measures/a.sql:1",
        "sql/measures/a.sql",
        "sql/stages/B.sql",
    ]
