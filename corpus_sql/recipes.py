"""Recipes: where a source comes from, which revision, which format, which licence, how its fields map.

A recipe stands in the config as [source.ID], or in a file sources/ID.toml beside the config. The only place that reads
them. What it returns names no place that a recipe does not name: schemes, hosts and source ids are judged here.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from corpus_sql import packed, spdx
from corpus_sql.config import Config
from corpus_sql.errors import ConfigError, Problem
from corpus_sql.raw_files import is_date
from corpus_sql.toml_lines import Where, key_lines, line_of
from corpus_sql.validation import cut, did_you_mean, findings, shown
from corpus_sql.written_urls import written

SOURCE_ID = re.compile(r"[a-z0-9][a-z0-9._-]*")
WEB = ("http", "https")
# Of fsspec's file systems those that hold files of their own; others wrap a second URL, which would be asked unseen
SCHEMES = tuple("abfs az ftp gcs github gs hdfs memory oci oss s3 s3a sftp smb ssh webhdfs".split())
_HF = re.compile(r"hf://datasets/([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)(?:@([^/]+))?/(.+)")


@dataclass(frozen=True)
class Repository:
    """What hf:// URLs name. revision: as asked for; patterns: of paths, * within a folder, ** across folders."""

    name: str
    revision: str
    patterns: tuple[str, ...]


@dataclass(frozen=True)
class Recipe:
    """One recipe, checked. where: file:line, for messages; sha256: one for each URL, or none.

    repository: what hf:// URLs name. revision: as asked for; a moving one such as main is pinned in the ledger.
    hosts: besides those of the URLs.
    """

    source_id: str
    where: str
    urls: tuple[str, ...]
    format: str
    revision: str | None = None
    license_spdx: str | None = None
    data_class: str | None = None
    reviewer: str | None = None
    retrieved: str | None = None
    hosts: tuple[str, ...] = ()
    fields: dict[str, str] = field(default_factory=dict)
    sha256: tuple[str, ...] = ()
    limits: packed.Limits = packed.Limits()
    repository: Repository | None = None

    def asked(self) -> dict[str, Any]:
        """Return what the ledger keeps of it: what decides which files are fetched and what becomes of them."""
        return {
            "url": list(map(written, self.urls)),
            "revision": self.revision,
            "format": self.format,
            "fields": self.fields,
        }


def read(config: Config) -> dict[str, Recipe]:
    """Return the recipes for the sources of a config, by source id, in the order of `sources`.

    Raises ConfigError with every problem of every recipe that is used.
    """
    folder = config.path.resolve().parent / "sources"
    found, problems = {}, []
    for source_id in config.sources:
        inside, beside = config.values["source"].get(source_id), folder / f"{source_id}.toml"
        if inside is not None:
            where = ("source", source_id)
            if beside.exists():
                place = f"{config.path}:{line_of(config.lines, where)}"
                fix = "Keep one of the two."
                problems.append(Problem(place, f"[source.{source_id}] has a file of its own as well, {beside}", fix))
            table, path, lines = inside, config.path, {k[2:]: v for k, v in config.lines.items() if k[:2] == where}
        elif beside.is_file():
            try:
                table, lines = _load(beside)
            except ConfigError as error:
                problems += error.problems
                continue
            path = beside
        else:
            continue
        recipe, wrong = _recipe(source_id, table, path, lines)
        problems += wrong
        if recipe:
            found[source_id] = recipe
    if problems:
        raise ConfigError(problems)
    return found


@cache
def _schema() -> dict[str, Any]:
    from corpus_sql.project import builtin

    whole = json.loads((builtin() / "schemas" / "corpus-config.schema.json").read_text("utf-8"))
    return whole["$defs"]["recipe"]


def _load(path: Path) -> tuple[dict[str, Any], dict[Where, int]]:
    """Read a recipe's own file."""
    try:
        text = path.read_bytes().decode("utf-8")
        table = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise ConfigError(Problem(str(path), f"byte {error.start} is not UTF-8", "Save the file as UTF-8.")) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(Problem(str(path), f"is not TOML: {error}")) from None
    lines = key_lines(text.replace("\r\n", "\n"))
    problems = [Problem(_at(path, lines, one.path), one.what, one.fix) for one in findings(_schema(), table)]
    if problems:
        raise ConfigError(problems)
    return table, lines


def _at(path: Path, lines: dict[Where, int], key: tuple[str | int, ...], table: str = "") -> str:
    """Return file:line: [table] key, as messages about a config have it."""
    names = tuple(part for part in key if isinstance(part, str))
    line = line_of(lines, names) or lines.get(())
    named = f"{table} {'.'.join(map(cut, names))}".strip() if names else ""
    return f"{path}{'' if line is None else f':{line}'}: {named}".removesuffix(": ")


def _recipe(
    source_id: str, table: dict[str, Any], path: Path, lines: dict[Where, int]
) -> tuple[Recipe | None, list[Problem]]:
    problems: list[Problem] = []
    header = f"[source.{source_id}]" if () in lines else ""  # a file of its own has none

    def add(key: str, what: str, fix: str = "") -> None:
        problems.append(Problem(_at(path, lines, (key,), header), what, fix))

    urls = tuple([table["url"]] if isinstance(table["url"], str) else table["url"])
    sums = table.get("sha256", ())
    sums = (sums,) if isinstance(sums, str) else tuple(sums)
    for url in urls:
        if wrong := _wrong(url):
            add("url", f"{shown(written(url))} {wrong[0]}", wrong[1])
    if sums and len(sums) != len(urls):
        add("sha256", f"has {len(sums)} of them, url has {len(urls)}", "Give one for each URL.")
    if sums and any(_is_pattern(url) for url in urls):
        add("sha256", "cannot be given for a pattern", "Name each file.")
    if (expression := table.get("license_spdx")) and (wrong := spdx.problem(expression)):
        add("license_spdx", *wrong)
    if (day := table.get("retrieved")) and not is_date(day):
        add("retrieved", f"is {shown(day)}, which is no date")
    repository, revision = None, table.get("revision")
    if any(url.startswith("hf://") for url in urls) and not problems:
        repository = _repository(urls, revision, add)
        revision = repository.revision if repository else None
    if problems:
        return None, problems
    limits = packed.Limits(**{key: table[key] for key in ("max_unpacked_bytes", "max_ratio") if key in table})
    said = {key: table.get(key) for key in ("license_spdx", "data_class", "reviewer", "retrieved")}
    return (
        Recipe(
            source_id=source_id,
            where=_at(path, lines, ()),
            urls=urls,
            format=table["format"],
            revision=revision,
            hosts=tuple(table.get("hosts", ())),
            fields=dict(sorted(table.get("fields", {}).items())),
            sha256=sums,
            limits=limits,
            repository=repository,
            **said,
        ),
        [],
    )


def _is_pattern(url: str) -> bool:
    return not url.startswith(("http:", "https:")) and any(sign in url for sign in "*?[")


def _wrong(url: str) -> tuple[str, str] | None:
    """Say what is wrong with a URL and what to write instead."""
    if "::" in url:
        return "is a chain of URLs", "Name the file itself; archives are opened by their names."
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # whose message may quote a password
        return "is no URL: its host or its port cannot be read", ""
    spaced = " " in url and parts.scheme in ("", *WEB, "hf")
    if not parts.scheme or "://" not in url or not url.isprintable() or spaced:
        return "is no URL", "Write https://..., file:///... or hf://datasets/OWNER/NAME@REVISION/PATTERN."
    if "@" in parts.netloc and parts.scheme != "hf":
        return "holds a user name or a password", "Recipes are published: leave it to the environment."
    if ".." in unquote(parts.path).split("/"):
        return "leads upwards", "Write the path without .. in it."
    if parts.fragment:
        return "has a part after #, which names a place in a file", "Leave it out."
    if parts.scheme in WEB:
        if not parts.hostname or port == 0:
            return "names no host", ""
        if "*" in url:
            return "is a pattern, but a web server lists no files", "Name each file."
    elif parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
            return "is no absolute path", "Write file:///folder/file."
    elif parts.scheme == "hf":
        if not _HF.fullmatch(url):
            return "is no file of a data set", "Write hf://datasets/OWNER/NAME@REVISION/PATTERN."
    elif parts.scheme not in SCHEMES:
        return f"has the scheme {shown(parts.scheme)}, which is not known", did_you_mean(
            parts.scheme, ("http", "https", "file", "hf", *SCHEMES)
        )
    return None


def _repository(urls: tuple[str, ...], revision: str | None, add: Any) -> Repository | None:
    if not all(url.startswith("hf://") for url in urls):
        add("url", "mixes hf:// with others", "Make a source of each: a source has one revision.")
        return None
    found = [_HF.fullmatch(url) for url in urls]
    names = sorted({match[1] for match in found})
    if len(names) > 1:
        add("url", f"names several data sets: {', '.join(names)}", "Make a source of each: a source has one revision.")
        return None
    revisions = sorted({unquote(match[2]) for match in found if match[2]} | ({revision} if revision else set()))
    if len(revisions) > 1:
        add("revision", f"is named several times: {', '.join(revisions)}", "A source has one revision.")
        return None
    for match in found:
        if ".." in match[3].split("/") or match[3].startswith("/"):
            add("url", f"{shown(match[0])} leads out of the data set")
            return None
    return Repository(names[0], revisions[0] if revisions else "main", tuple(match[3] for match in found))
