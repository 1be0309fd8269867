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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from corpus_sql.errors import ConfigError, Problem
from corpus_sql.iso639 import ISO_639_1, UNDETERMINED, meant
from corpus_sql.toml_lines import Where, key_lines, line_of
from corpus_sql.validation import cut, did_you_mean, findings, nearest, shown, size_bytes

_LARGEST = 2**63 - 1  # what a BIGINT holds
# keys whose values are paths
_PLACES = (
    ("paths", "artifacts"), ("paths", "work"), ("lang", "model"), ("decontaminate", "protected"),
    ("split", "against"), ("exact_dedup", "against"), ("near_dedup", "against"),
)  # fmt: skip
_PLAIN = ("paths", "split", "source", "files")  # the tables that are no stage's


@dataclass(frozen=True)
class Kept:
    """Files that a build was made from besides its raw files, found again; see rebuilding.

    files: by the name that input_files gives them, sets in the order in which they were read; no language model where
    languages were told by their script. earlier: the version folders that each table names with `against`.
    """

    files: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    earlier: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """A checked config.

    path, content, sha256: the file, its bytes, and their SHA-256 as 64 hex digits.
    artifacts, work: absolute paths. cache_max: bytes that the work file may hold, but for what a run needs.
    values: every key with its defaults, tables as dicts: values["near_dedup"]["num_perm"]. In the table of a stage the
    language tables are resolved too: values["gopher"]["zh"]["min_n_words"].
    lines: the line, from 1, of each table and key that the file holds.
    kept: where a build is made again, the files that its folder keeps; they stand for those that the file names.
    first: lines of each source that are read, None for all of them.
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
    cache_max: int
    values: Mapping[str, Any]
    lines: Mapping[Where, int] = field(default_factory=dict, repr=False, compare=False)
    kept: Kept | None = None
    first: int | None = None

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

    def earlier_builds(self, table: str) -> list[Path]:
        """Return the folders that `against` in a table names, in its order, as absolute paths."""
        if self.kept:
            return list(self.kept.earlier.get(table, ()))
        return [self.resolve(path) for path in self.values[table].get("against", ())]

    def where(self, *keys: str) -> str:
        """Return how a problem names a key of this config: file:line: [table] key."""
        return _where(self.path, self.lines, keys)

    def matching(self, table: str, key: str) -> list[Path]:
        """Return the files that a path, or a list of patterns, in the config names; sorted by path, each once.

        Raises ConfigError when a pattern matches no file.
        """
        if self.kept:
            return list(self.kept.files[key if table == "files" else f"{table}.{key}"])
        patterns, root = self.values[table].get(key, ()), self.path.resolve().parent
        patterns = [patterns] if isinstance(patterns, str) else patterns
        if empty := [pattern for pattern in patterns if not matching(root, [pattern])]:
            fix = "Relative patterns start at the folder of the config file."
            raise ConfigError(Problem(self.where(table, key), f"{shown(one)} matches no file", fix) for one in empty)
        return matching(root, patterns)


def load(path: Path, *, stage_keys: Mapping[str, set[str]], default: Path) -> Config:
    """Read and check a config.

    stage_keys: for every stage there is, the config keys that its header declares. default: configs/default.toml; a
    profiles.toml beside it is laid over it, and the JSON Schema is read from the folder schemas/ next to its folder.
    Raises ConfigError with every problem found; each names file, line, table and key.
    """
    path, default = Path(path), Path(default)
    content = _read(path)
    text = _text(path, content)
    user = _toml(path, text)
    lines = key_lines(text.replace("\r\n", "\n"))
    base = copy.deepcopy(_built_in(default))
    schema = _schema(default.parent.parent / "schemas" / "corpus-config.schema.json", stage_keys, base)
    if taken := sorted({*_PLAIN, *_scalars_of(schema)} & set(stage_keys)):
        fix = "Call the stage otherwise."
        raise ConfigError(Problem(f"sql/stages/{name}.sql", "the config has a key of this name", fix) for name in taken)

    problems: dict[Where, list[Problem]] = {}

    def add(where: Where, what: str, fix: str = "") -> None:
        problems.setdefault(where, []).append(Problem(_where(path, lines, where), what, fix))

    for where, value in _leaves(user):
        if isinstance(value, float) and not math.isfinite(value):
            add(where, f"is {value}, not a finite number")
        elif isinstance(value, int) and abs(value) > _LARGEST:
            add(where, "is a whole number that does not fit into 64 bits")
    user = _without(user, set(problems))
    for finding in findings(schema, user):
        where = tuple(part for part in finding.path if isinstance(part, str))
        if finding.what != "is missing" or where not in problems:
            add(where, *_rephrased(finding, user, schema, stage_keys))
    sound = _without(user, set(problems))
    values = _resolved(base, sound, schema)
    bad = set(problems)
    listed = user.get("stages", base["stages"])
    stages = [stage for stage in listed if isinstance(stage, str)] if isinstance(listed, list) else []
    for where, what, fix, *others in _contradictions(path, sound, {**values, "stages": stages}, stage_keys):
        if bad.isdisjoint((where, where[:-1], *(where[:-1] + (key,) for key in others))):
            add(where, what, fix)
    if problems:
        places = sorted(problems, key=lambda where: _order(lines, where))
        raise ConfigError(problem for where in places for problem in problems[where])
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
        cache_max=size_bytes(values["paths"]["cache_max"]),
        values=values,
        lines=lines,
    )


def matching(root: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files that patterns match, relative ones from `root`; sorted by path, each once."""
    found = set()
    for pattern in patterns:
        paths = glob.glob(os.path.join(glob.escape(str(root)), pattern), recursive=True)
        found.update(Path(os.path.abspath(path)) for path in paths if os.path.isfile(path))
    return sorted(found, key=os.fsencode)


def without_places(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a config with the last part alone of each absolute path: where it lay is no part of a build.

    What the files held is: build.json has their hashes.
    """
    found = copy.deepcopy(dict(values))
    tables = [(found.get(name, {}), key) for name, key in _PLACES]
    tables += [(found["files"], key) for key in found.get("files", {})]
    for table, key in tables + [(recipe, "url") for recipe in found.get("source", {}).values()]:
        if isinstance(table.get(key), list):
            table[key] = [_last_part(one) for one in table[key]]
        elif key in table:
            table[key] = _last_part(table[key])
    return found


def _last_part(path: Any) -> Any:
    if isinstance(path, str) and path.startswith(("/", "file://")):
        return os.path.basename(path.rstrip("/"))
    return path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        fix = "Give the path of a TOML config; `corpus-sql init DIR` writes one to start from."
        raise ConfigError(Problem(str(path), "there is no such config file", fix)) from None
    except IsADirectoryError:
        raise ConfigError(
            Problem(str(path), "is a folder, not a config file", "Give the path of a TOML file.")
        ) from None
    except OSError as error:
        raise ConfigError(Problem(str(path), f"cannot be read: {error.strerror}")) from None


def _text(path: Path, content: bytes) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"byte {error.start} (0x{content[error.start]:02x}) is not UTF-8"
        raise ConfigError(Problem(f"{path}:{line}", what, "Save the file as UTF-8.")) from None
    if text.startswith("\ufeff"):
        fix = "TOML begins without one: save the file as UTF-8 without BOM."
        raise ConfigError(Problem(f"{path}:1", "the file begins with a byte order mark", fix))
    return text


def _toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).rpartition(" (at ")
        position = re.fullmatch(r"line (\d+), column (\d+)\)", place)
        at = f"{path}:{position[1]}:{position[2]}" if position else f"{path}:{text.count(chr(10)) + 1}"
        raise ConfigError(Problem(at, f"is not TOML: {what}")) from None
    except ValueError as error:  # an integer beyond Python's limit of digits
        raise ConfigError(Problem(str(path), f"is not TOML: {str(error).partition(':')[0]}")) from None
    except RecursionError:
        raise ConfigError(Problem(str(path), "is nested too deeply")) from None


@cache
def _built_in(default: Path) -> dict[str, Any]:
    profiles = default.with_name("profiles.toml")
    base = _toml(default, _text(default, _read(default)))
    return _merged(base, _toml(profiles, _text(profiles, _read(profiles)))) if profiles.exists() else base


def _schema(path: Path, stage_keys: Mapping[str, set[str]], base: Mapping[str, Any]) -> dict[str, Any]:
    """The published schema, closed: each stage's table takes its declared keys and no others."""
    schema = json.loads(path.read_text("utf-8"))
    tables = schema["properties"]
    for stage in stage_keys:
        tables.setdefault(stage, {"$ref": "#/$defs/stage"})
    for stage, table in tables.items():
        known = set(stage_keys.get(stage, ())) | _keys(base.get(stage, {}))
        keys = {key: _rule(schema["$defs"], key) for key in sorted(known)}
        if table.get("$ref") == "#/$defs/stage":
            closed = {"type": "object", "properties": keys, "additionalProperties": False}
            tables[stage] = closed | {"patternProperties": {"^([a-z]{2}|und)$": copy.deepcopy(closed)}}
        elif table.get("type") == "object" and stage not in _PLAIN:
            table["properties"] = keys | table["properties"]
    tables["stages"]["items"] = {"enum": sorted(stage_keys)}
    schema["additionalProperties"] = False
    return schema


def _rule(parts: dict[str, Any], key: str) -> dict[str, Any]:
    """What the published schema says of a key of a stage: all that its patterns ask for, in one."""
    stage = parts["stage"]
    found = [stage["properties"][key]] if key in stage["properties"] else []
    found += [rule for pattern, rule in stage["patternProperties"].items() if re.search(pattern, key)]
    merged: dict[str, Any] = {}
    for rule in found or [stage["additionalProperties"]]:
        merged |= parts[rule["$ref"].rpartition("/")[2]] if "$ref" in rule else rule
    return merged


def _scalars_of(schema: dict[str, Any]) -> list[str]:
    """The keys at the top that are no tables."""
    return [key for key, rule in schema["properties"].items() if rule.get("type") != "object"]


def _keys(table: Any) -> set[str]:
    found: set[str] = set()
    for key, value in table.items() if isinstance(table, dict) else ():
        found |= _keys(value) if isinstance(value, dict) else {key}
    return found


def _rephrased(finding: Any, user: Any, schema: dict[str, Any], stage_keys: Mapping[str, set[str]]) -> tuple[str, str]:
    """Say more than the schema knows: about languages, tables and required keys."""
    what, fix = finding.what, finding.fix
    if finding.path[0] == "stages" and what.endswith(", which is not known"):
        return "there is no stage " + what.removeprefix("is ").removesuffix(", which is not known"), fix
    if what != "is not a known key":
        return what, fix
    value = user
    for part in finding.path:
        value = value[part]
    *parents, key = finding.path
    if parents == ["files"]:
        return "is no name for a file", 'Lower-case letters, digits and "_", beginning with a letter.'
    if not parents:
        if isinstance(value, dict):
            tables = {*stage_keys, *_PLAIN}
            return "there is no stage and no table of this name", did_you_mean(key, tables)
        tops = _scalars_of(schema)
        close = nearest(key, tops)
        inside = [f"[{table}]" for table, rule in schema["properties"].items() if key in rule.get("properties", ())]
        if not close and inside:
            return what, f"Does it belong into {' or '.join(inside)}?"
        return what, did_you_mean(key, tops)
    if isinstance(value, dict):
        table = schema["properties"][parents[0]]
        if parents == ["source"]:
            return "is no source id", 'Lower-case letters, digits, ".", "_" and "-", beginning with a letter or digit.'
        if len(parents) == 1 and "patternProperties" in table:
            code = meant(key)
            fix = f"Did you mean [{parents[0]}.{code}]?" if code else ""
            return "is not a language: two letters of ISO 639-1, or und", fix
        if len(parents) == 1 and parents[0] not in _PLAIN:
            return f"is a table, but [{parents[0]}] is the same for all languages", ""
    return what, fix


def _leaves(value: Any, where: Where = ()) -> Iterator[tuple[Where, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*where, key))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, where)
    else:
        yield where, value


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
        for lang in sorted(key for key, value in {**built_in, **own}.items() if isinstance(value, dict)):
            layers = _scalars(built_in) | built_in.get(lang, {}) | _scalars(own) | own.get(lang, {})
            values[name][lang] = _switched(layers)
    return values


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(below.get(key), dict)
        merged[key] = _merged(below[key], value) if both else value
    return merged


def _scalars(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if not isinstance(value, dict)}


def _switched(table: dict[str, Any]) -> dict[str, Any]:
    """Leave out the rules that are off."""
    return {key: value for key, value in table.items() if not (key.startswith(("min_", "max_")) and value is False)}


def _contradictions(
    path: Path, user: Mapping[str, Any], values: Mapping[str, Any], stage_keys: Mapping[str, set[str]]
) -> Iterator[tuple[str | Where, ...]]:
    """What no schema can say: place, fact, remedy, and the other keys of the table that the fact rests on."""
    if values.get("dataset", "").lower() in ("raw", "ledger.jsonl"):
        yield ("dataset",), f"{shown(values['dataset'])} is taken: corpus/ holds raw/ and LEDGER.jsonl", ""
    if values.get("version", "").lower() == "reports":
        yield ("version",), f"{shown(values['version'])} is taken: corpus/<dataset>/reports/ holds the reports", ""
    for stage in values["stages"]:  # of a list in the user's file the schema has said so
        if stage not in stage_keys and "stages" not in user:
            yield ("stages",), f"there is no stage {shown(stage)}", did_you_mean(stage, stage_keys)
    yield from _languages(user, values)
    if "decontaminate" in values["stages"] and "protected" not in values["decontaminate"]:
        fix = 'Name the evaluation sets, such as protected = ["eval/*.jsonl"], or take decontaminate out of stages.'
        yield ("decontaminate", "protected"), "is missing; the stage decontaminate is listed in stages", fix
    near = values["near_dedup"]
    if near["num_perm"] % near["bands"]:
        key = "num_perm" if "num_perm" in user.get("near_dedup", {}) else "bands"
        what = f"num_perm = {near['num_perm']} is not a multiple of bands = {near['bands']}"
        yield ("near_dedup", key), what, "Each band takes num_perm / bands values.", "num_perm", "bands"
    split = values["split"]
    total = split["train"] + split["validation"] + split["test"]
    if split["method"] == "group_hash" and total != 1000:
        key = next((key for key in ("train", "validation", "test") if key in user.get("split", {})), "method")
        yield (
            ("split", key),
            f"train + validation + test = {total}, not 1000",
            "",
            "method",
            "train",
            "validation",
            "test",
        )
    for key in ("stratify", "against"):
        if key in split and split["method"] != "group_hash":
            what = f"is for groups, but method is {split['method']}"
            yield ("split", key), what, f'Write method = "group_hash", or leave {key} out.', "method"
    for stage in ("exact_dedup", "near_dedup"):
        if "against" in values[stage] and stage not in values["stages"]:
            what = f"names earlier builds, but the stage {stage} is not listed in stages"
            yield (stage, "against"), what, f"List {stage} in stages, or leave against out."
    artifacts, work = (_resolve(path, values["paths"][key]) for key in ("artifacts", "work"))
    if work == artifacts or work in artifacts.parents or artifacts / "corpus" in (work, *work.parents):
        fix = "Give it a folder of its own, such as artifacts/.work."
        what = "may be deleted at any time, so it can neither hold artifacts nor lie in its corpus/"
        yield ("paths", "work"), what, fix, "artifacts"
    for name, table in values.items():
        if isinstance(table, dict) and name not in _PLAIN:
            yield from _crossed(name, user.get(name, {}), table)


def _languages(user: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[tuple[str | Where, ...]]:
    for name, table in user.items():
        for key, value in table.items() if isinstance(table, dict) and name not in _PLAIN else ():
            if isinstance(value, dict) and key not in ISO_639_1 and key != UNDETERMINED:
                fix = f"Did you mean [{name}.{meant(key)}]?" if meant(key) else ""
                yield (name, key), "is not a language: two letters of ISO 639-1, or und", fix
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
        elif code != "*" and code not in ISO_639_1:
            fix = f"Did you mean {meant(code)}?" if meant(code) else ""
            yield ("lang", "keep"), f"{shown(code)} is not a language: two letters of ISO 639-1", fix


def _crossed(stage: str, user: Mapping[str, Any], table: Mapping[str, Any]) -> Iterator[tuple[str | Where, ...]]:
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
            yield where, what, "No document would pass.", low, high


def _resolve(config: Path, path: str) -> Path:
    """Start where the config file lies, not where a link to it does: there its project is."""
    return Path(os.path.abspath(config.resolve().parent / path))


def _where(path: Path, lines: Mapping[Where, int], where: Where) -> str:
    """Return file:line: [table] key; without a line where neither the key nor its table stands in the file."""
    line = line_of(lines, where)
    *table, key = where or ("",)
    table, key = [cut(part) for part in table], cut(key)
    name = f"[{'.'.join(table)}] {key}" if table else key
    is_table = where in lines and any(len(one) > len(where) and one[: len(where)] == where for one in lines)
    name = f"[{'.'.join(map(cut, where))}]" if is_table else name
    return f"{path}{'' if line is None else f':{line}'}: {name}".rstrip(": ")


def _order(lines: Mapping[Where, int], where: Where) -> tuple[float, Where]:
    return line_of(lines, where) or math.inf, where
