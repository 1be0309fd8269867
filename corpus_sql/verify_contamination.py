"""Contamination looked for a second time, by another path: strings in a Python set instead of rolling hashes."""

from __future__ import annotations

import json
from pathlib import Path

from corpus_sql import inputs, resources
from corpus_sql.findings import Say, Unchecked
from corpus_sql.opened import Opened
from corpus_sql.protected import set_names
from corpus_sql.tokens import tokens
from corpus_sql.validation import counted
from corpus_sql.verify_sources import over_sample

CHARS = 20_000_000  # code points that are tokenised again in plain Python; about a minute


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
    table = build.config["decontaminate"]
    files = protected_files(build)
    if not files:
        raise Unchecked(f"the protected files are not here: {', '.join(table['protected'])}")
    grams, n_items = _grams(files, table["ngram"], table["min_tokens"])
    lengths = sorted({len(gram) for gram in grams})
    same = resources.key_of(files, set_names(files)) in (
        build.audit / "compiled" / "decontaminate" / "scanned.sql"
    ).read_text("utf-8")
    redacted = {id for (id,) in build.rows("select id from shards where pii_redactions > 0")}
    hits: dict[str, str] = {}

    def look(id: str, text: str) -> None:
        found = tokens(text)
        for length in lengths:
            for i in range(len(found) - length + 1):
                if (item := grams.get(tuple(found[i : i + length]))) is not None:
                    hits.setdefault(id, item)
                    return

    covered = over_sample(build, CHARS, look)
    ids = sorted(hits, key=str.encode)
    if not same and ids:
        shown = "; ".join(f"{id} ({hits[id]})" for id in ids[:3])
        say.notice(
            "the protected files have changed since the build; "
            f"documents that share an n-gram with what lies there now: {len(ids):,}: {shown}",
            "Build another version against them.",
        )
    elif ids:
        say.many(
            "documents that share an n-gram with a protected item",
            [f"{id} ({hits[id]})" for id in ids if id not in redacted],
        )
        # a placeholder can make an n-gram that the raw text did not have
        if made := [id for id in ids if id in redacted]:
            say.notice(
                "documents that share an n-gram with a protected item after the scrub: "
                f"{len(made):,}: {'; '.join(made[:3])}"
            )
    return f"{counted(n_items, 'item')}; {covered}"


def protected_files(build: Opened) -> list[Path]:
    """Find the files that the patterns name, from where the config most likely lay; else those the build kept."""
    for place in build.roots:
        found: set[Path] = set()
        for pattern in build.written["decontaminate"]["protected"]:
            base, below = (
                (Path(pattern).anchor, str(Path(pattern).relative_to(Path(pattern).anchor)))
                if Path(pattern).is_absolute()
                else (place, pattern)
            )
            matched = {path for path in Path(base).glob(below) if path.is_file()}
            if not matched:
                found = set()
                break
            found |= matched
        if found:
            return sorted(found, key=lambda path: str(path).encode())
    return inputs.protected(build.folder)


def _grams(files: list[Path], ngram: int, least: int) -> tuple[dict[tuple[str, ...], str], int]:
    """Return n-gram -> the item it is of; items shorter than an n-gram count whole, from `least` tokens on."""
    grams: dict[tuple[str, ...], str] = {}
    n_items = 0
    for path, name in zip(files, set_names(files), strict=True):
        for line in path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            if not line.strip():
                continue
            item = json.loads(line)
            found = tokens(item["text"])
            n_items += 1
            if len(found) >= min(ngram, least):
                length = min(ngram, len(found))
                for i in range(len(found) - length + 1):
                    grams.setdefault(tuple(found[i : i + length]), f"{name}:{item['id']}")
    return grams, n_items
