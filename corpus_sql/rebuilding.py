"""`corpus-sql verify --rebuild`: the build made again from its folder and the raw files, compared byte for byte.

What lies in the folder (config.toml, _audit/ledger.jsonl, _audit/inputs/) is laid out in a scratch place as a project,
and the ordinary run makes a build of it there. Raw files are read where they lie. The scratch place is a folder of the
system's temporary folder ($TMPDIR moves it) and is gone afterwards, whatever happens.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from corpus_sql import __version__, first_look, input_files, inputs, ledger, model_files, raw_files
from corpus_sql.build import Again, run
from corpus_sql.config import Kept, matching
from corpus_sql.earlier import USES
from corpus_sql.engine_duckdb import installed
from corpus_sql.errors import ConfigError, CorpusError, LimitError, Problem, RefusedError
from corpus_sql.files import scratch, sha256_file
from corpus_sql.findings import Say, Unchecked, few
from corpus_sql.opened import Opened
from corpus_sql.raw import RawFile
from corpus_sql.raw_files import Unread
from corpus_sql.rebuild_compare import compare

MAY_DIFFER = ("_audit/run.json", "_audit/SHA256SUMS")  # the sums are those of run.json and of files compared here


def rebuild(build: Opened, say: Say) -> str:
    """Make the build again, and say which files come out otherwise.

    Where other versions of the tools are installed than made it, equality is not promised: that is said first, and
    what differs is no error. Raises Unchecked where it cannot be made again here.
    """
    others = other_versions(build.record)
    with scratch("rebuild") as place:
        try:
            again = make(build, place)
        except (RebuildError, RefusedError, LimitError) as error:
            raise Unchecked("; ".join(f"{p.where}: {p.what}" for p in error.problems)) from error
        except CorpusError as error:
            say.error(f"what the folder holds makes no build: {'; '.join(str(p) for p in error.problems)}")
            return ""
        found = list(differing(build.folder, again))
        n = sum(1 for path in again.rglob("*") if path.is_file()) - len(MAY_DIFFER)
    if others:
        what = f"made with {', '.join(others)}: the same bytes are not promised"
        raise Unchecked(f"{what}; {few(found) if found else 'all the same, they came out the same'}")
    for one in found:
        say.error(f"made again, {one}")
    return f"{n:,} files made again"


class RebuildError(CorpusError):
    """Something that the build was made from is not here."""


def make(build: Opened, scratch: Path) -> Path:
    """Make a build again below a scratch folder; return the new version folder.

    Raises RebuildError where a raw file, an earlier build or the language model is not here, and where the folder holds
    a link: what it leads to is no part of the build, and UDFs would be run from there.
    """
    if links := [str(path.relative_to(build.folder)) for path in sorted(build.folder.rglob("*")) if path.is_symlink()]:
        what = f"holds links, which a build does not have; what they lead to is not read: {few(links)}"
        raise RebuildError(Problem(str(build.folder), what))
    project = scratch / "project"
    project.mkdir()
    shutil.copyfile(build.folder / "config.toml", project / "config.toml")
    if (own := build.audit / inputs.INPUTS / "project").is_dir():
        shutil.copytree(own, project, dirs_exist_ok=True)
    kept = Kept(_files(build), _earlier(build))
    first = first_look.lines_of(build.record)
    again = Again(scratch, kept, _gate(build))
    return run(project / "config.toml", first=first, again=again, report=build.report).folder


def other_versions(record: dict[str, Any]) -> list[str]:
    """Return the tools of another version than is installed: `numpy 2.4.0, here 2.4.1`."""
    stated = {"corpus-sql": record.get("corpus_sql"), **record.get("tools", {})}
    here = {"corpus-sql": __version__, **installed(record.get("tools", {}))}
    return [f"{name} {stated[name]} (here {here.get(name)})" for name in stated if stated[name] != here.get(name)]


def _gate(build: Opened) -> ledger.Gate:
    """Return what the ledger's gate let pass then: the files of the rows kept, found again under raw/ and hashed."""
    rows = ledger.read_ledger(build.audit / inputs.LEDGER)
    sources = [rows[one] for one in build.written["sources"] if one in rows]
    if refused := [Problem(one.source_id, f"refused: {why}") for one in sources for why in ledger.refusals(one)]:
        raise RefusedError(refused)
    raw = build.corpus / "raw"
    files = [
        RawFile(one.source_id, listed.path, raw / listed.path, listed.sha256, listed.bytes, one.license_spdx)
        for one in sources
        for listed in sorted(one.files, key=lambda file: file.path.encode())
    ]
    if gone := [file.name for file in files if not file.path.is_file()]:
        raise RebuildError(Problem(str(raw), f"the raw files are not here: {few(gone)}"))
    try:
        raw_files.check_hashes(files, threads=os.cpu_count() or 1)
    except ConfigError as error:
        raise RebuildError(error.problems) from error
    return ledger.Gate(files, _unread(build, raw, "ignored"), _unread(build, raw, "superseded"), sources)


def _unread(build: Opened, raw: Path, status: str) -> list[Unread]:
    """Return what else lay beside the raw files, as the build says; the size is taken from the file, if it is there."""
    columns = ["source_id", "file", "bytes", "status"]
    rows = pq.read_table(build.audit / "files.parquet", columns=columns).to_pylist()
    found = []
    for row in rows:
        if row["status"] == status:
            path = raw / row["file"]
            found.append(Unread(row["source_id"], row["file"], path.lstat().st_size if path.exists() else row["bytes"]))
    return found


def _files(build: Opened) -> dict[str, tuple[Path, ...]]:
    """Return the files that the build read besides raw files, by the name that models give them."""
    found = {}
    for key, sha256 in build.record["model_files"].items():
        if key == input_files.PROTECTED:
            found[key] = tuple(inputs.protected(build.folder))
        elif key == input_files.MODEL:
            found[key] = _language_model(build, sha256)
        else:
            name = key.removeprefix("files.")
            found[name] = _named_files(build, name, sha256)
    return found


def _named_files(build: Opened, name: str, sha256: str) -> tuple[Path, ...]:
    """Return what [files] names: as the build keeps it, or, where it was too large for that, where the config says."""
    kept = build.audit / inputs.INPUTS / "files" / name
    if kept.is_dir():
        return tuple(sorted((p for p in kept.rglob("*") if p.is_file()), key=os.fsencode))
    value = build.written["files"][name]
    for root in build.roots:
        paths = matching(root, [value] if isinstance(value, str) else value)
        names = () if input_files.is_one(value) else input_files.names(paths) if paths else ()
        if paths and input_files.hashed(paths, names).sha256 == sha256:
            return tuple(paths)
    what = f"no file with the SHA-256 {sha256} is here. Put it where config.toml names it."
    raise RebuildError(Problem(f"[files] {name}", what))


def _language_model(build: Opened, key: str) -> tuple[Path, ...]:
    if key == model_files.SCRIPT:
        return ()
    own = sorted((build.audit / inputs.INPUTS / "model").glob("*"))
    named = build.written.get("lang", {}).get("model")
    places = [*own, *([root / named for root in build.roots] if named else []), model_files.shipped()]
    for path in places:
        if path is not None and path.is_file() and sha256_file(path) == key:
            return (path,)
    fix = f"Run: {model_files.GET}" if key == model_files.SHA256 else "Put the file where config.toml names it."
    raise RebuildError(Problem("language model", f"no file with the SHA-256 {key} is here. {fix}"))


def _earlier(build: Opened) -> dict[str, tuple[Path, ...]]:
    """Return the earlier builds by the table that names them, found beside this one or where the config names them."""
    found: dict[str, list[Path]] = {table: [] for table in USES}
    missing = []
    for name, one in build.record["relations"].get("read.earlier", {}).get("builds", {}).items():
        places = [build.corpus / name, *_named(build, one["uses"])]
        folder = next((place for place in places if _is(place, one["files"])), None)
        if folder is None:
            missing.append(name)
        for table in one["uses"] if folder else ():
            found[table].append(folder)
    if missing:
        what = "is not here as it was then: it would be beside this one, or where [split], [exact_dedup] or "
        raise RebuildError(Problem(name, what + "[near_dedup] against names it") for name in missing)
    return {table: tuple(folders) for table, folders in found.items()}


def _named(build: Opened, tables: list[str]) -> Iterator[Path]:
    for table in tables:
        for path in build.written.get(table, {}).get("against", ()):
            yield from (root / path for root in build.roots)


def _is(folder: Path, files: dict[str, str]) -> bool:
    return all((path := folder / name).is_file() and sha256_file(path) == digest for name, digest in files.items())


def differing(before: Path, after: Path) -> Iterator[str]:
    """Say how each file differs in which two version folders do, in byte order of the names."""
    names = {
        path.relative_to(root).as_posix() for root in (before, after) for path in root.rglob("*") if path.is_file()
    }
    for name in sorted(names - set(MAY_DIFFER), key=os.fsencode):
        if not (before / name).is_file():
            yield f"{name} is not there"
        elif not (after / name).is_file():
            yield f"there is {name}, which no build of this makes"
        elif not filecmp.cmp(before / name, after / name, shallow=False):
            yield f"{name} is another: {compare(before / name, after / name)}"
