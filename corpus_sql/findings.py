"""What a verification found: one check after the other, and each finding with its severity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

OK, NOTICE, ERROR, UNCHECKED = "ok", "notice", "error", "not checked"
EXAMPLES = 3  # rows that a finding shows of those it counts


@dataclass(frozen=True)
class Finding:
    """One thing to know. layer: files, sources or training; severity: error or notice; fix: what to do, or empty."""

    layer: str
    check: str
    severity: str
    what: str
    fix: str = ""


@dataclass(frozen=True)
class Check:
    """One check. outcome: ok, notice, error or not checked; says: what was looked at, or why it was not."""

    layer: str
    name: str
    outcome: str
    says: str


@dataclass(frozen=True)
class Findings:
    """All checks in the order they were made, and all findings in the same order."""

    build: str
    checks: list[Check] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def errors(self) -> list[Finding]:
        """The findings for which a build must not be handed over."""
        return [one for one in self.findings if one.severity == ERROR]

    @property
    def verdict(self) -> str:
        """One sentence: how many errors and notices there are, and what nobody looked at."""
        counts = [(len(self.errors), "error"), (len(self.findings) - len(self.errors), "notice")]
        said = ", ".join(f"{n:,} {word}{'' if n == 1 else 's'}" for n, word in counts)
        unchecked = [f"{one.layer} {one.name}" for one in self.checks if one.outcome == UNCHECKED]
        rest = f"; not checked: {', '.join(unchecked)}" if unchecked else ""
        return f"{said}{rest}" + ("\nThis build is not to be handed over." if self.errors else "")

    def lines(self) -> Iterator[str]:
        """A line per check, its findings below it, the verdict last."""
        width = max(len(one.name) for one in self.checks)
        for check in self.checks:
            yield f"{check.outcome:<11}  {check.layer:<8}  {check.name:<{width}}  {check.says}".rstrip()
            for one in self.findings:
                if (one.layer, one.check) == (check.layer, check.name):
                    yield f"  {one.severity}: {one.what}"
                    if one.fix:
                        yield f"      {one.fix}"
        yield ""
        yield self.verdict

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "build": self.build,
            "errors": len(self.errors),
            "notices": len(self.findings) - len(self.errors),
            "verdict": self.verdict,
            "checks": [asdict(one) for one in self.checks],
            "findings": [asdict(one) for one in self.findings],
        }


class Unchecked(Exception):
    """Raised by a check that cannot be made here; its text says why."""


class Say:
    """What one check finds, as it finds it."""

    def __init__(self, layer: str, check: str):
        self.layer, self.check = layer, check
        self.found: list[Finding] = []
        self.damaged: set[str] = set()  # files that later checks must not read

    def error(self, what: str, fix: str = "") -> None:
        """Note what must not be; the check ends as error."""
        self.found.append(Finding(self.layer, self.check, ERROR, what, fix))

    def notice(self, what: str, fix: str = "") -> None:
        """Note what one should know."""
        self.found.append(Finding(self.layer, self.check, NOTICE, what, fix))

    def many(self, what: str, examples: Sequence[str], fix: str = "", *, count: int | None = None) -> None:
        """One error for all examples of the same thing; the first three are shown. No example, no error."""
        if examples:
            self.error(f"{what}: {few(examples, count)}", fix)


def few(examples: Sequence[str], count: int | None = None) -> str:
    """The first three, and how many more there are."""
    count = len(examples) if count is None else count
    shown = "; ".join(examples[:EXAMPLES])
    return shown + (f"; and {count - min(len(examples), EXAMPLES):,} more" if count > EXAMPLES else "")
