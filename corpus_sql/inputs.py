"""What a build was made from, kept in its folder: the ledger's rows, the protected items, the user's own models.

With the raw files and the versions of the tools it is enough to make the build again (rebuilding).
`_audit/ledger.jsonl` holds the rows used, `_audit/inputs/` the rest:

    project/sql/…, project/udfs/…    files of the project that stood in for built-in ones or were added, where used
    protected/<place>/<set>.jsonl    the files of [decontaminate] protected, in their order; see protected.set_names
    model/<name>                     a language model that is not the one that `model get` brings, up to LARGEST
    files/<name>/<file>              what the config's table [files] names, where a model read it, up to LARGEST

Earlier builds and larger files are named by their hashes alone, in build.json.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_sql import input_files, ledger, model_files
from corpus_sql.config import Config
from corpus_sql.errors import DataError, Problem
from corpus_sql.files import write
from corpus_sql.functions import Files
from corpus_sql.project import BUILT_IN, Project
from corpus_sql.protected import KEPT

if TYPE_CHECKING:
    from corpus_sql.compile import Compiled

LEDGER = "ledger.jsonl"  # in _audit/
INPUTS = "inputs"  # in _audit/
LARGEST = 16 << 20  # bytes of one model or set; lid.176.bin has 126 MB: it would be more than many a corpus


@dataclass(frozen=True)
class Written:
    """What was kept. files: path below inputs/ -> SHA-256; replaced: those of them that stood in for built-in files.

    read: SHA-256 of what models read, by the key of the config that names it; `script` for no language model.
    unused: stages of the user's that are not in this build, so that their files are not kept.
    """

    ledger_sha256: str
    files: dict[str, str]
    replaced: list[str]
    read: dict[str, str]
    unused: set[str]


def keep(
    audit: Path,
    project: Project,
    compiled: list[Compiled],
    sources: Iterable[ledger.Source],
    files: Mapping[str, Files | None],
) -> Written:
    """Write ledger.jsonl and inputs/ into an _audit folder.

    files: those that the config names. Raises DataError where one is no longer what the build began with.
    """
    rows = canonical(sources)
    write(audit / LEDGER, rows)
    found = {}
    own = _own_files(project, compiled)
    used = sorted({name for one in compiled for name in one.files})
    for relative, content in sorted(_inputs(project.config, own, {name: files[name] for name in used}).items()):
        path = audit / INPUTS / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, content)
        found[relative] = hashlib.sha256(content).hexdigest()
    stages = {m.stem for m in project.models.values() if m.folder == "stages" and m.layer != BUILT_IN}
    unused = {name for name in stages if f"sql/stages/{name}.sql" not in own}
    read = {input_files.key_of(name): files[name].sha256 if files[name] else model_files.SCRIPT for name in used}
    return Written(hashlib.sha256(rows).hexdigest(), found, sorted(set(project.replaced) & set(own)), read, unused)


def canonical(sources: Iterable[ledger.Source]) -> bytes:
    """Return ledger rows in byte order of the source ids, each as one line of JSON: keys sorted, no spaces, UTF-8."""
    rows = [json.loads(one.to_json()) for one in sorted(sources, key=lambda one: one.source_id.encode())]
    lines = [json.dumps(row, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n" for row in rows]
    return "".join(lines).encode()


def rows(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the ledger's rows that a build keeps, by source id."""
    lines = (Path(folder) / "_audit" / LEDGER).read_bytes().decode("utf-8-sig").split("\n")
    found = [json.loads(line) for line in lines if line]
    return {row["source_id"]: row for row in found}


def protected(folder: Path) -> list[Path]:
    """Return the protected files that a build keeps, in their order."""
    root = Path(folder) / KEPT
    return sorted((p for p in root.rglob("*") if p.is_file()), key=lambda one: int(one.relative_to(root).parts[0]))


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return (field, before, after) of each field in which two rows of one source differ.

    Of lists, such as upstream, the entries are returned that are on one side only.
    """
    found = []
    for field in sorted({*before, *after}):
        old, new = before.get(field), after.get(field)
        if old == new:
            continue
        if isinstance(old or [], list) and isinstance(new or [], list):
            old, new = old or [], new or []
            only = [one for one in old if one not in new], [one for one in new if one not in old]
            old, new = only if any(only) else (old, new)  # the same ones in another order
        found.append((field, old, new))
    return found


def spelled(value: Any) -> str:
    """Spell a field's value for a sentence; of several entries the first."""
    if isinstance(value, list):
        if not value:
            return "none"
        first = value[0].get("path") or value[0].get("url") if isinstance(value[0], dict) else value[0]
        return f"{first}" + (f" and {len(value) - 1:,} more" if len(value) > 1 else "")
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def told(row: Mapping[str, Any]) -> dict[str, str | None]:
    """Say of a source where it is from: revision, retrieved, data_class, and upstream in a few words."""
    urls = [one["url"] for one in row.get("upstream", ())]
    upstream = row["url"] if not urls else urls[0] + (f" and {len(urls) - 1:,} more" if len(urls) > 1 else "")
    return {"upstream": upstream, **{key: row.get(key) for key in ("revision", "retrieved", "data_class")}}


def _inputs(config: Config, own: list[str], files: Mapping[str, Files | None]) -> dict[str, bytes]:
    """Return path below inputs/ -> bytes. own: the user's files, relative to the project's folder."""
    root = config.path.resolve().parent
    found = {f"project/{relative}": (root / relative).read_bytes() for relative in own}
    for name, one in files.items():
        if one is None or one.sha256 == model_files.SHA256:
            continue  # no model, or the one that `model get` brings
        if input_files.hashed(one.paths, one.names).sha256 != one.sha256:
            fix = "Nothing was published. Run again."
            raise DataError(Problem(config.where(*input_files.key_of(name).split(".")), "has changed meanwhile", fix))
        if name == input_files.PROTECTED or sum(path.stat().st_size for path in one.paths) <= LARGEST:
            found |= {place: path.read_bytes() for place, path in zip(_places(name, one), one.paths, strict=True)}
    return found


def _places(name: str, files: Files) -> list[str]:
    """Return where the files of one name lie below inputs/."""
    if name == input_files.PROTECTED:
        named = zip(files.names, files.paths, strict=True)
        return [f"protected/{place}/{one}{path.suffix}" for place, (one, path) in enumerate(named)]
    if name == input_files.MODEL:
        return [f"model/{files.path.name}"]
    return [f"files/{name}/{one}" for one in files.names or [files.path.name]]


def _own_files(project: Project, compiled: list[Compiled]) -> list[str]:
    """Return the paths of the user's files that decide something in this build.

    They are the models that ran, all macros, the functions that are called, all audits, and stages that the
    config has a table for: without their headers the table would be unknown.
    """
    models = {one.model.name for one in compiled}
    models |= {name for name, model in project.models.items() if model.folder == "audits"}
    models |= {f"stages.{name}" for name in tomllib.loads(project.config.content.decode())}
    files = {f"sql/{one.folder}/{one.stem}.sql" for name, one in project.models.items() if name in models}
    files |= {f"sql/macros/{name}" for name in project.macros}
    files |= {f"udfs/{Path(project.udfs[name].file).name}" for one in compiled for name in one.functions}
    return sorted(one for one in files if project.layers.get(one, BUILT_IN) != BUILT_IN)
