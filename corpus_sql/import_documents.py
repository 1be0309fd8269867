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
    dated: bool = False  # a document's own time counts, and fetched_at is for those that have none


class Unfit(ValueError):
    """A record that cannot be imported; the message says why."""


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


def document(one: Input, record: Record | Bad, fields: Fields) -> dict[str, Any]:
    """Return the raw document of a record: the known keys in their order, then the others as they came.

    Raises Unfit.
    """
    if isinstance(record, Bad):
        raise Unfit(record.what)
    given = without_bytes(record.fields, (fields.text, fields.id))
    if fields.text not in given:
        has = ", ".join(list(given)[:10]) or "none"
        raise Unfit(f"has no field {shown(fields.text)}; --text-field names another; its fields: {has}")
    text = given.pop(fields.text)
    if "text" in given:
        raise Unfit(f'has a field "text" besides {shown(fields.text)}')
    url, license_spdx = given.pop("url", None), given.pop("license_spdx", None)
    if license_spdx is not None and license_spdx != fields.license_spdx:
        what = f"license_spdx is {shown(license_spdx)}, not {shown(fields.license_spdx)}: one source has one licence"
        raise Unfit(what)
    known = {
        "url": _url(one, record.number, fields) if url is None else url,
        "fetched_at": _fetched_at(given.pop("fetched_at", None), fields),
        "license_spdx": fields.license_spdx,
        "text": text,
    }
    record_id, name = given.pop("source_record_id", None), "source_record_id"
    if record_id is None and fields.id:
        record_id, name = given.pop(fields.id, None), fields.id
    if type(record_id) is int:
        record_id = str(record_id)
    if record_id is not None and type(record_id) is not str:
        raise Unfit(f"{name} is {shown(record_id)}, neither a string nor a whole number")
    if record.number is None or record_id is not None:
        known["source_record_id"] = record_id or one.name
    return {**known, **given}


def line(document: dict[str, Any], max_bytes: int) -> tuple[bytes, bool]:
    """Return a raw line and whether it has a text, as the reader of raw files sees it; an empty text is let pass.

    Raises Unfit for what the reader would quarantine for any other reason.
    """
    try:
        content = orjson.dumps(document)
    except TypeError:  # integers beyond 64 bits, more than 254 levels: the standard library writes them, slowly
        content = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if len(content) > max_bytes:
        raise Unfit(f"makes a raw line of {len(content)} bytes, more than {max_bytes} (max_line_bytes of the config)")
    read = raw_line.parse(content, document["license_spdx"])
    if isinstance(read, Fault) and read.reason not in ("empty_text", "null_text"):
        raise Unfit(read.detail)
    return content, not isinstance(read, Fault)


def _url(one: Input, number: int | None, fields: Fields) -> str:
    name = quote(one.name)
    if fields.url:
        name = fields.url if fields.alone else f"{fields.url.rstrip('/')}/{name}"
    return name if number is None else f"{name}#{number}"


def _fetched_at(given: Any, fields: Fields) -> str:
    if fields.fetched_at is not None and (given is None or not fields.dated):
        return fields.fetched_at
    if given is None:
        return f"{fields.day}T00:00:00Z"
    if not isinstance(given, str) or not rfc3339(given):
        raise Unfit(f"fetched_at is {shown(given)}, no RFC 3339 time with a zone")
    return utc(given)


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
