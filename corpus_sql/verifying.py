"""`corpus-sql verify`: whether a published build may be handed over to training."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa

from corpus_sql import (
    build_format,
    builds,
    verify_contamination,
    verify_files,
    verify_raw,
    verify_records,
    verify_sources,
)
from corpus_sql.errors import ConfigError, CorpusError
from corpus_sql.findings import ERROR, NOTICE, OK, UNCHECKED, Check, Findings, Say, Unchecked
from corpus_sql.opened import Opened
from corpus_sql.progress import Report

# what reading a file that somebody changed can end in
_FAILURES = (
    duckdb.Error, pa.ArrowException, OSError, LookupError, TypeError, ValueError, AttributeError,
    ArithmeticError, RecursionError,
)  # fmt: skip
NOT_REBUILT = "measures, pairs, card and most of build.json are not computed again; --rebuild does that"
_JSON = ("_MANIFEST.json", "_audit/build.json")
_TABLES = (*_JSON, "_audit/*.parquet", "_audit/measures/*.parquet", "shard-*.parquet")


def packed(build: Opened, say: Say) -> str:
    """Token ids, masks, ratios and restore positions of the packed corpus; no build is packed yet."""
    raise Unchecked("not packed")


def rebuilt(build: Opened, say: Say) -> str:
    """Every file but run.json comes out the same when the build is made again."""
    from corpus_sql import rebuilding  # it brings all that a run needs

    return rebuilding.rebuild(build, say)


# layer, name, the check, the files that it reads: it is left out when one of them is damaged, for a damaged Parquet
# file says nothing, and the damage is told already
CHECKS: tuple[tuple[str, str, Callable[[Opened, Say], str], tuple[str, ...]], ...] = (
    ("files", "sums", verify_files.sums, ()),
    ("files", "manifest", verify_files.manifest, ("_MANIFEST.json",)),
    ("files", "forms", verify_files.read_forms, ()),
    ("files", "config", verify_files.config, (*_JSON, "config.toml")),
    ("files", "record", verify_files.record, (*_TABLES, "_audit/compiled/*")),
    ("files", "shards", verify_files.shard_files, (*_JSON, "shard-*.parquet")),
    ("files", "columns", verify_files.columns, _TABLES),
    ("files", "ids", verify_records.ids, _TABLES),
    ("files", "texts", verify_records.texts, ("_MANIFEST.json", "shard-*.parquet")),
    ("files", "placeholders", verify_records.placeholders, _TABLES),
    ("files", "records", verify_records.records, _TABLES),
    ("files", "judgements", verify_records.judgements, (*_TABLES, "_audit/compiled/stages/*")),
    ("files", "counts", verify_records.counts, _TABLES),
    ("files", "hash chain", verify_records.hash_chain, (*_TABLES, "_audit/hashes.u64")),
    ("sources", "sources", verify_sources.sources, _TABLES),
    ("sources", "ledger", verify_sources.ledger_rows, (*_JSON, "_audit/ledger.jsonl", "_audit/inputs/*")),
    ("sources", "raw", verify_raw.raw, _TABLES),
    ("sources", "splits", verify_sources.splits, _TABLES),
    ("sources", "groups", verify_sources.groups, _TABLES),
    ("sources", "shares", verify_sources.shares, _TABLES),
    ("sources", "duplicates", verify_sources.duplicates, _TABLES),
    (
        "sources",
        "contamination",
        verify_contamination.contamination,
        (*_TABLES, "config.toml", "_audit/inputs/protected/*"),
    ),
    ("sources", "personal data", verify_sources.personal_data, _TABLES),
    (
        "files",
        "rebuild",
        rebuilt,
        ("config.toml", "_audit/build.json", "_audit/ledger.jsonl", "_audit/inputs/*", "_audit/files.parquet"),
    ),
    ("training", "reads", packed, ()),
)


def verify(build: Path, *, rebuild: bool = False, report: Report | None = None) -> Findings:
    """Make every check on a build; nothing is written. `Findings.errors` is empty when it may be handed over.

    A check that cannot be made here (raw files that lie elsewhere, a stage that was not in the build) says so
    and is no notice. rebuild: make the build again in a scratch place too, and compare every byte; this runs the
    functions that the folder keeps. report: where the progress of that is shown.
    Raises ConfigError where the folder is no build at all, or one of another format.
    """
    folder = Path(build)
    if not any((folder / name).exists() for name in ("_MANIFEST.json", "_audit")):
        raise ConfigError(builds.no_build(folder))
    build_format.check(folder)
    opened, found, damaged = Opened(folder, report), Findings(str(folder)), set()
    try:
        for layer, name, check, needs in CHECKS:
            if check is rebuilt and not rebuild:
                found.checks.append(Check(layer, name, UNCHECKED, NOT_REBUILT))
                continue
            say = Say(layer, name)
            broken = sorted(one for one in damaged if any(fnmatch.fnmatchcase(one, need) for need in needs))
            outcome, says = _look(opened, say, check, broken)
            damaged |= say.damaged
            found.checks.append(Check(layer, name, outcome, says))
            found.findings.extend(say.found)
    finally:
        opened.close()
    return found


def _look(opened: Opened, say: Say, check: Callable[[Opened, Say], str], broken: list[str]) -> tuple[str, str]:
    """Make one check; return its outcome and what was looked at."""
    if broken:  # which is an error already
        return UNCHECKED, f"it reads damaged files: {', '.join(broken[:2])}{', …' if len(broken) > 2 else ''}"
    says = ""
    try:
        says = check(opened, say)
    except Unchecked as reason:
        return (ERROR if any(one.severity == ERROR for one in say.found) else UNCHECKED), str(reason)
    except CorpusError as error:
        for one in error.problems:
            say.error(f"cannot be checked: {one.where}: {one.what}", one.fix)
    except _FAILURES as error:
        what = str(error).strip().split("\n")[0] or "no reason given"
        say.error(f"cannot be checked: {type(error).__name__}: {what}", verify_files.ANEW)
    if any(one.severity == ERROR for one in say.found):
        return ERROR, says
    return (NOTICE if say.found else OK), says
