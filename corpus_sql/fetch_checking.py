"""`corpus-sql fetch --check-upstream`: whether upstream still has what the ledger lists. Nothing is kept of it.

A file is hashed as it comes and thrown away; where the hub resolves to the commit in the ledger, or lists a file's
SHA-256, it is not downloaded at all.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from corpus_sql import ledger, recipes, upstream_files
from corpus_sql.downloading import WAIT, Downloader, Gone, Wanted
from corpus_sql.errors import ConfigError, CorpusError, Problem, RefusedError
from corpus_sql.fetch_source import Options
from corpus_sql.fetching import chosen
from corpus_sql.ledger import Source
from corpus_sql.project import open_project
from corpus_sql.recipes import Recipe
from corpus_sql.validation import counted
from corpus_sql.written_urls import written


@dataclass
class Checked:
    """What upstream has of one source. files: in the ledger; differences: sentences, none where all is alike.

    moved: of a hub, that the revision stands for another commit now; with no difference, none of the files changed.
    """

    source_id: str
    files: int
    differences: list[str] = field(default_factory=list)
    moved: str = ""

    def lines(self) -> list[str]:
        """Return what to tell the user, a sentence or a file a line."""
        said = f"{self.source_id}: upstream is as the ledger has it, {counted(self.files, 'file')}"
        if self.differences:
            said = f"{self.source_id}: upstream differs from the ledger; nothing was written"
        return [said, *(f"    {one}" for one in [self.moved] * bool(self.moved) + self.differences)]


def check_upstream(
    config_path: Path,
    *,
    only: tuple[str, ...] = (),
    parallel: int = 4,
    tell: Callable[[Checked], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
    advance: Callable[[int], None] = lambda _: None,
    wait: float = WAIT,
) -> list[Checked]:
    """Compare the files upstream with those in the ledger, for the sources of a config that have a recipe.

    The arguments are those of `fetching.fetch`. Neither ledger nor raw files are touched. Raises ConfigError for a
    source that was not fetched, RefusedError for one that may not be used, DataError where a server does not answer;
    with the problems of all sources, once all others are done.
    """
    config = open_project(config_path).config
    path = config.corpus / ledger.LEDGER
    rows = ledger.read_ledger(path) if path.exists() else {}
    wanted = chosen(config, recipes.read(config), rows, only)
    _judge(wanted, rows)
    options = Options(say=say, advance=advance, wait=wait)
    aside = config.work if config.work.is_dir() else None
    failed: list[CorpusError] = []
    done = []
    with ThreadPoolExecutor(max(1, parallel), thread_name_prefix="check") as pool:
        checking = [pool.submit(_check, recipe, rows[recipe.source_id], options, aside) for recipe in wanted]
        try:
            for future in checking:
                try:
                    done.append(future.result())
                    tell(done[-1])
                except CorpusError as error:
                    failed.append(error)
        except BaseException:
            options.stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    if failed:
        raise type(failed[0])([problem for error in failed for problem in error.problems])
    return done


def alone(**given: object) -> None:
    """Raise ConfigError for options that say how to fetch, by name with their value or None."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    if named:
        what = f"writes nothing, so {', '.join(named)} has no meaning beside it"
        raise ConfigError(Problem("--check-upstream", what, "Leave one of them out."))


def _judge(wanted: list[Recipe], rows: dict[str, Source]) -> None:
    """Before anything is asked for: there is something to compare with, and it may be used."""
    missing, refused = [], []
    for recipe in wanted:
        row = rows.get(recipe.source_id)
        if row is None or row.recipe is None:
            what = f"{recipe.source_id} was not fetched: the ledger lists no upstream files to compare with"
            missing.append(Problem(recipe.where, what, "Fetch it without --check-upstream."))
        else:
            refused += [Problem(row.source_id, f"refused: {what}", fix) for what, fix in ledger.refusals(row)]
    if refused:
        raise RefusedError(refused + missing)
    if missing:
        raise ConfigError(missing)


def _check(recipe: Recipe, row: Source, options: Options, aside: Path | None) -> Checked:
    listed = upstream_files.find(recipe, None, sleep=options.stop.wait)
    known = {_key(one.url): one for one in row.upstream}
    left_out = {_key(url) for url in (row.recipe or {}).get("left_out", ())}
    found = Checked(recipe.source_id, len(known))
    if recipe.repository and listed.revision != row.revision:
        asked = recipe.repository.revision
        found.moved = f"{asked}: the ledger has the commit {row.revision}, upstream has {listed.revision}"
    with tempfile.TemporaryDirectory(prefix="check-upstream-", dir=aside) as folder:
        downloader = Downloader(Path(folder), options.advance, options.stop, options.wait)
        for one in listed.files:
            before = known.pop(_key(one.url), None)
            if before is None:
                if _key(one.url) not in left_out:
                    found.differences.append(f"{one.url} is new: the ledger does not list it")
            elif before.url != one.url or not recipe.repository:  # a commit's files cannot change
                found.differences += _differences(one, before.sha256, partial(_sha256, downloader))
    found.differences += [f"{written(one.url)} is gone: it is not listed upstream any more" for one in known.values()]
    return found


def _key(url: str) -> str:
    """What a file is called in every revision: of hf:// its path in the data set, else its URL."""
    return upstream_files.path_of(url) if url.startswith("hf://") else written(url)


def _differences(one: Wanted, before: str | None, sha256: Callable[[Wanted], str]) -> list[str]:
    try:
        now = one.sha256 or sha256(one)
    except Gone as gone:
        return [f"{one.url} is gone: {gone.problems[0].what}"]
    if now == before:
        return []
    return [f"{one.url} has changed: the ledger has the SHA-256 {before}, upstream has {now}"]


def _sha256(downloader: Downloader, one: Wanted) -> str:
    try:
        return downloader.get(one).sha256
    finally:
        downloader.drop(one.url)  # one file at a time lies there
