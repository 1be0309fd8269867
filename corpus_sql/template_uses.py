"""The text that a model's template is made of: its own and that of the macros it calls.

`build.json` keeps its SHA-256, so that two builds can be compared without the project that made them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache

import jinja2
from jinja2 import nodes

from corpus_sql.model import Model

_ENVIRONMENT = jinja2.Environment(autoescape=False)


@cache
def _parse(text: str) -> nodes.Template:
    return _ENVIRONMENT.parse(text)  # a file of macros is asked for by every model that uses it


def template(model: Model, macros: Mapping[str, str]) -> str:
    """Return the SHA-256 over a model's text and the macro files it needs. macros: file in sql/macros -> its text."""
    tree = _parse(model.text + "\n" + (model.stream or ""))
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
    for name in sorted(files & set(macros)):
        digest.update(macros[name].encode())
    return digest.hexdigest()
