"""Which line of the one build is which of the other.

Where a source's raw files are the same, a line is its id. A source fetched anew has its documents at other positions;
its lines are matched in passes, and what one pass matched is gone for the next.
"""

from __future__ import annotations

import duckdb

from corpus_sql.report_queries import query

# (name, key, condition). A key is matched within a source, lines of equal key one after the other; a.n and b.n are the
# numbers of lines with the key in all of the source. A url that several documents of a source share names none of them.
# Last, a line at the old place that bears no other name, in a source of as many lines, was edited or repaired.
PASSES = (
    ("file", "case when file_sha256 is not null then row(file_sha256, file_copy, line) end", "true"),
    ("source_record_id and text", "case when record is not null then row(record, content, raw_chars) end", "true"),
    ("source_record_id", "record", "a.n = b.n"),
    ("url and text", "case when url is not null then row(url, content, raw_chars) end", "true"),
    ("url", "url", "a.n = 1 and b.n = 1"),
    ("text", "content", "true"),
    ("quarantined line", "bytes", "true"),
    (
        "place",
        "row(k, lines_in_source)",
        "(a.verdict = 'quarantine' or b.verdict = 'quarantine'"
        " or (a.record is not distinct from b.record and a.url is not distinct from b.url))",
    ),
)
_KEYED = """
    select *, {key} as key, row_number() over (partition by source_id, {key} order by k) as nth
    from left_{side}
    where {key} is not null
"""
_COUNTED = """
    select own.*, counts.n as n
    from ({keyed}) as own
    join (select source_id, {key} as key, count(*) as n from all_{side} group by all) as counts
        on counts.source_id = own.source_id and counts.key = own.key
"""


def match(connection: duckdb.DuckDBPyConnection, same: list[str]) -> None:
    """Turn the tables lines_a and lines_b into `lines`: a row for each pair, null on the side that has no such line.

    same: the sources whose raw files are the same, in the same order. Columns: pair, a, b (rows as structs), how (the
    pass, null for a line without its like), root_a, root_b (the pairs of the documents that name the clusters).
    """
    run = connection.execute
    run("create table same_sources (source_id varchar)")
    for source in same:
        run("insert into same_sources values (?)", [source])
    run("create table matches (a varchar, b varchar, how varchar)")
    for side in ("a", "b"):
        run(
            f"create table all_{side} as select *, count(*) over (partition by source_id) as lines_in_source from "
            f"lines_{side} where source_id not in (select source_id from same_sources)"
        )
        run(f"create table left_{side} as from all_{side}")
    for name, key, condition in PASSES:
        if not all(run(f"select count(*) from left_{side}").fetchone()[0] for side in ("a", "b")):
            break
        rows = {side: _KEYED.format(key=key, side=side) for side in ("a", "b")}
        if ".n" in condition:
            rows = {side: _COUNTED.format(key=key, side=side, keyed=keyed) for side, keyed in rows.items()}
        run(
            f"""
            create or replace table matched as
            select a.id as a, b.id as b
            from ({rows["a"]}) as a
            join ({rows["b"]}) as b on a.source_id = b.source_id and a.key = b.key and a.nth = b.nth
            where {condition}
            """
        )
        run("insert into matches select a, b, ? from matched", [name])
        for side in ("a", "b"):
            run(f"delete from left_{side} where id in (select {side} from matched)")
    run("insert into matches select id, null, null from left_a")
    run("insert into matches select null, id, null from left_b")
    run(f"create table paired as {query('diff_paired')}")
    for name in ("all_a", "all_b", "left_a", "left_b", "lines_a", "lines_b"):
        run(f"drop table {name}")
    for side in ("a", "b"):
        run(
            f"""
            create table roots_{side} as
            select pair, {side}.id as id from paired
            where {side}.id in (select {side}.root from paired where {side}.root <> {side}.id)
            """
        )
    run(f"create view lines as {query('diff_pairs')}")
