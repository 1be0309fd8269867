"""Files that a UDF reads besides its arguments, named in SQL by their content.

A model file or a protected set is registered by its path and gets a key, its SHA-256. The key stands in the SQL as a
literal, so compiled SQL names no machine's path, and a changed file changes the fingerprint of every model that uses
it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

_paths: dict[str, tuple[Path, ...]] = {}


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hex digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def add(paths: Sequence[Path], names: Sequence[str] = ()) -> str:
    """Register one file, or an ordered set of files that a UDF tells apart by their names; return the key."""
    key = key_of(paths, names)
    _paths[key] = tuple(paths)
    return key


def key_of(paths: Sequence[Path], names: Sequence[str] = ()) -> str:
    """Return the SHA-256 of one file, or with names the SHA-256 over a line `<SHA-256>  <name>` for each."""
    digests = [sha256_file(path) for path in paths]
    if not names:
        (digest,) = digests
        return digest
    lines = [f"{digest}  {name}\n" for digest, name in zip(digests, names, strict=True)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def paths(key: str) -> tuple[Path, ...]:
    """Return the files registered under a key; raises KeyError for an unknown one."""
    return _paths[key]
