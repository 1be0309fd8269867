"""One SQL model: a file, its header, its compiled text and what that text depends on.

A header is the comment lines at the head of the file: `-- name: one sentence.`, free prose, then `-- key: value` lines.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from corpus_sql.errors import ModelError, Problem

FOLDERS = ("measures", "stages", "relations", "near_dedup", "decontaminate", "outputs", "audits", "reports")
BUILDS = FOLDERS[:6]  # the models that make a build; audits and reports run on a finished one
READ = ("read.documents", "read.quarantine", "read.files", "read.unread_files")  # relations that the reader makes
EARLIER = "read.earlier"  # and this one, of the builds that the config names with `against`, where it names any
HIT = "STRUCT(verdict VARCHAR, reason VARCHAR, metric VARCHAR, value DOUBLE, threshold DOUBLE, witness VARCHAR)"
STAGE_COLUMNS = (("id", "VARCHAR"), ("verdict", "VARCHAR"), ("hits", HIT + "[]"))
_KEYS = ("column", "config", "reason", "stream", "number", "source")
_KEY_LINE = re.compile(r"^-- ([a-z]+): (.*)$")
_NAME = re.compile(r"^[a-z][a-z0-9_]*$")


@dataclass(frozen=True)
class Model:
    """A parsed model file. `columns` are (name, type) in order; `docs` gives each column's meaning."""

    name: str
    path: Path
    layer: str
    text: str
    summary: str
    columns: tuple[tuple[str, str], ...]
    docs: dict[str, str]
    config_keys: tuple[str, ...]
    reasons: tuple[str, ...]
    stream: str | None  # "function setting={{ value }}": the rows go through a streamed UDF
    number: str | None  # column in whose byte order the engine numbers the rows, into the last declared column

    @property
    def folder(self) -> str:
        """The kind of model, such as stages."""
        return self.name.split(".")[0]

    @property
    def stem(self) -> str:
        """The name within its folder."""
        return self.name.split(".")[1]


def parse(relative: str, path: Path, layer: str) -> Model:
    """Read one model file; raises ModelError with every problem of its header."""
    folder, stem = Path(relative).parts[1], Path(relative).stem
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(Problem(relative, f"byte {error.start} is not UTF-8", "Save the file as UTF-8.")) from None
    problems = []
    if not _NAME.match(stem):
        problems.append(Problem(relative, f"the name {stem!r} is no relation name", "Use a-z, 0-9 and _ only."))
    header = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        header.append(line)
    first = re.match(rf"^-- {re.escape(stem)}: (\S.*)$", header[0]) if header else None
    if not first:
        problems.append(
            Problem(
                f"{relative}:1", "the file does not begin with its name and a sentence", f"Begin with `-- {stem}: …`."
            )
        )
    found: dict[str, list[str]] = {key: [] for key in _KEYS}
    for number, line in enumerate(header[1:], 2):
        match = _KEY_LINE.match(line)
        if not match:
            continue
        key, value = match.groups()
        if key in found:
            found[key].append(value.strip())
        elif near := difflib.get_close_matches(key, _KEYS, 1, 0.75):
            problems.append(
                Problem(f"{relative}:{number}", f"unknown header key {key!r}", f"Did you mean {near[0]!r}?")
            )
    columns, docs = [], {}
    for value in found["column"]:
        match = re.match(r"^(\w+) ([^|]+?)(?: \| (.*))?$", value)
        if not match:
            problems.append(Problem(relative, f"column line {value!r} is not `name TYPE | meaning`"))
            continue
        columns.append((match[1], match[2].strip()))
        docs[match[1]] = match[3] or ""
    if folder == "stages":
        columns = list(STAGE_COLUMNS)
    elif folder in BUILDS and not columns:
        problems.append(
            Problem(relative, "no `-- column: name TYPE | meaning` line", "Declare every column, in order.")
        )
    if problems:
        raise ModelError(problems)
    return Model(
        name=f"{folder}.{stem}",
        path=path,
        layer=layer,
        text=text,
        summary=first[1],
        columns=tuple(columns),
        docs=docs,
        config_keys=tuple(value.split(" ")[0] for value in found["config"]),
        reasons=tuple(value.split(" ")[0] for value in found["reason"]),
        stream=found["stream"][0] if found["stream"] else None,
        number=found["number"][0] if found["number"] else None,
    )


def quoted(value: object) -> str:
    """Return a value as a literal of SQL text."""
    return "'" + str(value).replace("'", "''") + "'"


def identifier(*parts: str) -> str:
    """Return a name as SQL text names a column, or of several parts a relation, whatever characters are in it."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)
