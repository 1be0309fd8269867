"""`corpus-sql init`: a project to start from, or the demo."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from corpus_sql import files, ledger, writing_raw
from corpus_sql.errors import ConfigError, Problem
from corpus_sql.project import builtin

_NOTES = {
    "sql/README.md": (
        "SQL models of your own. `sql/stages/<name>.sql` is a stage: add its name to `stages` in corpus.toml. A file\n"
        "at the path of a built-in one (such as `sql/stages/gopher.sql`) replaces it; the run says so.\n"
    ),
    "udfs/README.md": (
        "Python functions of your own for use in SQL: `udfs/<family>.py`, each function marked `@udf` and named\n"
        "`<family>_<verb>`. It measures or rewrites; SQL decides.\n"
    ),
}


def init(directory: Path, demo: bool = False) -> list[Path]:
    """Write a project into a folder; return the files that were written, in order of their paths.

    Without `demo`: a commented corpus.toml and folders for models and UDFs. With `demo`: the demo's config, its
    evaluation items, and its documents as raw files with their ledger rows, the same bytes every time.
    A file that is there already with the same content is left alone. Raises ConfigError, and writes nothing, when a
    file is there with another content, or when the path is no folder.
    """
    directory = Path(directory)
    wanted = {name: text.encode() for name, text in _NOTES.items()}
    shipped = builtin() / "configs" / ("demo" if demo else "start")
    for path in sorted(shipped.rglob("*")):
        relative = path.relative_to(shipped)
        if path.is_file() and relative.parts[0] not in ("documents", "sources.jsonl"):
            wanted[relative.as_posix()] = path.read_bytes()
    problems = [] if not directory.exists() or directory.is_dir() else [Problem(str(directory), "is not a folder")]
    if not problems:
        problems = [found for name in sorted(wanted) if (found := _in_the_way(directory, name, wanted[name]))]
    corpus = directory / "artifacts" / "corpus"
    if demo and not problems and (corpus / ledger.LEDGER).exists():
        problems += _other_rows(corpus / ledger.LEDGER, shipped / "sources.jsonl")
    if problems:
        raise ConfigError(problems)
    written = []
    for name, content in sorted(wanted.items()):
        path = directory / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write(path, content)
            written.append(path)
    if demo:
        written += _demo_sources(shipped, corpus)
    return sorted(written)


def _in_the_way(directory: Path, name: str, content: bytes) -> Problem | None:
    path = directory / name
    if any(parent.exists() and not parent.is_dir() for parent in path.parents if parent != directory.parent):
        return Problem(str(path), "cannot be written: a part of its path is a file", "Choose another folder.")
    if not path.exists() and not path.is_symlink():
        return None
    if path.is_file() and path.read_bytes() == content:
        return None
    return Problem(str(path), "is there already, with other content", "Move it away, or choose another folder.")


def _other_rows(path: Path, shipped: Path) -> list[Problem]:
    """A ledger that names other sources belongs to somebody's corpus; the demo's go into a folder of their own."""
    others = sorted(set(ledger.read_ledger(path)) - {row["source_id"] for row in _rows(shipped)})
    fix = "Choose another folder for the demo."
    return [Problem(str(path), f"has the sources {', '.join(others)}, which are not the demo's", fix)] if others else []


def _rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _demo_sources(shipped: Path, corpus: Path) -> list[Path]:
    """Compress the documents, line by line as they stand, and enter them in the ledger.

    They do not come in by `import`, since some lines are broken on purpose, to be quarantined by the build.
    """
    path, written = corpus / ledger.LEDGER, []
    known = ledger.read_ledger(path) if path.exists() else {}
    for row in _rows(shipped / "sources.jsonl"):
        source = ledger.Source(**row)
        if source.source_id in known:
            continue
        with writing_raw.parts(corpus / "raw", source.source_id, named=()) as writer:
            (document_file,) = (shipped / "documents" / source.source_id).glob("*/part-00000.jsonl")
            for line in document_file.read_bytes().removesuffix(b"\n").split(b"\n"):
                writer.write(line)
            writer.close()
            entries = writer.publish(corpus / "raw", document_file.parent.name)
        ledger.write_source(path, dataclasses.replace(source, files=entries))
        written += [corpus / "raw" / one.path for one in entries]
    return written + ([path] if written else [])
