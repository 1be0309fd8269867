"""Contamination looked for a second time, by another path: strings in a Python set instead of rolling hashes.

The items are those that the build keeps, since it was made with them. Where the files that its config names lie here
too and differ from them, that is a notice, and so is what the documents share with what lies there now.
"""

from __future__ import annotations

import os
from itertools import zip_longest
from pathlib import Path

from corpus_sql import input_files, inputs
from corpus_sql.config import matching
from corpus_sql.errors import CorpusError, DataError
from corpus_sql.findings import Say, Unchecked, few
from corpus_sql.opened import Opened
from corpus_sql.protected import KEPT, read, set_names
from corpus_sql.shown import plain
from corpus_sql.tokens import tokens
from corpus_sql.validation import counted
from corpus_sql.verify_sources import over_sample

CHARS = 20_000_000  # code points that are tokenised again in plain Python; about a minute

Grams = dict[tuple[str, ...], str]  # n-gram -> the item it is of


def contamination(build: Opened, say: Say) -> str:
    """No kept document shares an n-gram with a protected item."""
    if "decontaminate" not in build.config["stages"]:
        raise Unchecked("the stage decontaminate is not in the build")
    query = """
        select id
        from documents join measures.decontaminate as measure using (id)
        where verdict = 'keep' and measure.item is not null
        order by id
    """
    say.many("kept, though the measure names a protected item", [id for (id,) in build.rows(query)])
    build.bad_rows(say, "reports", "verify_contamination")
    files = inputs.protected(build.folder)
    if not files:
        raise Unchecked(f"the protected files are not in {KEPT}")
    if input_files.hashed(files, set_names(files)).sha256 != build.record["model_files"]["decontaminate.protected"]:
        say.error(f"the protected files in {KEPT} are not those that the build was made with")
    grams, n_items = _grams(build, files)
    there = _there(build, files, say)
    hits, covered = _sharing(build, grams, there)
    _tell(build, hits[0], say)
    if hits[1]:
        say.notice(
            "documents that share an n-gram with what lies there now: "
            + few([f"{id} ({item})" for id, item in hits[1].items()]),
            "Build another version against it.",
        )
    return f"{counted(n_items, 'item')}; {covered}"


def _tell(build: Opened, hits: dict[str, str], say: Say) -> None:
    redacted = {id for (id,) in build.rows("select id from shards where pii_redactions > 0")}
    say.many(
        "documents that share an n-gram with a protected item",
        [f"{id} ({item})" for id, item in hits.items() if id not in redacted],
    )
    # a placeholder can make an n-gram that the raw text did not have
    if made := [id for id in hits if id in redacted]:
        say.notice(
            "documents that share an n-gram with a protected item after the scrub: "
            f"{len(made):,}: {'; '.join(made[:3])}"
        )


def _sharing(build: Opened, *sets: Grams) -> tuple[list[dict[str, str]], str]:
    """Return for each set of n-grams document -> an item of it, in id order, and how much was looked at."""
    hits: list[dict[str, str]] = [{} for _ in sets]
    lengths = [sorted({len(gram) for gram in grams}) for grams in sets]

    def look(id: str, text: str) -> None:
        found = tokens(text)
        for grams, sizes, own in zip(sets, lengths, hits, strict=True):
            every = (tuple(found[i : i + n]) for n in sizes for i in range(len(found) - n + 1))
            if (item := next((grams[gram] for gram in every if gram in grams), None)) is not None:
                own[id] = item

    covered = over_sample(build, CHARS, look)
    return [dict(sorted(own.items(), key=lambda one: one[0].encode())) for own in hits], covered


def _there(build: Opened, kept: list[Path], say: Say) -> Grams:
    """Return the n-grams of files that lie where the config most likely names them, if those differ from the kept."""
    root, now = _on_disk(build)
    try:
        changed = _changed(root, kept, now) if now else []
        grams, _ = _grams(build, now if changed else [])
    except (CorpusError, OSError):
        changed, grams = ["they cannot be read as items any more"], {}
    if changed:
        say.notice(
            "the protected files have changed since the build, which was checked against the copies that it keeps: "
            + few(changed)
        )
    return grams


def _changed(root: Path, kept: list[Path], now: list[Path]) -> list[str]:
    """Say of each set in which it differs from the one kept, in order of their names."""
    before, after = (dict(zip(set_names(files), files, strict=True)) for files in (kept, now))
    found = []
    for name in sorted({*before, *after}, key=str.encode):
        shown = plain(os.path.relpath(after[name], root), keep="") if name in after else name
        if name not in after:
            found.append(f"{shown} is not there any more")
        elif name not in before:
            found.append(f"{shown} was not there")
        elif line := _differs(before[name], after[name]):
            found.append(f"{shown} differs from line {line:,} on")
    return found


def _differs(one: Path, other: Path) -> int | None:
    """Return the first line in which two files differ, from 1."""
    lines = zip_longest(one.read_bytes().split(b"\n"), other.read_bytes().split(b"\n"))
    return next((n for n, (a, b) in enumerate(lines, 1) if a != b), None)


def _on_disk(build: Opened) -> tuple[Path, list[Path]]:
    """Find the files that all patterns name, from where the config most likely lay; none where one names nothing."""
    for place in build.roots:
        patterns = build.written["decontaminate"]["protected"]
        if all(matching(place, [pattern]) for pattern in patterns):
            return place, matching(place, patterns)
    return build.folder, []


def _grams(build: Opened, files: list[Path]) -> tuple[Grams, int]:
    """Return n-gram -> the item it is of, and how many items there are.

    Items shorter than an n-gram count whole, from min_tokens on. Raises DataError for a line that is no item.
    """
    ngram, least = (build.config["decontaminate"][key] for key in ("ngram", "min_tokens"))
    grams: Grams = {}
    n_items, problems = 0, []
    for path, name in zip(files, set_names(files), strict=True):
        for _, _, id, text in read(path, problems):
            found = tokens(text)
            n_items += 1
            if len(found) >= min(ngram, least):
                length = min(ngram, len(found))
                for i in range(len(found) - length + 1):
                    grams.setdefault(tuple(found[i : i + length]), f"{name}:{id}")
    if problems:
        raise DataError(problems)
    return grams, n_items
