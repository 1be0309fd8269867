"""`corpus-sql verify`: whether a published build may be handed over to training."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa

from corpus_sql import verify_contamination, verify_files, verify_raw, verify_sources
from corpus_sql.errors import ConfigError, CorpusError, Problem
from corpus_sql.findings import ERROR, NOTICE, OK, UNCHECKED, Check, Findings, Say, Unchecked
from corpus_sql.opened import Opened

_JSON = ("_MANIFEST.json", "_audit/build.json")
_TABLES = (*_JSON, "_audit/*.parquet", "_audit/measures/*.parquet", "shard-*.parquet")


def packed(build: Opened, say: Say) -> str:
    """Token ids, masks, ratios and restore positions of the packed corpus; no build is packed yet."""
    raise Unchecked("not packed")


# layer, name, the check, the files that it reads: it is left out when one of them is damaged, for a damaged Parquet
# file says nothing, and the damage is told already
CHECKS: tuple[tuple[str, str, Callable[[Opened, Say], str], tuple[str, ...]], ...] = (
    ("files", "sums", verify_files.sums, ()),
    ("files", "manifest", verify_files.manifest, ("_MANIFEST.json",)),
    ("files", "config", verify_files.config, (*_JSON, "config.toml")),
    ("files", "record", verify_files.record, (*_TABLES, "_audit/compiled/*")),
    ("files", "shards", verify_files.shard_files, (*_JSON, "shard-*.parquet")),
    ("files", "columns", verify_files.columns, _TABLES),
    ("files", "ids", verify_files.ids, _TABLES),
    ("files", "texts", verify_files.texts, ("_MANIFEST.json", "shard-*.parquet")),
    ("files", "placeholders", verify_files.placeholders, _TABLES),
    ("files", "records", verify_files.records, _TABLES),
    ("files", "judgements", verify_files.judgements, (*_TABLES, "_audit/compiled/stages/*")),
    ("files", "counts", verify_files.counts, _TABLES),
    ("files", "hash chain", verify_files.hash_chain, (*_TABLES, "_audit/hashes.u64")),
    ("sources", "sources", verify_sources.sources, _TABLES),
    ("sources", "raw", verify_raw.raw, _TABLES),
    ("sources", "splits", verify_sources.splits, _TABLES),
    ("sources", "groups", verify_sources.groups, _TABLES),
    ("sources", "shares", verify_sources.shares, _TABLES),
    ("sources", "duplicates", verify_sources.duplicates, _TABLES),
    (
        "sources",
        "contamination",
        verify_contamination.contamination,
        (*_TABLES, "_audit/compiled/measures/decontaminate.sql"),
    ),
    ("sources", "personal data", verify_sources.personal_data, _TABLES),
    ("training", "reads", packed, ()),
)


def verify(build: Path) -> Findings:
    """Make every check on a build; nothing is written. `Findings.errors` is empty when it may be handed over.

    A check that cannot be made here (raw files that lie elsewhere, a stage that was not in the build) is a notice and
    says so. Raises ConfigError where the folder is no build at all.
    """
    folder = Path(build)
    if not any((folder / name).exists() for name in ("_MANIFEST.json", "_audit")):
        raise ConfigError(
            Problem(
                str(folder),
                "this is no build: it has no _MANIFEST.json and _audit/",
                "Give a version folder, corpus/<dataset>/<version>.",
            )
        )
    opened, found, damaged = Opened(folder), Findings(str(folder)), set()
    for layer, name, check, needs in CHECKS:
        say = Say(layer, name)
        broken = sorted(one for one in damaged if any(fnmatch.fnmatchcase(one, need) for need in needs))
        outcome, says = "", ""
        if broken:
            outcome, says = (
                UNCHECKED,
                f"not checked, for it reads damaged files: {', '.join(broken[:2])}{', …' if len(broken) > 2 else ''}",
            )
            say.notice(says)
        else:
            try:
                says = check(opened, say)
            except Unchecked as reason:
                outcome, says = UNCHECKED, f"{reason}: not checked"
                say.notice(says)
            except (CorpusError, duckdb.Error, pa.ArrowException, OSError, LookupError, TypeError, ValueError) as error:
                say.error(
                    f"cannot be checked: {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else 'no reason given'}"
                )
        damaged |= say.damaged
        if any(one.severity == ERROR for one in say.found):
            outcome = ERROR
        outcome = outcome or (NOTICE if say.found else OK)
        found.checks.append(Check(layer, name, outcome, says))
        found.findings.extend(say.found)
    return found
