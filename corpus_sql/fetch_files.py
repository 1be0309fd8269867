"""From fetched files to raw lines: archives are opened, records become lines in the order of the files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from corpus_sql import fetch_documents, import_inputs, packed
from corpus_sql.downloading import Got
from corpus_sql.errors import CorpusError, Problem, RefusedError
from corpus_sql.fetch_documents import Making
from corpus_sql.import_documents import Unfit
from corpus_sql.import_inputs import Bad, Blank, Other
from corpus_sql.raw_fields import Fault
from corpus_sql.recipes import Recipe
from corpus_sql.upstream_files import path_of

if TYPE_CHECKING:
    from corpus_sql.fetch_source import Fetched

WHOLE = import_inputs.WHOLE


def lines(
    recipe: Recipe, got: list[Got], made: Making, folder: Path, outcome: Fetched
) -> Iterator[tuple[str, bytes | None, Fault | str | None]]:
    """Yield (place, raw line, fault for which the build will quarantine it, or None) of all files in their order.

    A place that can neither be read nor kept has no line, and words that say why. Blank lines and what is no document
    are counted in the outcome. folder: for members of archives. Raises RefusedError for an archive that leads out of
    its folder and for what unpacks beyond the limits.
    """
    if recipe.format == "oscar":
        yield from _of_oscar(recipe, got, made, folder, outcome)
        return
    for one in got:
        count = packed.Count(one.path, recipe.limits)
        try:
            for url, path in _opened(recipe, one, folder, outcome, count):
                yield from _of_file(recipe, url, path, made, outcome, count)
        except packed.Refused as refused:
            raise RefusedError(Problem(one.url, f"refused: {refused}")) from None
        except packed.DAMAGED as error:
            if not packed.is_archive(path_of(one.url)):
                raise
            yield one.url, None, f"cannot be read: {error}"


def _opened(
    recipe: Recipe, one: Got, folder: Path, outcome: Fetched, count: packed.Count
) -> Iterator[tuple[str, Path]]:
    """Yield the file, or the files that it holds; a member's url is the archive's with !/ and its name."""
    name = path_of(one.url)
    if not packed.is_archive(name):
        yield one.url, one.path
        return
    endings = import_inputs.SUFFIXES[recipe.format]
    with tempfile.TemporaryDirectory(prefix="member-", dir=folder) as inside:
        found = packed.members(one.path, name, Path(inside), lambda member: member.lower().endswith(endings), count)
        for member, path in found:
            if path is None:
                _count(outcome, "file of another format")
            else:
                yield f"{one.url}!/{quote(member)}", path


def _of_oscar(
    recipe: Recipe, got: list[Got], made: Making, folder: Path, outcome: Fetched
) -> Iterator[tuple[str, bytes | None, Fault | str | None]]:
    """OSCAR is read in pairs of files from a folder for each language: the last two parts of each URL say which."""
    with tempfile.TemporaryDirectory(prefix="oscar-", dir=folder) as inside:
        urls = {}
        for one in got:
            path = Path(inside, *path_of(one.url).split("/")[-2:])
            path.parent.mkdir(exist_ok=True)
            os.link(one.path, path)
            urls[path] = one.url
            try:
                with packed.unpacked(path, packed.Count(path, recipe.limits)) as stream:
                    while stream.read(1 << 20):
                        pass
            except packed.Refused as refused:
                raise RefusedError(Problem(one.url, f"refused: {refused}")) from None
            except packed.DAMAGED as error:
                yield one.url, None, f"cannot be read: {error}"
                return
        try:
            inputs, _ = import_inputs.find("oscar", [Path(inside)])
            import_inputs.fingerprints("oscar", inputs)
        except CorpusError as error:
            named = [(urls.get(Path(one.where), one.where.removeprefix(f"{inside}/")), one) for one in error.problems]
            raise type(error)(Problem(where, one.what, one.fix) for where, one in named) from None
        for one in inputs:
            yield from _of_file(recipe, urls[one.path], one.path, made, outcome, None)


def _of_file(
    recipe: Recipe, url: str, path: Path, made: Making, outcome: Fetched, count: packed.Count | None
) -> Iterator[tuple[str, bytes | None, Fault | str | None]]:
    if wrong := import_inputs.text_fault(recipe.format, path, made.fields.get("text", "text")):
        yield url, None, wrong
        return
    for record in import_inputs.records(recipe.format, path, made.max_bytes, count):
        if isinstance(record, Blank):
            outcome.blank += 1
        elif isinstance(record, Other):
            _count(outcome, record.what)
        else:
            where = url if record.number is None else f"{url}#{record.number}"
            if isinstance(record, Bad) and record.cut:
                outcome.unfit.cut.append(url)
            try:
                yield where, *fetch_documents.line(url, record, made)
            except Unfit as unfit:
                yield where, None, str(unfit)


def _count(outcome: Fetched, what: str) -> None:
    outcome.passed_over[what] = outcome.passed_over.get(what, 0) + 1
