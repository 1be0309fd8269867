"""A model gives the same rows every time: what would not, or reads what lies outside the build, is refused by name."""

from __future__ import annotations

import pytest
from conftest import Corpus

from corpus_sql import checking
from corpus_sql.errors import ModelError
from corpus_sql.parsed import parse

CALL = "A build is the same every time: name the value in the config, or let a UDF compute it from the text."
READ = "Bring the data in with corpus-sql import, or put a short list into the config."
SAMPLE = "Take a share by the hash of the text: where content_hash64 % 100 = 0, of measures.content."

REFUSED = {
    # the clock
    "select now() as t from read.documents": ("now", "calls now(), which differs between two runs", CALL),
    "select current_date as t from read.documents": (
        *("current_date", "calls current_date, which differs between two runs", CALL),
    ),
    "select current_date as current_date from read.documents": (
        *("current_date", "calls current_date, which differs between two runs", CALL),
    ),
    "select age(cast('2020-01-01' as date)) as t from read.documents": (
        *("age", "calls age(), which differs between two runs", CALL),
    ),
    "select ago(interval 1 day) as t from read.documents": (
        *("ago", "calls ago(), which differs between two runs", CALL),
    ),
    # chance
    "select id from read.documents where random() < 0.5": (
        *("random", "calls random(), which differs between two runs", CALL),
    ),
    "select list_transform([1], lambda x: x + RANDOM()) as t from read.documents": (
        *("random", "calls random(), which differs between two runs", CALL),
    ),
    "select gen_random_uuid() as t from read.documents": (
        *("gen_random_uuid", "calls gen_random_uuid(), which differs between two runs", CALL),
    ),
    "select id from read.documents using sample 5": (
        *("sample", "draws a sample, which differs between two runs", SAMPLE),
    ),
    "select id from read.documents tablesample 10%": (
        *("sample", "draws a sample, which differs between two runs", SAMPLE),
    ),
    "select reservoir_quantile(k, 0.5) as t from read.documents": (
        *("reservoir_quantile", "calls reservoir_quantile(), which differs between two runs", CALL),
    ),
    # the session and the machine
    "select current_setting('threads') as t from read.documents": (
        *("current_setting", "calls current_setting(), which differs between two runs", CALL),
    ),
    "select nextval('s') as t from read.documents": (
        *("nextval", "calls nextval(), which differs between two runs", CALL),
    ),
    "select user from read.documents": ("user", "calls user, which differs between two runs", CALL),
    # files, and what else is outside
    "select * from read_csv('x.csv')": ("read_csv", "calls read_csv(), which reads what lies outside the build", READ),
    "select * from read_parquet('x')": (
        *("read_parquet", "calls read_parquet(), which reads what lies outside the build", READ),
    ),
    "select * from glob('*')": ("glob", "calls glob(), which reads what lies outside the build", READ),
    "select * from duckdb_settings()": (
        *("duckdb_settings", "calls duckdb_settings(), which reads what lies outside the build", READ),
    ),
    "select id from read.documents where id in (select id from 'x.csv')": (
        *("x.csv", "reads x.csv, which is neither a relation, <folder>.<name>, nor named in WITH", READ),
    ),
    "select * from 'x.parquet' as \"x.parquet\"": (
        *("x.parquet", "reads x.parquet, which is neither a relation, <folder>.<name>, nor named in WITH", READ),
    ),
    "select * from documents": (
        *("documents", "reads documents, which is neither a relation, <folder>.<name>, nor named in WITH", READ),
    ),
    "select * from work.read.documents": ("documents", "reads work.read.documents, which is no relation", READ),
}
ALLOWED = [
    "with own as (select id from read.documents) select id from own",
    "select age(a, b) as t, date_trunc('day', a) as u, strftime(a, '%Y') as v from read.documents",
    "select n from (select unnest([1, 2]) as n) as numbers, range(3), (values (1)) as t",
    "select 1 as user, user from read.documents",
    "select list_sort([1]), array_append([1], 2), x + 1, hash(id), median(k) from read.documents",
    "select words_measure(text) from read.documents",
    "select 'now()' as t, \"random\" from read.documents -- random()",
]


@pytest.mark.parametrize(("sql", "expected"), REFUSED.items(), ids=list(REFUSED))
def test_what_is_not_the_same_every_time(sql: str, expected: tuple):
    assert parse(sql, "m.sql").outside == (expected,)


@pytest.mark.parametrize("sql", ALLOWED)
def test_what_is(sql: str):
    assert parse(sql, "m.sql").outside == ()


def test_a_column_of_that_name_is_none_of_the_engine_s_functions():
    assert parse("select user from measures.x", "m.sql", {"user"}).outside == ()


MODEL = """\
-- odd: numbers of chance.
--
-- Not now(), and not random().
-- column: id VARCHAR | the document
-- column: number DOUBLE | chance
-- column: day DATE | today
select
    id,
    random() as number,
    current_date as day
from read.documents
"""


@pytest.fixture
def odd(corpus: Corpus) -> Corpus:
    corpus.source("s", ["one"])
    path = corpus.folder / "sql" / "measures" / "odd.sql"
    path.parent.mkdir(parents=True)
    path.write_text(MODEL)
    corpus.configure()
    return corpus


PROBLEMS = (
    f"sql/measures/odd.sql:10: calls current_date, which differs between two runs\n    {CALL}\n"
    f"sql/measures/odd.sql:9: calls random(), which differs between two runs\n    {CALL}"
)


def test_check_refuses_a_model_with_file_and_line(odd: Corpus):
    assert "\n".join(map(str, checking.check(odd.config).problems)) == PROBLEMS


def test_run_refuses_it_before_anything_is_read(odd: Corpus):
    with pytest.raises(ModelError) as error:
        odd.run()
    assert str(error.value) == PROBLEMS


def test_audits_may_use_all_of_it(corpus: Corpus):
    corpus.source("s", ["one"])
    path = corpus.folder / "sql" / "audits" / "late.sql"
    path.parent.mkdir(parents=True)
    path.write_text(
        "-- late: No document is from the future.\nselect id from documents where fetched_at > 'Z' || now()\n"
    )
    assert corpus.run("stages = []").status == "published"
