"""One source of `corpus-sql fetch`: what is there, what is asked for, what becomes of it.

What is in the ledger already, with its raw files whole, is not asked for again: a moving revision stays at the commit
that the first fetch found. Upstream files are compared with the ledger before anything is replaced.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import re
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter

from corpus_sql import fetch_documents, fetch_files, files, ledger, upstream_files, writing_raw
from corpus_sql.config import Config
from corpus_sql.downloading import WAIT, Downloader, Got, TooLarge, Wanted
from corpus_sql.errors import ConfigError, DataError, Problem, RefusedError
from corpus_sql.ledger import LedgerFile, Source, Upstream
from corpus_sql.recipes import Recipe
from corpus_sql.to_quarantine import STRICT, ToQuarantine, problem
from corpus_sql.validation import counted, shown
from corpus_sql.written_urls import written

LONG = 16 << 20  # bytes of a file whose end is told
TELL = 30.0  # seconds between two lines on a long download


@dataclass
class Fetched:
    """What became of one source.

    state: "fetched", "replaced" (others were in force before), "restored" (the same raw files, of which some were gone
    or damaged), "updated" (only the row), "unchanged" (nothing was asked for); received: bytes that came over the line;
    documents: lines written; unfit: those of them that the build will quarantine; passed_over: what was
    no document by its kind -> how many; left_out: upstream files beyond the byte cap, with their bytes or None.
    """

    source_id: str
    state: str = "unchanged"
    revision: str | None = None
    received: int = 0
    documents: int = 0
    blank: int = 0
    files: tuple[LedgerFile, ...] = ()
    superseded: tuple[LedgerFile, ...] = ()
    unfit: ToQuarantine = field(default_factory=ToQuarantine)
    passed_over: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int | None] = field(default_factory=dict)

    @property
    def quarantined(self) -> dict[str, int]:
        """Reason -> documents that the build will quarantine."""
        return self.unfit.reasons

    def lines(self) -> list[str]:
        """Return what to tell the user, a sentence or a file a line."""
        if self.state == "unchanged":
            why = "upstream is as the ledger has it" if self.received else "nothing to fetch"
            return [f"{self.source_id}: unchanged, {why}"]
        elif self.state == "updated":
            said = [f"{self.source_id}: its row in the ledger is updated, its raw files are as they were"]
        else:
            at = f" at {self.revision}" if self.revision else ""
            said = [f"{self.source_id}{at}: {counted(self.documents, 'document')} {self.state}"]
            said += [f"    {one.path}  {one.bytes} bytes" for one in self.files]
        if self.superseded and self.state == "replaced":
            said.append(f"    {counted(len(self.superseded), 'earlier raw file')} superseded: kept, not read any more")
        if self.blank:
            said.append(f"    {counted(self.blank, 'blank line')} without a document")
        for what, count in sorted(self.passed_over.items()):
            said.append(f"    passed over: {counted(count, what)}")
        said += self.unfit.lines()
        for url, size in self.left_out.items():
            said.append(f"    left out by --max-bytes: {url}" + ("" if size is None else f"  {size} bytes"))
        return said


@dataclass(frozen=True)
class Options:
    """How to fetch, see `fetching.fetch`. stop: set to end all downloads; wait: seconds before a second try."""

    max_bytes: int | None = None
    date: str | None = None
    replace: bool = False
    strict: bool = False
    say: Callable[[str], None] = lambda _: None
    advance: Callable[[int], None] = lambda _: None
    wait: float = WAIT
    stop: threading.Event = field(default_factory=threading.Event)


@dataclass
class Gathered:
    """What came of a source. files: in order; left_out: beyond the cap; None for files: all is there already."""

    files: list[Got] | None
    revision: str | None = None
    left_out: dict[str, int | None] = field(default_factory=dict)


class Job:
    """One source. `gather` runs in a thread of its own, then `enter` in the main one."""

    def __init__(self, config: Config, recipe: Recipe, options: Options):
        self.config, self.recipe, self.options = config, recipe, options
        self.home = config.work / "fetch" / recipe.source_id
        self.raw = config.corpus / "raw"
        self.present: Source | None = None
        self.received, self._told = 0, time.monotonic()
        self._lock = contextlib.ExitStack()

    def _row(self) -> Source:
        """The row as it will be, but for what is found upstream; what the recipe leaves open is the present row's."""
        recipe, present = self.recipe, self.present
        row = present or Source(recipe.source_id, written(recipe.urls[0]), None, None, "")
        said = {key: getattr(recipe, key) for key in ("license_spdx", "data_class", "reviewer")}
        row = dataclasses.replace(row, **{key: value for key, value in said.items() if value is not None})
        if present and present.recipe and present.url == present.recipe["url"][0]:
            row = dataclasses.replace(row, url=written(recipe.urls[0]))
        return row

    def _named(self) -> list[str]:
        """The raw files that the ledger's row names."""
        return [one.path for one in (*self.present.files, *self.present.superseded)] if self.present else []

    # in a thread of its own

    def gather(self) -> Gathered:
        """Judge the source, then see that every file of it is there."""
        self._lock.enter_context(files.locked(self.home))
        path = self.config.corpus / ledger.LEDGER  # read now: another run may have just let go of the folder
        self.present = ledger.read_ledger(path).get(self.recipe.source_id) if path.exists() else None
        writing_raw.settle(self.raw, self.recipe.source_id, self._named())
        self.row = self._row()
        self._judge_row()
        if self._is_whole():
            shutil.rmtree(self.home)  # what a run that was killed at its very end has left
            return Gathered(None)
        pinned = self._same_revision() and not self.options.replace
        listed = upstream_files.find(
            self.recipe,
            self.present.revision if pinned and self.recipe.repository else None,
            sleep=self.options.stop.wait,
        )
        self._judge_names(listed.files)
        known = {written(one.url): one.sha256 for one in self.present.upstream if one.sha256} if pinned else {}
        downloader, got, left_out, total = (
            Downloader(self.home, self._advance, self.options.stop, self.options.wait),
            [],
            {},
            0,
        )
        problems: list[Problem] = []
        for i, one in enumerate(listed.files):
            if left_out:
                left_out[one.url] = one.bytes
                continue
            claims = [("the host lists", one.sha256), ("the ledger has", known.get(one.url))]
            if self.recipe.sha256:
                claims.insert(0, ("the recipe asks for", self.recipe.sha256[i]))
            first = next((sha256 for _, sha256 in claims if sha256), None)
            try:
                cap = None if self.options.max_bytes is None else self.options.max_bytes - total
                if cap is not None and one.bytes is not None and one.bytes > cap:
                    raise TooLarge(one.bytes)
                this = downloader.get(dataclasses.replace(one, sha256=first), cap)
            except TooLarge as large:
                left_out[one.url] = large.size
                continue
            if wrong := _differs(this, claims):
                downloader.drop(one.url)
                problems.append(wrong)
            if this.bytes >= LONG:
                self.options.say(f"{self.recipe.source_id}: {one.url}  {this.bytes} bytes")
            got.append(this)
            total += this.bytes
        if problems:
            raise ConfigError(problems)
        return Gathered(got, listed.revision, left_out)

    def _advance(self, count: int) -> None:
        self.received += count
        self.options.advance(count)
        if time.monotonic() - self._told > TELL:
            self._told = time.monotonic()
            self.options.say(f"{self.recipe.source_id}: {self.received} bytes so far")

    def _judge_row(self) -> None:
        """Refuse what the gate would refuse, before anything is asked for."""
        recipe, present, problems = self.recipe, self.present, []
        for key in ("license_spdx", "data_class"):
            if getattr(self.row, key) is None:
                example = '"CC-BY-4.0"' if key == "license_spdx" else '"public"'
                fix = f"Say it in the recipe, such as {key} = {example}."
                problems.append(Problem(recipe.where, f"{recipe.source_id} has no {key}", fix))
            elif present and not present.recipe and getattr(recipe, key) not in (None, getattr(present, key)):
                what = f"{key} is {shown(getattr(recipe, key))}, the ledger has {shown(getattr(present, key))}"
                problems.append(Problem(recipe.where, what, "The ledger's holds: write the same, or leave it out."))
        if present and present.files and not present.recipe and not self.options.replace:
            what = f"{recipe.source_id} is in the ledger already, and was not fetched"
            fix = "--replace puts what is fetched in its place; the present files stay where they are, as superseded."
            problems.append(Problem(recipe.where, what, fix))
        if problems:
            raise ConfigError(problems)
        if refused := ledger.refusals(self.row):
            raise RefusedError(Problem(recipe.source_id, f"refused: {what}", fix) for what, fix in refused)

    def _judge_names(self, found: list[Wanted]) -> None:
        if (self.row.reviewer or "").strip():
            return
        problems = []
        for one in found:
            words = re.split(r"[./_-]", one.name.lower())
            if word := next((word for word in words if word in ledger.SUSPICIOUS), None):
                what = f'refused: looks like customer or evaluation data ("{word}" in its name)'
                fix = "If it is none: a person has to look at it and sign in the recipe, reviewer = NAME."
                problems.append(Problem(one.url, what, fix))
        if problems:
            raise RefusedError(problems[:STRICT])

    def _same_revision(self) -> bool:
        """Whether the ledger holds the same revision of the same repository: its files may not have changed."""
        present, recipe = self.present, self.recipe
        if present is None or present.recipe is None or present.recipe["revision"] != recipe.revision:
            return False
        if recipe.repository is None:
            return True
        prefix = f"hf://datasets/{recipe.repository.name}@"
        return all(one.url.startswith(prefix) for one in present.upstream)

    def _is_whole(self) -> bool:
        """Whether the ledger holds what the recipe asks for, and every raw file is there as it should be."""
        present = self.present
        if self.options.replace or present is None or present.recipe is None or not present.files:
            return False
        asked = {key: value for key, value in present.recipe.items() if key not in ("left_out", "max_bytes")}
        if asked != self.recipe.asked() or present.license_spdx != self.row.license_spdx:
            return False
        if "left_out" in present.recipe and present.recipe.get("max_bytes") != self.options.max_bytes:
            return False
        return all(
            (self.raw / one.path).is_file()
            and (self.raw / one.path).stat().st_size == one.bytes
            and files.sha256_file(self.raw / one.path) == one.sha256
            for one in present.files
        )

    # in the main thread

    def enter(self, gathered: Gathered, part_bytes: int) -> Fetched:
        """Turn what came into raw files and the ledger row."""
        path, present = self.config.corpus / ledger.LEDGER, self.present
        later = self.config.sources[self.config.sources.index(self.recipe.source_id) + 1 :]
        outcome = Fetched(self.recipe.source_id)
        if gathered.files is None:
            if self.row != present:
                ledger.write_source(path, self.row)
                outcome.state = "updated"
            outcome.files = present.files
            return outcome
        outcome.revision, outcome.left_out, outcome.received = gathered.revision, gathered.left_out, self.received
        upstream = tuple(Upstream(one.url, one.sha256, one.bytes) for one in gathered.files)
        asked = self.recipe.asked()
        if gathered.left_out:
            asked |= {"left_out": list(gathered.left_out), "max_bytes": self.options.max_bytes}
        row = dataclasses.replace(self.row, revision=gathered.revision, upstream=upstream, recipe=asked)
        key = attrgetter("upstream", "recipe", "license_spdx")
        same = present is not None and key(present) == key(row)
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        row = dataclasses.replace(
            row, retrieved=present.retrieved if same else self.options.date or self.recipe.retrieved or today
        )
        made = fetch_documents.Making(
            license_spdx=row.license_spdx,
            day=row.retrieved,
            max_bytes=self.config.max_line_bytes,
            whole=self.recipe.format in fetch_files.WHOLE,
            fields=self.recipe.fields,
        )
        with writing_raw.parts(self.raw, self.recipe.source_id, self._named(), part_bytes) as writer:
            self._convert(gathered.files, made, writer, outcome)
            writer.close()
            if not writer.parts:
                what = "there is no document in what was fetched"
                passed = ", ".join(counted(count, kind) for kind, count in sorted(outcome.passed_over.items()))
                fix = f"Passed over: {passed}." if passed else "Nothing was written."
                raise DataError(Problem(self.recipe.source_id, what, fix))
            outcome.state, row = self._publish(writer, row, same)
            if row != present:
                ledger.write_source(path, row, before=later)
        shutil.rmtree(self.home, ignore_errors=True)
        outcome.files, outcome.superseded = row.files, row.superseded
        return outcome

    def _publish(self, writer: writing_raw.PartWriter, row: Source, same: bool) -> tuple[str, Source]:
        present = self.present
        before = present.files if present else ()
        if before and [(one.sha256, one.bytes) for one in before] == [(sha, size) for _, sha, size in writer.parts]:
            row = dataclasses.replace(row, files=before, superseded=present.superseded)
            restored = writer.restore(self.raw, before)
            return ("restored" if restored else "unchanged" if row == present else "updated"), row
        if same and not self.options.replace:
            what = "the upstream files are the same, but make other raw files than the ledger lists"
            fix = "Another version of a tool reads them otherwise. --replace puts these in the place of those."
            raise ConfigError(Problem(self.recipe.source_id, what, fix))
        entries = writer.publish(self.raw, row.retrieved.replace("-", ""))
        superseded = (*present.superseded, *before) if present else ()
        row = dataclasses.replace(row, files=entries, superseded=superseded)
        return "replaced" if before else "fetched", row

    def _convert(
        self,
        got: list[Got],
        made: fetch_documents.Making,
        writer: writing_raw.PartWriter,
        outcome: Fetched,
    ) -> None:
        problems: list[Problem] = []
        for where, content, fault in fetch_files.lines(self.recipe, got, made, self.home, outcome):
            if content is None or (fault and self.options.strict):
                problems.append(Problem(where, fault) if content is None else problem(where, fault))
                if len(problems) == STRICT:
                    problems.append(Problem(where, f"more than {STRICT - 1} places cannot be read; the rest was not"))
                    break
            elif not problems:
                writer.write(content)
                outcome.documents += 1
                if fault:
                    outcome.unfit.add(where, fault)
        if problems:
            what = "nothing was written; what was fetched is kept"
            raise DataError([*problems, *outcome.unfit.incomplete(), Problem(self.recipe.source_id, what)])

    def close(self) -> None:
        """Let go of the folder."""
        self._lock.close()
        for folder in (self.home, self.home.parent):
            with contextlib.suppress(OSError):  # what is not empty stays
                folder.rmdir()


def _differs(got: Got, claims: list[tuple[str, str | None]]) -> Problem | None:
    for who, sha256 in claims:
        if sha256 and sha256 != got.sha256:
            if who != "the ledger has":
                return Problem(got.url, f"has the SHA-256 {got.sha256}, {who} {sha256}", "Nothing was replaced.")
            what = (
                f"has changed under the same revision: the ledger has the SHA-256 {sha256}, upstream has {got.sha256}"
            )
            fix = "Nothing was replaced. --replace takes what is there now; the present files become superseded."
            return Problem(got.url, what, fix)
    return None
