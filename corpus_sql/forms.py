"""What the JSON, JSON Lines and TOML files of a build hold, as far as its readers rely on it.

Whoever changes a file can write SHA256SUMS anew, so the form is asked for where the sums find nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from corpus_sql import build_format, damaged, inputs, ledger, protected
from corpus_sql.errors import CorpusError, DataError, Problem
from corpus_sql.validation import findings

_TEXT, _LIST, _TABLE, _COUNT = ({"type": one} for one in ("string", "array", "object", "integer"))


def _tables(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": of}


def _object(**keys: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(keys), "properties": keys}


_MANIFEST = _object(  # what readers need; the whole contract is schemas/corpus-manifest.schema.json
    dataset=_TEXT,
    version=_TEXT,
    n_docs=_COUNT,
    n_shards=_COUNT,
    blank=_COUNT,
    filters=_tables(_COUNT),
    dedup=_TABLE,
    pii=_tables(_COUNT),
    quarantined=_tables(_COUNT),
    shards={"type": "array", "items": _object(name=_TEXT, sha256=_TEXT, rows=_COUNT)},
)
_RULES = {"type": "array", "items": _object(stage=_TEXT, reason=_TEXT, limits=_TABLE, condition=_TEXT)}
_RECORD = _object(
    format=_COUNT,
    corpus_sql=_TEXT,
    dataset=_TEXT,
    version=_TEXT,
    hash_chain=_tables(_TEXT),
    config=_object(
        stages={"type": "array", "items": _TEXT},
        sources={"type": "array", "items": _TEXT},
        shard_rows=_COUNT,
        split=_object(method=_TEXT),
        lang=_TABLE,
        exact_dedup=_TABLE,
        near_dedup=_TABLE,
        decontaminate=_TABLE,
        pii=_TABLE,
    ),
    relations={
        "type": "object",
        "required": ["read.documents"],
        "properties": {"read.documents": _object(files=_tables(_LIST), fingerprint=_TEXT)},
        "additionalProperties": {
            "type": "object",
            "required": ["fingerprint"],
            "properties": {"fingerprint": _TEXT, "inputs": _tables(_TEXT), "tools": _tables(_TEXT), "rules": _RULES},
        },
    },
    model_files=_object(**{"lang.model": _TEXT}),
    tools=_tables(_TEXT),
    inputs=_tables(_TEXT),
    coverage=_tables(_tables(_COUNT)),
    notices=_LIST,
    splits=_TABLE,
)
_RUN = _object(finished=_TEXT, seconds=_tables({"type": "number"}))
_CARD = {"type": "object", "required": ["@context", "name", "distribution"]}
_CONFIG = _object(dataset=_TEXT, version=_TEXT, sources={"type": "array", "items": _TEXT})
_CONFIG["properties"] |= dict.fromkeys(
    ("paths", "split", "lang", "exact_dedup", "near_dedup", "decontaminate", "pii"), _TABLE
)


def problems(folder: Path) -> list[Problem]:
    """Return a problem for each file that is there and not of its form; one that is missing is for others to tell.

    Of a build of format 1 only the manifest is looked at: its other files are of another form.
    """
    found, names = [], list(_FILES) if build_format.read(folder) != 1 else ["_MANIFEST.json"]
    for name in names:
        if (folder / name).exists():
            found += [damaged.problem(folder, name, what) for what in _FILES[name](folder, name)]
    return found + _protected(folder)


def count(folder: Path) -> int:
    """Return how many files of these forms there are."""
    kept = (folder / "_audit" / inputs.INPUTS / "protected").rglob("*")
    return sum((folder / name).is_file() for name in _FILES) + sum(path.is_file() for path in kept)


def manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a build; raises DataError where it is damaged or not there."""
    value = damaged.read_object(folder, "_MANIFEST.json")
    for what in _unlike(_MANIFEST, value):
        raise DataError(damaged.problem(folder, "_MANIFEST.json", what))
    return value


def _json(schema: dict[str, Any]) -> Callable[[Path, str], Iterator[str]]:
    def check(folder: Path, name: str) -> Iterator[str]:
        try:
            value = damaged.read_object(folder, name)
        except CorpusError as error:
            yield error.problems[0].what
        else:
            yield from _unlike(schema, value)

    return check


def _unlike(schema: dict[str, Any], value: Any) -> Iterator[str]:
    """The first thing that is not as the schema says, or nothing."""
    for one in findings(schema, value)[:1]:
        yield f"is damaged: {'.'.join(map(str, one.path)) or 'the whole'} {one.what}"


def _toml(folder: Path, name: str) -> Iterator[str]:
    try:
        value = tomllib.loads((folder / name).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        yield f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        yield f"is damaged: it is not UTF-8 at byte {error.start}"
    except (ValueError, RecursionError) as error:
        yield f"is damaged: it is no TOML: {damaged.first_line(error)}"
    else:
        yield from _unlike(_CONFIG, value)


def _rows(folder: Path, name: str) -> Iterator[str]:
    """One ledger row a line, and at least one."""
    try:
        rows = ledger.read_ledger(folder / name)
    except CorpusError as error:
        one = error.problems[0]
        line = one.where.removeprefix(str(folder / name)).strip(":")
        yield f"is damaged: {f'line {line}: ' if line else ''}{one.what}"
    else:
        if not rows:
            yield "is damaged: it has no row"


def _protected(folder: Path) -> list[Problem]:
    """Each protected file that the build keeps, read as a run reads them."""
    root, found = folder / "_audit" / inputs.INPUTS / "protected", []
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        wrong: list[Problem] = []
        try:
            protected.read(path, wrong)
        except OSError as error:
            wrong.append(Problem(str(path), f"cannot be read: {error.strerror}"))
        for one in wrong[:1]:
            line = one.where.removeprefix(str(path)).strip(":")
            what = f"is damaged: {f'line {line}: ' if line else ''}{one.what}"
            found.append(damaged.problem(folder, path.relative_to(folder).as_posix(), what))
    return found


_FILES: dict[str, Callable[[Path, str], Iterator[str]]] = {
    "_MANIFEST.json": _json(_MANIFEST),
    "_audit/build.json": _json(_RECORD),
    "_audit/run.json": _json(_RUN),
    "croissant.json": _json(_CARD),
    "config.toml": _toml,
    f"_audit/{inputs.LEDGER}": _rows,
}
