"""A build as a person sees it: reading, measures and stages. The relations between them are told under --verbose."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import fill
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from corpus_sql.model import EARLIER, READ

if TYPE_CHECKING:
    from corpus_sql.planning import Step
    from corpus_sql.progress import Report

NEW = "not built yet"
CHECKED, SHARDS, TABLES, AUDIT, PUBLISH = "check files", "write shards", "write audit tables", "audit", "publish"
REST = "groups and tables"
# how long each step takes beside the others: seconds for 56,357 documents, 229 MB of text, on two cores
_SECONDS = {
    CHECKED: 0.5, "read": 11.0, "measures.language": 16.0, "measures.words": 10.0,
    "measures.repetition": 17.0, "measures.content": 5.0, "measures.minhash": 11.0, "measures.decontaminate": 10.0,
    "near_dedup.verified": 4.0, "relations.redactions": 18.0, "outputs.finals": 2.5, "outputs.decisions": 1.5,
    SHARDS: 9.0, TABLES: 9.0, AUDIT: 2.0, PUBLISH: 1.0,
}  # fmt: skip
_MEASURE, _OTHER = 10.0, 0.3  # of measures of a project's own, and of all other relations
_OWN = {  # how a cause is said in few words
    "its SQL": "new settings or SQL", "its settings": "new settings or SQL", "its columns": "new settings or SQL",
    "its numbering": "new settings or SQL", "the raw files": "other raw files", "the reader's code": "new reader",
    "max_line_bytes": "new max_line_bytes", "the earlier builds": "other earlier builds",
    "how many lines are read": "other lines",
}  # fmt: skip


@dataclass
class Part:
    """Some relations under one name. why: in few words why some of them run, empty where none has to."""

    name: str
    steps: list[Step] = field(default_factory=list)
    why: str = ""


def part_of(name: str, stages: list[str]) -> str:
    """Return the name of the part that a relation belongs to; what a stage alone reads is part of the stage."""
    folder, stem = name.split(".")
    if name == EARLIER:
        return "earlier builds"
    if folder == "read":
        return "read"
    if folder == "measures":
        return f"measure {stem}"
    if folder == "stages" or folder in stages:
        return f"stage {stem if folder == 'stages' else folder}"
    return "scrub" if name in ("relations.redactions", "outputs.scrubbed") else REST


def leaves(steps: list[Step]) -> set[str]:
    """Return the relations that no other reads; they leave as files and are never stored."""
    read = {name for step in steps if step.compiled for name in step.compiled.inputs}
    return {step.name for step in steps if step.name.startswith("outputs.")} - read


def stages_of(steps: list[Step]) -> list[str]:
    """Return the names of the stages among the steps."""
    return [step.name.removeprefix("stages.") for step in steps if step.name.startswith("stages.")]


def parts(steps: list[Step]) -> dict[str, Part]:
    """Return the parts of a build in order, without the relations that leave as files, which are always made."""
    found: dict[str, Part] = {}
    skipped, stages = leaves(steps), stages_of(steps)
    for step in steps:
        if step.name not in skipped:
            name = part_of(step.name, stages)
            found.setdefault(name, Part(name)).steps.append(step)
    by_name = {step.name: step for step in steps}
    for one in found.values():
        one.why = _why(one, by_name, stages)
    rest = found.pop(REST, None)
    return {**found, REST: rest} if rest else found


def _why(part: Part, by_name: dict[str, Step], stages: list[str]) -> str:
    """Say what differs in the part itself; else which part it follows; else that it is new."""
    run = [step for step in part.steps if step.why]
    if not run:
        return ""
    own = dict.fromkeys(reason for step in run for reason in _reasons(step) if reason not in by_name)
    if own:
        return ", ".join(dict.fromkeys(_OWN.get(reason, reason.replace("the ", "new ", 1)) for reason in own))
    causes = dict.fromkeys(cause for step in run for cause in _causes(step, by_name, stages) if cause != part.name)
    if causes:
        return "follows " + ", ".join(cause.removeprefix("stage ").removeprefix("measure ") for cause in causes)
    return NEW


def _reasons(step: Step) -> list[str]:
    return step.why.removeprefix("changed: ").split(", ") if step.why and step.why != NEW else []


def _causes(step: Step, by_name: dict[str, Step], stages: list[str], seen: frozenset[str] = frozenset()) -> list[str]:
    """Return the parts in which a change began that this step follows."""
    found = []
    for reason in _reasons(step):
        other = by_name.get(reason)
        if other is None:
            found.append(part_of(step.name, stages))
        elif other.name not in seen:
            further = _causes(other, by_name, stages, seen | {step.name})
            found += further or [part_of(other.name, stages)]
    return found


def weights(steps: list[Step] | None = None) -> dict[str, float]:
    """Return what each step of a run weighs in its bar: of the steps that have to run, or of all there may be."""
    if steps is None:
        return dict(_SECONDS)
    skipped = leaves(steps)
    run = [step.name for step in steps if step.why and step.name not in skipped]
    read = {"read": _SECONDS["read"]} if READ[0] in run else {}
    return {
        CHECKED: _SECONDS[CHECKED],
        **read,
        **{name: _SECONDS.get(name, _MEASURE if name.startswith("measures.") else _OTHER) for name in run
           if name not in READ},
        **{name: _SECONDS[name] for name in (SHARDS, TABLES, AUDIT, PUBLISH)},
    }  # fmt: skip


class Telling:
    """Says what a run reused, and each part when it has run; all relations where the report is verbose."""

    def __init__(self, report: Report, steps: list[Step]):
        self.report, self.stages = report, stages_of(steps)
        self.parts = parts(steps)
        self.seconds: dict[str, float] = {}  # of the steps of each part that no line has told of yet
        if report.verbose:
            for step in steps:
                if not step.why:
                    report.line(f"reused  {step.name}")
        elif said := reused(self.parts):
            report.line(fill(said, 79, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))

    def ran(self, step: Step, seconds: float) -> None:
        """Tell that a step has run: its part is told with the step that a person knows by name."""
        why = "" if step.why == NEW else f", {step.why}"
        self.report.detail(f"ran     {step.name}: {step.rows:,} rows in {seconds:.1f} s{why}")
        part = self.parts[part_of(step.name, self.stages)]
        self.seconds[part.name] = self.seconds.get(part.name, 0.0) + seconds
        if part.name != REST and step.name.split(".")[0] in ("read", "measures", "stages", "outputs"):
            self._line(part, f"{step.rows:>11,} documents", self.seconds.pop(part.name))

    def end(self) -> None:
        """Tell of the rest: what the tables are made from."""
        if self.seconds:
            self._line(self.parts[REST], "", sum(self.seconds.values()))

    def _line(self, part: Part, rows: str, seconds: float) -> None:
        line = f"ran  {part.name:<21}{rows:<21}{seconds:>8.1f} s" + (
            f"  {part.why}" if part.why not in ("", NEW) else ""
        )
        if not self.report.verbose:
            self.report.line(line if cell_len(line) <= 79 else set_cell_size(line, 78).rstrip() + "…")


def reused(found: dict[str, Part]) -> str:
    """Spell what a run takes from earlier ones; empty where that is nothing."""
    names = [name for name, part in found.items() if not part.why and name != REST]
    if not names:
        return ""
    everything = "" if any(part.why for part in found.values()) else "everything: "
    others = [name for name in names if name.split(" ")[0] not in ("measure", "stage")]
    said = [", ".join(others)] if others else []
    for kind in ("measure", "stage"):
        own = [name.removeprefix(f"{kind} ") for name in names if name.startswith(f"{kind} ")]
        if own:
            said.append(f"{kind if len(own) == 1 else kind + 's'} {', '.join(own)}")
    return f"reused {everything}{'; '.join(said)}"
