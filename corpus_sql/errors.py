"""Every error the product raises on purpose: a list of problems, each with its place and what to do.

The command line prints them without a traceback and exits with `exit_code`:
1 when the data or an audit says no, 2 when the input to the tool is wrong or refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


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


class AuditError(CorpusError):
    """A finished build does not hold what it must; it is not published."""

    exit_code = 1
