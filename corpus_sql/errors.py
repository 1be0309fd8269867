"""Every error the product raises on purpose: a list of problems, each with its place and what to do.

The command line prints them without a traceback and exits with `exit_code`:
1 when the data or an audit says no, 2 when the input to the tool is wrong or refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_LINES = 8  # of a fact: the engine shows a query with a mark below it
_LINE = 300  # characters of a fact that are printed: a path, a value and what is wrong with it
_ALIKE = 3  # problems with the same fact that are printed; of the others, how many there are


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    where: file, file:line, file: [table] key, or source id; what: the fact; fix: what to do, may be empty.
    """

    where: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f"\n    {self.fix}" if self.fix else "")


class CorpusError(Exception):
    """Base of all; `problems` are all that were found at once."""

    exit_code = 2

    def __init__(self, problems: Problem | Iterable[Problem]):
        self.problems = [problems] if isinstance(problems, Problem) else list(problems)
        super().__init__("\n".join(map(str, self.problems)))


class ConfigError(CorpusError):
    """The config, or a path or name given on the command line, is wrong."""


class RefusedError(CorpusError):
    """The provenance gate refuses a source."""


class ModelError(CorpusError):
    """A SQL model or a UDF is wrong, or does not hold its contract."""


class DataError(CorpusError):
    """A raw file is damaged, or the data cannot be built from."""

    exit_code = 1


class LimitError(DataError):
    """The system or what the user allows gives no more memory, disk, files or threads; the data may be sound."""


class AuditError(CorpusError):
    """A finished build does not hold what it must; it is not published."""

    exit_code = 1


def missing(library: str, extra: str, where: str) -> ConfigError:
    """Return the error of a library that an extra brings and that is not installed; `install` is how to get it."""
    return ConfigError(Problem(where, f"needs {library}, which is not installed", f"Install it: {install(extra)}"))


def install(extra: str) -> str:
    """Return the command that installs an extra into this environment: from the checkout, where this is one."""
    checkout = Path(__file__).resolve().parents[1]
    what = f"-e '{checkout}[{extra}]'" if (checkout / "pyproject.toml").is_file() else f"'corpus-sql[{extra}]'"
    return f"{sys.executable} -m pip install {what}"


def shortened(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield what is printed of problems: each in a line or two, a value cut to what fits, equal facts counted."""
    alike: dict[tuple[str, str], int] = {}
    for problem in problems:
        key = (problem.what, problem.fix)
        alike[key] = alike.get(key, 0) + 1
        if alike[key] <= _ALIKE:
            fix = f"\n    {_cut(problem.fix)}" if problem.fix else ""
            yield f"{_cut(problem.where)}: {_cut(problem.what)}{fix}"
    for (what, _), n in alike.items():
        if n > _ALIKE:
            yield f"{n - _ALIKE:,} more like it: {_cut(what)}"


def _cut(text: str) -> str:
    """At most _LINES lines of at most _LINE characters; the middle goes, since both ends of a value say something."""
    lines = text.split("\n")
    more = [f"[… {len(lines) - _LINES:,} lines …]"] if len(lines) > _LINES else []
    return "\n".join([*map(_cut_line, lines[:_LINES]), *more])


def _cut_line(text: str) -> str:
    if len(text) <= _LINE:
        return text
    return f"{text[: _LINE * 2 // 3]} [… {len(text) - _LINE:,} characters …] {text[-_LINE // 3 :]}"
