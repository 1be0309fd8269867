"""The protected evaluation items: read strictly, and each told how it is protected."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_sql.errors import ConfigError, DataError, Problem
from corpus_sql.tokens import hashes

KEPT = "_audit/inputs/protected"  # where a build keeps its protected files, each in a folder of its own
_KEPT = re.compile(rf"(?P<folder>.*/{KEPT})/[0-9]+/(?P<name>.+)")
FIX = 'Each line is a JSON object with the strings "id" and "text".'


@dataclass(frozen=True)
class ProtectedItem:
    """One evaluation item.

    status: "ngram" (each n-gram of it is looked for), "whole" (fewer tokens than an n-gram: all of them in a row are
    looked for) or "unprotected" (fewer than min_tokens: not looked for, it would hit by chance).
    """

    id: str  # <set>:<the file's own id>, see set_names
    text: str
    file: Path
    line: int  # from 1
    n_tokens: int
    status: str


def set_names(paths: Sequence[Path]) -> list[str]:
    """Return what each file's set is called: its stem, and before it the folders that tell it from others of that stem.

    mmlu/test.jsonl and gsm8k/test.jsonl are mmlu/test and gsm8k/test; arc.jsonl beside them is arc. Folders count from
    the last that all files have in common, so that test.jsonl beside both is test, wherever the three lie. The files
    that a build keeps have the names that it gave them. Raises ConfigError where two files of one folder have one stem.
    """
    if kept := _kept(paths):
        return kept
    common = len(os.path.commonprefix([path.parent.parts for path in paths]))
    wholes = [(*path.parent.parts[common:], path.stem) for path in paths]
    if twice := next((a for a, whole in zip(paths, wholes, strict=True) if wholes.count(whole) > 1), None):
        same = " and ".join(str(path) for path in paths if (path.parent, path.stem) == (twice.parent, twice.stem))
        fix = "A rejection points at <stem>:<id>: give one of the files another name."
        raise ConfigError(Problem("[decontaminate] protected", f"{same} would both be the set {twice.stem}", fix))
    names = []
    for own in wholes:
        n = 1
        while sum(whole[-n:] == own[-n:] for whole in wholes) > 1:
            n += 1
        names.append("/".join(own[-n:]))
    return names


def _kept(paths: Sequence[Path]) -> list[str]:
    """Return the names of the files of one build's KEPT, <place>/<name>.jsonl; nothing for other files."""
    found = [_KEPT.fullmatch(path.with_suffix("").as_posix()) for path in paths]
    folders = {match and match["folder"] for match in found}
    return [match["name"] for match in found] if len(folders) == 1 and None not in folders else []


def protected_items(paths: Sequence[Path], ngram: int, min_tokens: int) -> list[ProtectedItem]:
    """Read the items of JSON Lines files, in the order of files and lines.

    Blank lines and a byte order mark at the start are skipped. Raises DataError with every line that is no item and
    every id that occurs twice in one file; ConfigError if there is no item at all, or two sets have one name.
    """
    problems: list[Problem] = []
    rows = [
        (path, line, f"{name}:{id}", text)
        for path, name in zip(paths, set_names(paths), strict=True)
        for path, line, id, text in read(path, problems)
    ]
    first: dict[str, str] = {}
    for path, line, id, _ in rows:
        where = f"{path}:{line}"
        if id in first:
            fix = "A rejection points at it: make each id of a file unique."
            problems.append(Problem(where, f"the item {id!r} is already at {first[id]}", fix))
        first.setdefault(id, where)
    if problems:
        raise DataError(problems)
    if not rows:
        files = ", ".join(map(str, paths)) or "no file"
        raise ConfigError(Problem("[decontaminate] protected", f"there is no protected item in {files}", FIX))
    counts = [np.zeros(0, np.int64)]
    counts += [found.ends - found.starts for found in hashes(pa.array([row[3] for row in rows], pa.large_string()))]
    return [
        ProtectedItem(id, text, path, line, n, "ngram" if n >= ngram else "whole" if n >= min_tokens else "unprotected")
        for (path, line, id, text), n in zip(rows, np.concatenate(counts).tolist(), strict=True)
    ]


def read(path: Path, problems: list[Problem]) -> list[tuple[Path, int, str, str]]:
    """Return (file, line, id, text) of each item; what is wrong goes to problems."""
    rows = []
    for number, raw in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not raw.strip(b" \t\r"):
            continue
        try:
            item = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique)
            if not isinstance(item, dict):
                raise ValueError("it is not an object")
            for key in ("id", "text"):
                if key not in item:
                    raise ValueError(f"{key!r} is missing")
                if not isinstance(item[key], str):
                    raise ValueError(f"{key!r} is not a string")
                if any("\ud800" <= character <= "\udfff" for character in item[key]):
                    raise ValueError(f"{key!r} holds a lone surrogate, which is no text")
        except UnicodeDecodeError as error:
            problems.append(Problem(f"{path}:{number}", f"it is not UTF-8 at byte {error.start} of the line", FIX))
        except json.JSONDecodeError as error:
            problems.append(Problem(f"{path}:{number}", f"it is not JSON: {error.msg} at column {error.colno}", FIX))
        except RecursionError:
            problems.append(Problem(f"{path}:{number}", "it is nested too deeply", FIX))
        except ValueError as error:
            problems.append(Problem(f"{path}:{number}", str(error), FIX))
        else:
            rows.append((path, number, item["id"], item["text"]))
    return rows


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands twice")
    return found
