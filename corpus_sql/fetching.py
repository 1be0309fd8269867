"""`corpus-sql fetch`: the sources of a config, by their recipes, into raw files and ledger rows.

Sources are downloaded side by side, and turned into raw files one after the other in the order of the config, so that
which one came first does not show.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from corpus_sql import files, ledger, limits, recipes, validation, writing_raw
from corpus_sql.config import Config
from corpus_sql.downloading import ELSEWHERE, WAIT
from corpus_sql.errors import ConfigError, CorpusError, Problem
from corpus_sql.fetch_source import Fetched, Job, Options
from corpus_sql.ledger import Source
from corpus_sql.project import open_project
from corpus_sql.raw_files import is_date
from corpus_sql.recipes import Recipe
from corpus_sql.validation import did_you_mean, shown


def fetch(
    config_path: Path,
    *,
    only: tuple[str, ...] = (),
    parallel: int = 4,
    max_bytes: int | None = None,
    date: str | None = None,
    replace: bool = False,
    strict: bool = False,
    tell: Callable[[Fetched], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
    advance: Callable[[int], None] = lambda _: None,
    part_bytes: int = writing_raw.PART_BYTES,
    wait: float = WAIT,
) -> list[Fetched]:
    """Fetch the sources of a config that have a recipe.

    only: ids of sources, all by default; parallel: sources at a time; max_bytes: that may be taken of one source, files
    beyond are left out whole; date: yyyy-mm-dd of the fetch, beats the recipe's; replace: ask again for what is in the
    ledger already, and let what is upstream now take its place; strict: write nothing of a source of which the build
    would quarantine a line. tell: called with each source when it is done; say: called
    with lines on what happens; advance: with the bytes of each piece that comes, from several threads.

    What a killed run received is used by the next one. A source that fails does not keep the others from being fetched.
    Raises ConfigError, RefusedError or DataError with the problems of all sources, once all others are done.
    """
    config = open_project(config_path).config
    if date is not None and not is_date(date):
        raise ConfigError(Problem("--date", f"{shown(date)} is no date", "Write it like 2026-10-09."))
    files.must_be_writable(config.corpus, config.corpus / "raw", config.work)
    if notice := files.private(config.work):
        say(notice)
    path = config.corpus / ledger.LEDGER
    rows = ledger.read_ledger(path) if path.exists() else {}
    found = recipes.read(config)
    options = Options(max_bytes, date, replace, strict, say, advance, wait)
    jobs = [Job(config, recipe, options) for recipe in chosen(config, found, rows, only)]
    failed: list[CorpusError] = []
    done = []
    with ThreadPoolExecutor(max(1, parallel), thread_name_prefix="fetch") as pool:
        gathering = [pool.submit(job.gather) for job in jobs]
        try:
            for job, future in zip(jobs, gathering, strict=True):
                try:
                    with limits.writing(config.work, ELSEWHERE):  # where members of archives are unpacked
                        one = job.enter(future.result(), part_bytes)
                    tell(one)
                    done.append(one)
                except CorpusError as error:
                    failed.append(error)
                finally:
                    job.close()
        except BaseException:
            options.stop.set()
            pool.shutdown(cancel_futures=True)
            for job in jobs:
                job.close()
            raise
    if failed:
        raise type(failed[0])([problem for error in failed for problem in error.problems])
    return done


def chosen(config: Config, found: dict[str, Recipe], rows: dict[str, Source], only: tuple[str, ...]) -> list[Recipe]:
    """Return the recipes of the sources asked for; raises ConfigError for sources without a recipe or a row."""
    problems = []
    for source_id in only:
        if source_id not in config.sources:
            problems.append(
                Problem("--source", f"{shown(source_id)} is not in sources", did_you_mean(source_id, config.sources))
            )
    wanted = [source_id for source_id in config.sources if not only or source_id in only]
    for source_id in wanted:
        if source_id not in found and (source_id in only or source_id not in rows):
            fix = f"Write [source.{source_id}] into the config or sources/{source_id}.toml beside it, or import it."
            problems.append(Problem(str(config.path), f"{source_id} has no recipe", fix))
    if problems:
        raise ConfigError(problems)
    return [found[source_id] for source_id in wanted if source_id in found]


def size_bytes(text: str) -> int:
    """Read a size such as 10GB, 512MiB or 4096, in powers of 1024; raises ConfigError."""
    size = validation.size_bytes(text)
    if size is None:
        raise ConfigError(Problem("--max-bytes", f"{shown(text)} is no size", "Write it like 10GB or 800MB."))
    return size
