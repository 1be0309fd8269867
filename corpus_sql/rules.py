"""A rule is a row: what the macros `low`, `high` and `reject` say is noted while a stage's template renders.

So is what a template reads of the config, by the mapping that hands it out. Nothing asks the compiled SQL for either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import jinja2
from jinja2.runtime import Context

from corpus_sql.model import quoted

# names that planning.settings and the compiler give to a template, and the key of the config that decides them
_SETTINGS = {
    "splits": "split.method",
    "stages": "stages",
    "input": "stages",
    "input_of": "stages",
    "if_stage": "stages",
}


@dataclass(frozen=True)
class Rule:
    """One rule of a stage.

    stage, reason: what a hit says; metric: the measure that it judges; side: `low` or `high` where it is one of those
    macros; key: the key of the config that bounds it, as table.key; limits: language -> bound, "" for every other
    language, None where it is off; condition: the SQL that makes it fire.
    """

    stage: str
    reason: str
    metric: str | None
    side: str | None
    key: str | None
    limits: Mapping[str, float | None]
    condition: str

    @property
    def bound(self) -> float | None:
        """The bound that all languages share; None where there is none, or each has its own."""
        return self.limits[""] if list(self.limits) == [""] else None

    def limit(self, lang: str | None) -> float | None:
        """Return the bound for a language; None where the rule is off for it."""
        return self.limits.get(lang or "", self.limits.get(""))

    def as_dict(self) -> dict[str, Any]:
        """The same for build.json."""
        return asdict(self)


class Limit(str):
    """The SQL of a bound, which knows its key and its value by language."""

    key: str
    limits: dict[str, float | None]

    def __new__(cls, sql: str, key: str, limits: Mapping[str, float | None]) -> Limit:
        """Make the SQL of a bound."""
        one = super().__new__(cls, sql)
        one.key, one.limits = key, dict(limits)
        return one


class _Whole(int):
    key: str


class _Real(float):
    key: str


@dataclass
class Notes:
    """What one template read of the config, as `table.key` or `key`, and the rules that it made, in their order."""

    stage: str
    keys: set[str] = field(default_factory=set)
    rules: list[Rule] = field(default_factory=list)

    def rule(self, reason: str, condition: str, metric: str | None, bound: Any) -> str:
        """Note a rule; empty, since the template asks for its text. bound: a Limit, a number of the config, or none."""
        key, limits, side = getattr(bound, "key", None), getattr(bound, "limits", {}), None
        if isinstance(bound, (int, float)):
            limits = {"": float(bound)}
        for name, prefix in (("low", "min"), ("high", "max")):
            if metric and reason == f"{name}_{metric}" and key and key.endswith(f".{prefix}_{metric}"):
                side = name
        self.rules.append(Rule(self.stage, str(reason), metric, side, key, limits, str(condition)))
        return ""


class Read(Mapping):
    """A table of the config that notes which keys are read."""

    def __init__(self, values: Mapping[str, Any], notes: Notes, path: tuple[str, ...] = ()):
        self._values, self._notes, self._path = values, notes, path

    def __getitem__(self, key: str) -> Any:
        """Return a value, a table as one that notes as well, a number as one that knows its key."""
        path = (*self._path, key)
        if key not in self._values:
            self._note(path)
            raise KeyError(key)
        value = self._values[key]
        if isinstance(value, Mapping):
            return Read(value, self._notes, path)
        self._note(path)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = _Whole(value) if isinstance(value, int) else _Real(value)
            value.key = ".".join(path[:2])
        return value

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        self._note(self._path)
        return iter(self._values)

    def __len__(self) -> int:
        """Return how many keys there are."""
        return len(self._values)

    def _note(self, path: tuple[str, ...]) -> None:
        if path:
            self._notes.keys.add(".".join(path[:2]))


class Noting(Context):
    """A template's context that notes the names which a key of the config decides."""

    def resolve_or_missing(self, key: str) -> Any:
        """Resolve a name."""
        if key in _SETTINGS and isinstance(notes := self.parent.get("notes"), Notes):
            notes.keys.add(_SETTINGS[key])
        return super().resolve_or_missing(key)


def environment(macros: Mapping[str, str]) -> jinja2.Environment:
    """Return the environment that renders models. macros: name of a file in sql/macros -> its text."""
    found = jinja2.Environment(
        loader=jinja2.DictLoader(macros),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=False,
        autoescape=False,  # it is SQL, not HTML
    )
    found.context_class = Noting
    return found


# the table `rules`: a row for each rule, and one more for each language with a bound of its own
COLUMNS = (
    ("seq", "INTEGER"),
    ("stage", "VARCHAR"),
    ("place", "INTEGER"),
    ("reason", "VARCHAR"),
    ("metric", "VARCHAR"),
    ("side", "VARCHAR"),
    ("key", "VARCHAR"),
    ("lang", "VARCHAR"),
    ("threshold", "DOUBLE"),
    ("condition", "VARCHAR"),
)
ORDER = "seq, place, lang nulls first"


def rows(stages: Sequence[Sequence[Rule]]) -> list[tuple]:
    """Return the rows of the table `rules`, with COLUMNS, of the rules of a build's stages."""
    return [
        (seq, rule.stage, place, rule.reason, rule.metric, rule.side, rule.key, lang or None, bound, rule.condition)
        for seq, rules in enumerate(stages, 1)
        for place, rule in enumerate(rules)
        for lang, bound in sorted((rule.limits or {"": None}).items())
    ]


def table(stages: Sequence[Sequence[Rule]]) -> str:
    """Return the same as a query."""
    names, found = ", ".join(name for name, _ in COLUMNS), rows(stages)
    if not found:
        return f"select {', '.join(f'cast(null as {kind}) as {name}' for name, kind in COLUMNS)} where false"
    return f"select * from (values {', '.join(map(_row, found))}) as rules({names})"


def _row(values: tuple) -> str:
    cells = ("null" if v is None else quoted(v) if isinstance(v, str) else repr(v) for v in values)
    typed = (f"cast({cell} as {kind})" for cell, (_, kind) in zip(cells, COLUMNS, strict=True))
    return f"({', '.join(typed)})"


def of(record: Mapping[str, Any]) -> list[Rule]:
    """Return the rules of a build's stages, in the order in which they judge. record: what build.json holds."""
    return [rule for rules in by_stage(record) for rule in rules]


def by_stage(record: Mapping[str, Any]) -> list[list[Rule]]:
    """Return the same, a list for each stage."""
    relations = [record["relations"][f"stages.{stage}"] for stage in record["config"]["stages"]]
    return [[Rule(**rule) for rule in relation["rules"]] for relation in relations]
