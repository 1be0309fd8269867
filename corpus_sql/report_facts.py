"""What a report is made from: every number, asked of the build folder once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus_sql import build_format, damaged, inputs
from corpus_sql import rules as all_rules
from corpus_sql.report_queries import Tables

LANGUAGES = 3  # as many languages as one chart holds
_BINS = 40
_LOG_FROM = 100  # whole numbers that reach further are shown in powers of ten
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Rule:
    """One rule of a stage that compares a measure with a minimum or maximum of the config, by language.

    limits: language -> (minimum, maximum), None where that side is off; no entry where both are.
    """

    stage: str
    measure: str
    limits: dict[str, tuple[float | None, float | None]]


@dataclass(frozen=True)
class Histogram:
    """How the documents of the largest languages lie around a rule's thresholds.

    edges: of the bins, in the measure's own unit, one more than bins; log: they are even in log10(1 + value).
    counts: language -> (documents in each bin, those of them the rule drops). measured: language -> (documents with a
    value, all documents). open_end: values above the last edge are counted in the last bin.
    """

    rule: Rule
    edges: list[float]
    log: bool
    counts: dict[str, tuple[list[int], list[int]]]
    measured: dict[str, tuple[int, int]]
    median: dict[str, float | None]
    open_end: bool


@dataclass(frozen=True)
class Facts:
    """A build in numbers. The rows are those of sql/reports; `run` is _audit/run.json, empty where there is none."""

    manifest: dict[str, Any]
    record: dict[str, Any]
    run: dict[str, Any]
    bytes: dict[str, int]  # what the folder takes on disk: shards, audit
    rows: dict[str, Rows]
    histograms: list[Histogram]
    unmeasured: list[Rule]  # rules whose measure holds no value for any of these languages
    unstored: list[Rule]  # rules over a number that no measure of the build holds

    @property
    def config(self) -> dict[str, Any]:
        """Every key of the config with its default, as the build recorded it."""
        return self.record["config"]

    @property
    def documents(self) -> int:
        """Lines that became documents."""
        return sum(row["documents"] for row in self.rows["languages"])


_QUERIES = (
    "funnel", "sources", "source_stages", "reasons", "languages", "licences", "splits", "split_coverage", "crossing",
    "clusters", "largest", "survivors", "items", "ngrams", "jaccard", "pii", "pii_languages", "lengths", "samples",
    "quarantine", "files",
)  # fmt: skip


def facts(folder: Path) -> Facts:
    """Return all numbers of a build folder; raises ConfigError when it is none."""
    folder = Path(folder)
    build_format.check(folder)
    with Tables(folder) as tables:
        damaged.whole(folder)
        rows = {name: tables.ask(f"report_{name}") for name in _QUERIES}
        record = damaged.read_object(folder, "_audit/build.json")
        measured = tables.measured()
        rows["ledger"] = [{"source_id": id, **inputs.told(row)} for id, row in inputs.rows(folder).items()]
        rows["tokens"] = tables.ask("report_tokens") if "n_tokens" in measured else []
        rows["hits"] = tables.ask("report_hits", {"ids": [row["id"] for row in rows["samples"]]})
        languages = _shown(rows["languages"], record["config"])
        judged = {(row["stage"], row["metric"]) for row in rows["reasons"]}
        histograms, unmeasured, unstored = [], [], []
        for rule in rules(record, languages):
            if rule.measure not in measured:
                if (rule.stage, rule.measure) in judged:
                    unstored.append(rule)
            elif found := _histogram(tables, rule, *measured[rule.measure]):
                histograms.append(found)
            elif languages:
                unmeasured.append(rule)
    run = folder / "_audit" / "run.json"
    return Facts(
        manifest=damaged.read_object(folder, "_MANIFEST.json"),
        record=record,
        run=damaged.read_object(folder, "_audit/run.json") if run.is_file() else {},
        bytes={
            "shards": sum(path.stat().st_size for path in folder.glob("shard-*.parquet")),
            "_audit/": sum(path.stat().st_size for path in (folder / "_audit").rglob("*") if path.is_file()),
        },
        rows=rows,
        histograms=histograms,
        unmeasured=unmeasured,
        unstored=unstored,
    )


def _shown(languages: Rows, config: dict[str, Any]) -> list[str]:
    """The largest languages among those that are to be kept; all count where no stage looks at languages."""
    keep = config["lang"].get("keep", ["*"]) if "lang" in config["stages"] else ["*"]
    found = [row["lang"] for row in languages if "*" in keep or row["lang"] in keep]
    return found[:LANGUAGES]


def rules(record: dict[str, Any], languages: list[str]) -> list[Rule]:
    """Return the rules of the build's stages that have a threshold for at least one of these languages.

    A measure with a minimum and a maximum is one. The measure is what the key of the config is called after.
    """
    found: dict[tuple[str, str], dict[str, list[float | None]]] = {}
    for rule in all_rules.of(record):
        end, _, measure = (rule.key or "").rpartition(".")[2].partition("_")
        if end not in ("min", "max"):
            continue
        for lang in languages:
            if (limit := rule.limit(lang)) is not None:
                own = found.setdefault((rule.stage, measure), {}).setdefault(lang, [None, None])
                own[end == "max"] = limit
    return [
        Rule(stage, measure, {lang: (low, high) for lang, (low, high) in by_language.items()})
        for (stage, measure), by_language in found.items()
    ]


def _histogram(tables: Tables, rule: Rule, table: str, kind: str) -> Histogram | None:
    """Count one measure in bins; None where no document of these languages has a value."""
    languages = list(rule.limits)
    # the stage that judges languages decides what a document's language is, so there the model's own word stands
    by_model = rule.stage == "lang" and table == "measures.language"
    names = {
        "table": table,
        "measure": rule.measure,
        "labels": "measures.language" if by_model else "documents",
        "label": "model_lang" if by_model else "lang",
    }
    ranges = [row for row in tables.ask("report_range", {"languages": languages}, **names) if row["measured"]]
    if not ranges:
        return None
    limits = [limit for pair in rule.limits.values() for limit in pair if limit is not None]
    whole = kind not in ("DOUBLE", "FLOAT")
    least, most = min(row["least"] for row in ranges), max(row["most"] for row in ranges)
    log = whole and least >= 0 and max(most, *limits) > _LOG_FROM
    if log:
        low, high = math.log10(1 + least), math.log10(1 + max(most, *limits)) + 0.05
    elif whole:
        low, high = math.floor(min(least, *limits)) - 0.5, math.ceil(max(most, *limits)) + 0.5
    elif least >= 0 and max(most, *limits) <= 1.001:  # fastText's scores pass 1 by a little
        low, high = 0.0, 1.0
    else:  # a few far values must not press all others into one bin
        low = min(least, *limits)
        high = min(most, max(max(row["high"] for row in ranges), *(1.25 * limit for limit in limits)))
        high = max(high, *limits)
        low, high = low - 0.04 * (high - low), high + 0.04 * (high - low)
    n, step = _BINS, (high - low) / _BINS if high > low else 1.0
    if whole and not log:  # as many whole numbers in each bin
        step = float(-(-round(high - low) // _BINS))
        n = -(-round(high - low) // round(step))
    values = {
        "languages": languages,
        "minima": [pair[0] for pair in rule.limits.values()],
        "maxima": [pair[1] for pair in rule.limits.values()],
        "log": log,
        "low": low,
        "step": step,
        "n": n,
    }
    counts: dict[str, tuple[list[int], list[int]]] = {row["lang"]: ([0] * n, [0] * n) for row in ranges}
    for row in tables.ask("report_histogram", values, **names):
        counts[row["lang"]][0][row["bin"]] = row["documents"]
        counts[row["lang"]][1][row["bin"]] = row["beyond"]
    edges = [low + step * i for i in range(n + 1)]
    return Histogram(
        rule=rule,
        edges=[10**edge - 1 for edge in edges] if log else edges,
        log=log,
        counts=counts,
        measured={row["lang"]: (row["measured"], row["documents"]) for row in ranges},
        median={row["lang"]: row["median"] for row in ranges},
        open_end=not log and most > high * 1.001,
    )
