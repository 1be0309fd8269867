"""Personal data and secrets: the text with placeholders, and where they were."""

import numpy as np
import pyarrow as pa

from corpus_sql.arrays import utf8_buffers
from corpus_sql.functions import udf
from corpus_sql.pii_scrub import parse_kinds, scrub

SPAN = pa.struct([("kind", pa.string()), ("start_char", pa.int32()), ("end_char", pa.int32())])
RESULT = pa.struct([("text", pa.string()), ("spans", pa.list_(SPAN))])


@udf(
    args=("VARCHAR", "VARCHAR"),
    returns="STRUCT(text VARCHAR, spans STRUCT(kind VARCHAR, start_char INTEGER, end_char INTEGER)[])",
    requires=("google-re2", "phonenumberslite", "python-stdnum"),
)
def pii_scrub(text: pa.Array, kinds: pa.Array) -> pa.Array:
    """Replace mail addresses, phone and card numbers, IP addresses, secrets and identity numbers by `<KIND>`.

    kinds: comma-joined, the same in every row: email, phone, card, ip, key, aadhaar, pan, cn_id, cn_uscc,
    gstin, iban, us_ssn. text is null when nothing was
    replaced; spans are code points of the text before the scrub, ascending and apart. Raises ValueError for an unknown
    kind.
    """
    data, offsets, valid = utf8_buffers(text)
    wanted = parse_kinds(kinds[0].as_py()) if len(kinds) else ()
    raw = data.data
    texts, counts, spans = [None] * len(text), np.zeros(len(text) + 1, np.int32), []
    for i in np.flatnonzero(valid).tolist():
        texts[i], found = scrub(str(raw[offsets[i] : offsets[i + 1]], "utf-8"), wanted)
        counts[i + 1] = len(found)
        spans += found
    names, starts, ends = zip(*spans, strict=True) if spans else ((), (), ())
    values = pa.StructArray.from_arrays(
        [pa.array(names, pa.string()), pa.array(starts, pa.int32()), pa.array(ends, pa.int32())], fields=list(SPAN)
    )
    lists = pa.ListArray.from_arrays(pa.array(np.cumsum(counts, dtype=np.int32)), values, type=pa.list_(SPAN))
    return pa.StructArray.from_arrays([pa.array(texts, pa.string()), lists], fields=list(RESULT), mask=pa.array(~valid))
