"""The form of a version folder, as a number in `_audit/build.json`: who reads a build asks first whether it can.

1: the folders made before there was a number. 2: the ledger and the inputs are kept; tables have columns of that form.
3: rules are a table, and entries of build.json.
"""

from __future__ import annotations

import json
from pathlib import Path

from corpus_sql import __version__
from corpus_sql.errors import ConfigError, Problem

FORMAT = 3
RULES = 3  # the first that has rules


def check(folder: Path, least: int = FORMAT) -> None:
    """Raise ConfigError for a build whose form is older than `least` or newer than FORMAT.

    least: 1 for readers of the shards and of those columns alone that every form has. What is no build, or is damaged,
    is for others to tell.
    """
    found = read(folder)
    if found is None or least <= found <= FORMAT:
        return
    what = f"this build has format {found}, and corpus-sql {__version__} reads format {FORMAT} here"
    if found < FORMAT:
        fix = f"Build it again with this version; `corpus-sql sql` and `corpus-sql export` read format {found}."
    else:
        fix = f"Install the corpus-sql that made it{_made_by(folder)}, or a later one."
    raise ConfigError(Problem(str(folder), what, fix))


def read(folder: Path) -> int | None:
    """Return the format of a build, 1 where it states none; None where build.json is none or states no number."""
    record = _record(folder)
    if record is None or "corpus_sql" not in record:
        return None
    found = record.get("format", 1)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None


def _record(folder: Path) -> dict | None:
    try:
        record = json.loads((Path(folder) / "_audit" / "build.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _made_by(folder: Path) -> str:
    version = (_record(folder) or {}).get("corpus_sql")
    return f" ({version})" if isinstance(version, str) else ""
