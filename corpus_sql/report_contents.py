"""The sections of a report on what is in the corpus: languages, licences, duplicates, personal data, splits, tokens."""

from __future__ import annotations

from functools import partial

from corpus_sql import charts
from corpus_sql.pii_shown import without_pii
from corpus_sql.report_facts import Facts, Rows
from corpus_sql.report_parts import MOST, Chart, Section, Table, cut, shift
from corpus_sql.report_problems import not_run, percent, targets
from corpus_sql.shown import plain
from corpus_sql.validation import size_of


def _before_after(name: str, rows: Rows, key: str) -> tuple[Table, list[Chart]]:
    read, kept = sum(row["documents"] for row in rows), sum(row["kept"] for row in rows)
    own, note = cut(
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
    return Table(head, own, note=note), shift(plural, [(row[key], row["documents"], row["kept"]) for row in rows])


def languages(facts: Facts) -> Section:
    """Documents and characters of each language, as read and as kept."""
    table, drawn = _before_after("language", facts.rows["languages"], "lang")
    return Section(
        "languages",
        "Languages",
        ["As judged from the text; und: not determined. Characters as kept are counted after the scrub."],
        charts=drawn,
        tables=[table],
    )


def licences(facts: Facts) -> Section:
    """The same by licence."""
    table, drawn = _before_after("licence", facts.rows["licences"], "license_spdx")
    return Section("licences", "Licences", charts=drawn, tables=[table])


_CLUSTERS = {
    "exact": "copies of the same text, among all documents",
    "near": "near duplicates, among the documents that reached the stage",
    "related": "documents connected by any known relation",
}
_SIZES = ((2, 2), (3, 3), (4, 4), (5, 9), (10, 19), (20, 99), (100, 999), (1000, None))


def duplicates(facts: Facts) -> Section:
    """Clusters by size, the largest of them, the pairs that connect them."""
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
    if removed := [(row["reason"], row["copies"], row["without"]) for row in facts.rows["survivors"]]:
        tables.append(
            Table(
                ("removed copies", "documents", "without a copy in the corpus"),
                removed,
                caption="A copy is without one where the document in whose stead it went was dropped by a later stage.",
            )
        )
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


def contamination(facts: Facts) -> Section:
    """The protected items and n-grams that dropped most documents."""
    name, title = "contamination", "Evaluation data"
    if "decontaminate" not in facts.config["stages"]:
        return Section(name, title, ["The stage decontaminate is not in the build; nothing was looked for."])
    items = [
        (row["item"], row["documents"], row["most"], row["n_ngrams"], percent(row["largest_share"], 1))
        for row in facts.rows["items"]
    ]
    ngrams = [
        (plain(without_pii(row["ngram"]), keep=""), row["item"], row["documents"]) for row in facts.rows["ngrams"]
    ]
    if not items:
        return Section(name, title, ["No document was dropped for what it shares with a protected item."])
    return Section(
        name,
        title,
        ["Of documents dropped by decontaminate. N-grams are words of protected sets: share them as you would those."],
        tables=[
            Table(("item", "documents", "most n-grams shared", "of", "largest share"), items),
            Table(("n-gram", "item", "documents"), ngrams, left=2, caption="The first that each document shares."),
        ],
    )


def pii(facts: Facts) -> Section:
    """What the scrub replaced, by kind and language."""
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
            Table(("language", "kept documents", "with a placeholder", "share", "placeholders"), cut(langs)[0]),
        ],
    )


def splits(facts: Facts) -> Section:
    """What each split holds, against its target, and which relatives lie in two."""
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
    spread, note = cut([(*key, *(own.get(name, 0) for name in names)) for key, own in coverage.items()], 200)
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


def tokens(facts: Facts) -> Section:
    """Tokens by split."""
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


def resources(facts: Facts) -> Section:
    """Time, memory and disk of the run."""
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
        shown = sorted(seconds.items(), key=lambda item: (-item[1], item[0]))[:MOST]
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


def blank(facts: Facts) -> Section:
    """What was never run: named, and left without a result."""
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
