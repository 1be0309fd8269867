"""Following each change of a document back to what moved it, over the tables that `diffing` has laid out.

A question is: why was this line dropped by this stage in one build and not in the other (`judged`), why by another rule
than before (`reason`), why is it in one build only (`line`), why is its text other than before (`text` in the raw file,
`scrub` after the scrub), its split, its cluster? A question has answers (causes, by number) and may rest on others: a
document is kept because the document it was a copy of is gone, which a threshold dropped. `members` and `group` stand
for all documents of a cluster or a relation group that are not in both builds alike. Documents are only joined in SQL;
Python sees distinct combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import duckdb

from corpus_sql.diff_causes import Cause, Facts
from corpus_sql.model import identifier
from corpus_sql.report_queries import query

_MOST_ROUNDS = 100  # a chain is no longer than the stages are many, unless a build is damaged


class Tracer:
    """One run over the questions of a diff. Its tables: questions, links, answers (q, c, via)."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, facts: Facts):
        self.run, self.facts = connection.execute, facts
        self.run("create table questions (q bigint, kind varchar, pair bigint, stage varchar, side varchar)")
        self.run("create table links (q bigint, next bigint)")
        self.run("create table answers (q bigint, c integer, via varchar[])")
        self.run("create table wanted (q bigint, kind varchar, pair bigint, stage varchar, side varchar)")
        self.run("create table targets (q bigint, pair bigint, stage varchar)")
        # whether two texts before the scrub differ; whether a rule fires at a value
        self.run(
            "create macro raw_differs(x, y) as "
            "(x.content is distinct from y.content or x.raw_chars is distinct from y.raw_chars)"
        )
        self.run(
            "create macro fires(hit, value, threshold) as "
            "case when hit.value < hit.threshold then value < threshold else value > threshold end"
        )
        self.run(f"create view unlike as {query('diff_unlike')}")

    def trace(self) -> None:
        """Answer the questions that `changes` asks."""
        self.run(f"insert into wanted {query('diff_asked')}")
        for _ in range(_MOST_ROUNDS):
            if not self._ask():
                break
            self._lines()
            self._texts()
            self._scrubs()
            self._splits()
            self._clusters()
            self._members()
            self._reasons()
            self._judged()
            self._resolve()
        self._propagate()

    def _rows(self, sql: str) -> list[tuple]:
        return self.run(sql).fetchall()

    def _ask(self) -> int:
        """Number what is wanted and new, and tie it to who asked; returns how many are new."""
        self.run(f"create or replace table fresh as {query('diff_fresh')}")
        self.run("insert into questions from fresh")
        self.run(f"insert into links {query('diff_links')}")
        self.run("delete from wanted")
        return self._rows("select count(*) from fresh")[0][0]

    def _answer(self, facts: str, columns: Iterable[str], say: Callable[..., list[Cause]]) -> None:
        """Answer the questions of a table `facts` (q and columns): say(*columns) once for each combination."""
        names = ", ".join(columns)
        self.run(
            f"create or replace table combinations as select row_number() over (order by all_) as n, all_ from "
            f"(select distinct row({names}) as all_ from {facts})"
        )
        said = []
        for n, values in self._rows("select n, all_ from combinations order by n"):
            values = tuple(values.values()) if isinstance(values, dict) else tuple(values)
            said += [(n, self.facts.number(cause)) for cause in say(*values)]
        if said:
            self.run("create or replace table said (n bigint, c integer)")
            for n, c in said:
                self.run("insert into said values (?, ?)", [n, c])
            self.run(
                f"""
                insert into answers
                select distinct facts.q, said.c, cast([] as varchar[])
                from {facts} as facts
                join combinations on combinations.all_
                    is not distinct from row({", ".join("facts." + name for name in columns)})
                join said using (n)
                where not exists (from answers where answers.q = facts.q and answers.c = said.c)
                """
            )

    def _asked(self, kind: str) -> bool:
        """Lay out the fresh questions of a kind with both sides of their pairs, as `facts_of`; False for none."""
        self.run(
            f"create or replace table facts_of as select fresh.q, fresh.stage, fresh.side, lines.* from fresh "
            f"join lines using (pair) where kind = '{kind}'"
        )
        return bool(self._rows("select count(*) from facts_of")[0][0])

    def _lines(self) -> None:
        if self._asked("line"):
            self.run(
                "create or replace table facts as select q, coalesce(b.source_id, a.source_id) as source, "
                "coalesce(b.file, a.file) as file from facts_of"
            )
            self._answer("facts", ("source", "file"), self.facts.line)

    def _texts(self) -> None:
        if self._asked("text"):
            self.run("create or replace table facts as select q, a.file as file_a, b.file as file_b from facts_of")
            self._answer("facts", ("file_a", "file_b"), self.facts.text)

    def _scrubs(self) -> None:
        if not self._asked("scrub"):
            return
        self.run(f"create or replace table facts as {query('diff_scrubs')}")
        self._answer("facts", ("kinds", "file_a", "file_b"), self.facts.scrubbed)

    def _splits(self) -> None:
        if not self._asked("split"):
            return
        self.run(
            """
            create or replace table facts as
            select q, a.split as was, b.split as now, a.sha256 = b.sha256 as same_text,
                a.relation_group = b.relation_group as same_group
            from facts_of
            """
        )
        self._answer("facts", ("was", "now", "same_text", "same_group"), lambda *values: self.facts.split(*values)[0])
        asks = {
            self.facts.split(*values)[1]
            for values in self._rows("select distinct was, now, same_text, same_group from facts")
        }
        if "text" in asks:
            self.run(
                "insert into wanted select q, case when raw_differs(a, b) then 'text' else 'scrub' end, pair, null, "
                "null from facts_of where a.sha256 <> b.sha256"
            )
        if "group" in asks:
            self.run(
                "insert into wanted select q, 'group', pair, null, unnest(['a', 'b']) from facts_of where "
                "a.relation_group <> b.relation_group"
            )

    def _clusters(self) -> None:
        """A cluster is named by its first document: whether that came or went comes first, then who else did."""
        if not self._asked("cluster"):
            return
        self.run("insert into targets select q, unnest([root_a, root_b]), 'near_dedup' from facts_of")
        # which member stays is no matter here: the first names the cluster whoever stays
        own = self.facts.below(
            [one for one in self.facts.closure("near_dedup.clusters") if one.startswith("near_dedup.")]
        )
        if ("near_dedup" in self.facts.stages("a")) != ("near_dedup" in self.facts.stages("b")):
            own = [self.facts.config("stages")]
        self.run("create or replace table facts as select q, 1 as one from facts_of")
        self._answer("facts", ("one",), lambda _: own)
        self.run(
            "insert into wanted select q, 'members', unnest([root_a, root_b]), 'near_dedup', unnest(['a', 'b']) "
            "from facts_of where not exists (from unlike where unlike.q = facts_of.q)"
        )

    def _members(self) -> None:
        """Whoever of a cluster or a group is not in both builds alike."""
        for kind, column in (("members", "root"), ("group", "relation_group")):
            if not self._asked(kind):
                continue
            stage = "'near_dedup'" if kind == "members" else "'read'"
            for side in ("a", "b"):
                name = f"asked.{side}.id" if kind == "members" else f"asked.{side}.{column}"
                self.run(
                    f"""
                    insert into targets
                    select asked.q, lines.pair, {stage}
                    from facts_of as asked
                    join lines on lines.{side}.{column} = {name}
                    where asked.side = '{side}'
                    """
                )

    def _resolve(self) -> None:
        """Turn targets that are not in both builds alike into questions."""
        self.run("insert into wanted from unlike")
        self.run("delete from targets")

    def _reasons(self) -> None:
        if self._asked("reason"):
            self.run(f"insert into wanted {query('diff_decisive')}")

    def _judged(self) -> None:
        if not self._asked("judged"):
            return
        self.run("create or replace table asked as from facts_of")
        self.run(
            "create or replace table facts as select q, case side when 'a' then a.reason else b.reason end as "
            "reason, a.file as file_a, b.file as file_b from asked where stage = 'read'"
        )
        self._answer("facts", ("reason", "file_a", "file_b"), self.facts.quarantined)
        self.run(
            "insert into wanted select q, 'text', pair, null, null from asked "
            "where stage = 'read' and a.verdict = b.verdict"
        )
        here = {side: set(self.facts.stages(side)) for side in ("a", "b")}
        # a stage that the other build has not, or that dropped the document in both: it is a matter of the list
        self.run(
            "create or replace table facts as select q, stage, side, a.stage is not distinct from b.stage "
            "and (a.seq is distinct from b.seq or a.reason is not distinct from b.reason) as in_both "
            "from asked where stage <> 'read'"
        )
        self._answer(
            "facts", ("stage", "side", "in_both"), lambda stage, side, in_both: self._listed(here, stage, side, in_both)
        )
        self.run("delete from asked where stage = 'read' or exists (from answers where answers.q = asked.q)")
        self.run(f"create or replace table hits as {query('diff_hits')}")
        self._rules()

    def _listed(self, here: dict[str, set[str]], stage: str, side: str, in_both: bool) -> list[Cause]:
        other = here["b" if side == "a" else "a"]
        return [self.facts.config("stages")] if (stage not in other or in_both) and self.facts.config("stages") else []

    def _rules(self) -> None:
        rules = self._rows(
            "select distinct stage, side, hit.reason, hit.metric, lang, lang_other, hit.threshold "
            "from hits order by all"
        )
        self.run(
            "create or replace table limits (stage varchar, side varchar, reason varchar, metric varchar, lang "
            "varchar, lang_other varchar,"
            " threshold double, key varchar, other double)"
        )
        for stage, side, reason, metric, lang, lang_other, threshold in rules:
            rule = self.facts.rules[side].get((stage, reason))
            if rule is None or threshold is None:
                continue
            used = self.facts.limit(rule, lang, threshold)
            other = self.facts.value(
                "b" if side == "a" else "a", rule.key, (used if lang == lang_other else lang_other) or ""
            )
            self.run(
                "insert into limits values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [stage, side, reason, metric, lang, lang_other, threshold, rule.key, other],
            )
        self._values({(stage, metric) for stage, _, _, metric, *_ in rules if metric})
        self._moved({stage for stage, *_ in rules})
        self.run(f"create or replace table facts as {query('diff_rules')}")
        columns = (
            "stage",
            "reason",
            "side",
            "key",
            "lang",
            "lang_other",
            "same_text",
            "by_value",
            "by_threshold",
            "same_value",
            "moved",
        )

        def say(stage, reason, side, key, lang, lang_other, same_text, by_value, by_threshold, same_value, moved):
            return self.facts.judged(
                stage, reason, "b" if side == "a" else "a", key=key, langs=(lang, lang_other), same_text=same_text,
                by_value=by_value, by_threshold=by_threshold, same_value=same_value, moved=moved,
            )  # fmt: skip

        self._answer("facts", columns, lambda *values: say(*values)[0])
        texts = [values for values in self._rows(f"select distinct {', '.join(columns)} from facts") if say(*values)[1]]
        if texts:
            self.run("insert into wanted select distinct q, 'text', pair, null, null from hits where not same_text")
        self._witnesses()

    def _values(self, metrics: set[tuple[str, str]]) -> None:
        """others: what the other build measured of the same document, for each rule's metric."""
        self.run("create or replace table others (q bigint, metric varchar, value double)")
        for stage, metric in sorted(metrics):
            for relation in self.facts.measures(stage):
                name = relation.split(".")[1]
                column = metric if metric != "lang_score" else "score" if name == "language" else metric
                for side, other in (("a", "after"), ("b", "before")):
                    found = self._rows(
                        f"select 1 from duckdb_columns() where schema_name = '{other}_measures' and table_name = "
                        f"'{name}' and column_name = '{column}'"
                    )
                    if found:
                        self.run(
                            f"""
                            insert into others
                            select distinct hits.q, '{metric}', cast(measured.{identifier(column)} as double)
                            from hits
                            join {identifier(f"{other}_measures", name)} as measured on measured.id = hits.id_other
                            where hits.stage = '{stage}' and hits.side = '{side}' and hits.hit.metric = '{metric}'
                            """
                        )

    def _moved(self, stages: set[str]) -> None:
        """moved: the measures of which the document's row differs between the builds."""
        self.run("create or replace table moved (q bigint, relation varchar)")
        for stage in sorted(stages):
            for relation in self.facts.measures(stage):
                if not self.facts.differs(relation):
                    continue
                name = relation.split(".")[1]
                columns = {
                    schema: [
                        row[0]
                        for row in self._rows(
                            f"select column_name from duckdb_columns() where schema_name = '{schema}_measures' "
                            f"and table_name = '{name}' and column_name <> 'id' order by 1"
                        )
                    ]
                    for schema in ("before", "after")
                }
                shared = [one for one in columns["before"] if one in columns["after"]]
                if not shared:
                    continue
                unlike = " or ".join(
                    f"{identifier('first', one)} is distinct from {identifier('second', one)}" for one in shared
                )
                self.run(
                    f"""
                    insert into moved
                    select distinct both_ids.q, '{relation}'
                    from (
                        select distinct
                            q,
                            case side when 'a' then id else id_other end as id_a,
                            case side when 'a' then id_other else id end as id_b
                        from hits where stage = '{stage}'
                    ) as both_ids
                    join {identifier("before_measures", name)} as first on first.id = both_ids.id_a
                    join {identifier("after_measures", name)} as second on second.id = both_ids.id_b
                    where {unlike}
                    """
                )

    def _witnesses(self) -> None:
        """A rejection that points at another document rests on that one: is it in both builds alike?"""
        for side in ("a", "b"):
            self.run(
                f"insert into targets select distinct hits.q, lines.pair, hits.stage from hits join lines on "
                f"lines.{side}.id = hits.hit.witness where hits.side = '{side}'"
            )
        self.run(f"insert into wanted {query('diff_witnesses')}")

    def _propagate(self) -> None:
        """Hand every answer on to the questions that rest on it, with the way it came."""
        self.run(f"create table steps as {query('diff_steps')}")
        for _ in range(_MOST_ROUNDS):
            before = self._rows("select count(*) from answers")[0][0]
            self.run(f"insert into answers {query('diff_handed_on')}")
            if self._rows("select count(*) from answers")[0][0] == before:
                break
