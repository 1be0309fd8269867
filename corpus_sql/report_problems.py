"""What a reader of a report should know before the numbers are used: found in the numbers, not written by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from corpus_sql.losses import NOTHING
from corpus_sql.report_facts import Facts
from corpus_sql.validation import counted

_FEW = 100  # documents below which a share says little
_STAGES = {  # what it means when a stage of the contract is not in a build
    "lang": "languages were not judged",
    "gopher": "no quality rule ran",
    "repetition": "repetition was not judged",
    "ppl": "perplexity was not judged",
    "exact_dedup": "exact copies may be in it",
    "near_dedup": "near copies may be in it",
    "decontaminate": "nothing keeps evaluation data out",
    "pii": "personal data was not looked for",
}


def problems(facts: Facts) -> list[str]:
    """Return the known problems of a build, a sentence each, the recorded ones first."""
    return [
        *facts.record.get("notices", []),
        *_replaced(facts),
        *_missing(facts),
        *_unmeasured(facts),
        *_read(facts),
        *_kept(facts),
        *_splits(facts),
    ]


def not_run(facts: Facts) -> list[tuple[str, str]]:
    """Return the stages that are not in the build, each with what that means."""
    return [(stage, said) for stage, said in _STAGES.items() if stage not in facts.config["stages"]]


def _replaced(facts: Facts) -> Iterator[str]:
    for path in facts.record.get("replaced", []):
        yield f"{path} of the project stood in for the built-in file."


def _missing(facts: Facts) -> Iterator[str]:
    if found := [f"{stage} ({said})" for stage, said in not_run(facts)]:
        yield f"Not in the build: {', '.join(found)}."


def _unmeasured(facts: Facts) -> Iterator[str]:
    coverage: dict[str, dict[str, int]] = facts.record.get("coverage", {})
    perplexity = coverage.get("perplexity", {}).get("perplexity")
    if "ppl" in facts.config["stages"] and perplexity == 0 and facts.documents:
        yield "Perplexity was measured for no document: the stage ppl let everything pass."
    partial = {}
    for found in facts.histograms:
        for lang, (measured, documents) in found.measured.items():
            if measured < documents:
                partial.setdefault(found.rule.measure, []).append(f"{measured:,} of {documents:,} in {lang}")
    for measure, said in partial.items():
        yield f"{measure} was measured for {', '.join(said)} only; what was not measured fails no rule."
    for rule in facts.unmeasured:
        langs = ", ".join(rule.limits)
        yield f"{rule.measure} was measured for no document of {langs}: its rule in {rule.stage} let all pass."


def _read(facts: Facts) -> Iterator[str]:
    quarantined = sum(row["quarantined"] for row in facts.rows["sources"])
    lines = sum(row["lines"] - row["blank"] for row in facts.rows["sources"])
    if quarantined:
        share = percent(quarantined, lines)
        yield f"{quarantined:,} of {counted(lines, 'line')} ({share}) could not be read as documents."
    for row in facts.rows["files"]:
        if row["status"] == "ignored":
            yield f"{counted(row['files'], 'file')} beside the raw files, named in another form, not read."
    if not facts.config["keep_rejected_text"]:
        yield "The texts of dropped documents were not kept, so no one can read what was lost."


def _kept(facts: Facts) -> Iterator[str]:
    kept = facts.manifest["n_docs"]
    said = " ".join(facts.record.get("notices", []))  # the build itself says some of it
    if not kept:
        if NOTHING not in said:
            yield "No document was kept."
        return
    overall = kept / facts.documents
    wanted = facts.config["lang"].get("keep", ["*"]) if "lang" in facts.config["stages"] else ["*"]
    for row in facts.rows["languages"]:
        if row["lang"] == "und" and row["documents"] > 0.05 * facts.documents:
            if "was not determined (und)" in said:
                continue
            share = percent(row["documents"], facts.documents)
            yield (
                f"The language of {counted(row['documents'], 'document')} ({share}) was not determined; "
                f"kept of them: {row['kept']:,}."
            )
        elif ("*" in wanted or row["lang"] in wanted) and row["documents"] >= _FEW and row["lang"] != "und":
            if row["kept"] < 0.5 * overall * row["documents"]:
                yield (
                    f"Only {percent(row['kept'], row['documents'])} of the documents in {row['lang']} were kept, "
                    f"{percent(kept, facts.documents)} of all."
                )
    for lang in wanted:
        if lang != "*" and not any(row["lang"] == lang and row["kept"] for row in facts.rows["languages"]):
            yield f"{lang} is to be kept, but no document of it is in the build."
    for row in facts.rows["sources"]:
        if not row["documents"]:
            yield f"{row['source_id']} gave no document."
        elif not row["kept"] and f" {row['source_id']} (" not in said:
            yield f"Of the {counted(row['documents'], 'document')} of {row['source_id']}, none was kept."


def _splits(facts: Facts) -> Iterator[str]:
    found = {row["split"]: row for row in facts.rows["splits"]}
    by_group = facts.config["split"]["method"] == "group_hash"
    unit = "groups" if by_group else "documents"
    said = " ".join(facts.record.get("notices", []))  # the build itself says some of it
    n = sum(row[unit] for row in found.values())
    for split, share in targets(facts.config["split"]).items():
        if not share or not n:
            continue
        own = found.get(split, {}).get(unit, 0)
        if "few groups in a split" in said or f"the split {split} is empty" in said:
            continue
        if not own:
            yield f"The split {split} holds no document; stratify or add data rather than try other salts."
        elif abs(own - n * share) > 3 * math.sqrt(n * share * (1 - share)):
            yield (
                f"The split {split} holds {percent(own, n)} of the {unit}, the target was {percent(share, 1)}: "
                "that is more than three standard errors off."
            )
        elif found[split]["documents"] < _FEW:
            few = counted(found[split]["documents"], "document")
            yield f"The split {split} holds {few}: too few to measure a share on."
    for row in facts.rows["crossing"]:
        if row["crossing"] and not (row["kind"] == "near" and "kept in different splits" in said):
            yield f"In two splits: {counted(row['crossing'], 'pair')} of kept documents related by {row['kind']}."


def targets(split: dict[str, Any]) -> dict[str, float]:
    """Return split -> its target share, of documents under content_hash, of groups under group_hash."""
    if split["method"] == "group_hash":
        return {name: split[name] / 1000 for name in ("train", "validation", "test")}
    return {"train": 1 - split["val_permille"] / 1000, "val": split["val_permille"] / 1000}


def percent(part: float, whole: float) -> str:
    """Spell a share; empty where there is no whole."""
    if not whole:
        return ""
    share = 100 * part / whole
    if 0 < share < 0.05:
        return "< 0.1 %"
    return f"{share:.1f} %" if not 99.95 <= share < 100 else "> 99.9 %"
