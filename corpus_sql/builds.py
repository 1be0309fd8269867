"""Which build is meant: a version folder, or a config file, which stands for its version."""

from __future__ import annotations

import tomllib
from pathlib import Path

from corpus_sql.errors import ConfigError, Problem


def meant(named: Path) -> Path:
    """Return the version folder that a path names; whether a build lies there is for its reader to tell.

    Of a config only `dataset`, `version` and `[paths] artifacts` are read: another of its keys may be wrong by now, and
    the build can be asked all the same. Raises ConfigError where these are not to be had.
    """
    if not named.is_file():
        return named
    try:
        values = tomllib.loads(named.read_bytes().decode("utf-8-sig"))
        artifacts = values.get("paths", {}).get("artifacts", "artifacts")
        return named.parent / artifacts / "corpus" / values["dataset"] / values["version"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = "this is neither a version folder nor a config that says dataset and version"
        raise ConfigError(Problem(str(named), what, _GIVE)) from error


def no_build(folder: Path) -> Problem:
    """Say that no build lies in a folder, and which lie near it."""
    folder = Path(folder)
    inside, beside = versions(folder), versions(folder.parent)
    if inside:
        return Problem(str(folder), "this is no build, but holds some", f"Give one of its versions: {_list(inside)}.")
    if beside:
        what = "this is no build" if folder.exists() else f"there is no version {folder.name}"
        return Problem(str(folder), what, f"Built are: {_list(beside)}.")
    return Problem(str(folder), "this is no build: it has no _MANIFEST.json and _audit/", _GIVE)


_GIVE = "Give a version folder, corpus/<dataset>/<version>, or the config that it was built from."


def versions(dataset: Path) -> list[str]:
    """Return the names of the builds of a dataset, in order."""
    return sorted(path.parent.name for path in Path(dataset).glob("[!.]*/_MANIFEST.json"))


def _list(names: list[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
