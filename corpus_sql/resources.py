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


def add(paths: Sequence[Path]) -> str:
    """Register one file or an ordered set of files; return the key.

    The key of one file is its SHA-256; of several, the SHA-256 over their SHA-256s in the order given.
    """
    digests = [sha256_file(path) for path in paths]
    key = digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()
    _paths[key] = tuple(paths)
    return key


def paths(key: str) -> tuple[Path, ...]:
    """Return the files registered under a key; raises KeyError for an unknown one."""
    return _paths[key]
