"""From a record of an upstream file to a raw line, as `fetch` does it: nothing is repaired, nothing is left out.

What the build would quarantine goes into the raw file as it is, to be quarantined there with its place and reason: a
line that is no JSON keeps its bytes, a document that claims another licence keeps its claim, one without a text has
none.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import orjson

from corpus_sql import raw_line
from corpus_sql.import_documents import Unfit, without_bytes
from corpus_sql.import_inputs import Bad, Record
from corpus_sql.raw_fields import Fault, rfc3339, utc
from corpus_sql.to_quarantine import of_record
from corpus_sql.validation import shown


@dataclass(frozen=True)
class Making:
    """What all documents of a source have in common.

    fields: our names -> names in the records; day: yyyy-mm-dd; whole: one document a file.
    """

    license_spdx: str
    day: str
    max_bytes: int
    whole: bool
    fields: dict[str, str] = field(default_factory=dict)


def line(url: str, record: Record | Bad, made: Making) -> tuple[bytes, Fault | None]:
    """Return a raw line and the fault for which the build will quarantine it, or None.

    url: of the file; a record that has none of its own gets it, with #<number> where the file holds several. Raises
    Unfit for what can neither be read nor be kept for quarantine.
    """
    failed = None
    if isinstance(record, Bad):
        if record.line is not None:
            content = record.line
        elif record.number is None and made.whole:
            failed = Fault("null_text", record.what)
            content = _dumped(_document(url, Record(None, {"text": None, "extraction_error": record.what}), made))
        else:
            raise Unfit(record.what)
    else:
        content = _dumped(_document(url, record, made))
    if len(content) > made.max_bytes:
        return content, Fault("oversize_line", f"longer than max_line_bytes = {made.max_bytes}")
    read = raw_line.parse(content, made.license_spdx)
    fault = read if isinstance(read, Fault) else None
    return content, failed or (fault if isinstance(record, Bad) else of_record(fault, record.fields))


def _document(url: str, record: Record, made: Making) -> dict[str, Any]:
    given = without_bytes(record.fields, ("id", *made.fields.values()))
    mapped = {ours: given.pop(theirs) for ours, theirs in made.fields.items() if theirs in given}
    for ours in mapped:
        if ours in given:
            raise Unfit(f"has a field {shown(ours)} besides {shown(made.fields[ours])}, which the recipe takes for it")
    if "id" in given and "source_record_id" not in (*given, *made.fields) and isinstance(given["id"], (str, int)):
        mapped["source_record_id"] = given.pop("id")
    given.update(mapped)
    known: dict[str, Any] = {
        "url": url if record.number is None else f"{url}#{record.number}",
        "fetched_at": f"{made.day}T00:00:00Z",
        "license_spdx": made.license_spdx,
    }
    for key in known:
        if (value := given.pop(key, None)) is not None:
            known[key] = value
    if isinstance(known["fetched_at"], str) and rfc3339(known["fetched_at"]):
        known["fetched_at"] = utc(known["fetched_at"])
    if "text" in given:
        known["text"] = given.pop("text")
    record_id = given.pop("source_record_id", None)
    if record_id is not None:
        known["source_record_id"] = str(record_id) if type(record_id) is int else record_id
    return {**known, **given}


def _dumped(document: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(document)
    except TypeError:  # integers beyond 64 bits, more than 254 levels: the standard library writes them, slowly
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
