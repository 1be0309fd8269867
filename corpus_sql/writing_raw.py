"""The only writer of raw files: lines become corpus/raw/<source_id>/<yyyymmdd>/part-<nnnnn>.jsonl.zst.

The same lines give the same bytes: one zstd frame a part at a fixed level, cut by decompressed size alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import zstandard

from corpus_sql import files, limits
from corpus_sql.errors import ConfigError, Problem
from corpus_sql.files import sha256_file
from corpus_sql.ledger import LedgerFile

PART_BYTES = 256 << 20  # decompressed bytes after which a part ends: some 80 MB of file, a second to read
LEVEL = 6  # of zstd; 3 makes files of text a tenth larger, 12 takes five times as long for a twentieth less
_NAME = re.compile(r"part-([0-9]{5})\.jsonl\.zst")


_NOTE = ".publishing.json"  # beside the days of a source: the parts that are about to be named


class _Hashed:
    """A file that hashes and counts what is written to it."""

    def __init__(self, path: Path):
        self.home = path.parents[1]
        with limits.writing(self.home):
            self.file = open(path, "xb")
        self.sha256, self.bytes = hashlib.sha256(), 0

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        self.bytes += len(data)
        with limits.writing(self.home):
            return self.file.write(data)

    def close(self) -> None:
        """Flush it to the disk."""
        with limits.writing(self.home):
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()


class PartWriter:
    """Lines into numbered parts in one folder, which nobody reads yet; `publish` gives them their names."""

    def __init__(self, source_id: str, folder: Path, part_bytes: int = PART_BYTES):
        self.source_id, self.folder, self.part_bytes = source_id, folder, part_bytes
        self.parts: list[tuple[Path, str, int]] = []  # path, SHA-256, bytes
        self._open: _Hashed | None = None
        self._stream = None
        self._written = 0

    def write(self, line: bytes) -> None:
        """Add one line, given without its line end. A line is never cut: a part may be longer by its last one."""
        if self._open is None:
            self._open = _Hashed(self.folder / f"{len(self.parts):05d}")
            compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
            self._stream = compressor.stream_writer(self._open, closefd=False)
            self._written = 0
        self._stream.write(line + b"\n")
        self._written += len(line) + 1
        if self._written >= self.part_bytes:
            self._finish()

    def _finish(self) -> None:
        self._stream.close()
        self._open.close()
        self.parts.append((Path(self._open.file.name), self._open.sha256.hexdigest(), self._open.bytes))
        self._open = None

    def close(self) -> None:
        """End the last part. Without a line there is none."""
        if self._open is not None:
            self._finish()

    def publish(self, raw: Path, day: str) -> tuple[LedgerFile, ...]:
        """Move the parts to their place below `raw`, numbered after those that lie there; return their ledger entries.

        No file that lies there is touched: those of an earlier import may be superseded, but are still there. What is
        about to be named is noted first, so that who is stopped before the ledger's row leaves no strangers.
        """
        target = raw / self.source_id / day
        target.mkdir(parents=True, exist_ok=True)
        taken = [int(match[1]) for name in os.listdir(target) if (match := _NAME.fullmatch(name))]
        first = max(taken, default=-1) + 1
        if first + len(self.parts) > 100_000:
            what = f"holds {len(taken)} parts, and {len(self.parts)} more go beyond part-99999"
            raise ConfigError(Problem(str(target), what, "Import into another source."))
        names = [f"part-{number:05d}.jsonl.zst" for number in range(first, first + len(self.parts))]
        entries = tuple(
            LedgerFile(f"{self.source_id}/{day}/{name}", sha256, size)
            for name, (_, sha256, size) in zip(names, self.parts, strict=True)
        )
        note = json.dumps([[one.path, one.sha256] for one in entries])
        with limits.writing(target.parent):
            files.write(target.parent / _NOTE, note)
        for name, (path, _, _) in zip(names, self.parts, strict=True):
            os.rename(path, target / name)
        files.sync(target)
        files.sync(target.parent)
        return entries

    def restore(self, raw: Path, entries: Collection[LedgerFile]) -> int:
        """Put the parts where the ledger has them, in order, if they are gone or damaged; return how many were."""
        count = 0
        for (path, _, _), entry in zip(self.parts, entries, strict=True):
            target = raw / entry.path
            if not target.is_file() or sha256_file(target) != entry.sha256:
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, target)
                files.sync(target.parent)
                count += 1
        return count


@contextmanager
def parts(raw: Path, source_id: str, named: Collection[str], part_bytes: int = PART_BYTES) -> Iterator[PartWriter]:
    """Open a writer of a source's raw files; what was not published when the block ends is gone.

    named: the paths relative to `raw` that the source's ledger row names. Raises ConfigError when a part lies there
    that it does not name and no stopped import noted, or when another import works on the source.
    """
    home = raw / source_id
    with files.locked(home):
        _recover(raw, home, named)
        names = sorted(path.relative_to(raw).as_posix() for path in home.glob("[0-9]*/part-*.jsonl.zst"))
        fix = "Move it away: no import has noted it, and it may be changed or belong elsewhere."
        what = "lies among the raw files, but the ledger does not name it"
        if strange := [Problem(str(raw / name), what, fix) for name in names if name not in named]:
            raise ConfigError(strange)
        for left in home.glob(".unfinished-*"):  # by one that was killed: whoever works here holds the lock
            shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=home))
        writer = PartWriter(source_id, folder, part_bytes)
        try:
            yield writer
            (home / _NOTE).unlink(missing_ok=True)
        finally:
            if writer._open is not None:
                with suppress(OSError):  # what a full disk did not take
                    writer._open.file.close()
            shutil.rmtree(folder, ignore_errors=True)
            if not any(home.iterdir()):
                with suppress(OSError):  # a mount point stays
                    home.rmdir()


def settle(raw: Path, source_id: str, named: Collection[str]) -> None:
    """Take away what one who was stopped had named before the ledger's row did; `parts` does so too."""
    if (raw / source_id / _NOTE).is_file():
        with files.locked(raw / source_id):
            _recover(raw, raw / source_id, named)


def _recover(raw: Path, home: Path, named: Collection[str]) -> None:
    note = home / _NOTE
    if not note.is_file():
        return
    with suppress(ValueError, TypeError):
        for name, sha256 in json.loads(note.read_text("utf-8")):
            path = raw / name
            if path.parents[1] == home and name not in named and path.is_file() and sha256_file(path) == sha256:
                path.unlink()
                with suppress(OSError):  # other days' files stay
                    path.parent.rmdir()
    note.unlink()
