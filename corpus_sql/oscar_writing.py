"""The OSCAR 21.09 layout, written: documents of each language into parts with metadata and checksums.

The same documents in the same order give the same bytes: gzip without a time at a fixed level, parts cut by the length
of their texts alone.

A text of n line ends makes n + 1 lines, and one blank line follows it. Since metadata counts the lines, any text comes
back to the letter: blank lines, `\\r`, line ends at its beginning and end included. (The older layout, without
metadata, cannot hold a blank line inside a text and is not written.)
"""

from __future__ import annotations

import hashlib
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from corpus_sql import files, iso639
from corpus_sql.oscar import metadata_name, sums_name, text_name
from corpus_sql.raw_fields import utc

LEVEL = 6  # of gzip; 9 takes twice as long for a hundredth less
_PENDING = 1 << 20  # compressed bytes held before they go to the file: no file stays open, however many languages
_ISO_639_3 = {two: three for three, two in iso639.THREE_LETTERS.items()}


class Written(NamedTuple):
    """A file that was written. name: relative to the folder; documents: None for a checksum file."""

    name: str
    documents: int | None
    bytes: int


class _Gzip:
    """A gzip file that grows and is hashed as it grows."""

    def __init__(self, path: Path):
        self.path, self.sha256, self.bytes = path, hashlib.sha256(), 0
        self.compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)  # a gzip header with mtime 0
        self.pending: list[bytes] = []
        self.waiting = 0

    def write(self, content: bytes) -> None:
        self._put(self.compressor.compress(content))

    def close(self) -> None:
        self._put(self.compressor.flush())
        self._append()
        files.sync(self.path)

    def _put(self, packed: bytes) -> None:
        self.pending.append(packed)
        self.waiting += len(packed)
        if self.waiting > _PENDING:
            self._append()

    def _append(self) -> None:
        packed = b"".join(self.pending)
        with open(self.path, "ab") as file:
            file.write(packed)
        self.sha256.update(packed)
        self.bytes += len(packed)
        self.pending, self.waiting = [], 0


class Language:
    """The files of one language. part_bytes: of text, its line ends included; one document may be longer."""

    def __init__(self, folder: Path, language: str, part_bytes: int):
        self.folder, self.language, self.part_bytes = folder / language, language, part_bytes
        self.done: list[tuple[_Gzip, int]] = []  # closed files with their documents: text, metadata, text, ...
        self.text: _Gzip | None = None
        self.metadata: _Gzip | None = None
        self.bytes = self.lines = self.documents = 0  # of the part that is open
        self.folder.mkdir()

    def write(self, text: str, headers: Mapping[str, str]) -> None:
        """Add one document."""
        content = text.encode() + b"\n\n"
        if self.text is not None and self.bytes + len(content) > self.part_bytes:
            self._end()
        if self.text is None:
            part = len(self.done) // 2 + 1
            self.text = _Gzip(self.folder / text_name(self.language, part))
            self.metadata = _Gzip(self.folder / metadata_name(self.language, part))
            self.bytes = self.lines = self.documents = 0
        count = content.count(b"\n") - 1
        self.text.write(content)
        self.metadata.write(orjson.dumps({"headers": headers, "offset": self.lines, "nb_sentences": count}) + b"\n")
        self.bytes += len(content)
        self.lines += count + 1
        self.documents += 1

    def _end(self) -> None:
        for file in (self.text, self.metadata):
            file.close()
            self.done.append((file, self.documents))
        self.text = self.metadata = None

    def close(self) -> list[Written]:
        """End the last part, name the files, write their checksums as sha256sum does; return them in order of name."""
        if self.text is not None:
            self._end()
        if len(self.done) == 2:  # one part has no number
            for (file, _), name in zip(self.done, (text_name, metadata_name), strict=True):
                file.path = file.path.rename(self.folder / name(self.language, None))
        found = sorted(self.done, key=lambda one: one[0].path.name.encode())
        sums = "".join(f"{file.sha256.hexdigest()}  {file.path.name}\n" for file, _ in found).encode()
        files.write(self.folder / sums_name(self.language), sums)
        listed = [Written(f"{self.language}/{file.path.name}", n, file.bytes) for file, n in found]
        return [*listed, Written(f"{self.language}/{sums_name(self.language)}", None, len(sums))]


def headers(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the WARC headers of a document: {id, url, lang, text, fetched_at, source_record_id, extra}.

    A document that came with headers (an object of strings in `extra`, at least one named warc-...) gets those, in
    their order and as they were: content-length and warc-block-digest are of the record it was taken from, not of its
    text. Only warc-target-uri and warc-date are added where they are missing, for the next import needs them.

    Others get what is known of them, and nothing else:
      warc-type, content-type            conversion, text/plain: what WET files say of extracted text
      warc-target-uri                    url
      warc-date                          fetched_at; an offset from UTC is turned into Z
      warc-record-id                     source_record_id, else <urn:uuid:...> of version 5 made from the id
      content-length                     bytes of the text
      warc-identified-content-language   lang in ISO 639-3; left out for und
    There is no warc-refers-to and no warc-block-digest.
    """
    found = {"warc-target-uri": document["url"], "warc-date": utc(document["fetched_at"])}
    if original := _original(document["extra"]):
        return {**original, **{key: value for key, value in found.items() if key not in original}}
    record = document["source_record_id"]
    if record is None:
        record = f"<{uuid.uuid5(uuid.NAMESPACE_URL, 'corpus-sql:' + document['id']).urn}>"
    made = {
        "warc-type": "conversion",
        **found,
        "warc-record-id": record,
        "content-type": "text/plain",
        "content-length": str(len(document["text"].encode())),
    }
    language = _ISO_639_3.get(document["lang"])
    return {**made, "warc-identified-content-language": language} if language else made


def _original(extra: str | None) -> dict[str, str] | None:
    if not extra or '"headers"' not in extra:
        return None
    try:
        given = orjson.loads(extra).get("headers")
    except orjson.JSONDecodeError:  # a number beyond any double, or nesting beyond orjson's: no headers of OSCAR's
        return None
    is_text = type(given) is dict and all(type(value) is str for value in given.values())
    return given if is_text and any(name.startswith("warc-") for name in given) else None
