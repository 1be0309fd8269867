"""What `import` and `fetch` take in as it is, for the build to quarantine: how many, why, and where first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from corpus_sql.errors import Problem
from corpus_sql.raw_fields import Fault
from corpus_sql.validation import counted

SHOWN = 5  # places that are told
STRICT = 20  # problems after which --strict stops reading: enough to see the pattern
_CUT = "its last line is cut: the file may be incomplete"
# how the details of raw_line end, and orjson's and Python's words, where a line stops in the middle
_STOPS = ("found the end of the line", "does not end", "unexpected end of data")


@dataclass
class ToQuarantine:
    """reasons: reason -> lines; first: the places of the first ones; cut: files whose last line is cut."""

    reasons: dict[str, int] = field(default_factory=dict)
    first: list[Problem] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)

    def add(self, where: str, fault: Fault) -> None:
        self.reasons[fault.reason] = self.reasons.get(fault.reason, 0) + 1
        if len(self.first) < SHOWN:
            self.first.append(problem(where, fault))

    def lines(self) -> list[str]:
        """Return what to tell the user: a line for each reason, for the first places, and for each cut file."""
        said = [
            f"    {counted(count, 'document')} that the build will quarantine: {reason}"
            for reason, count in sorted(self.reasons.items())
        ]
        said += [f"        {one}" for one in self.first]
        return said + [f"    {one}" for one in self.incomplete()]

    def incomplete(self) -> list[Problem]:
        """Return a problem for each file that may be incomplete."""
        return [Problem(file, _CUT) for file in self.cut]


def problem(where: str, fault: Fault) -> Problem:
    """Return a line's problem, its reason in front."""
    return Problem(where, f"{fault.reason}: {fault.detail}")


def of_record(fault: Fault | None, fields: Mapping[str, Any]) -> Fault | None:
    """Return a line's fault; of a record whose text could not be taken out, with why that was."""
    why = fields.get("extraction_error")
    return Fault(fault.reason, str(why)) if why and fault and fault.reason == "null_text" else fault


def stops_short(fault: Fault) -> bool:
    """Whether a line ends in the middle of JSON or of a UTF-8 sequence."""
    return fault.reason in ("invalid_json", "invalid_utf8") and fault.detail.endswith(_STOPS)
