"""What the user should be told of a build once its relations are made: no error, but nothing to pass over either."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpus_sql.config import Config
from corpus_sql.engine_duckdb import DuckDB
from corpus_sql.losses import losses
from corpus_sql.parts import leaves
from corpus_sql.pii_shown import without_pii
from corpus_sql.raw_fields import Fault
from corpus_sql.to_quarantine import stops_short
from corpus_sql.validation import counted

if TYPE_CHECKING:
    from corpus_sql.planning import Step

FIRST = 5  # ids or names that a notice shows
THIN = 10  # groups below which a split says little of anything
HELD = "outputs.split_held"


def notices(engine: DuckDB, config: Config, steps: list[Step]) -> list[str]:
    """Return the notices of a build, a sentence each; the same for any thread count."""
    names = {step.name for step in steps}
    return [
        *_not_finite(engine, steps),
        *_cut(engine),
        *_without_survivor(engine),
        *_dangling(engine),
        *_circles(engine),
        *_expanded(engine, config),
        *_conflicts(engine, names),
        *_thin(engine, config, names),
        *_across(engine, steps),
        *_capped(engine, config, names),
        *losses(engine, config, steps),
    ]


def split_numbers(engine: DuckDB, steps: list[Step]) -> dict[str, Any]:
    """Return what build.json says of the splits.

    near_pairs, near_pairs_across, near_pairs_across_kept: as outputs.cross_split counts them, null where near
    duplicates were not looked for; held, conflicts: groups with a document of an earlier build, and of them those with
    documents of several splits, null without [split] against.
    """
    names = {step.name for step in steps}
    keys = ("near_pairs", "near_pairs_across", "near_pairs_across_kept")
    found: dict[str, Any] = dict(zip(keys, _cross_split(engine, steps) or (None, None, None), strict=True))
    held = (
        engine.values(f"select count(*), count(*) filter (where n_splits > 1) from {_HELD_KEPT}")[0]
        if HELD in names
        else (None, None)
    )
    return found | dict(zip(("held", "conflicts"), held, strict=True))


# groups of dropped documents alone are in no split
_HELD_KEPT = f"{HELD} join (select relation_group from outputs.split_groups) as kept using (relation_group)"


def _cross_split(engine: DuckDB, steps: list[Step]) -> tuple[int, int, int] | None:
    by_name = {step.name: step for step in steps}
    if "relations.no_pairs" in by_name:
        return None
    return engine.values(by_name["outputs.cross_split"].compiled.sql)[0]


def _not_finite(engine: DuckDB, steps: list[Step]) -> list[str]:
    """Values that are no measures: null where a relation is stored or leaves as a file, so that no rule judges them."""
    left = leaves(steps)
    found = engine.not_finite() + [
        (step.name, what, n)
        for step in steps
        if step.name in left
        for what, n in sorted(
            engine.odd_leaving(
                step.compiled.sql, step.compiled.model.columns, calls=bool(step.compiled.functions)
            ).items()
        )
    ]
    return [
        f"{relation}: {what} was NaN or infinite {'once' if n == 1 else f'{n:,} times'}; it counts as not measured"
        for relation, what, n in found
    ]


def _cut(engine: DuckDB) -> list[str]:
    """Raw files whose last line stops in the middle of JSON or of a UTF-8 sequence."""
    rows = engine.values(
        "select files.file, bad.reason, bad.detail from read.quarantine as bad"
        " join read.files as files on files.file = bad.file and files.lines = bad.line"
        " where bad.reason in ('invalid_json', 'invalid_utf8') order by files.file"
    )
    # of a line that is no object the table says its length and hash, too
    cut = [file for file, reason, detail in rows if stops_short(Fault(reason, detail.partition("; the line has ")[0]))]
    if not cut:
        return []
    files = "1 raw file has" if len(cut) == 1 else f"{len(cut):,} raw files have"
    shown = ", ".join(cut[:FIRST]) + (", …" if len(cut) > FIRST else "")
    return [f"{files} a cut last line and may be incomplete: {shown}"]


def _across(engine: DuckDB, steps: list[Step]) -> list[str]:
    kept = (_cross_split(engine, steps) or (0, 0, 0))[2]
    if not kept:
        return []
    fix = 'method = "group_hash" keeps relatives together'
    return [f"{counted(kept, 'pair')} of near duplicates were kept in different splits; {fix}"]


def _capped(engine: DuckDB, config: Config, names: set[str]) -> list[str]:
    if "near_dedup.verified" not in names:
        return []
    ((n,),) = engine.values("select coalesce(sum(capped), 0) from near_dedup.verified")
    if not n:
        return []
    cap = config.values["near_dedup"]["max_bucket"]
    return [
        f"{counted(n, 'bucket')} of more than max_bucket = {cap} documents: compared with the first member only, "
        "so that near duplicates may be left"
    ]


def _conflicts(engine: DuckDB, names: set[str]) -> list[str]:
    if HELD not in names:
        return []
    ((n,),) = engine.values(f"select count(*) from {_HELD_KEPT} where n_splits > 1")
    if not n:
        return []
    first = engine.values(
        f"select relation_group, split from {_HELD_KEPT} where n_splits > 1 order by relation_group limit {FIRST}"
    )
    shown = ", ".join(f"{group} ({split})" for group, split in first) + (", …" if n > FIRST else "")
    hold = "group holds" if n == 1 else "groups hold"
    return [
        f"{n:,} {hold} documents of several splits of the earlier builds; train comes before validation, and "
        f"validation before test: {shown}"
    ]


def _thin(engine: DuckDB, config: Config, names: set[str]) -> list[str]:
    """Empty splits, and under group_hash those of few groups.

    Another salt is no remedy: it would be chosen by its result.
    """
    split = config.values["split"]
    (splits,) = names & {"outputs.splits_by_content", "outputs.splits_by_group", "outputs.splits_of_groups"}
    rows = engine.values(
        "select split, count(distinct relation_group), count(*)"
        f" from {splits} join relations.groups using (id) group by split"
    )
    groups = {name: n for name, n, _ in rows}
    documents = sum(n for *_, n in rows)
    if not documents:
        return []
    if split["method"] == "content_hash":
        empty = [
            name
            for name, share in (("train", 1000 - split["val_permille"]), ("val", split["val_permille"]))
            if share and name not in groups
        ]
        return [
            f"the split {name} is empty: {counted(documents, 'document')}, val_permille = {split['val_permille']}"
            for name in empty
        ]
    thin = [name for name in ("train", "validation", "test") if split[name] and groups.get(name, 0) < THIN]
    if not thin:
        return []
    found = ", ".join(f"{name} {groups.get(name, 0)}" for name in thin)
    if "stratify" in split:
        advice = "only more documents or larger shares help"
    else:
        advice = (
            'stratify = ["source_id", "lang"] shares out each source and language by itself; '
            "do not try salts until one fits"
        )
    return [f"few groups in a split, of {sum(groups.values()):,} in all: {found}; {advice}"]


def _without_survivor(engine: DuckDB) -> list[str]:
    ((copies, lost),) = engine.values("select count(*), count(*) - count(survivor) from outputs.survivors")
    if not lost:
        return []
    reason, n = engine.values(
        "select ends.reason, count(*) as n from outputs.survivors as copies join outputs.ends as ends"
        " on ends.id = copies.witness where copies.survivor is null group by ends.reason order by n desc, ends.reason"
    )[0]
    mostly = "all" if n == lost else f"{n:,} of them"
    return [
        f"{lost:,} of {copies:,} removed copies {'has' if lost == 1 else 'have'} no copy in the corpus: what they "
        f"point at was dropped later, {mostly} as {reason}; survivor is null in the table documents"
    ]


def _dangling(engine: DuckDB) -> list[str]:
    ((parents, documents),) = engine.values(
        "select count(distinct missing), count(distinct id) from relations.parents where status = 'dangling'"
    )
    if not parents:
        return []
    first = engine.values(
        "select named from (select distinct missing, named from relations.parents where status = 'dangling')"
        f" order by named, missing limit {FIRST}"
    )
    names = ", ".join(without_pii(name) for (name,) in first) + (", …" if parents > FIRST else "")
    are = "parent is" if parents == 1 else "parents are"
    return [
        f"{parents:,} {are} in no raw file, named by {counted(documents, 'document')}: {names}; "
        "the table parents lists them"
    ]


def _circles(engine: DuckDB) -> list[str]:
    members = "relations.circles as circles join relations.numbered as numbered on numbered.place = circles.place"
    ((documents, circles),) = engine.values("select count(*), count(distinct circle) from relations.circles")
    if not documents:
        return []
    first = engine.values(f"select id from {members} order by circle, id limit {FIRST}")
    ids = ", ".join(id for (id,) in first) + (", …" if documents > FIRST else "")
    are = "document is its own ancestor" if documents == 1 else "documents are their own ancestors"
    return [
        f"{documents:,} {are} by the parents that they name, in {counted(circles, 'circle')}: {ids}; "
        "status is circle in the table parents"
    ]


def _expanded(engine: DuckDB, config: Config) -> list[str]:
    ((parents, children),) = engine.values("select count(distinct parent), count(*) from relations.expansions")
    if not parents or "expansion" in config.stages:
        return []
    was = "document was" if parents == 1 else "documents were"
    return [
        f"{parents:,} {was} split on import, and its text is in {children:,} others too: "
        "list expansion in stages, as the first"
    ]
