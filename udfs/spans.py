"""The place of a child in its parent's text, as `import --split-paragraphs` writes it into the raw line."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc

from corpus_sql.functions import udf

_SPAN = pa.struct([("start_char", pa.int32()), ("end_char", pa.int32())])


@udf(args=("VARCHAR",), returns="STRUCT(start_char INTEGER, end_char INTEGER)")
def spans_read(extras: pa.Array) -> pa.Array:
    """Return the field `span` of each raw document's other fields, given as JSON text.

    [start, end], whole numbers with 0 <= start < end, in code points of the parent's text in NFC; null for all else.
    """
    likely = pc.fill_null(pc.match_substring(extras, '"span"'), False).to_pylist()
    found = [_span(extra.as_py()) if there else None for extra, there in zip(extras, likely, strict=True)]
    return pa.array(found, _SPAN)


def _span(extra: str) -> dict[str, int] | None:
    fields = json.loads(extra)
    span = fields.get("span") if isinstance(fields, dict) else None
    if not isinstance(span, list) or len(span) != 2 or any(type(place) is not int for place in span):
        return None
    start, end = span
    return {"start_char": start, "end_char": end} if 0 <= start < end < 1 << 31 else None
