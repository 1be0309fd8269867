"""A report in sections: prose, charts and tables, made from the facts. The templates spell them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from corpus_sql import charts
from corpus_sql.report_facts import Facts, Histogram, Rows
from corpus_sql.report_problems import not_run, percent, problems, targets
from corpus_sql.shown import number

_MOST = 12  # bars of a chart; tables hold the rest
_TABLE = 40  # rows of a table


@dataclass(frozen=True)
class Table:
    """Rows under a head; the first `left` columns are text. Integers are grouped, None is an empty cell."""

    head: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    left: int = 1
    caption: str = ""
    note: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart that is drawn when it is asked for. legend: (text, variable of the page that colours it)."""

    title: str
    draw: Callable[[], str]
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Section:
    """text: paragraphs; items: a list under them."""

    id: str
    title: str
    text: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def sections(facts: Facts) -> list[Section]:
    """Return the sections in order; the samples of texts are apart, for they hold what others wrote."""
    return [
        _summary(facts),
        _problems(facts),
        _funnel(facts),
        _sources(facts),
        _reasons(facts),
        _measures(facts),
        _languages(facts),
        _licences(facts),
        _duplicates(facts),
        _pii(facts),
        _splits(facts),
        _tokens(facts),
        _resources(facts),
        _blank(facts),
    ]


def _cut(rows: list[tuple], limit: int = _TABLE) -> tuple[list[tuple], str]:
    return rows[:limit], f"and {len(rows) - limit:,} more" if len(rows) > limit else ""


def _summary(facts: Facts) -> Section:
    lines = sum(row["lines"] for row in facts.rows["sources"])
    chars = sum(row["chars_kept"] for row in facts.rows["languages"])
    chain = facts.record["hash_chain"]
    rows = [
        ("lines read", lines),
        ("documents", facts.documents),
        ("documents kept", facts.manifest["n_docs"]),
        ("share kept", percent(facts.manifest["n_docs"], facts.documents)),
        ("characters kept", chars),
        ("shards", facts.manifest["n_shards"]),
    ]
    hashes = [
        ("corpus_build_hash", chain["corpus_build_hash"]),
        ("filtered_build_hash", chain["filtered_build_hash"]),
        ("config_sha256", facts.manifest["config_sha256"]),
        ("corpus-sql", facts.record["corpus_sql"]),
        *facts.record.get("tools", {}).items(),
    ]
    return Section(
        "summary",
        "Summary",
        tables=[
            Table(("", "number"), rows),
            Table(("what made it", "value"), hashes, left=2, caption="A training run cites the hashes."),
        ],
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
    rows = [
        (
            row["stage"],
            *(row[key] for key in ("entered", "kept", "rejected", "quarantined", "blank")),
            percent(row["rejected"] + row["quarantined"], row["entered"]),
        )
        for row in funnel
    ]
    dropped = [row["rejected"] + row["quarantined"] + row["blank"] for row in funnel]
    chart = Chart(
        "Documents that each stage kept and dropped",
        partial(
            charts.bars,
            "Documents that each stage kept and dropped",
            [row["stage"] for row in funnel],
            [("c0", [row["kept"] for row in funnel]), ("bad", dropped)],
        ),
        (("kept", "c0"), ("dropped", "bad")),
    )
    return Section(
        "funnel",
        "Stages",
        ["A document is counted at the first stage that drops it. Each number is counted by a query of its own."],
        charts=[chart],
        tables=[Table(("stage", "entered", "kept", "rejected", "quarantined", "blank", "share dropped"), rows)],
    )


def _sources(facts: Facts) -> Section:
    sources = facts.rows["sources"]
    stages = [row["stage"] for row in facts.rows["funnel"]]
    dropped = {(row["source_id"], row["stage"]): row["dropped"] for row in facts.rows["source_stages"]}
    dropping = [stage for stage in stages if any(dropped.get((row["source_id"], stage)) for row in sources)]
    rows = [
        (
            row["source_id"], row["license_spdx"], row["lines"], row["blank"],
            *(dropped.get((row["source_id"], stage), 0) for stage in dropping),
            row["kept"], percent(row["kept"], row["documents"]), row["chars"], row["chars_kept"],
        )
        for row in sources
    ]  # fmt: skip
    shown = sorted(sources, key=lambda row: (-row["documents"], row["source_id"]))[:_TABLE]
    parts = [("c0", [row["kept"] for row in shown])]
    legend = [("kept", "c0")]
    for i, stage in enumerate(dropping):
        parts.append((f"c{1 + i % 9}", [dropped.get((row["source_id"], stage), 0) for row in shown]))
        legend.append((stage, f"c{1 + i % 9}"))
    title = "Where the lines of each source ended"
    own, note = _cut(rows, 200)
    return Section(
        "sources",
        "Sources",
        charts=[
            Chart(
                title,
                partial(charts.bars, title, [row["source_id"] for row in shown], parts, share=True),
                tuple(legend),
            ),
            *_shift("sources", [(r["source_id"], r["documents"], r["kept"]) for r in sources]),
        ],
        tables=[
            Table(
                (
                    "source",
                    "licence",
                    "lines",
                    "blank",
                    *dropping,
                    "kept",
                    "share kept",
                    "characters",
                    "characters kept",
                ),
                own,
                left=2,
                caption="Under the name of a stage: what it dropped; stages that dropped nothing are left out.",
                note=note,
            )
        ],
    )


def _shift(of: str, rows: list[tuple[str, int, int]]) -> list[Chart]:
    """The share of each before and after, the largest before first."""
    shown = sorted(rows, key=lambda row: (-max(row[1], row[2]), row[0]))[:_MOST]
    before, after = sum(row[1] for row in rows), sum(row[2] for row in rows)
    if len(rows) < 2:
        return []
    title = f"Share of the documents, {of}"
    return [
        Chart(
            title + ("" if len(rows) <= _MOST else f", the largest {_MOST}"),
            partial(
                charts.shares,
                title,
                [row[0] for row in shown],
                [100 * row[1] / before if before else 0 for row in shown],
                [100 * row[2] / after if after else 0 for row in shown],
            ),
            (("as read", "before"), ("as kept", "c0")),
        )
    ]


def _reasons(facts: Facts) -> Section:
    found = facts.rows["reasons"]
    rows = [
        (
            row["stage"], row["reason"], row["documents"], percent(row["documents"], facts.documents),
            row["fired"], row["alone"], row["close"],
        )
        for row in found
    ]  # fmt: skip
    shown = sorted(found, key=lambda row: (-row["documents"], row["stage"], row["reason"]))[: _MOST + 4]
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


def _before_after(name: str, rows: Rows, key: str) -> tuple[Table, list[Chart]]:
    read, kept = sum(row["documents"] for row in rows), sum(row["kept"] for row in rows)
    own, note = _cut(
        [
            (
                row[key], row["documents"], percent(row["documents"], read), row["kept"], percent(row["kept"], kept),
                percent(row["kept"], row["documents"]), row["chars"], row["chars_kept"],
            )
            for row in rows
        ]
    )  # fmt: skip
    head = (name, "documents", "of all", "kept", "of the kept", "share kept", "characters", "characters kept")
    plural = "languages" if key == "lang" else "licences"
    return Table(head, own, note=note), _shift(plural, [(row[key], row["documents"], row["kept"]) for row in rows])


def _languages(facts: Facts) -> Section:
    table, drawn = _before_after("language", facts.rows["languages"], "lang")
    return Section(
        "languages",
        "Languages",
        ["As judged from the text; und: not determined. Characters as kept are counted after the scrub."],
        charts=drawn,
        tables=[table],
    )


def _licences(facts: Facts) -> Section:
    table, drawn = _before_after("licence", facts.rows["licences"], "license_spdx")
    return Section("licences", "Licences", charts=drawn, tables=[table])


_CLUSTERS = {
    "exact": "copies of the same text, among all documents",
    "near": "near duplicates, among the documents that reached the stage",
    "related": "documents connected by any known relation",
}
_SIZES = ((2, 2), (3, 3), (4, 4), (5, 9), (10, 19), (20, 99), (100, 999), (1000, None))


def _duplicates(facts: Facts) -> Section:
    found = facts.rows["clusters"]
    drawn, rows = [], []
    for kind in _CLUSTERS:
        own = [row for row in found if row["kind"] == kind]
        if not own:
            continue
        clusters = sum(row["clusters"] for row in own)
        documents = sum(row["clusters"] * row["size"] for row in own)
        rows.append((kind, clusters, documents, documents - clusters, max(row["size"] for row in own)))
        binned = [
            (
                f"{low}" if low == high else f"{low}+" if high is None else f"{low}-{high}",
                sum(r["clusters"] for r in own if r["size"] >= low and (high is None or r["size"] <= high)),
            )
            for low, high in _SIZES
        ]
        while binned and not binned[-1][1]:
            binned.pop()
        title = f"Clusters by size: {kind}"
        drawn.append(
            Chart(
                title,
                partial(
                    charts.columns,
                    title,
                    [b[0] for b in binned],
                    [b[1] for b in binned],
                    note="documents in the cluster",
                    log=True,
                ),
            )  # fmt: skip
        )
    jaccard, threshold = facts.rows["jaccard"], facts.config["near_dedup"]["jaccard_threshold"]
    if jaccard:
        lowest = min(threshold, jaccard[0]["low"])
        first = int(lowest * 100 + 1e-9)
        at = {round(row["low"] * 100): row["pairs"] for row in jaccard}
        title = "Verified pairs by Jaccard similarity"
        steps = range(first, 100)
        drawn.append(
            Chart(
                title,
                partial(
                    charts.columns,
                    title,
                    [f"{i / 100:.2f}" for i in steps],
                    [at.get(i, 0) for i in steps],
                    note="Jaccard similarity, with the threshold",
                    limit=100 * threshold - first - 0.5,
                ),
            )  # fmt: skip
        )
    largest = [(row["first_id"], row["size"], row["sources"], row["kept"]) for row in facts.rows["largest"]]
    pairs = [(row["kind"], row["pairs"], row["both_kept"], row["crossing"]) for row in facts.rows["crossing"]]
    tables = []
    if rows:
        tables.append(Table(("clusters", "number", "documents", "more than one each", "largest"), rows))
    if largest:
        tables.append(
            Table(("first member", "documents", "sources", "kept"), largest, caption="The largest near clusters.")
        )
    if pairs:
        tables.append(
            Table(
                ("relation", "pairs", "both kept", "in two splits"),
                pairs,
                caption="The pairs that connect each group; not every pair that there is.",
            )
        )
    return Section(
        "duplicates",
        "Duplicates and relations",
        [] if tables else ["No relation was found."],
        charts=drawn,
        tables=tables,
    )


def _pii(facts: Facts) -> Section:
    if "pii" not in facts.config["stages"]:
        return Section("pii", "Personal data", ["The stage pii is not in the build; nothing was looked for."])
    kinds = [(row["kind"], row["placeholders"], row["documents"]) for row in facts.rows["pii"]]
    for kind in facts.config["pii"]["kinds"]:
        if not any(row[0] == kind for row in kinds):
            kinds.append((kind, 0, 0))
    langs = [
        (
            row["lang"],
            row["documents"],
            row["scrubbed"],
            percent(row["scrubbed"], row["documents"]),
            row["placeholders"],
        )
        for row in facts.rows["pii_languages"]
    ]
    title = "Placeholders put in, by kind"
    return Section(
        "pii",
        "Personal data",
        ["In kept documents, by form alone: names and other data without a form were not looked for."],
        charts=[Chart(title, partial(charts.bars, title, [k[0] for k in kinds], [("c0", [k[1] for k in kinds])]))],
        tables=[
            Table(("kind", "placeholders", "documents"), kinds),
            Table(("language", "kept documents", "with a placeholder", "share", "placeholders"), _cut(langs)[0]),
        ],
    )


def _splits(facts: Facts) -> Section:
    split = facts.config["split"]
    by_group = split["method"] == "group_hash"
    wanted = targets(split)
    found = {row["split"]: row for row in facts.rows["splits"]}
    names = list(dict.fromkeys([*wanted, *found]))
    n = facts.manifest["n_docs"]
    groups = sum(row["groups"] for row in found.values())
    rows = []
    for name in names:
        row = found.get(name, {"documents": 0, "groups": 0, "chars": 0})
        own = (row["groups"], groups) if by_group else (row["documents"], n)
        target = percent(wanted[name], 1) if name in wanted else ""
        rows.append((name, row["documents"], row["groups"], row["chars"], percent(*own), target))
    kin = [
        (said, facts.record.get("splits", {}).get(key))
        for key, said in (
            ("near_pairs", "verified pairs of near duplicates"),
            ("near_pairs_across", "of them in two splits, as if both had been kept"),
            ("near_pairs_across_kept", "of those, both kept"),
            ("held", "groups held in the split of an earlier build"),
            ("conflicts", "of them, groups that were in several splits"),
        )
    ]
    coverage: dict[tuple[str, str], dict[str, int]] = {}
    for row in facts.rows["split_coverage"]:
        coverage.setdefault((row["kind"], row["name"]), {})[row["split"]] = row["documents"]
    spread, note = _cut([(*key, *(own.get(name, 0) for name in names)) for key, own in coverage.items()], 200)
    title = "Documents of each split"
    return Section(
        "splits",
        "Splits",
        [
            f"Method {split['method']}: "
            + (
                "by the hash of the group, so that no group is in two splits. Shares are of the groups."
                if by_group
                else "by the hash of the final text. Shares are of the documents."
            )
        ],
        charts=[
            Chart(
                title,
                partial(
                    charts.bars, title, names, [("c0", [found.get(x, {"documents": 0})["documents"] for x in names])]
                ),
            )
        ],
        tables=[
            Table(("split", "documents", "groups", "characters", "share", "target"), rows),
            Table(("relatives", "number"), kin),
            Table(
                ("", "name", *names),
                spread,
                left=2,
                caption="Documents of each language and source by split.",
                note=note,
            ),
        ],
    )


def _tokens(facts: Facts) -> Section:
    rows = [
        (row["split"], row["documents"], row["measured"], row["tokens"], row["least"], row["median"], row["most"])
        for row in facts.rows["tokens"]
    ]
    return Section(
        "tokens",
        "Tokens",
        [
            "Counted by the tokeniser of shingles and decontamination, over the texts before the scrub; a model's "
            "tokeniser counts otherwise."
            if rows
            else "The build holds no count of tokens."
        ],
        tables=[Table(("split", "documents", "measured", "tokens", "least", "median", "most"), rows)] if rows else [],
    )


def _resources(facts: Facts) -> Section:
    run = facts.run
    rows: list[tuple] = [(f"{name} on disk", size_of(size)) for name, size in facts.bytes.items()]
    raw = sum(row["bytes"] or 0 for row in facts.rows["files"] if row["status"] == "read")
    rows.insert(0, ("raw files read", size_of(raw)))
    drawn = []
    if run:
        seconds: dict[str, float] = run["seconds"]
        rows += [
            ("finished", run["finished"]),
            ("cores", run["cores"]),
            ("wall time of all steps", f"{sum(seconds.values()):,.1f} s"),
            ("processor time", f"{run['cpu_seconds']:,.1f} s"),
            ("most memory", size_of(run["peak_memory_bytes"])),
        ]
        shown = sorted(seconds.items(), key=lambda item: (-item[1], item[0]))[:_MOST]
        title = "Seconds by step, the longest first"
        drawn = [Chart(title, partial(charts.bars, title, [s[0] for s in shown], [("c0", [s[1] for s in shown])]))]
    return Section(
        "resources",
        "Resource use",
        [
            "Of the run that made this build; what it reused from earlier runs is not in it. This part alone "
            "may differ between two equal builds."
        ],
        charts=drawn,
        tables=[Table(("", "value"), rows)],
    )


def _blank(facts: Facts) -> Section:
    rows = [(f"stage {stage}", said) for stage, said in not_run(facts)]
    if not facts.run:
        rows.append(("resource use", "there is no run.json"))
    rows += [("tokens of a model's tokeniser", ""), ("packing", ""), ("training", ""), ("evaluation of a model", "")]
    return Section(
        "blank",
        "Not run",
        ["What was never run has no result here. Expected values do not stand in for measurements."],
        tables=[Table(("what", "result"), rows, left=2)],
    )


def size_of(size: int) -> str:
    """Spell a size in bytes."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size:,} bytes"
