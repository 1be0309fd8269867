"""What a model's template depends on besides its inputs: its text, the macros it calls, the config keys it names.

`build.json` keeps it, so that two builds can be compared without the project that made them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jinja2
from jinja2 import nodes

from corpus_sql import input_files
from corpus_sql.model import Model

_ENVIRONMENT = jinja2.Environment(autoescape=False)
# names that planning.settings and the compiler give to a template, and the key of the config that decides them
_SETTINGS = {
    "splits": "split.method",
    "stages": "stages",
    "input": "stages",
    "input_of": "stages",
    "if_stage": "stages",
}


@dataclass(frozen=True)
class Uses:
    """template: SHA-256 over the model's text and the macro files it needs; keys: what it reads from the config,
    `table.key`, or `key` at the top; rules: those of the keys that only one low() or high() rule reads."""

    template: str
    keys: tuple[str, ...]
    rules: tuple[str, ...]


@cache
def _parse(text: str) -> nodes.Template:
    return _ENVIRONMENT.parse(text)  # a file of macros is asked for by every model that uses it


def uses(model: Model, macros: Mapping[str, str]) -> Uses:
    """Return what a model's template depends on. macros: name of a file in sql/macros -> its text."""
    tree = _parse(model.text + "\n" + (model.stream or ""))
    stage = model.stem if model.folder == "stages" else model.folder
    files = {
        node.template.value
        for node in tree.find_all((nodes.Import, nodes.FromImport))
        if isinstance(node.template, nodes.Const)
    }
    called = {node.node.name for node in tree.find_all(nodes.Call) if isinstance(node.node, nodes.Name)}
    if called & {node.name for node in _parse(macros.get("hits.sql", "")).find_all(nodes.Macro)}:
        files.add("hits.sql")
    if model.folder == "stages":
        files.add("verdict.sql")
    digest = hashlib.sha256(model.text.encode())
    keys: set[str] = set()
    rules: set[str] = set()
    for name in sorted(files & set(macros)):
        digest.update(macros[name].encode())
        keys |= set(_keys(_parse(macros[name]), stage))
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in ("low", "high") and _constant(call):
            rules.add(f"{stage}.{'min' if call.node.name == 'low' else 'max'}_{_constant(call)}")
    keys |= set(_keys(tree, stage))
    return Uses(digest.hexdigest(), tuple(sorted(keys | rules)), tuple(sorted(rules - keys)))


def _keys(tree: nodes.Node, stage: str) -> Iterator[str]:
    """Yield the keys a tree names: config.a.b, config["a"]["b"], config.a.get("b"), limit("b"), by_lang("a", "b"),
    file("a")."""
    for node in tree.find_all(nodes.Name):
        if node.name in _SETTINGS:
            yield _SETTINGS[node.name]
    for call in tree.find_all(nodes.Call):
        name = call.node.name if isinstance(call.node, nodes.Name) else ""
        if name == "limit" and _constant(call):
            yield f"{stage}.{_constant(call)}"
        elif name == "file" and _constant(call):
            yield input_files.key_of(_constant(call))
        elif name == "by_lang" and len(call.args) == 2 and all(isinstance(arg, nodes.Const) for arg in call.args):
            yield f"{call.args[0].value}.{call.args[1].value}"
        elif (
            isinstance(call.node, nodes.Getattr)
            and call.node.attr == "get"
            and (path := _path(call.node.node))
            and _constant(call)
        ):
            yield ".".join([*path, _constant(call)][:2])
    inner = {id(node.node) for node in tree.find_all((nodes.Getattr, nodes.Getitem))}
    for node in tree.find_all((nodes.Getattr, nodes.Getitem)):
        path = _path(node)
        if path and path[-1] != "get" and id(node) not in inner:
            yield ".".join(path[:2])


def _path(node: nodes.Node) -> list[str]:
    """Return ["a", "b"] of config.a.b, [] of anything else."""
    if isinstance(node, nodes.Getattr):
        own: Any = node.attr
    elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        own = node.arg.value
    else:
        return []
    if isinstance(node.node, nodes.Name):
        return [str(own)] if node.node.name == "config" else []
    above = _path(node.node)
    return [*above, str(own)] if above else []


def _constant(call: nodes.Call) -> str | None:
    return str(call.args[0].value) if call.args and isinstance(call.args[0], nodes.Const) else None
