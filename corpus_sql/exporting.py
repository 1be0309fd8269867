"""`corpus-sql export`: a build in the layouts that others read.

    oscar              <lang>/<lang>.txt.gz, metadata and checksums: see oscar_writing
    parquet-by-split   <split>-00000-of-00002.parquet, the columns of the shards
    jsonl              <split>-00000.jsonl.zst, the same columns, sha256 in hex

Splits keep the names they have in the column. `datasets.load_dataset(DIR)` finds them by the beginning of the file
names; it calls `val` validation.

What is read is the build folder alone, in the order of its shards. `_audit/` is never exported; of it, an export to
OSCAR reads where each kept document came from. An export is written beside DIR and named by one rename. The same build
gives the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import zstandard

from corpus_sql import build_format, files, first_look, forms, limits, oscar_writing, shards
from corpus_sql.errors import ConfigError, DataError, Problem
from corpus_sql.explain import open_build
from corpus_sql.files import sha256_file
from corpus_sql.oscar_writing import Written
from corpus_sql.progress import Report
from corpus_sql.validation import counted, did_you_mean, shown

PART_BYTES = 512 << 20  # a part of text of half a GiB: some 150 to 200 MB on disk
LEVEL = 6  # of zstd for jsonl, as raw files have it
_VERIFY = "Nothing was exported. Run corpus-sql verify: it says what else is wrong."
_BATCH = 256  # rows read at once; a row group of a shard, at most 64 MiB, bounds their size


def export(
    format: str, build: Path, directory: Path, *, part_bytes: int | None = None, report: Report | None = None
) -> list[str]:
    """Write a build to a new or empty folder; return what was written, a sentence or a file a line.

    part_bytes: of decompressed text (oscar), lines (jsonl) or values (parquet-by-split) after which a new file begins;
    a document is never cut, so one alone may be larger. Default: PART_BYTES. report: where progress is shown.
    Raises ConfigError for an unknown format, a folder that is no build and a DIR that holds something or lies in the
    build; DataError when the shards do not fit the manifest or their own hashes, and when DIR cannot be written. Then
    there is no DIR.
    """
    formats: dict[str, Callable[[_Build, Path, int], list[Written]]] = {
        "oscar": _oscar,
        "parquet-by-split": _parquet_by_split,
        "jsonl": _jsonl,
    }
    if format not in formats:
        raise ConfigError(Problem("export", f"there is no format {shown(format)}", did_you_mean(format, formats)))
    if part_bytes is not None and part_bytes < 1:
        raise ConfigError(Problem("--part-bytes", f"is {part_bytes}, less than 1"))
    build_format.check(build, least=1)
    if first := first_look.of(build):
        raise ConfigError(Problem(str(build), f"is {first_look.said(first)}", "Run without --first, and export that."))
    open_build(build).close()
    build, target = Path(build).resolve(), Path(directory).resolve()
    unfinished = target.parent / f".{target.name}.exporting"
    whole = _Build(build)
    try:
        _check_target(build, target, directory)
        with files.locked(unfinished), (report or Report(quiet=True)).step("export", whole.n_docs) as whole.advance:
            try:
                for leftover in unfinished.iterdir():  # of an export that was killed
                    shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
                whole.check_files()
                written = formats[format](whole, unfinished, part_bytes or PART_BYTES)
                for folder in (*(one for one in unfinished.iterdir() if one.is_dir()), unfinished):
                    files.sync(folder)
                os.rename(unfinished, target)  # over an empty folder of that name, if there is one
                files.sync(target.parent)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
    except OSError as error:
        if full := limits.disk(error, directory):
            raise full from error
        what = f"cannot be written: {error.strerror or error}"
        raise DataError(Problem(str(directory), what, "Nothing was exported.")) from error
    return _said(format, directory, whole, written)


def _check_target(build: Path, target: Path, given: Path) -> None:
    if target == build or build in target.parents:
        raise ConfigError(Problem(str(given), "lies in the build", "A build is never written to: give another folder."))
    if target.exists() and not target.is_dir():
        raise ConfigError(Problem(str(given), "is no folder", "Give a new folder, or an empty one."))
    if target.exists() and any(target.iterdir()):
        raise ConfigError(Problem(str(given), "is not empty", "Give a new folder, or an empty one."))
    files.must_be_writable(target.parent, target)


def _said(format: str, directory: Path, build: _Build, written: list[Written]) -> list[str]:
    said = [f"{directory}: {counted(build.documents, 'document')} as {format} in {counted(len(written), 'file')}"]
    for one in written:
        documents = "" if one.documents is None else f"  {counted(one.documents, 'document')}"
        said.append(f"    {one.name}{documents}  {one.bytes} bytes")
    if format == "oscar" and build.licences:
        listed = ", ".join(f"{name} {count}" for name, count in sorted(build.licences.items()))
        said.append(f"the layout has no place for licences; documents by licence: {listed}")
    return said


class _Build:
    """The shards of a build, in order; counts what was read of them."""

    def __init__(self, folder: Path):
        self.folder = folder
        manifest = forms.manifest(folder)
        self.listed, self.n_docs = manifest["shards"], manifest["n_docs"]
        self.documents, self.licences = 0, Counter()
        self.advance: Callable[[int], None] = lambda rows: None

    def shape(self) -> pa.Schema:
        """Return the columns of the shards, as in the first."""
        return pq.read_schema(self.folder / self.listed[0]["name"]).remove_metadata()

    def check_files(self) -> None:
        """Raise DataError for shards that are missing, or whose bytes are not those that were built; name all."""
        problems = []
        for one in self.listed:
            path = self.folder / one["name"]
            try:
                if sha256_file(path) != one["sha256"]:
                    problems.append(Problem(str(path), "has another SHA-256 than the manifest says", _VERIFY))
            except OSError as error:
                problems.append(_unreadable(path, error))
        if problems:
            raise DataError(problems)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows. Raises DataError for a shard that is missing, unreadable or of another number of rows, and
        for a text that is not the one its row was made with."""
        for one in self.listed:
            path, rows = self.folder / one["name"], 0
            for batch in _batches(path, None):
                rows += batch.num_rows
                _check_texts(batch)
                for value in pc.value_counts(batch["license_spdx"]).to_pylist():
                    self.licences[value["values"]] += value["counts"]
                yield batch
                self.advance(batch.num_rows)
            if rows != one["rows"]:
                what = f"has {rows} rows, the manifest says {one['rows']}"
                raise DataError(Problem(str(path), what, _VERIFY))
            self.documents += rows


def _batches(path: Path, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            yield from file.iter_batches(batch_size=_BATCH, columns=columns, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise DataError(_unreadable(path, error)) from error


def _unreadable(path: Path, error: Exception) -> Problem:
    what = "there is no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
    return Problem(str(path), what, _VERIFY)


def _check_texts(batch: pa.RecordBatch) -> None:
    """Hash the texts once more: a shard may have been changed together with the manifest."""
    lengths = pc.utf8_length(batch["text"]).to_pylist()
    texts = batch["text"].cast(pa.binary()).to_pylist()  # no string is made of them
    stated = zip(batch["id"].to_pylist(), batch["n_chars"].to_pylist(), batch["sha256"].to_pylist(), strict=True)
    for text, length, (id, n_chars, sha256) in zip(texts, lengths, stated, strict=True):
        if length != n_chars or hashlib.sha256(text).digest() != sha256:
            raise DataError(Problem(id, "the text is not the one that its n_chars and sha256 were made of", _VERIFY))


def _oscar(build: _Build, folder: Path, part_bytes: int) -> list[Written]:
    languages: dict[str, oscar_writing.Language] = {}
    origins = _origins(build.folder / "_audit" / "documents.parquet")
    for batch in build.batches():
        for row in batch.select(["id", "text", "url", "lang"]).to_pylist():
            origin = next(origins, {"id": None})
            if origin["id"] != row["id"]:
                what = f"the kept document {shown(origin['id'])} stands where the shards have {row['id']}"
                raise DataError(Problem("_audit/documents.parquet", what, _VERIFY))
            lang = row["lang"]
            if lang not in languages:
                languages[lang] = oscar_writing.Language(folder, lang, part_bytes)
            languages[lang].write(row["text"], oscar_writing.headers({**origin, **row}))
    return [one for lang in sorted(languages, key=str.encode) for one in languages[lang].close()]


def _origins(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the kept documents in order of id, which is the order of the shards."""
    for batch in _batches(path, ["id", "fetched_at", "source_record_id", "extra", "verdict"]):
        yield from batch.filter(pc.equal(batch["verdict"], "keep")).to_pylist()


def _splits(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each split, in order."""
    for batch in batches:
        for split in sorted(pc.unique(batch["split"]).to_pylist()):
            yield split, batch.filter(pc.equal(batch["split"], split))


class _ParquetParts:
    """The Parquet files of one split. Row groups are cut as in shards: by the bytes of rows, whatever the batches."""

    def __init__(self, folder: Path, split: str, shape: pa.Schema, part_bytes: int):
        self.folder, self.split, self.shape, self.part_bytes = folder, split, shape, part_bytes
        self.rows: list[int] = []  # of each file
        self.writer: pq.ParquetWriter | None = None
        self.waiting: list[pa.RecordBatch] = []
        self.group_bytes = self.file_bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        start = 0
        for row, size in enumerate(shards.row_bytes(batch)):
            full = self.file_bytes and self.file_bytes + size > self.part_bytes
            if full or (self.group_bytes and self.group_bytes + size > shards.ROW_GROUP_BYTES):
                self.waiting.append(batch.slice(start, row - start))
                start = row
                self._write_group()
                if full:
                    self._close_file()
            self.group_bytes += size
            self.file_bytes += size
        self.waiting.append(batch.slice(start))

    def _write_group(self) -> None:
        table = pa.Table.from_batches(self.waiting).combine_chunks().cast(self.shape)
        if self.writer is None:
            self.rows.append(0)
            self.writer = pq.ParquetWriter(
                self._path(len(self.rows) - 1),
                self.shape,
                compression="zstd",
                compression_level=3,
                use_dictionary=shards.DICTIONARY,
                version="2.6",
                data_page_version="1.0",
            )
        self.writer.write_table(table, row_group_size=max(1, table.num_rows))
        self.rows[-1] += table.num_rows
        self.waiting, self.group_bytes = [], 0

    def _close_file(self) -> None:
        self.writer.close()
        self.writer, self.file_bytes = None, 0

    def _path(self, number: int, of: str = "") -> Path:
        return self.folder / f"{self.split}-{number:05d}{of}.parquet"

    def close(self) -> list[Written]:
        """End the last file; now that their number is known, give all of them their names."""
        self._write_group()
        self._close_file()
        found = []
        for number, rows in enumerate(self.rows):
            path = self._path(number).rename(self._path(number, f"-of-{len(self.rows):05d}"))
            files.sync(path)
            found.append(Written(path.name, rows, path.stat().st_size))
        return found


def _parquet_by_split(build: _Build, folder: Path, part_bytes: int) -> list[Written]:
    parts: dict[str, _ParquetParts] = {}
    shape = build.shape()
    for split, batch in _splits(build.batches()):
        if split not in parts:
            parts[split] = _ParquetParts(folder, split, shape, part_bytes)
        parts[split].add(batch)
    return [one for split in sorted(parts) for one in parts[split].close()]


class _JsonlParts:
    """The JSON Lines files of one split, each one zstd frame with a checksum."""

    def __init__(self, folder: Path, split: str, part_bytes: int):
        self.folder, self.split, self.part_bytes = folder, split, part_bytes
        self.files: list[tuple[Path, int]] = []  # with their documents
        self.stream = None
        self.bytes = self.documents = 0  # of the file that is open

    def add(self, line: bytes) -> None:
        if self.stream is not None and self.bytes + len(line) > self.part_bytes:
            self._close_file()
        if self.stream is None:
            self.path = self.folder / f"{self.split}-{len(self.files):05d}.jsonl.zst"
            compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
            self.stream = compressor.stream_writer(open(self.path, "xb"))
            self.bytes = self.documents = 0
        self.stream.write(line)
        self.bytes += len(line)
        self.documents += 1

    def _close_file(self) -> None:
        self.stream.close()
        self.stream = None
        files.sync(self.path)
        self.files.append((self.path, self.documents))

    def close(self) -> list[Written]:
        self._close_file()
        return [Written(path.name, documents, path.stat().st_size) for path, documents in self.files]


def _jsonl(build: _Build, folder: Path, part_bytes: int) -> list[Written]:
    parts: dict[str, _JsonlParts] = {}
    for batch in build.batches():
        for row in batch.to_pylist():
            split = row["split"]
            if split not in parts:
                parts[split] = _JsonlParts(folder, split, part_bytes)
            parts[split].add(orjson.dumps({**row, "sha256": row["sha256"].hex()}) + b"\n")
    return [one for split in sorted(parts) for one in parts[split].close()]
