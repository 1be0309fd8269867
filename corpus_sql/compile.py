"""From a model's text to the SQL that runs: Jinja fills in values and names, nothing else."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jinja2

from corpus_sql import input_files, raw
from corpus_sql.errors import ModelError, Problem
from corpus_sql.functions import Files
from corpus_sql.model import HIT, Model, quoted
from corpus_sql.parsed import parse
from corpus_sql.project import Project
from corpus_sql.rules import Limit, Notes, Read, Rule, environment
from corpus_sql.validation import did_you_mean


@dataclass(frozen=True)
class Compiled:
    """What one model runs as. `stream` is (function, settings) or None; `digest` is of the SQL without its comments
    and with the names of files in place of their SHA-256; `files` is name -> SHA-256, None for one that is not there;
    `keys` is what its template read of the config; `rules` are those of a stage, in the order of its hits.
    """

    model: Model
    sql: str
    digest: str
    inputs: tuple[str, ...]
    functions: tuple[str, ...]  # names of the UDFs it calls
    stream: tuple[str, dict[str, Any]] | None
    files: Mapping[str, str | None] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    rules: Sequence[Rule] = ()

    @property
    def name(self) -> str:
        """The relation: <folder>.<name>."""
        return self.model.name


class Compiler:
    """Renders the models of one project for one build.

    settings: names that only this build knows, such as the relation of its splits. files: those that models may name.
    """

    def __init__(self, project: Project, settings: Mapping[str, Any], files: Mapping[str, Files | None]):
        self.project, self.config = project, project.config
        self.settings, self.files = settings, files
        self.environment = environment(project.macros)

    def input_of(self, stage: str) -> str:
        """Return, as a subquery of `id`, the documents that enter a stage; of an unlisted stage, those finally kept."""
        stages = self.config.stages
        before = stages[: stages.index(stage)] if stage in stages else stages
        if not before:
            return "(select id from read.documents)"
        return f"(select id from stages.{before[-1]} where verdict = 'keep')"

    def compile(self, model: Model) -> Compiled:
        """Render one model; raises ModelError when it names something that does not exist."""
        relative = f"sql/{model.folder}/{model.stem}.sql"
        stage = model.stem if model.folder == "stages" else model.folder
        notes, read = Notes(stage), {}
        context = self._context(stage, notes)
        context["file"] = lambda name: self._file(name, relative, read, notes)
        try:
            macros = self.environment.get_template("hits.sql").make_module(context)
            context |= {name: value for name, value in vars(macros).items() if callable(value) and name[0] != "_"}
            sql = self.environment.from_string(model.text).render(context).strip()
            stream = self.environment.from_string(model.stream).render(context) if model.stream else None
        except jinja2.UndefinedError as error:
            raise ModelError(
                Problem(
                    relative,
                    f"the template names something unknown: {error}",
                    "See the header of a built-in model for what a template may use.",
                )
            ) from error
        except jinja2.TemplateSyntaxError as error:
            raise ModelError(
                Problem(f"{relative}:{error.lineno}", f"the template does not parse: {error.message}")
            ) from error
        if model.folder == "stages":
            sql = self.environment.get_template("verdict.sql").render(stage_sql=sql)
        parsed = parse(sql, relative, self.columns)
        if parsed.outside:
            raise ModelError(
                Problem(f"{relative}{_line(model.text, word)}", what, fix) for word, what, fix in parsed.outside
            )
        known = self.project.udfs
        streamed = None
        if stream:
            function, *pairs = stream.split()
            streamed = (function, {key: json.loads(value) for key, value in (pair.split("=", 1) for pair in pairs)})
            if function not in known:
                raise ModelError(Problem(relative, f"there is no streamed function {function!r}"))
        used = tuple(name for name in parsed.functions if name in known) + ((streamed[0],) if streamed else ())
        digest = parse(_named(sql, read), relative, self.columns).digest if read else parsed.digest
        return Compiled(
            model, sql, digest, parsed.relations, used, streamed, read, tuple(sorted(notes.keys)), notes.rules
        )

    def _file(self, name: str, relative: str, read: dict[str, str | None], notes: Notes) -> str:
        """Return the SQL that stands for a file, its SHA-256; null for one that is not there. read: notes it."""
        if name not in self.files:
            fix = did_you_mean(name, self.files) or 'Name it in the table [files] of the config: NAME = "path".'
            raise ModelError(Problem(relative, f"reads the file {name!r}, which the config does not name", fix))
        found = self.files[name]
        read[name] = found.sha256 if found else None
        notes.keys.add(input_files.key_of(name))
        return "cast(null as varchar)" if found is None else quoted(found.sha256)

    def _context(self, stage: str, notes: Notes) -> dict[str, Any]:
        limits = self.config.limits(stage) if stage in self.project_stages else {"": {}}

        def limit(key: str) -> Limit:
            notes.keys.add(f"{stage}.{key}")
            general = limits[""].get(key)
            own = {lang: values.get(key) for lang, values in sorted(limits.items()) if values.get(key) != general}
            return Limit(by_lang(limits, key, _number), f"{stage}.{key}", {"": general} | own)

        def words(table: str, key: str) -> str:
            notes.keys.add(f"{table}.{key}")
            return by_lang(self.config.limits(table), key, _words)

        return {
            "notes": notes,
            "rule": notes.rule,
            "config": Read(self.config.values, notes),
            "stages": self.config.stages,
            "hit_type": HIT,
            "input": self.input_of(stage),
            "input_of": self.input_of,
            "if_stage": lambda name, there, absent: there if name in self.config.stages else absent,
            "limit": limit,
            "by_lang": words,
            "sql_list": lambda values: ", ".join(map(quoted, values)),
            **self.settings,
        }

    @cached_property
    def columns(self) -> set[str]:
        """Names of all columns of all relations."""
        declared = {column for model in self.project.models.values() for column, _ in model.columns}
        return declared.union(raw.DOCUMENTS.names, raw.QUARANTINE.names, raw.FILES.names)

    @property
    def project_stages(self) -> set[str]:
        """Names of all stages that the project has, listed or not."""
        return {model.stem for model in self.project.models.values() if model.folder == "stages"}


def _named(sql: str, files: Mapping[str, str | None]) -> str:
    for name, sha256 in files.items():
        sql = sql.replace(quoted(sha256), quoted(name)) if sha256 else sql
    return sql


def _line(text: str, word: str) -> str:
    """Return `:line` of the first line outside the header that holds a word, nothing where a macro writes it."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("--") and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", line, re.IGNORECASE):
            return f":{number}"
    return ""


def by_lang(limits: Mapping[str, Mapping[str, Any]], key: str, literal: Callable[[Any], str]) -> str:
    """Return SQL for a config value that depends on the column `lang`: a CASE, or a literal where all agree."""
    general = limits.get("", {}).get(key)
    others: dict[str, list[str]] = {}
    for lang in sorted(limits):
        if lang and limits[lang].get(key) != general:
            others.setdefault(literal(limits[lang].get(key)), []).append(lang)
    if not others:
        return literal(general)
    cases = " ".join(f"when lang in ({', '.join(map(quoted, langs))}) then {value}" for value, langs in others.items())
    return f"case {cases} else {literal(general)} end"


def _number(value: float | int | None) -> str:
    return "cast(null as double)" if value is None else f"cast({value!r} as double)"


def _words(value: list[str] | None) -> str:
    return "cast(null as varchar)" if value is None else quoted(" ".join(value))


def build_order(
    find: Callable[[str], Compiled | None], targets: list[str], made: set[str], missing: Callable[[str, str], Problem]
) -> list[Compiled]:
    """Return the models that the targets need, each after its inputs; ties in order of name.

    find(name) compiles a model, None if there is none; `made` are relations that exist without a model. Raises
    ModelError for unknown relations and circles, all that are found.
    """
    order: list[Compiled] = []
    done: dict[str, bool] = {}  # False while being visited
    problems: list[Problem] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in made or done.get(name):
            return
        if name in done:
            circle = " -> ".join((*path[path.index(name) :], name))
            problems.append(Problem(name, f"the models read each other in a circle: {circle}", "Break the circle."))
            return
        done[name] = False
        try:
            one = find(name)
        except ModelError as error:
            problems.extend(error.problems)
            done[name] = True
            return
        if one is None:
            problems.append(missing(name, path[-1] if path else "the build"))
        else:
            for other in one.inputs:
                visit(other, (*path, name))
            order.append(one)
        done[name] = True

    for target in targets:
        visit(target, ())
    if problems:
        raise ModelError(problems)
    return order


def fingerprint(
    one: Compiled,
    inputs: Mapping[str, str],
    sources: Mapping[str, str],
    versions: Mapping[str, str],
    requires: tuple[str, ...],
) -> dict[str, Any]:
    """Return everything a model's result depends on, its SHA-256 under `fingerprint`, and that of its text under `sql`.

    inputs: relation -> fingerprint; sources: UDF -> hash of its code; versions: tool -> version.
    """
    parts = {
        "query": one.digest,
        "number": one.model.number,
        "stream": json.dumps(one.stream),
        "model_files": dict(one.files),
        "columns": json.dumps(one.model.columns),
        "inputs": {name: inputs[name] for name in one.inputs},
        "udfs": {name: sources[name] for name in one.functions},
        "tools": {name: versions[name] for name in sorted({"duckdb", "python", *requires})},
    }
    text = hashlib.sha256(one.sql.encode()).hexdigest()  # of what lies in _audit/compiled, comments included
    return {**parts, "sql": text, "fingerprint": hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()}
