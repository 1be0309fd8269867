"""`corpus-sql import`: own data into raw files and a ledger row.

Nothing is invented: licence and data class are asked for. Nothing is judged either: a line that cannot be read goes in
as it is, as does a document with an empty text, and the build quarantines it with its place; --strict refuses it. A
page of HTML that cannot be decoded is left out and named.
"""

from __future__ import annotations

import array
import dataclasses
import datetime
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np

from corpus_sql import files, import_documents, import_inputs, import_splitting, ledger, spdx, writing_raw
from corpus_sql.config import Config
from corpus_sql.errors import ConfigError, DataError, Problem, RefusedError
from corpus_sql.import_documents import Fields
from corpus_sql.import_inputs import Bad, Blank, Input, Other, Record
from corpus_sql.ledger import LedgerFile, Source, Upstream
from corpus_sql.project import open_project
from corpus_sql.to_quarantine import STRICT, ToQuarantine, problem
from corpus_sql.validation import counted, did_you_mean, shown
from corpus_sql.written_urls import written

FORMATS = tuple(import_inputs.SUFFIXES)
_BARE = (*import_inputs.WHOLE, "oscar")  # whose documents have no field for a licence
_ALSO = {"ndjson": "jsonl", "jsonlines": "jsonl"}  # other names of a format, for a message

NAMED = 5  # pages left out that are named at the end

Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Imported:
    """What an import did.

    state: "imported", "replaced", "restored" (the same raw files, of which some were gone or damaged) or "unchanged"
    (nothing was written); documents: lines written; blank: lines without anything; unfit: lines that the
    build will quarantine; repeated: documents that share their source_record_id with an earlier one;
    passed_over: files in the folders that are of another format; files, superseded: as in the ledger row; notes:
    sentences for the user.
    """

    source_id: str
    state: str
    documents: int
    blank: int
    unfit: ToQuarantine
    repeated: int
    passed_over: tuple[str, ...]
    files: tuple[LedgerFile, ...]
    superseded: tuple[LedgerFile, ...]
    notes: tuple[str, ...]

    @property
    def quarantined(self) -> dict[str, int]:
        """Reason -> documents that the build will quarantine."""
        return self.unfit.reasons

    def lines(self) -> list[str]:
        """Return what to tell the user, a sentence or a file a line."""
        if self.state == "unchanged":
            return list(self.notes)
        said = [f"{self.source_id}: {counted(self.documents, 'document')} {self.state}"]
        said += [f"    {one.path}  {one.bytes} bytes" for one in self.files]
        if self.superseded:
            said.append(f"{counted(len(self.superseded), 'earlier raw file')} superseded: kept, not read any more")
        if self.blank:
            said.append(f"{counted(self.blank, 'blank line')} without a document")
        if self.passed_over:
            names = ", ".join(self.passed_over[:5]) + (", ..." if len(self.passed_over) > 5 else "")
            said.append(f"{counted(len(self.passed_over), 'file')} of other formats passed over: {names}")
        return said + self.unfit.lines() + list(self.notes)


def import_files(
    format: str,
    paths: list[Path],
    *,
    source: str,
    config_path: Path,
    license_spdx: str | None = None,
    data_class: str | None = None,
    url: str | None = None,
    fetched_at: str | None = None,
    reviewer: str | None = None,
    revision: str | None = None,
    text_field: str = "text",
    id_field: str = "id",
    split_paragraphs: int | None = None,
    replace: bool = False,
    strict: bool = False,
    today: datetime.date | None = None,
    part_bytes: int = writing_raw.PART_BYTES,
    progress: Progress | None = None,
) -> Imported:
    """Write the raw files of a source and its ledger row from files of a format.

    format: a key of import_inputs.SUFFIXES. paths: files and folders. text_field:
    the field that becomes `text`. id_field: the field that becomes `source_record_id` where there is none; "" for none.
    license_spdx, data_class, url, reviewer, revision: of the ledger row; what is None is taken from the present
    row, the licence also from a field `license_spdx` that says the same everywhere. fetched_at: an RFC 3339 time or a
    date (oscar: of documents without a warc-date); None: of each document's field `fetched_at`, else the present row's
    date where the input is the same, else `today` (None: of the clock, in UTC). All other fields stay as they are.
    split_paragraphs: a text of more characters is split by paragraphs, and its children are written behind it as
    import_splitting says; None: none is.
    A document's url is its field `url`, else the source's url or the file's name, with #<line> (text: the file alone).

    The same input and time give the same bytes. A source that has raw files is left alone if they would be the same;
    else `replace` makes the present ones superseded.
    strict: a line that the build would quarantine is an error. progress: called as (file, documents so far).
    Raises ConfigError for wrong arguments and for a source that has other content; RefusedError for data that may not
    be trained on; DataError with the first 20 places that can neither be read nor be kept (strict: of all that the
    build would quarantine), and where no line is a document. Then nothing is written.
    """
    config = open_project(config_path).config
    path = config.corpus / ledger.LEDGER
    present = ledger.read_ledger(path).get(source) if path.exists() else None
    if format not in FORMATS:
        raise ConfigError(
            Problem("import", f"there is no format {shown(format)}", did_you_mean(_ALSO.get(format, format), FORMATS))
        )
    inputs, passed_over = import_inputs.find(format, [Path(one) for one in paths])
    row = _row(source, present, license_spdx, data_class, url, reviewer, revision, inputs)
    if row.license_spdx is None and format not in _BARE:
        row = dataclasses.replace(row, license_spdx=_first_license(format, inputs, config))
    time, problems = import_documents.time(fetched_at)
    problems += _asked_for(row, text_field, id_field, format)
    if split_paragraphs is not None and split_paragraphs < 1:
        what = f"{split_paragraphs} is no number of characters"
        problems.append(Problem("--split-paragraphs", what, "Give at least 1."))
    faults = [(one.path, import_inputs.text_fault(format, one.path, text_field)) for one in inputs]
    fix = "--text-field names another."
    problems += [Problem(str(path), fault, fix) for path, fault in faults if fault]
    problems += files.unwritable(config.corpus, config.corpus / "raw" / source)
    if problems:
        raise ConfigError(problems)
    _judge(row, inputs)
    upstream = tuple(Upstream(*one) for one in import_inputs.fingerprints(format, inputs))
    if present is not None and present.upstream == upstream:
        day = present.retrieved
    else:
        day = (today or datetime.datetime.now(datetime.UTC).date()).isoformat()
    base = row.url if "://" in row.url else None
    if format == "oscar":
        id_field = ""  # a record's id is the one in its headers
    fields = Fields(
        text_field,
        id_field,
        row.license_spdx,
        time,
        day,
        base,
        len(inputs) == 1,
        format in import_inputs.WHOLE,
        format == "oscar",
    )
    named = [one.path for one in (*present.files, *present.superseded)] if present else []
    with writing_raw.parts(config.corpus / "raw", source, named, part_bytes) as writer:
        done = _convert(format, inputs, fields, config, writer, progress, split_paragraphs, strict)
        writer.close()
        if not writer.parts:
            raise DataError(
                Problem(
                    source,
                    "there is no document in the input",
                    "\n    ".join(["Nothing was written.", *_left_out(done)]),
                )
            )
        row = dataclasses.replace(row, retrieved=done.retrieved, upstream=upstream)
        state, row = _enter(writer, config, row, present, replace)
    return Imported(
        source,
        state,
        done.documents,
        done.blank,
        done.unfit,
        done.repeated,
        tuple(passed_over),
        row.files,
        row.superseded,
        tuple(_notes(source, config, fields, done, state)),
    )


def _enter(
    writer: writing_raw.PartWriter, config: Config, row: Source, present: Source | None, replace: bool
) -> tuple[str, Source]:
    """Publish the parts and write the row, unless the source has that content already; return the state and the row."""
    path = config.corpus / ledger.LEDGER
    before = present.files if present else ()
    same = [(one.sha256, one.bytes) for one in before] == [(sha256, size) for _, sha256, size in writer.parts]
    if same:
        row = dataclasses.replace(row, files=before, superseded=present.superseded)
        if row == present and writer.restore(config.corpus / "raw", before):
            return "restored", row
        if row == present:
            return "unchanged", row
    if before and not replace:
        what = f"is in {path} already, with other " + ("values in its row" if same else "content")
        fix = "--replace puts this in its place; the present files stay where they are, as superseded."
        raise ConfigError(Problem(row.source_id, what, fix))
    if not same:
        superseded = (*present.superseded, *before) if present else ()
        entries = writer.publish(config.corpus / "raw", row.retrieved.replace("-", ""))
        row = dataclasses.replace(row, files=entries, superseded=superseded)
    ledger.write_source(path, row)
    return "replaced" if before else "imported", row


def _row(
    source: str,
    present: Source | None,
    license_spdx: str | None,
    data_class: str | None,
    url: str | None,
    reviewer: str | None,
    revision: str | None,
    inputs: list[Input],
) -> Source:
    """The ledger row so far: what was given, else what the present row says, else null."""
    empty = Source(source, "", None, None, "")
    given = {
        "license_spdx": license_spdx,
        "data_class": data_class,
        "url": url,
        "reviewer": reviewer,
        "revision": revision,
    }
    said = {key: value for key, value in given.items() if value is not None}
    row = dataclasses.replace(present or empty, recipe=None, **said)
    row = dataclasses.replace(row, url=written(row.url))
    if not row.url:
        folder = inputs[0].name.partition("/")[0]
        together = all(one.name.partition("/")[0] == folder for one in inputs)
        row = dataclasses.replace(row, url=quote(folder) if together else source)
    return row


def _first_license(format: str, inputs: list[Input], config: Config) -> str | None:
    for one in inputs:
        for record in import_inputs.records(format, one.path, config.max_line_bytes):
            if isinstance(record, import_inputs.Record):
                value = record.fields.get("license_spdx")
                value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                return value if isinstance(value, str) and value else None
    return None


def _asked_for(row: Source, text_field: str, id_field: str, format: str) -> list[Problem]:
    """What only a person can say, and is not said."""
    problems = []
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", row.source_id):
        what = f"{shown(row.source_id)} is no source id"
        fix = 'Lower-case letters, digits, ".", "_" and "-", beginning with a letter or digit.'
        problems.append(Problem("--source", what, fix))
    if not row.license_spdx:
        has = "" if format in _BARE else ", and the first document has no license_spdx"
        fix = "Name the SPDX licence of the documents, such as --license CC0-1.0."
        problems.append(Problem("--license", f"is not given{has}", fix))
    elif wrong := spdx.problem(row.license_spdx):
        problems.append(Problem("--license", *wrong))
    if not row.data_class:
        fix = f"Say what the documents are: {', '.join(ledger.TRAINABLE)}."
        problems.append(Problem("--data-class", "is not given", fix))
    if not text_field:
        problems.append(Problem("--text-field", "is empty", "Name the field that holds the text."))
    if id_field in (text_field, "url", "fetched_at", "license_spdx", "text", "parent_ids", "group_id"):
        fix = "Name the field that identifies a record."
        problems.append(Problem("--id-field", f"{id_field} has another meaning", fix))
    return problems


def _judge(row: Source, inputs: list[Input]) -> None:
    """Refuse what the gate would refuse, and input files whose names the gate will not see any more."""
    problems = [Problem(row.source_id, f"refused: {what}", fix) for what, fix in ledger.refusals(row)]
    if not problems and not (row.reviewer or "").strip():
        for one in inputs:
            if words := [word for word in re.split(r"[./_-]", one.name.lower()) if word in ledger.SUSPICIOUS]:
                what = f'refused: looks like customer or evaluation data ("{words[0]}" in its name)'
                fix = "If it is none: a person has to look at it and sign with --reviewer NAME."
                problems.append(Problem(str(one.path), what, fix))
    if problems:
        raise RefusedError(problems)


@dataclass
class _Done:
    documents: int = 0
    blank: int = 0
    unfit: ToQuarantine = dataclasses.field(default_factory=ToQuarantine)
    repeated: int = 0
    parents: int = 0  # documents that were split
    children: int = 0  # into so many
    longest: int = 0  # characters of the longest of these
    dated: int = 0  # documents that came without a time
    retrieved: str = ""  # the latest day of all documents
    left_out: int = 0  # pages that cannot be decoded
    named: list[str] = dataclasses.field(default_factory=list)  # the first NAMED of them, each with the reason
    others: dict[str, int] = dataclasses.field(default_factory=dict)  # what was no document by its kind -> how many


def _convert(
    format: str,
    inputs: list[Input],
    fields: Fields,
    config: Config,
    writer: writing_raw.PartWriter,
    progress: Progress | None,
    most: int | None,
    strict: bool,
) -> _Done:
    """Read everything, write every document; raises DataError as import_files says."""
    done, problems, usable = _Done(), [], 0
    seen = array.array("Q")  # 8 bytes a record id, so that ten million take 80 MB
    for one, record in _all(format, inputs, config):
        if isinstance(record, Blank):
            done.blank += 1
            continue
        if isinstance(record, Other):
            done.others[record.what] = done.others.get(record.what, 0) + 1
            continue
        where = str(one.path) if record.number is None else f"{one.path}:{record.number}"
        if isinstance(record, Bad) and record.left_out and not strict:
            done.left_out += 1
            done.named += [f"{one.path}: {record.what}"] if done.left_out <= NAMED else []
            continue
        if isinstance(record, Bad) and record.cut:
            done.unfit.cut.append(str(one.path))
        wrong = document = None
        try:
            line, document, fault = import_documents.raw(one, record, fields, config.max_line_bytes)
            if strict and fault:
                wrong = problem(where, fault)
        except import_documents.Unfit as unfit:
            wrong = Problem(where, str(unfit))
        if wrong and len(problems) == STRICT:
            what = f"more than {STRICT} lines cannot be imported; the rest was not read"
            problems.append(Problem(str(one.path), what))
            break
        if wrong:
            problems.append(wrong)
        if problems:
            continue
        writer.write(line)
        if fault:
            done.unfit.add(where, fault)
        usable += not fault or (fault.reason in ("empty_text", "null_text") and "extraction_error" not in document)
        splits = most and not fault and document
        pieces = import_splitting.children(document, f"{writer.source_id}:{done.documents}", most) if splits else []
        for piece in pieces:
            writer.write(import_documents.line(piece, fields.license_spdx, config.max_line_bytes)[0])
            done.longest = max(done.longest, len(piece["text"]))
        done.documents += 1 + len(pieces)
        done.parents += bool(pieces)
        done.children += len(pieces)
        if progress:
            progress(one.name, done.documents)
        if not document or (fault and fault.reason not in ("empty_text", "null_text")):
            continue
        has_time = isinstance(record, Record) and record.fields.get("fetched_at") is not None
        done.dated += fields.fetched_at is None and not has_time
        done.retrieved = max(done.retrieved, document["fetched_at"][:10])
        if "source_record_id" in document:
            digest = hashlib.blake2b(document["source_record_id"].encode(), digest_size=8).digest()
            seen.append(int.from_bytes(digest, "big"))
    if not problems and done.documents and not usable:  # nothing to build from; --text-field may be wrong
        problems = done.unfit.first
    if problems:
        fix = "Mend these lines, or take them out."
        raise DataError([*problems, *done.unfit.incomplete(), Problem(writer.source_id, "nothing was written", fix)])
    done.repeated = len(seen) - len(np.unique(np.frombuffer(seen, np.uint64))) if seen else 0
    return done


def _all(format: str, inputs: list[Input], config: Config) -> Iterator[tuple[Input, Record | Bad | Blank | Other]]:
    for one in inputs:
        for record in import_inputs.records(format, one.path, config.max_line_bytes):
            yield one, record


def _left_out(done: _Done) -> list[str]:
    """Say how many pages could not be decoded, and which are the first."""
    if not done.left_out:
        return []
    more = f", the first {NAMED}" if done.left_out > NAMED else ""
    head = f"left out: {counted(done.left_out, 'page')} that cannot be decoded{more}:"
    return [head, *(f"    {one}" for one in done.named)]


def _notes(source: str, config: Config, fields: Fields, done: _Done, state: str) -> Iterator[str]:
    if state == "unchanged":
        yield f"{source} is imported already, with the same content: nothing to do"
        yield from _left_out(done)
        return
    for what, count in done.others.items():
        yield f"passed over: {counted(count, what)}"
    yield from _left_out(done)
    if done.parents:
        yield (
            f"{counted(done.parents, 'document')} split by paragraphs into {done.children}, the longest of "
            f"{done.longest} characters; all are raw lines"
        )
        if "expansion" not in config.stages:
            yield (
                f'list "expansion" as the first of stages in {config.path}: it drops what was split, since the '
                "children hold its text"
            )
    if done.dated:
        got = counted(done.dated, "document")
        yield f"{got} without a time of fetching got {fields.day}; --fetched-at says another"
    if done.repeated:
        remedy = '; if they are not, import with --id-field ""' if fields.id else ""
        yield (
            f"{counted(done.repeated, 'document')} with the record id of an earlier one: the build takes them for the "
            f"same upstream record{remedy}"
        )
    if source not in config.sources:
        yield f"add {shown(source)} to sources in {config.path} to build with it"
