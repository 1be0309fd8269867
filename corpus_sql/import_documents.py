"""From a record of an input file to a raw line, as `import` does it: which field becomes what."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson

from corpus_sql import raw_line
from corpus_sql.errors import Problem
from corpus_sql.import_inputs import Bad, Input, Record
from corpus_sql.raw_fields import Fault, rfc3339, utc
from corpus_sql.to_quarantine import of_record
from corpus_sql.validation import shown


@dataclass(frozen=True)
class Fields:
    """How fields are named and what all documents have in common."""

    text: str
    id: str
    license_spdx: str
    fetched_at: str | None  # None: the field's, else `day`
    day: str  # yyyy-mm-dd
    url: str | None
    alone: bool  # one input file
    whole: bool = False  # one document a file
    dated: bool = False  # a document's own time counts, and fetched_at is for those that have none


class Unfit(ValueError):
    """A record that can neither be read nor be kept for quarantine; the message says why."""


_STRINGS = ("url", "fetched_at", "license_spdx", "text", "source_record_id", "group_id")


def without_bytes(given: dict[str, Any], texts: Iterable[str]) -> dict[str, Any]:
    """Return the fields without the bytes of binary columns: those of the raw contract and `texts` are decoded.

    Others are base64. Raises Unfit for the first that is to be decoded and is not UTF-8.
    """
    names = {*_STRINGS, *texts}
    return {key: _text(key, value, key in names) if type(value) is bytes else value for key, value in given.items()}


def _text(name: str, value: bytes, is_text: bool) -> str:
    if not is_text:
        return base64.b64encode(value).decode()
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        what = f"the binary column {shown(name)} is not UTF-8: byte {error.start} (0x{value[error.start]:02x})"
        raise Unfit(what) from None


def document(one: Input, record: Record, fields: Fields) -> dict[str, Any]:
    """Return the raw document of a record: the known keys in their order, then the others as they came.

    What a document claims wrongly stays, for the build to quarantine. Raises Unfit where two fields are one.
    """
    given = without_bytes(record.fields, (fields.text, fields.id))
    text = {"text": given.pop(fields.text)} if fields.text in given else {}
    if text and "text" in given:
        raise Unfit(f'has a field "text" besides {shown(fields.text)}')
    url, license_spdx = given.pop("url", None), given.pop("license_spdx", None)
    known = {
        "url": _url(one, record.number, fields) if url is None else url,
        "fetched_at": _fetched_at(given.pop("fetched_at", None), fields),
        "license_spdx": fields.license_spdx if license_spdx is None else license_spdx,
        **text,
    }
    record_id = given.pop("source_record_id", None)
    if record_id is None and fields.id:
        record_id = given.pop(fields.id, None)
    if type(record_id) is int:
        record_id = str(record_id)
    if record.number is None or record_id is not None:
        known["source_record_id"] = record_id or one.name
    return {**known, **given}


def raw(one: Input, record: Record | Bad, fields: Fields, max_bytes: int) -> tuple[bytes, dict[str, Any], Fault | None]:
    """Return a raw line, its document ({} for a line that is none) and the fault that the build will quarantine it for.

    Raises Unfit.
    """
    if isinstance(record, Bad) and record.line is not None:
        read = raw_line.parse(record.line, fields.license_spdx)
        return record.line, {}, read if isinstance(read, Fault) else None
    failed = None
    if isinstance(record, Bad):
        if record.number is not None or not fields.whole:
            raise Unfit(record.what)
        failed = Fault("null_text", record.what)
        record = Record(None, {fields.text: None, "extraction_error": record.what})
    made = document(one, record, fields)
    content, fault = line(made, fields.license_spdx, max_bytes)
    if fault and "text" not in made:
        has = ", ".join(list(record.fields)[:10]) or "none"
        what = f"has no field {shown(fields.text)}; --text-field names another; its fields: {has}"
        fault = Fault(fault.reason, what if fault.reason == "missing_text" else fault.detail)
    return content, made, failed or of_record(fault, record.fields)


def line(document: dict[str, Any], license_spdx: str, max_bytes: int) -> tuple[bytes, Fault | None]:
    """Return a raw line and the fault that the reader of raw files will find in it."""
    try:
        content = orjson.dumps(document)
    except TypeError:  # integers beyond 64 bits, more than 254 levels: the standard library writes them, slowly
        content = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if len(content) > max_bytes:
        what = f"makes a raw line of {len(content)} bytes, more than {max_bytes} (max_line_bytes of the config)"
        return content, Fault("oversize_line", what)
    read = raw_line.parse(content, license_spdx)
    return content, read if isinstance(read, Fault) else None


def _url(one: Input, number: int | None, fields: Fields) -> str:
    name = quote(one.name)
    if fields.url:
        name = fields.url if fields.alone else f"{fields.url.rstrip('/')}/{name}"
    return name if number is None else f"{name}#{number}"


def _fetched_at(given: Any, fields: Fields) -> Any:
    if fields.fetched_at is not None and (given is None or not fields.dated):
        return fields.fetched_at
    if given is None:
        return f"{fields.day}T00:00:00Z"
    return utc(given) if isinstance(given, str) and rfc3339(given) else given


def time(fetched_at: str | None) -> tuple[str | None, list[Problem]]:
    """Return the time in UTC; a date alone is its first second."""
    if fetched_at is None:
        return None, []
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", fetched_at):
        fetched_at += "T00:00:00Z"
    if not rfc3339(fetched_at):
        fix = "Write a date, 2026-10-09, or a time with its zone, 2026-10-09T12:00:00Z."
        return None, [Problem("--fetched-at", f"{shown(fetched_at)} is no RFC 3339 time", fix)]
    return utc(fetched_at), []
