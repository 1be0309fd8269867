"""A lint for the portable subset: what the models of a build may use, so that the same files can run on Spark later.

`faults(sql, where, ...)` parses one rendered model with sqlglot and compares every node, function and type with short
allow-lists; each finding is one line: file, what, and what to write instead. `to_spark` is the translation itself, with
the four rewrites it needs; it raises where sqlglot would lose something without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

Columns = tuple[tuple[str, str], ...]

# what needs no second look; the names are sqlglot's
NODES = frozenset(
    """
    Identifier Column Alias Literal DataType PropertyEQ Cast Table Null Select From TableAlias If Join ColumnDef Case
    Struct EQ NEQ GT GTE LT LTE Where Div IntDiv Mod Add Sub Mul Neg Paren Subquery Union Except Intersect CTE With
    Group Having Filter Not Dot Bracket Is NullSafeEQ NullSafeNEQ Star
    Array DPipe And Or Window Ordered Order Boolean In
    Between Distinct Like Escape Exists IgnoreNulls Lambda BitwiseAnd BitwiseOr BitwiseNot BitwiseRightShift
    Qualify Var WindowSpec
    """.split()
)
FUNCTIONS = frozenset(
    """
    Abs ArrayAgg ArrayFilter ArrayMax ArrayMin ArraySize ArraySort Case Cast Coalesce Concat Contains Count Encode
    EndsWith
    Explode
    Flatten Greatest Hex If Lag Lead Least Left Length Max MD5 Min Nullif Pad Rank Repeat Replace Right
    RowNumber SHA2
    SplitPart StartsWith Substring Sum Transform Unhex Exists And Or Array Struct DenseRank
    """.split()
)
TYPES = frozenset("BOOLEAN INT BIGINT DOUBLE TEXT VARBINARY DATE TIMESTAMP TIMESTAMPNTZ ARRAY STRUCT".split())

OUR_UDFS = "measure it in a UDF"
INSTEAD = {
    **dict.fromkeys(
        ("AnyValue", "First", "Last", "ArgMax", "ArgMin", "any_value", "first", "last", "arg_min", "arg_max", "mode"),
        "min(x), or row_number() over (partition by ... order by ..., id) = 1",
    ),
    **dict.fromkeys(
        ("RegexpLike", "RegexpFullMatch", "RegexpReplace", "RegexpExtract", "RegexpExtractAll", "RegexpSplit"),
        "like, or a UDF: regular expressions differ in lines, classes and Unicode",
    ),
    **dict.fromkeys(
        ("Lower", "Upper", "Trim", "Reverse", "Unicode", "Chr", "Normalize", "Format", "ILike", "Initcap"),
        "a UDF: Unicode tables and white space differ",
    ),
    **dict.fromkeys(
        (
            "StrToTime",
            "TimeToStr",
            "epoch",
            "TimestampTrunc",
            "DateTrunc",
            "Extract",
            "CurrentTimestamp",
            "CurrentDate",
            "Interval",
        ),
        "keep times as checked text",
    ),
    **dict.fromkeys(
        ("Avg", "Stddev", "Variance", "Median", "Quantile"), "sum and count of integers, divided by the reader"
    ),
    **dict.fromkeys(
        ("ArrayDistinct", "ArrayConcat", "ArrayContains", "ArrayPosition", "ArraySlice", "list_reduce", "list_zip"),
        "unnest and group, or a UDF over lists",
    ),
    **dict.fromkeys(("Rand", "hash", "Uuid"), "a hash UDF: the same for every run and engine"),
    **dict.fromkeys(("Round", "Floor", "Ceil", "Sign", "Sqrt", "Ln", "Log", "Exp", "Pow"), OUR_UDFS),
    "RowNumber": "`-- number: <column>` in the header: the engine numbers the rows",
    "Unnest": "unnest(list) as the only one of its kind in a select list",
    "BitwiseLeftShift": "a UDF: bits shifted out differ",
    "BitwiseXor": "a UDF",
    "Tuple": "compare the columns one by one with and / or",
    "Slice": "substr, or a UDF",
    "Collate": "no collation: text compares by its UTF-8 bytes",
    "SimilarTo": "like",
    "Glob": "like",
    "TryCast": "parse text in a UDF",
    "Pivot": "sum(...) filter (where ...)",
    "TableSample": "a hash UDF and a threshold",
    "Limit": "row_number() over (partition by ... order by ..., id) and a threshold",
    "Map": "a list of structs",
    "ToMap": "a list of structs",
    "now": "no clock: two runs would differ",
    "Comprehension": "list_transform and list_filter with a lambda of one argument",
    "Lateral": "a subquery with unnest in its select list",
    "Values": "select ... union all select ...",
}
_SNAKE = re.compile(r"[a-z_][a-z0-9_]*")
_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
_ORDERED = (*_RANKS, exp.Lag, exp.Lead)


def faults(
    sql: str,
    where: str,
    *,
    udfs: Iterable[str] = (),
    relations: Mapping[str, Columns] | None = None,
    stored: bool = True,
    ordered: bool = False,
) -> list[str]:
    """Return everything in a rendered model that is outside the portable subset, one line each.

    udfs: names of UDFs. relations: relation -> its columns; None: any relation is taken as known. stored: the model is
    materialised, so that it may call a UDF. ordered: its rows leave the engine, so that it may end with an ORDER BY.
    """
    try:
        trees = sqlglot.parse(sql, dialect="duckdb")
    except SqlglotError as error:
        return [f"{where}: does not parse: {type(error).__name__}. Instead: plain SELECT, JOIN, GROUP BY, UNION ALL"]
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        return [f"{where}: is not one SELECT. Instead: one SELECT a model"]
    tree, names, kinds = trees[0], frozenset(udfs), _kinds(trees[0], relations or {})
    found: dict[str, None] = {}  # in order, each once

    def say(node: exp.Expression | str, what: str, instead: str) -> None:
        text = node if isinstance(node, str) else node.sql(dialect="duckdb", comments=False)
        text = text if len(text) <= 60 else text[:57] + "..."
        found.setdefault(f"{where}: {text} {what}. Instead: {instead}")

    for node in tree.walk(bfs=False):
        for what, instead in _wrong(node, names, kinds):
            say(node, what, instead)
        if isinstance(node, exp.Select):
            for text, what, instead in _wrong_select(node, relations):
                say(text, what, instead)
        if isinstance(node, exp.Order) and not isinstance(node.parent, exp.Window):
            if isinstance(node.parent, exp.Query) and not (ordered and node.parent is tree):
                say(node, "orders rows that stay in the engine", "leave it out: a relation has no order")
        if isinstance(node, exp.Anonymous) and node.name in names:
            place = _place_of_udf(node)
            if not stored:
                place = "a model that is never stored"
            if place:
                say(
                    f"{node.name}()",
                    f"is called in {place}",
                    "call it in a select list of a stored model, and filter in the next",
                )
    return list(found)


def _wrong(node: exp.Expression, udfs: frozenset[str], kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (what is wrong, what to write instead) of one node, seen with its parent."""
    kind, parent = type(node).__name__, node.parent
    if isinstance(parent, (exp.DataType, exp.DataTypeParam)) and not isinstance(node, exp.DataType):
        return  # the 10 of DECIMAL(10, 2): the type is judged whole
    outside = "is outside the portable subset"
    if isinstance(node, exp.DataType):
        if node.this.name not in TYPES or node.args.get("values"):
            yield (
                "is no portable type",
                "BOOLEAN, INTEGER, BIGINT, DOUBLE, VARCHAR, BLOB, DATE, TIMESTAMP, lists and structs of them",
            )
        return
    if isinstance(node, exp.Anonymous):
        if node.name.lower() not in udfs:
            yield outside, INSTEAD.get(node.name.lower(), OUR_UDFS)
        return
    if kind not in (FUNCTIONS if isinstance(node, exp.Func) else NODES):
        yield (
            outside,
            INSTEAD.get(kind, OUR_UDFS if isinstance(node, exp.Func) else "plain SELECT, JOIN, GROUP BY, UNION ALL"),
        )
        return
    if isinstance(node, (exp.Div, exp.Mod, exp.IntDiv)):
        right = node.expression.unnest()
        if not isinstance(right, exp.Nullif) and not (isinstance(right, exp.Literal) and float(right.this) != 0):
            yield "may divide by 0", "x / nullif(y, 0)"
    if isinstance(node, exp.Literal) and not node.is_string and not node.this.isdigit():
        if not (isinstance(parent, exp.Cast) and parent.to.this == exp.DataType.Type.DOUBLE):
            yield "is a DECIMAL on one engine and a DOUBLE on the other", f"cast({node.this} as double)"
    if isinstance(node, exp.Null) and not isinstance(parent, (exp.Cast, exp.Is)):
        yield "has no type", "cast(null as <type>)"
    if isinstance(node, exp.Cast):
        yield from _wrong_cast(node, kinds)
    if isinstance(node, exp.Star) and not isinstance(parent, exp.Count):
        yield "names no columns", "name every column"
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        yield "names no columns", "name every column"
    if isinstance(node, exp.ArrayAgg):
        if node.find(exp.Order):
            yield "loses its ORDER BY in the translation", "list_sort(list({'k': key, 'x': value}))"
        elif not isinstance(parent, exp.ArraySort):
            yield "has an order that depends on the run", "list_sort(list(...))"
    if isinstance(node, exp.Sum) and _kind(node.this, kinds) == "double":
        yield "depends on the order of addition", "integers, such as parts per million"
    if isinstance(node, exp.Length) and _kind(node.this, kinds) == "list":
        yield "takes text alone on Spark", "array_length(list)"
    if isinstance(node, exp.Bracket) and _kind(node.this, kinds) == "text":
        yield "takes a letter out of a text", "substr(text, 1, 1)"
    if isinstance(node, (exp.Min, exp.Max)) and node.find(exp.Order):
        yield outside, INSTEAD["any_value"]
    if isinstance(node, exp.Lambda) and len(node.expressions) != 1:
        yield "takes an index, which counts from 0 on Spark", "a lambda of one argument"
    if isinstance(node, exp.Bracket):
        (index, *more) = node.expressions
        if more or not isinstance(index, exp.Literal) or index.is_string or int(index.this) < 0:
            yield "is no plain place in a list", "l[1], or a UDF over lists"
    if isinstance(node, exp.Explode):
        alias = parent if isinstance(parent, exp.Alias) else None
        if not alias or not isinstance(alias.parent, exp.Select) or alias.arg_key != "expressions":
            yield "stands inside an expression", "unnest(list) as x, alone in a select list"
        if node.find(exp.AggFunc):
            yield "unnests an aggregate", "aggregate one level below"
    if isinstance(node, exp.Window):
        order = node.args.get("order")
        if isinstance(node.this, _ORDERED) and not order:
            yield "has no order", "a window with a total order"
        if isinstance(node.this, _ORDERED) and not node.args.get("partition_by"):
            yield "needs all rows on one machine", INSTEAD["RowNumber"]
    if isinstance(node, exp.In) and isinstance(node.this, exp.Tuple):
        yield outside, INSTEAD["Tuple"]
    if isinstance(node, exp.CTE) and node.args.get("materialized") is not None:
        yield "is hinted as materialized", "a model of its own: every model is stored"
    if isinstance(node, exp.With) and node.args.get("recursive"):
        yield "is recursive", "a streamed UDF, as relations.components"
    if isinstance(node, exp.Union) and node.args.get("by_name"):
        yield "matches columns by name", "name the columns in the same order"
    if isinstance(node, exp.Join) and (node.args.get("method") or node.args.get("kind") in ("POSITIONAL", "ASOF")):
        yield "is no join of plain SQL", "join on equal keys"
    if isinstance(node, exp.Group) and any(not isinstance(one.unnest(), exp.Column) for one in node.expressions):
        yield "groups by a number or an expression", "group by the name of a column, computed one level below"
    if isinstance(node, exp.Group) and node.args.get("all"):
        yield "groups by whatever is selected", "group by names"
    if isinstance(node, exp.Identifier) and not _SNAKE.fullmatch(node.name):
        if not isinstance(parent, (exp.DataType, exp.Dot)):
            yield "is no snake_case name", "a-z, 0-9 and _"


def _wrong_cast(node: exp.Cast, kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    to, inner = node.to.this.name, node.this.unnest()
    known = _kind(inner, kinds)
    if isinstance(node, exp.TryCast):
        yield "differs in what it takes for a number", "parse text in a UDF"
    elif known == "null":
        return
    elif to == "VARBINARY":
        yield "casts to bytes, where the engines read the text differently", "encode() or unhex()"
    elif known == "text" and to not in ("TEXT", "ARRAY", "STRUCT"):
        yield "casts text", "parse it in a UDF"
    elif known == "double" and to in ("INT", "BIGINT"):
        yield "casts a DOUBLE, which one engine rounds and the other cuts", "integers from the start"
    elif to == "TEXT" and known not in ("integer", "text"):
        yield "casts to text what may be a DOUBLE", "an integer expression with // or count, or format it in Python"


def _kinds(tree: exp.Expression, relations: Mapping[str, Columns]) -> dict[str, str]:
    """Return name -> kind for the columns whose name has one kind wherever it is declared or computed."""
    found: dict[str, set[str]] = {}
    for columns in relations.values():
        for name, kind in columns:
            plain = {"INTEGER": "integer", "BIGINT": "integer", "DOUBLE": "double", "VARCHAR": "text"}
            found.setdefault(name, set()).add("list" if kind.endswith("[]") else plain.get(kind, ""))
    declared = {name: kinds.pop() for name, kinds in found.items() if len(kinds) == 1}
    computed: dict[str, set[str]] = {}
    for alias in tree.find_all(exp.Alias):
        if not isinstance(alias.this, exp.Column):
            computed.setdefault(alias.alias, set()).add(_kind(alias.this, declared))
    return declared | {name: kinds.pop() for name, kinds in computed.items() if len(kinds) == 1 and name not in found}


def _kind(node: exp.Expression, kinds: Mapping[str, str]) -> str:
    """Return integer, double, text, list or null, "" where it cannot be said."""
    node = node.unnest()
    if isinstance(node, exp.Null):
        return "null"
    if isinstance(node, (exp.IntDiv, exp.Count, exp.Length, exp.ArraySize, *_RANKS)):
        return "integer"
    if isinstance(node, (exp.Window, exp.Min, exp.Max, exp.Sum, exp.Neg, exp.Abs)):
        return _kind(node.this, kinds)
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Greatest, exp.Least, exp.Coalesce)):
        all_kinds = {_kind(one, kinds) for one in (node.this, node.args.get("expression"), *node.expressions) if one}
        return all_kinds.pop() if len(all_kinds) == 1 else "double" if "double" in all_kinds else ""
    if isinstance(node, exp.Literal):
        return "text" if node.is_string else "integer" if node.this.isdigit() else "double"
    if isinstance(node, exp.Div):
        return "double"
    if isinstance(node, exp.Cast):
        return {"INT": "integer", "BIGINT": "integer", "DOUBLE": "double", "TEXT": "text"}.get(node.to.this.name, "")
    return kinds.get(node.name, "") if isinstance(node, exp.Column) else ""


def _wrong_select(node: exp.Select, relations: Mapping[str, Columns] | None) -> Iterator[tuple[str, str, str]]:
    projections = node.expressions
    for one in projections:
        if not isinstance(one, (exp.Alias, exp.Column, exp.Star)) and not _inside_test(node):
            yield one.sql(dialect="duckdb"), "has no name", "`... as name` for every computed column"
    if sum(1 for one in projections if isinstance(one, exp.Alias) and isinstance(one.this, exp.Explode)) > 1:
        yield "select", "unnests two lists at once", "one unnest in a subquery"
    tables = []
    for source in _sources(node):
        alias = source.alias_or_name
        if isinstance(source, exp.Subquery) and not source.alias:
            yield source.this.sql(dialect="duckdb"), "has no name as a table", "`(select ...) as name`"
        tables.append(alias)
        if isinstance(source, exp.Table) and relations is not None and source.db:
            name = f"{source.db}.{source.name}"
            if name not in relations:
                yield name, "is no relation of this build", "a model or read.documents"
        if isinstance(source, exp.Table) and not source.db and not _cte(source):
            yield source.name, "is neither a relation with its folder nor named in WITH", "<folder>.<name>"
    known = _known_columns(node, relations)
    for one in projections:
        if isinstance(one, exp.Alias) and one.alias in tables:
            yield one.alias, "is the name of a column and of a table", "another name for one of the two"
    if known is None:
        return
    aliases = {one.alias for one in projections if isinstance(one, exp.Alias)}
    for part in [*projections, node.args.get("where"), *(node.args.get("joins") or ())]:
        for column in part.find_all(exp.Column) if part else ():
            if column.find_ancestor(exp.Select) is node and not column.table and column.name in aliases - known:
                if not column.find_ancestor(exp.Lambda):
                    yield column.name, "is an alias of the same SELECT", "compute it one level below"


def _inside_test(node: exp.Select) -> bool:
    """A SELECT inside EXISTS or IN gives no columns to anyone."""
    return isinstance(node.parent, (exp.Exists, exp.In)) or bool(
        isinstance(node.parent, exp.Subquery) and isinstance(node.parent.parent, exp.In)
    )


def _sources(node: exp.Select) -> list[exp.Expression]:
    joined = [join.this for join in node.args.get("joins") or ()]
    start = node.args.get("from_") or node.args.get("from")
    return ([start.this] if start else []) + joined


def _cte(table: exp.Table) -> exp.CTE | None:
    at: exp.Expression | None = table
    while at is not None:
        with_ = at.args.get("with_") or at.args.get("with")
        for one in with_.expressions if with_ else ():
            if one.alias == table.name:
                return one
        at = at.parent
    return None


def _known_columns(node: exp.Select, relations: Mapping[str, Columns] | None) -> set[str] | None:
    """Return the columns that the sources of a SELECT give, None where a source is unknown."""
    found: set[str] = set()
    for source in _sources(node):
        if isinstance(source, exp.Table) and source.db:
            columns = (relations or {}).get(f"{source.db}.{source.name}")
            if columns is None:
                return None
            found |= {name for name, _ in columns}
            continue
        query = source.this if isinstance(source, exp.Subquery) else getattr(_cte(source), "this", None)
        if not isinstance(query, exp.Query):
            return None
        found |= set(query.named_selects)
    return found


def _place_of_udf(node: exp.Expression) -> str:
    """Return where a UDF is called that is not a select list, "" where it is."""
    names = {exp.Where: "WHERE", exp.Join: "ON", exp.Having: "HAVING", exp.Qualify: "QUALIFY", exp.Case: "CASE",
             exp.Order: "ORDER BY", exp.Group: "GROUP BY", exp.Window: "a window",
             exp.Filter: "FILTER", exp.Lambda: "a lambda"}  # fmt: skip
    at = node
    while at.parent is not None and not isinstance(at.parent, exp.Select):
        at = at.parent
        if type(at) in names and not (isinstance(at, exp.Join) and at.this.find(exp.Subquery)):
            return names[type(at)]
        if isinstance(at, exp.AggFunc):
            return "an aggregate"
    if at.arg_key != "expressions":
        return names.get(type(at), "no select list")
    outer = at.parent.parent
    while outer is not None:
        if isinstance(outer, exp.Select) and any(
            outer.args.get(key) for key in ("where", "qualify", "having", "group", "distinct")
        ):
            return "a subquery that is filtered or grouped, which calls it again"
        outer = outer.parent
    return ""


def wrong_types(where: str, kinds: Iterable[str]) -> list[str]:
    """Return what is not portable in declared types, as DuckDB spells them: of columns, UDF arguments, UDF results."""
    found = []
    for kind in kinds:
        tree = sqlglot.parse_one(f"cast(x as {kind})", dialect="duckdb")
        for node in tree.find_all(exp.DataType):
            if node.this.name not in TYPES or node.args.get("values"):
                found.append(
                    f"{where}: {kind} is no portable type. Instead: a signed integer, DOUBLE, VARCHAR or BLOB; "
                    "64-bit hashes are BIGINT bit views"
                )
                break
    return found


def to_spark(sql: str, columns: Columns = ()) -> str:
    """Translate a model to Spark SQL; raises SqlglotError for what Spark cannot say, ValueError for what it would lose.

    columns: the declared columns, to which the rows are cast: the engines widen integers differently.
    """
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    for node in tree.find_all(exp.ArrayAgg):
        if node.find(exp.Order):
            raise ValueError(f"{node.sql(dialect='duckdb')}: the translation drops its ORDER BY")

    def rewrite(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Bracket):  # x[1] of an empty list is null in DuckDB and an error in Spark's ANSI mode
            index = int(node.expressions[0].this) + 1  # sqlglot counts from 0, try_element_at from 1
            return exp.Anonymous(this="try_element_at", expressions=[node.this, exp.Literal.number(index)])
        if isinstance(node, exp.Table) and node.db:  # a view has a one-part name
            alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name))
            return exp.Table(this=exp.to_identifier(f"{node.db}__{node.name}"), alias=alias)
        return node

    inner = tree.transform(rewrite)
    text = inner.sql(dialect="spark", comments=False, unsupported_level=ErrorLevel.RAISE, pretty=True)
    if columns:
        kinds = {
            name: sqlglot.parse_one(f"cast(x as {kind})", dialect="duckdb").to.sql(dialect="spark")
            for name, kind in columns
        }
        casts = ",\n  ".join(f"CAST(`{name}` AS {kind}) AS `{name}`" for name, kind in kinds.items())
        text = f"SELECT\n  {casts}\nFROM (\n{text}\n) AS model"
    sqlglot.parse_one(text, dialect="spark")
    return text
