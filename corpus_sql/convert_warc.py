"""WARC, ARC and WET: the records that hold a page or its text.

`response` with status 200 and `resource` of HTML or plain text, and `conversion` of plain text (WET) become documents;
every other record is counted by its kind. A record whose text cannot be had (a digest that differs, an unknown
encoding) is a document without a text, with `extraction_error`, for the build to quarantine. A file that is cut or out
of step is Bad from there: what follows cannot be trusted to be records.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus_sql import packed
from corpus_sql.convert_html import decoded
from corpus_sql.convert_html import fields as html_fields
from corpus_sql.errors import missing
from corpus_sql.import_inputs import Bad, Other, Record
from corpus_sql.packed import Count

_HTML = ("text/html", "application/xhtml+xml")
_ID = "WARC-Record-ID"
_FIELDS = {"url": "WARC-Target-URI", "fetched_at": "WARC-Date", "source_record_id": _ID}
_ENCODINGS = ("", "identity", "gzip", "x-gzip", "deflate")


def _iterator() -> Any:
    try:
        from warcio.archiveiterator import ArchiveIterator
    except ImportError:
        raise missing("warcio", "warc", "warc") from None
    return ArchiveIterator


def read(path: Path, max_bytes: int, count: Count | None) -> Iterator[Record | Bad | Other]:
    """Records of a file, plain, gzip or zstd; a record's number is its place in the file, from 1."""
    iterator = _iterator()
    from warcio.exceptions import ArchiveLoadFailed

    from corpus_sql import warc_streams

    number = 0
    with packed.unpacked(path, count) as stream:
        has_ids = stream.peek(9)[:9] != b"filedesc:"  # an ARC file has none: warcio would draw one each time
        records = iterator(stream, arc2warc=True, check_digests=True)
        records.reader = lines = warc_streams.Lines(stream)
        try:
            for record in records:
                number += 1
                one = _record(number, record, max_bytes, has_ids, count)
                while record.raw_stream.read(1 << 20):
                    pass
                if missing := getattr(record.raw_stream, "limit", 0):
                    yield Bad(number, f"is cut: {missing} of the {record.length} bytes that it announces are missing")
                    return
                if records.err_count:
                    yield Bad(number, "comes after a record that is longer than it says")
                    return
                yield one
                lines.header_bytes = 0
        except warc_streams.HeaderTooLong as error:
            yield Bad(number + 1, str(error))
            return
        except ArchiveLoadFailed as error:
            words = " ".join(str(error).split())
            yield Bad(number + 1, f"is no record of an archive: {words[:200]}")
            return
        if records.err_count:
            yield Bad(number, "is longer or shorter than it says")


def _record(number: int, record: Any, max_bytes: int, has_ids: bool, count: Count | None) -> Record | Other:
    kind, status = record.rec_type, ""
    if kind == "response":
        if record.http_headers is None:
            return Other(number, "WARC record of type response without HTTP headers")
        status = (record.http_headers.get_statuscode() or "").strip()
        if status != "200":
            return Other(number, f"WARC record of type response with status {status or 'missing'}")
    elif kind not in ("resource", "conversion"):
        return Other(number, f"WARC record of type {kind}")
    headers = record.http_headers if kind == "response" else record.rec_headers
    declared = headers.get_header("Content-Type") or ""
    medium = declared.partition(";")[0].strip().lower()
    if medium not in (*_HTML, "text/plain"):
        return Other(number, f"WARC record of type {kind} and medium {medium or 'unknown'}")
    return Record(number, _document(record, medium, _charset(declared), max_bytes, has_ids, count))


def _document(
    record: Any, medium: str, charset: str | None, max_bytes: int, has_ids: bool, count: Count | None
) -> dict[str, Any]:
    own = record.rec_headers
    found: dict[str, Any] = {"text": None}
    error = ""
    encoding = (record.http_headers.get_header("Content-Encoding") or "").strip().lower() if record.http_headers else ""
    if encoding not in _ENCODINGS:
        error = f"is packed as {encoding!r}, which cannot be unpacked"
    else:
        content = _content(record, encoding, max_bytes, count)
        checked = record.digest_checker
        if checked is not None and checked.passed is False:
            error = "; ".join(checked.problems)
        elif len(content) > max_bytes:
            error = f"has more than {max_bytes} bytes (max_line_bytes of the config)"
        elif truncated := own.get_header("WARC-Truncated"):
            error = f"was cut when it was archived: {truncated}"
        else:
            try:
                if medium in _HTML:
                    found = html_fields(content, charset)
                else:
                    found = {"text": decoded(content, charset, is_html=False)}
            except ValueError as fault:
                error = str(fault)
    if error:
        found["extraction_error"] = error
    for field, header in _FIELDS.items():
        if own.get_header(header) and (has_ids or header != _ID):
            found[field] = own.get_header(header)
    found["headers"] = {name: value for name, value in _headers(own).items() if has_ids or name != _ID.lower()}
    if record.http_headers:
        found["http_headers"] = _headers(record.http_headers)
    return found


def _content(record: Any, encoding: str, max_bytes: int, count: Count | None) -> bytes:
    """Read at most one byte too many: what is packed inside a record is no reason to fill the memory."""
    from corpus_sql import warc_streams

    packing = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}.get(encoding)
    stream, parts, size = warc_streams.content(record, packing, max_bytes + 1), [], 0
    while size <= max_bytes and (part := stream.read(1 << 16)):
        parts.append(part)
        size += len(part)
        if packing and count:
            count.add(len(part))
    return b"".join(parts)


def _charset(declared: str) -> str | None:
    for part in declared.split(";")[1:]:
        key, _, value = part.partition("=")
        if key.strip().lower() == "charset" and value.strip(" \"'"):
            return value.strip(" \"'")
    return None


def _headers(block: Any) -> dict[str, Any]:
    """Header names in lower case, in their order; a name that comes several times holds a list."""
    found: dict[str, Any] = {}
    for name, value in block.headers:
        found.setdefault(name.lower(), []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}
