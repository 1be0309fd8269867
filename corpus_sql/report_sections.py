"""A report in sections: prose, charts and tables, made from the facts. The templates spell them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from corpus_sql import charts, first_look, report_contents
from corpus_sql.report_facts import Facts, Histogram
from corpus_sql.report_parts import MOST, TABLE, Chart, Section, Table, cut, shift
from corpus_sql.report_problems import percent, problems
from corpus_sql.shown import number
from corpus_sql.validation import counted


def sections(facts: Facts) -> list[Section]:
    """Return the sections in order; the samples of texts are apart, for they hold what others wrote."""
    return [
        _funnel(facts),
        _problems(facts),
        _sources(facts),
        _reasons(facts),
        _measures(facts),
        report_contents.languages(facts),
        report_contents.licences(facts),
        report_contents.duplicates(facts),
        report_contents.contamination(facts),
        report_contents.pii(facts),
        report_contents.splits(facts),
        report_contents.tokens(facts),
        _made(facts),
        report_contents.resources(facts),
        report_contents.blank(facts),
    ]


def lead(facts: Facts) -> str:
    """The whole build in a sentence, for the head of a report."""
    first = first_look.lines_of(facts.record)
    kept, chars = facts.manifest["n_docs"], sum(row["chars_kept"] for row in facts.rows["languages"])
    return (
        f"{kept:,} of {counted(facts.documents, 'document')} {'was' if facts.documents == 1 else 'were'} kept: "
        f"{counted(chars, 'character')} in {counted(facts.manifest['n_shards'], 'shard')}."
        + (f" This is {first_look.said(first)}." if first else "")
    )


def _made(facts: Facts) -> Section:
    chain = facts.record["hash_chain"]
    rows = [
        ("corpus_build_hash", chain["corpus_build_hash"]),
        ("filtered_build_hash", chain["filtered_build_hash"]),
        ("config_sha256", facts.manifest["config_sha256"]),
        ("ledger_sha256", chain["ledger_sha256"]),
        ("corpus-sql", facts.record["corpus_sql"]),
        *facts.record.get("tools", {}).items(),
    ]
    return Section(
        "made",
        "What made it",
        ["A training run cites the hashes."],
        tables=[Table(("what made it", "value"), rows, left=2)],
    )


def _problems(facts: Facts) -> Section:
    found = problems(facts)
    return Section(
        "problems",
        "Known problems",
        ["Found in the numbers of this build." if found else "None was found in the numbers of this build."],
        found,
    )


def _funnel(facts: Facts) -> Section:
    funnel = facts.rows["funnel"]
    dropped = [row["rejected"] + row["quarantined"] for row in funnel]
    # of the ways to end, those that nothing took are left out: what is read first then fits a phone
    ways = [key for key in ("rejected", "quarantined", "blank") if any(row[key] for row in funnel)]
    rows = [
        (row["stage"], row["entered"], row["kept"], percent(lost, row["entered"]), *(row[key] for key in ways))
        for row, lost in zip(funnel, dropped, strict=True)
    ]
    title = "Documents that each stage kept and dropped"
    names = [row["stage"] for row in funnel]
    lost = [n + row["blank"] for n, row in zip(dropped, funnel, strict=True)]
    chart = Chart(
        title,
        partial(charts.bars, title, names, [("c0", [row["kept"] for row in funnel]), ("bad", lost)]),
        (("kept", "c0"), ("dropped", "bad")),
    )
    return Section(
        "funnel",
        f"Kept: {percent(facts.manifest['n_docs'], facts.documents) or 'nothing'}",
        ["A document is counted at the first stage that drops it. Each number is counted by a query of its own."],
        charts=[chart],
        tables=[Table(("stage", "entered", "kept", "share dropped", *ways), rows)],
    )


def _sources(facts: Facts) -> Section:
    sources = facts.rows["sources"]
    stages = [row["stage"] for row in facts.rows["funnel"]]
    dropped = {(row["source_id"], row["stage"]): row["dropped"] for row in facts.rows["source_stages"]}
    dropping = [stage for stage in stages if any(dropped.get((row["source_id"], stage)) for row in sources)]
    rows = [
        (
            row["source_id"], row["lines"], row["kept"], percent(row["kept"], row["documents"]), row["blank"],
            *(dropped.get((row["source_id"], stage), 0) for stage in dropping),
            row["chars"], row["chars_kept"], row["license_spdx"],
        )
        for row in sources
    ]  # fmt: skip
    shown = sorted(sources, key=lambda row: (-row["documents"], row["source_id"]))[:TABLE]
    parts = [("c0", [row["kept"] for row in shown])]
    legend = [("kept", "c0")]
    for i, stage in enumerate(dropping):
        parts.append((f"c{1 + i % 9}", [dropped.get((row["source_id"], stage), 0) for row in shown]))
        legend.append((stage, f"c{1 + i % 9}"))
    title = "Where the lines of each source ended"
    own, note = cut(rows, 200)
    return Section(
        "sources",
        "Sources",
        charts=[
            Chart(
                title,
                partial(charts.bars, title, [row["source_id"] for row in shown], parts, share=True),
                tuple(legend),
            ),
            *shift("sources", [(r["source_id"], r["documents"], r["kept"]) for r in sources]),
        ],
        tables=[
            Table(
                (
                    "source",
                    "lines",
                    "kept",
                    "share kept",
                    "blank",
                    *dropping,
                    "characters",
                    "characters kept",
                    "licence",
                ),
                own,
                caption="Under the name of a stage: what it dropped; stages that dropped nothing are left out.",
                note=note,
            ),  # fmt: skip
            _origins(facts),
        ],
    )


def _origins(facts: Facts) -> Table:
    """Where each source is from, as its ledger row said when the build was made."""
    keys = ("source_id", "data_class", "revision", "retrieved", "upstream")
    own, note = cut([tuple(row[key] for key in keys) for row in facts.rows["ledger"]], 200)
    return Table(("source", *keys[1:]), own, left=5, caption="As the ledger said when this was built.", note=note)


def _reasons(facts: Facts) -> Section:
    found = facts.rows["reasons"]
    rows = [
        (
            row["stage"], row["reason"], row["documents"], percent(row["documents"], facts.documents),
            row["fired"], row["alone"], row["close"],
        )
        for row in found
    ]  # fmt: skip
    shown = sorted(found, key=lambda row: (-row["documents"], row["stage"], row["reason"]))[: MOST + 4]
    title = "Documents dropped, by reason"
    chart = Chart(
        title, partial(charts.bars, title, [r["reason"] for r in shown], [("bad", [r["documents"] for r in shown])])
    )
    return Section(
        "reasons",
        "Reasons",
        [
            "The first rule that fires decides. Fired: documents in which the rule fired at all, when the stage judged "
            "them. Alone: dropped with no other rule of the stage firing, so these pass the stage without the rule. "
            "Close: dropped with a value within 10 % of the threshold; empty where no threshold is compared."
        ]
        if found
        else ["Nothing was dropped."],
        charts=[chart] if found else [],
        tables=[Table(("stage", "reason", "documents", "of all", "fired", "alone", "close"), rows, left=2)]
        if found
        else [],
    )


def _measures(facts: Facts) -> Section:
    rows = [row for one in facts.histograms for row in _rule_rows(one)]
    legend = (("within", "c0"), ("beyond the threshold", "bad"), ("threshold", "limit"))
    drawn = []
    for one in facts.histograms:
        title = f"{one.rule.measure} ({one.rule.stage})"
        drawn.append(Chart(title, partial(charts.histogram, title, one)))
    if drawn:
        drawn[0] = Chart(drawn[0].title, drawn[0].draw, legend)
    by_length = facts.rows["lengths"]
    if by_length:
        steps = [row["low"] for row in by_length]
        n = round((steps[-1] - steps[0]) * 8) + 1
        at = {round((row["low"] - steps[0]) * 8): row for row in by_length}
        edges = [10 ** (steps[0] + i / 8) for i in range(n + 1)]
        before = [at[i]["documents"] if i in at else 0 for i in range(n)]
        after = [at[i]["kept"] if i in at else 0 for i in range(n)]
        title = "Length of the documents"
        drawn.insert(
            0,
            Chart(
                title,
                partial(charts.lengths, title, edges, before, after, "characters"),
                (("as read", "before"), ("as kept", "c0")),
            ),
        )
    text = [
        "Over all parsed documents of the largest languages that are to be kept, whether or not they reached the "
        "stage. The counts of documents are on a scale of powers of ten, so that the few beyond a threshold show."
    ]
    if facts.unstored:
        names = ", ".join(f"{rule.measure} ({rule.stage})" for rule in facts.unstored)
        text.append(f"Not stored as a measure, so without a distribution: {names}.")
    head = ("stage", "measure", "language", "minimum", "maximum", "median", "measured", "beyond", "share beyond")
    return Section(
        "measures",
        "Measures and thresholds",
        text if drawn else ["No rule of the build compares a measure with a threshold."],
        charts=drawn,
        tables=[Table(head, rows, left=3)] if rows else [],
    )


def _rule_rows(found: Histogram) -> Iterator[tuple]:
    for lang, (_, beyond) in found.counts.items():
        minimum, maximum = (None if limit is None else number(limit) for limit in found.rule.limits[lang])
        n, median = found.measured[lang][0], found.median[lang]
        yield (
            found.rule.stage, found.rule.measure, lang, minimum, maximum,
            f"{median:.3g}" if abs(median) < 1 else number(median), n, sum(beyond), percent(sum(beyond), n),
        )  # fmt: skip
