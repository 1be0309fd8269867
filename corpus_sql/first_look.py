"""A first look: a build from the first lines of each source, in a version of its own; never to be taken for the corpus.

What it is stands in `_audit/build.json` as `first`, the number of lines; other builds have no such key.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpus_sql.config import Config
from corpus_sql.errors import ConfigError, Problem
from corpus_sql.validation import counted

_LINE = 1 << 10  # bytes of a raw line, compressed, to say beforehand how much will be read


def config_of(config: Config, first: int) -> Config:
    """Return the config of a first look, in a version that says so; raises ConfigError for less than one line."""
    if first < 1:
        raise ConfigError(Problem("--first", f"{first} is no number of lines", "Give 1 or more."))
    return replace(config, version=version_of(config.version, first), first=first)


def version_of(version: str, first: int | None) -> str:
    """Return the version that a build of a config's version has."""
    return f"{version}-first-{first}" if first else version


def of(folder: Path) -> int | None:
    """Return the lines of each source that a build is a first look at; None for every other folder."""
    try:
        return lines_of(json.loads((Path(folder) / "_audit" / "build.json").read_bytes()))
    except (OSError, ValueError, RecursionError):
        return None


def lines_of(record: Any) -> int | None:
    """The same, from what build.json holds."""
    first = record.get("first") if isinstance(record, dict) else None
    return first if isinstance(first, int) and not isinstance(first, bool) and first > 0 else None


def said(first: int) -> str:
    """Say what such a build is, in half a sentence."""
    lines = "line" if first == 1 else f"{counted(first, 'line')}"
    return f"a first look, at the first {lines} of each source: not the corpus"


def bytes_read(config: Config, raw_bytes: int) -> int:
    """Return about how many bytes of the raw files a run will read."""
    return min(raw_bytes, config.first * len(config.sources) * _LINE) if config.first else raw_bytes
