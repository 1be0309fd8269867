"""The config of a build: one TOML file, checked whole, laid over configs/default.toml.

The only place that reads a config. What it returns is complete: every table with its defaults, every path absolute.
"""

from __future__ import annotations

import copy
import glob
import hashlib
import json
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus_sql.errors import ConfigError, Problem
from corpus_sql.validation import did_you_mean, findings, nearest, shown

# ISO 639-1, the two-letter codes in force
LANGUAGES = frozenset(
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es "
    "et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki "
    "kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no "
    "nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te "
    "tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu".split()
)
UNDETERMINED = "und"

_LARGEST = 2**63 - 1  # what a BIGINT holds
_PLAIN = ("paths", "split")  # the tables that are no stage's

Where = tuple[str, ...]  # ("gopher", "zh", "min_n_words")


@dataclass(frozen=True)
class Config:
    """A checked config.

    path, content, sha256: the file, its bytes, and their SHA-256 as 64 hex digits.
    artifacts, work: absolute paths.
    values: every key with its defaults, tables as dicts: values["near_dedup"]["num_perm"]. In the table of a stage the
    language tables are resolved too: values["gopher"]["zh"]["min_n_words"].
    lines: the line, from 1, of each table and key that the file holds.
    """

    path: Path
    content: bytes
    sha256: str
    dataset: str
    version: str
    sources: tuple[str, ...]
    stages: tuple[str, ...]
    shard_rows: int
    max_line_bytes: int
    keep_rejected_text: bool
    artifacts: Path
    work: Path
    values: Mapping[str, Any]
    lines: Mapping[Where, int] = field(default_factory=dict, repr=False, compare=False)

    @property
    def corpus(self) -> Path:
        """The folder that holds LEDGER.jsonl, raw/ and the data sets."""
        return self.artifacts / "corpus"

    def resolve(self, path: str) -> Path:
        """Return a path of the config as an absolute one; relative paths start at the config file."""
        return _resolve(self.path, path)

    def limits(self, stage: str) -> dict[str, dict[str, Any]]:
        """Return the settings of a stage by language; "" stands for every language without a table of its own.

        A language's table beats the general one, and the user's file beats the built-in one: your [s.zh], your [s],
        built-in [s.zh], built-in [s]. A rule that is off has no key.
        """
        table = self.values.get(stage, {})
        general = {key: value for key, value in table.items() if not isinstance(value, dict)}
        return {"": general} | {key: dict(value) for key, value in table.items() if isinstance(value, dict)}

    def protected_files(self) -> list[Path]:
        """Return the files that [decontaminate] protected names, sorted by path, each once.

        Raises ConfigError when a pattern matches no file.
        """
        found, problems = set(), []
        for pattern in self.values["decontaminate"].get("protected", ()):
            paths = glob.glob(os.path.join(glob.escape(str(self.path.absolute().parent)), pattern), recursive=True)
            files = [Path(os.path.abspath(path)) for path in paths if os.path.isfile(path)]
            if not files:
                fix = "Relative patterns start at the folder of the config file."
                where = _where(self.path, self.lines, ("decontaminate", "protected"))
                problems.append(Problem(where, f"{shown(pattern)} matches no file", fix))
            found.update(files)
        if problems:
            raise ConfigError(problems)
        return sorted(found, key=os.fsencode)


def load(path: Path, *, stage_keys: Mapping[str, set[str]], default: Path) -> Config:
    """Read and check a config.

    stage_keys: for every stage there is, the config keys that its header declares. default: configs/default.toml; the
    JSON Schema is read from the folder schemas/ next to its folder.
    Raises ConfigError with every problem found; each names file, line, table and key.
    """
    path, default = Path(path), Path(default)
    content = _read(path)
    user, lines = _parse(path, content)
    base, _ = _parse(default, _read(default))
    schema = _schema(default.parent.parent / "schemas" / "corpus-config.schema.json", stage_keys, base)

    problems: dict[Where, list[Problem]] = {}

    def add(where: Where, what: str, fix: str = "") -> None:
        problems.setdefault(where, []).append(Problem(_where(path, lines, where), what, fix))

    for finding in findings(schema, user):
        where = tuple(part for part in finding.path if isinstance(part, str))
        what, fix = _rephrased(finding, user, schema, stage_keys)
        add(where, what, fix)
    for where, value in _leaves(user):
        if isinstance(value, float) and not math.isfinite(value):
            add(where, f"is {value}, not a finite number")
        elif isinstance(value, int) and abs(value) > _LARGEST:
            add(where, f"is {shown(value)}, more than {_LARGEST}")
    sound = _without(user, set(problems))
    values = _resolved(base, sound, schema)
    for where, what, fix in _contradictions(path, sound, values, stage_keys):
        if not any(_overlap(where, bad) for bad in problems):
            add(where, what, fix)
    if problems:
        found = [problem for where in sorted(problems, key=lambda key: _order(lines, key)) for problem in problems[where]]
        raise ConfigError(found)
    return Config(
        path=path,
        content=content,
        sha256=hashlib.sha256(content).hexdigest(),
        dataset=values["dataset"],
        version=values["version"],
        sources=tuple(values["sources"]),
        stages=tuple(values["stages"]),
        shard_rows=values["shard_rows"],
        max_line_bytes=values["max_line_bytes"],
        keep_rejected_text=values["keep_rejected_text"],
        artifacts=_resolve(path, values["paths"]["artifacts"]),
        work=_resolve(path, values["paths"]["work"]),
        values=values,
        lines=lines,
    )


def key_lines(text: str) -> dict[Where, int]:
    """Return the line, from 1, of every table header and every key of a valid TOML text.

    tomllib gives no positions. Keys inside an inline table stand for their table: look up the longest known prefix.
    """
    lines: dict[Where, int] = {}
    table: Where = ()
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] == "#":
            at = _line_end(text, at)
        elif text[at] == "[":
            table, end = _key(text, at + (2 if text.startswith("[[", at) else 1))
            lines.setdefault(table, text.count("\n", 0, at) + 1)
            at = _line_end(text, end)
        else:
            key, end = _key(text, at)
            line = text.count("\n", 0, at) + 1
            for n in range(1, len(key) + 1):
                lines.setdefault(table + key[:n], line)
            at = _value_end(text, end + 1)
    return lines


_KEY_PART = re.compile(r"""[ \t]*([A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')[ \t]*(\.?)""")
_SKIP = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\]|\\.)*"|\'[^\']*\'|#[^\n]*|[^"\'#\[\]{}\n]+', re.DOTALL)


def _key(text: str, at: int) -> tuple[Where, int]:
    parts = []
    while True:
        match = _KEY_PART.match(text, at)
        part = match[1]
        parts.append(tomllib.loads(f"k={part}")["k"] if part[0] in "\"'" else part)
        at = match.end()
        if not match[2]:
            return tuple(parts), at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value_end(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        if match := _SKIP.match(text, at):
            at = match.end()
            continue
        if text[at] == "\n" and depth == 0:
            return at
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        fix = "Give the path of a TOML config; `corpus-sql init DIR` writes one to start from."
        raise ConfigError(Problem(str(path), "there is no such config file", fix)) from None
    except IsADirectoryError:
        raise ConfigError(Problem(str(path), "is a folder, not a config file", "Give the path of a TOML file.")) from None
    except OSError as error:
        raise ConfigError(Problem(str(path), f"cannot be read: {error.strerror}")) from None


def _parse(path: Path, content: bytes) -> tuple[dict[str, Any], dict[Where, int]]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"byte {error.start} (0x{content[error.start]:02x}) is not UTF-8"
        raise ConfigError(Problem(f"{path}:{line}", what, "Save the file as UTF-8.")) from None
    if text.startswith("\ufeff"):
        fix = "TOML begins without one: save the file as UTF-8 without BOM."
        raise ConfigError(Problem(f"{path}:1", "the file begins with a byte order mark", fix))
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).rpartition(" (at ")
        position = re.fullmatch(r"line (\d+), column (\d+)\)", place)
        at = f"{path}:{position[1]}:{position[2]}" if position else f"{path}:{text.count(chr(10)) + 1}"
        raise ConfigError(Problem(at, f"is not TOML: {what}")) from None
    return document, key_lines(text.replace("\r\n", "\n"))


def _schema(path: Path, stage_keys: Mapping[str, set[str]], base: Mapping[str, Any]) -> dict[str, Any]:
    """The published schema, closed: each stage's table takes its declared keys and no others."""
    schema = json.loads(path.read_text("utf-8"))
    threshold, setting = schema["$defs"]["threshold"], schema["$defs"]["setting"]
    tables = schema["properties"]
    for stage in stage_keys:
        tables.setdefault(stage, {"$ref": "#/$defs/stage"})
    for stage, table in tables.items():
        if table.get("$ref") != "#/$defs/stage":
            table.get("properties", {}).update(
                {key: _kind(key, threshold, setting) for key in stage_keys.get(stage, ()) if stage not in _PLAIN}
                | table.get("properties", {})
            )
            continue
        known = set(stage_keys.get(stage, ())) | _keys(base.get(stage, {}))
        keys = {key: _kind(key, threshold, setting) for key in sorted(known)}
        closed = {"type": "object", "properties": keys, "additionalProperties": False}
        tables[stage] = closed | {"patternProperties": {"^([a-z]{2}|und)$": copy.deepcopy(closed)}}
    schema["additionalProperties"] = False
    return schema


def _kind(key: str, threshold: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    return threshold if key.startswith(("min_", "max_")) else setting


def _keys(table: Mapping[str, Any]) -> set[str]:
    found = set()
    for key, value in table.items():
        found |= _keys(value) if isinstance(value, dict) else {key}
    return found


def _rephrased(finding: Any, user: Any, schema: dict[str, Any], stage_keys: Mapping[str, set[str]]) -> tuple[str, str]:
    """Say more than the schema knows: about languages, tables and required keys."""
    what, fix = finding.what, finding.fix
    if what != "is not a known key":
        return what, fix
    value = user
    for part in finding.path:
        value = value[part]
    *parents, key = finding.path
    if not parents:
        if isinstance(value, dict):
            tables = {*stage_keys, *_PLAIN}
            return "there is no stage and no table of this name", did_you_mean(key, tables)
        tops = [name for name, rule in schema["properties"].items() if rule.get("type") != "object"]
        close = nearest(key, tops)
        inside = [f"[{table}]" for table, rule in schema["properties"].items() if key in rule.get("properties", ())]
        if not close and inside:
            return what, f"Does it belong into {' or '.join(inside)}?"
        return what, did_you_mean(key, tops)
    if isinstance(value, dict):
        table = schema["properties"][parents[0]]
        if len(parents) == 1 and "patternProperties" in table:
            prefix = re.match(r"[A-Za-z]{2}(?=[-_])", key)
            code = prefix[0].lower() if prefix else key.lower()
            other = f"[{parents[0]}.{code}]" if code in LANGUAGES else ""
            return "is not a language: two letters of ISO 639-1, or und", f"Did you mean {other}?" if other else ""
        if len(parents) == 1 and parents[0] not in _PLAIN:
            return f"is a table, but [{parents[0]}] is the same for all languages", ""
    return what, fix


def _leaves(table: Mapping[str, Any], where: Where = ()) -> Iterator[tuple[Where, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*where, key))
        elif isinstance(value, list):
            yield from (((*where, key), item) for item in value)
        else:
            yield (*where, key), value


def _without(table: Mapping[str, Any], bad: set[Where], where: Where = ()) -> dict[str, Any]:
    return {
        key: _without(value, bad, (*where, key)) if isinstance(value, dict) else value
        for key, value in table.items()
        if (*where, key) not in bad
    }


def _resolved(base: Mapping[str, Any], user: Mapping[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Lay the user's values over the built-in ones, and in stage tables the languages' over the general ones."""
    values: dict[str, Any] = {**base, **user}
    for name, rule in schema["properties"].items():
        if rule.get("type") != "object":
            continue
        built_in, own = base.get(name, {}), user.get(name, {})
        general = _scalars(built_in) | _scalars(own)
        values[name] = _switched(general)
        for lang in sorted({key for table in (built_in, own) for key, value in table.items() if isinstance(value, dict)}):
            layers = _scalars(built_in) | built_in.get(lang, {}) | _scalars(own) | own.get(lang, {})
            values[name][lang] = _switched(layers)
    return values


def _scalars(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if not isinstance(value, dict)}


def _switched(table: dict[str, Any]) -> dict[str, Any]:
    """Leave out the rules that are off."""
    return {key: value for key, value in table.items() if not (key.startswith(("min_", "max_")) and value is False)}


def _contradictions(
    path: Path, user: Mapping[str, Any], values: Mapping[str, Any], stage_keys: Mapping[str, set[str]]
) -> Iterator[tuple[Where, str, str]]:
    """What no schema can say: values that have to agree with each other."""
    for stage in values["stages"]:
        if stage not in stage_keys:
            yield ("stages",), f"there is no stage {shown(stage)}", did_you_mean(stage, stage_keys)
    yield from _languages(user, values)
    if "decontaminate" in values["stages"] and "protected" not in values["decontaminate"]:
        fix = 'Name the evaluation sets, such as protected = ["eval/*.jsonl"], or take decontaminate out of stages.'
        yield ("decontaminate", "protected"), "is missing; the stage decontaminate is listed in stages", fix
    near = values["near_dedup"]
    if near["num_perm"] % near["bands"]:
        key = "num_perm" if "num_perm" in user.get("near_dedup", {}) else "bands"
        what = f"num_perm = {near['num_perm']} is not a multiple of bands = {near['bands']}"
        yield ("near_dedup", key), what, "Each band takes num_perm / bands values."
    split = values["split"]
    total = split["train"] + split["validation"] + split["test"]
    if split["method"] == "group_hash" and total != 1000:
        key = next((key for key in ("train", "validation", "test") if key in user.get("split", {})), "method")
        yield ("split", key), f"train + validation + test = {total}, not 1000", ""
    artifacts, work = (_resolve(path, values["paths"][key]) for key in ("artifacts", "work"))
    if work == artifacts or work in artifacts.parents or artifacts / "corpus" in (work, *work.parents):
        fix = "Give it a folder of its own, such as artifacts/.work."
        yield ("paths", "work"), "may be deleted at any time, so it can neither hold artifacts nor lie in its corpus/", fix
    for name, table in values.items():
        if isinstance(table, dict) and name not in _PLAIN:
            yield from _crossed(name, user.get(name, {}), table)


def _languages(user: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[tuple[Where, str, str]]:
    for name, table in user.items():
        for key, value in table.items() if isinstance(table, dict) and name not in _PLAIN else ():
            if isinstance(value, dict) and key not in LANGUAGES and key != UNDETERMINED:
                yield (name, key), "is not a language: two letters of ISO 639-1, or und", ""
    keep = values["lang"].get("keep")
    if keep is None:
        if "lang" in values["stages"]:
            fix = 'Name the languages, such as keep = ["zh", "en"], or ["*"] for all.'
            yield ("lang", "keep"), "is missing; the stage lang is listed in stages", fix
        return
    for code in keep:
        if code == UNDETERMINED:
            yield ("lang", "keep"), '"und" is not a language', 'Write undetermined = "keep" to keep those documents.'
        elif code == "*" and len(keep) > 1:
            yield ("lang", "keep"), '"*" keeps all languages and stands alone', 'Write keep = ["*"].'
        elif code != "*" and code not in LANGUAGES:
            fix = f"Did you mean {code[:2].lower()}?" if code[:2].lower() in LANGUAGES and not code[2:3].isalpha() else ""
            yield ("lang", "keep"), f"{shown(code)} is not a language: two letters of ISO 639-1", fix


def _crossed(stage: str, user: Mapping[str, Any], table: Mapping[str, Any]) -> Iterator[tuple[Where, str, str]]:
    """A minimum above its maximum rejects every document; named once, in the table that the user wrote."""
    seen = set()
    for lang in ("", *(key for key, value in table.items() if isinstance(value, dict))):
        limits = table[lang] if lang else table
        own = user.get(lang, {}) if lang else user
        for low in [key for key in limits if key.startswith("min_")]:
            high = "max_" + low[4:]
            if high not in limits or limits[low] <= limits[high] or (low, limits[low], limits[high]) in seen:
                continue
            seen.add((low, limits[low], limits[high]))
            key = low if low in own or low in user else high
            where = (stage, lang, key) if lang and key in own else (stage, key)
            what = f"{low} = {limits[low]} is more than {high} = {limits[high]}" + (f" for {lang}" if lang else "")
            yield where, what, "No document would pass."


def _overlap(one: Where, other: Where) -> bool:
    """Whether two places are the same, lie in each other, or are keys of one table."""
    n = min(len(one), len(other))
    return one[:n] == other[:n] or (n > 1 and one[: n - 1] == other[: n - 1])


def _resolve(config: Path, path: str) -> Path:
    return Path(os.path.abspath(config.absolute().parent / path))


def _where(path: Path, lines: Mapping[Where, int], where: Where) -> str:
    """Return file:line: [table] key; without a line where neither the key nor its table stands in the file."""
    line = next((lines[where[:n]] for n in range(len(where), 0, -1) if where[:n] in lines), None)
    *table, key = where or ("",)
    name = f"[{'.'.join(table)}] {key}" if table else key
    is_table = where in lines and any(len(one) > len(where) and one[: len(where)] == where for one in lines)
    name = f"[{'.'.join(where)}]" if is_table else name
    return f"{path}{'' if line is None else f':{line}'}: {name}".rstrip(": ")


def _order(lines: Mapping[Where, int], where: Where) -> tuple[float, Where]:
    line = next((lines[where[:n]] for n in range(len(where), 0, -1) if where[:n] in lines), math.inf)
    return line, where
