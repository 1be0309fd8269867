"""The models that make a build keep to SQL that runs on Spark as it does on DuckDB; `lint_sql` says what that is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is not installed: the lint of the SQL models was skipped")

import lint_sql  # noqa: E402

from corpus_sql import input_files, planning  # noqa: E402
from corpus_sql.compile import Compiled, Compiler  # noqa: E402
from corpus_sql.functions import Udf  # noqa: E402
from corpus_sql.model import BUILDS  # noqa: E402
from corpus_sql.project import Project, builtin, open_project  # noqa: E402
from corpus_sql.publish import EXPORTS  # noqa: E402

ARROW = {
    "string": "VARCHAR",
    "large_string": "VARCHAR",
    "int64": "BIGINT",
    "int32": "INTEGER",
    "binary": "BLOB",
    "bool": "BOOLEAN",
}
READ = {
    name: tuple((f.name, "VARCHAR[]" if str(f.type).startswith("list") else ARROW[str(f.type)]) for f in shape)
    for name, shape in planning.SHAPES.items()
}
STAGES = sorted(path.stem for path in (builtin() / "sql" / "stages").glob("*.sql"))
AGAINST = 'against = ["v0"]\n'
VARIANTS = {
    "no stages": ([], "content_hash", True, ""),
    "all stages": (STAGES, "content_hash", True, ""),
    "all stages, split by groups": (STAGES, "group_hash", True, ""),
    "all stages against an earlier build, strata": (
        STAGES,
        "group_hash",
        True,
        f'stratify = ["lang"]\n{AGAINST}[exact_dedup]\n{AGAINST}[near_dedup]\n{AGAINST}',
    ),
    "no stages, split by groups, no rejected text": ([], "group_hash", False, ""),
}


def project(folder: Path, stages: list[str], method: str, text: bool, more: str) -> Project:
    (folder / "items.jsonl").write_text('{"id": "item-1", "text": "seven words that nobody may train on"}\n')
    (folder / "corpus.toml").write_text(
        f'dataset = "t"\nversion = "v1"\nsources = ["s"]\nstages = {json.dumps(stages)}\n'
        f'keep_rejected_text = {str(text).lower()}\n[split]\nmethod = "{method}"\n{more}[lang]\nkeep = ["zh", "en"]\n'
        '[decontaminate]\nprotected = ["items.jsonl"]\n'
    )
    return open_project(folder / "corpus.toml")


@pytest.fixture(params=VARIANTS.values(), ids=list(VARIANTS), scope="module")
def rendered(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Project, list[Compiled]]:
    """The models compiled for one config: those it needs, and with all stages listed every one there is."""
    one = project(tmp_path_factory.mktemp("project"), *request.param)
    files = input_files.of(one.config)
    if not one.config.stages:
        return one, planning.compile_all(one, files)[0]
    compiler = Compiler(one, planning.settings(one.config)[0], files)
    return one, [compiler.compile(model) for model in one.models.values() if model.folder in BUILDS]


def test_every_model_is_in_the_portable_subset(rendered):
    project, models = rendered
    relations = READ | {model.name: model.columns for model in project.models.values()}
    leaves = {f"outputs.{name}" for name in (*EXPORTS, "shards")} - {name for one in models for name in one.inputs}
    found = []
    for one in models:
        found += lint_sql.faults(
            one.sql,
            f"sql/{one.model.folder}/{one.model.stem}.sql",
            udfs=project.udfs,
            relations=relations,
            stored=one.name not in leaves,
            ordered=one.stream is not None,
        )
        found += lint_sql.wrong_types(one.name, [kind for _, kind in one.model.columns])
    assert "\n".join(found) == ""


def test_every_model_translates_to_spark(rendered):
    for one in rendered[1]:
        columns = () if one.stream else one.model.columns[: -1 if one.model.number else None]
        spark = sqlglot.parse_one(lint_sql.to_spark(one.sql, columns), dialect="spark")
        if columns:
            assert spark.named_selects == [name for name, _ in columns], one.name
        assert [table.db for table in spark.find_all(sqlglot.exp.Table) if table.db] == [], one.name


def test_no_udf_takes_or_returns_an_unsigned_type(rendered):
    found = []
    for one in rendered[0].udfs.values():
        kinds = [*one.args, one.returns] if isinstance(one, Udf) else [kind for _, kind in one.returns]
        found += lint_sql.wrong_types(f"UDF {one.name}", kinds)
    assert "\n".join(found) == ""


# ---------------------------------------------------------------------------------------------- the lint itself

RELATIONS = {
    "read.documents": READ["read.documents"],
    "measures.words": (("id", "VARCHAR"), ("n_words", "BIGINT"), ("ratio", "DOUBLE")),
}
OUTSIDE = "is outside the portable subset. Instead: "
UDF_PLACE = "Instead: call it in a select list of a stored model, and filter in the next"
FORBIDDEN = [
    # columns
    ("select * from read.documents", "* names no columns. Instead: name every column"),
    ("from read.documents", "* names no columns. Instead: name every column"),
    ("select * exclude (text) from read.documents", "* EXCLUDE (text) names no columns. Instead: name every column"),
    ("select id, k + 1 from read.documents", "k + 1 has no name. Instead: `... as name` for every computed column"),
    ('select k as "Place" from read.documents', '"Place" is no snake_case name. Instead: a-z, 0-9 and _'),
    (
        "select k as documents from read.documents",
        "documents is the name of a column and of a table. Instead: another name for one of the two",
    ),
    (
        "select k + 1 as after, after + 1 as later from read.documents",
        "after is an alias of the same SELECT. Instead: compute it one level below",
    ),
    # tables
    (
        "select id from (select id from read.documents)",
        "SELECT id FROM read.documents has no name as a table. Instead: `(select ...) as name`",
    ),
    ("select id from read.document", "read.document is no relation of this build. Instead: a model or read.documents"),
    (
        "select id from documents",
        "documents is neither a relation with its folder nor named in WITH. Instead: <folder>.<name>",
    ),
    ("drop table read.documents", "is not one SELECT. Instead: one SELECT a model"),
    ("select id from read.documents; select 1 as n", "is not one SELECT. Instead: one SELECT a model"),
    ("select id from", "does not parse: ParseError. Instead: plain SELECT, JOIN, GROUP BY, UNION ALL"),
    # rows that depend on the run
    (
        "select id, any_value(text) as text from read.documents group by id",
        f"ANY_VALUE(text) {OUTSIDE}min(x), or row_number() over (partition by ... order by ..., id) = 1",
    ),
    (
        "select arg_max(text, k) as text from read.documents group by id",
        f"ARG_MAX(text, k) {OUTSIDE}min(x), or row_number() over (partition by ... order by ..., id) = 1",
    ),
    (
        "select list(id order by k) as ids from read.documents group by text",
        "ARRAY_AGG(id ORDER BY k) loses its ORDER BY in the translation. Instead: "
        "list_sort(list({'k': key, 'x': value}))",
    ),
    (
        "select list(id) as ids from read.documents group by text",
        "ARRAY_AGG(id) has an order that depends on the run. Instead: list_sort(list(...))",
    ),
    (
        "select sum(ratio) as total from measures.words group by id",
        "SUM(ratio) depends on the order of addition. Instead: integers, such as parts per million",
    ),
    (
        "select avg(n_words) as mean from measures.words group by id",
        f"AVG(n_words) {OUTSIDE}sum and count of integers, divided by the reader",
    ),
    ("select hash(id) as h from read.documents", f"HASH(id) {OUTSIDE}a hash UDF: the same for every run and engine"),
    ("select random() as r from read.documents", f"RANDOM() {OUTSIDE}a hash UDF: the same for every run and engine"),
    ("select now() as t from read.documents", f"NOW() {OUTSIDE}no clock: two runs would differ"),
    (
        "select id from read.documents using sample 10",
        f"TABLESAMPLE RESERVOIR (10 ROWS) {OUTSIDE}a hash UDF and a threshold",
    ),
    (
        "select id from read.documents limit 10",
        f"LIMIT 10 {OUTSIDE}row_number() over (partition by ... order by ..., id) and a threshold",
    ),
    (
        "select id from read.documents order by id",
        "ORDER BY id orders rows that stay in the engine. Instead: leave it out: a relation has no order",
    ),
    (
        "select row_number() over (partition by text) as n from read.documents",
        "ROW_NUMBER() OVER (PARTITION BY text) has no order. Instead: a window with a total order",
    ),
    (
        "select row_number() over (order by id) as n from read.documents",
        "ROW_NUMBER() OVER (ORDER BY id) needs all rows on one machine. Instead: `-- number: <column>` in the header: "
        "the engine numbers the rows",
    ),
    # text
    (
        "select id from read.documents where regexp_matches(text, 'a')",
        f"REGEXP_MATCHES(text, 'a') {OUTSIDE}like, or a UDF: regular expressions differ in lines, classes and Unicode",
    ),
    ("select id from read.documents where text similar to 'a'", f"text SIMILAR TO 'a' {OUTSIDE}like"),
    ("select id from read.documents where text glob 'a*'", f"text GLOB 'a*' {OUTSIDE}like"),
    (
        "select lower(text) as text from read.documents",
        f"LOWER(text) {OUTSIDE}a UDF: Unicode tables and white space differ",
    ),
    (
        "select trim(text) as text from read.documents",
        f"TRIM(text) {OUTSIDE}a UDF: Unicode tables and white space differ",
    ),
    ("select nfc_normalize(text) as text from read.documents", f"NFC_NORMALIZE(text) {OUTSIDE}measure it in a UDF"),
    (
        "select text collate nocase as text from read.documents",
        f"text COLLATE nocase {OUTSIDE}no collation: text compares by its UTF-8 bytes",
    ),
    (
        "select strptime(text, '%Y') as year from read.documents",
        f"STRPTIME(text, '%Y') {OUTSIDE}keep times as checked text",
    ),
    # lists
    (
        "select len(parent_ids) as n from read.documents",
        "LENGTH(parent_ids) takes text alone on Spark. Instead: array_length(list)",
    ),
    (
        "select parent_ids[-1] as last_parent from read.documents",
        "parent_ids[-1] is no plain place in a list. Instead: l[1], or a UDF over lists",
    ),
    (
        "select list_distinct(parent_ids) as ids from read.documents",
        f"LIST_DISTINCT(parent_ids) {OUTSIDE}unnest and group, or a UDF over lists",
    ),
    (
        "select [x for x in parent_ids] as ids from read.documents",
        f"x FOR x IN parent_ids {OUTSIDE}list_transform and list_filter with a lambda of one argument",
    ),
    (
        "select list_transform(parent_ids, lambda x, i: i) as ids from read.documents",
        "LAMBDA x, i : i takes an index, which counts from 0 on Spark. Instead: a lambda of one argument",
    ),
    (
        "select unnest(parent_ids) as a, unnest(parent_ids) as b from read.documents",
        "select unnests two lists at once. Instead: one unnest in a subquery",
    ),
    (
        "select coalesce(unnest(parent_ids), '') as parent from read.documents",
        "UNNEST(parent_ids) stands inside an expression. Instead: unnest(list) as x, alone in a select list",
    ),
    ("select map {'a': k} as m from read.documents", f"MAP {{'a': k}} {OUTSIDE}a list of structs"),
    # numbers and types
    ("select n_words / ratio as x from measures.words", "n_words / ratio may divide by 0. Instead: x / nullif(y, 0)"),
    (
        "select id from measures.words where ratio > 0.5",
        "0.5 is a DECIMAL on one engine and a DOUBLE on the other. Instead: cast(0.5 as double)",
    ),
    (
        "select cast(ratio as integer) as x from measures.words",
        "CAST(ratio AS INT) casts a DOUBLE, which one engine rounds and the other cuts. Instead: "
        "integers from the start",
    ),
    (
        "select cast(ratio as varchar) as x from measures.words",
        "CAST(ratio AS TEXT) casts to text what may be a DOUBLE. Instead: an integer expression "
        "with // or count, or format "
        "it in Python",
    ),
    (
        "select cast(text as double) as x from read.documents",
        "CAST(text AS DOUBLE) casts text. Instead: parse it in a UDF",
    ),
    (
        "select try_cast(text as double) as x from read.documents",
        f"TRY_CAST(text AS DOUBLE) {OUTSIDE}parse text in a UDF",
    ),
    (
        "select cast(text as blob) as x from read.documents",
        "CAST(text AS BLOB) casts to bytes, where the engines read the text differently. Instead: encode() or unhex()",
    ),
    (
        "select cast(k as ubigint) as x from read.documents",
        "UBIGINT is no portable type. Instead: BOOLEAN, INTEGER, BIGINT, DOUBLE, VARCHAR, BLOB, "
        "DATE, TIMESTAMP, lists and "
        "structs of them",
    ),
    (
        "select case when k = 1 then null else k end as x from read.documents",
        "NULL has no type. Instead: cast(null as <type>)",
    ),
    ("select k << 2 as x from read.documents", f"k << 2 {OUTSIDE}a UDF: bits shifted out differ"),
    # other ways to join, group and repeat
    (
        "select count(*) as n from read.documents group by all",
        "GROUP BY ALL groups by whatever is selected. Instead: group by names",
    ),
    (
        "select count(*) as n from read.documents group by 1",
        "GROUP BY 1 groups by a number or an expression. Instead: group by the name of a column, "
        "computed one level below",
    ),
    (
        "select id from read.documents asof join measures.words using (id, k)",
        "ASOF JOIN measures.words USING (id, k) is no join of plain SQL. Instead: join on equal keys",
    ),
    (
        "select id from read.documents union all by name select id from measures.words",
        "SELECT id FROM read.documents UNION ALL BY NAME SELECT id... matches columns by name. "
        "Instead: name the columns in "
        "the same order",
    ),
    (
        "with recursive t as (select 1 as n union all select n + 1 as n from t) select n from t",
        "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1... is recursive. Instead: a streamed UDF, as "
        "relations.components",
    ),
    # UDFs
    ("select id from read.documents where words_measure(text) > 1", f"words_measure() is called in WHERE. {UDF_PLACE}"),
    (
        "select case when k > 1 then words_measure(text) end as n from read.documents",
        f"words_measure() is called in CASE. {UDF_PLACE}",
    ),
    (
        "select d.id from read.documents as d join measures.words as w on words_measure(d.text) = w.n_words",
        f"words_measure() is called in ON. {UDF_PLACE}",
    ),
    (
        "select max(words_measure(text)) as n from read.documents group by id",
        f"words_measure() is called in an aggregate. {UDF_PLACE}",
    ),
    (
        "select id from (select id, words_measure(text) as n from read.documents) as counted where n > 1",
        f"words_measure() is called in a subquery that is filtered or grouped, which calls it again. {UDF_PLACE}",
    ),
    (
        "with counted as (select id, words_measure(text) as n from read.documents) select id from counted where n > 1",
        f"words_measure() is called in a subquery that is filtered or grouped, which calls it again. {UDF_PLACE}",
    ),
]


@pytest.mark.parametrize(("sql", "message"), FORBIDDEN, ids=[sql[:50] for sql, _ in FORBIDDEN])
def test_what_is_forbidden_is_found_and_told(sql: str, message: str):
    found = lint_sql.faults(sql, "sql/x/y.sql", udfs=["words_measure"], relations=RELATIONS)

    assert found == [f"sql/x/y.sql: {message}"]


ALLOWED = {
    "a filter before a UDF": "select id, words_measure(text) as n from read.documents where k > 1",
    "fields of a UDF's result": (
        "select id, counted.n.a as a, counted.n.b / nullif(counted.n.a, 0) as ratio "
        "from (select id, words_measure(text) as n from read.documents) as counted"
    ),
    "the first of a list": "select parent_ids[1] as first_parent, {'a': k} as pair from read.documents",
    "one unnest": "select id, unnest(parent_ids) as parent from read.documents",
    "a rank in each group": (
        "select id from read.documents qualify row_number() over (partition by text order by k, id) = 1"
    ),
    "null-safe comparison": "select length(text) as n from read.documents where k is not distinct from 3",
    "exists": (
        "select id from read.documents "
        "where exists (select 1 from measures.words where measures.words.id = read.documents.id)"
    ),
    "a semi join": "select id from read.documents semi join measures.words using (id)",
    "a count with a filter": "select count(*) filter (where k = 1) as n from read.documents",
    "a whole number as text": "select lpad(cast(k // 10 as varchar), 5, '0') as shard from read.documents",
    "an ordered list": "select list_sort(list({'k': k, 'id': id})) as ids from read.documents group by text",
}


@pytest.mark.parametrize("sql", ALLOWED.values(), ids=list(ALLOWED))
def test_what_is_allowed_passes_and_translates(sql: str):
    assert lint_sql.faults(sql, "sql/x/y.sql", udfs=["words_measure"], relations=RELATIONS) == []
    assert lint_sql.to_spark(sql)


def test_a_udf_in_a_model_that_is_never_stored():
    found = lint_sql.faults(
        "select id, words_measure(text) as n from read.documents", "m.sql", udfs=["words_measure"], stored=False
    )
    assert found == [f"m.sql: words_measure() is called in a model that is never stored. {UDF_PLACE}"]


def test_rows_that_leave_the_engine_may_be_ordered():
    assert lint_sql.faults("select id from read.documents order by id", "m.sql", ordered=True) == []


def test_the_four_rewrites():
    sql = "select hits[1].reason as reason, x // 2 as half from near_dedup.pairs as p"
    assert (
        lint_sql.to_spark(sql, (("reason", "VARCHAR"), ("half", "BIGINT"))).split()
        == (
            "SELECT CAST(`reason` AS STRING) AS `reason`, CAST(`half` AS BIGINT) AS `half` FROM ( "
            "SELECT TRY_ELEMENT_AT(hits, 1).reason AS reason, x DIV 2 AS half FROM near_dedup__pairs AS p ) AS model"
        ).split()
    )
    with pytest.raises(ValueError, match="^ARRAY_AGG\\(id ORDER BY k\\): the translation drops its ORDER BY$"):
        lint_sql.to_spark("select list(id order by k) as ids from read.documents")
