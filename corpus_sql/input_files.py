"""The files that a build reads besides its raw files, each by the name that models give it.

The language model is `lang.model`, the protected sets are `decontaminate.protected`, after their keys in the config; an
entry of the config's table [files] is called as it is there. In compiled SQL the content stands for the file, as a
SHA-256: it names no machine's path, and a changed file changes what every model that reads it is made from.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from corpus_sql import model_files, protected
from corpus_sql.config import Config
from corpus_sql.files import sha256_file
from corpus_sql.functions import Files

MODEL, PROTECTED = "lang.model", "decontaminate.protected"


def of(config: Config) -> dict[str, Files | None]:
    """Return the files of a config by name; None where languages are told by their script, without a model.

    Raises ConfigError and DataError with what is wrong with them.
    """
    found: dict[str, Files | None] = {MODEL: model_files.of(config)[0]}
    if "decontaminate" in config.stages:
        files = config.matching("decontaminate", "protected")
        found[PROTECTED] = hashed(files, protected.set_names(files))
    for name, value in config.values["files"].items():
        if config.kept and name not in config.kept.files:
            continue  # no model read it
        files = config.matching("files", name)
        found[name] = hashed(files) if is_one(value) else hashed(files, names(files))
    return found


def key_of(name: str) -> str:
    """Return the key of the config that names a file: `files.blocked` of `blocked`."""
    return name if name in (MODEL, PROTECTED) else f"files.{name}"


def is_one(value: str | Sequence[str]) -> bool:
    """Whether a value of [files] names one file by its path, not a set by patterns."""
    return isinstance(value, str) and not glob.has_magic(value)


def names(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the paths of a set as they lie below the folder that holds all of them."""
    common = Path(os.path.commonpath([path.parent for path in paths]))
    return tuple(path.relative_to(common).as_posix() for path in paths)


def hashed(paths: Sequence[Path], names: Sequence[str] = ()) -> Files:
    """Hash one file, or with names an ordered set of them.

    The SHA-256 of a set is that over a line `<SHA-256>  <name>` for each file.
    """
    digests = [sha256_file(path) for path in paths]
    if not names:
        (digest,) = digests
        return Files(digest, tuple(paths))
    lines = [f"{digest}  {name}\n" for digest, name in zip(digests, names, strict=True)]
    return Files(hashlib.sha256("".join(lines).encode()).hexdigest(), tuple(paths), tuple(names))


def by_content(files: Mapping[str, Files | None]) -> dict[str, Files]:
    """Return the same files by their SHA-256."""
    return {one.sha256: one for one in files.values() if one}
