"""Words and lines of a text: the counts behind the Gopher quality rules. Definitions: `corpus_sql/text_counts.py`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from corpus_sql.functions import udf
from corpus_sql.text_counts import count
from corpus_sql.text_kernels import N_WORD_COUNTS, WORD_COUNTS

_STRUCT = pa.struct([(name, pa.int64()) for name in WORD_COUNTS])


@udf(
    args=("VARCHAR", "VARCHAR"),
    returns=f"STRUCT({', '.join(f'{name} BIGINT' for name in WORD_COUNTS)})",
    requires=("numba", "numpy"),
)
def words_measure(texts: pa.Array, stop_words: pa.Array) -> pa.Array:
    """Count the words and lines of each text, all as numbers of words, lines, characters or marks.

    stop_words: per text a space-joined list, or null, which makes n_stop_words null. A stop word is present if a
    word without the punctuation at its two ends is equal to it, both folded by `word_fold.fold`.
    """
    counts = count(texts, stop_words, repetition=False)[:, :N_WORD_COUNTS]
    columns = [pa.array(np.ascontiguousarray(column)) for column in counts.T]
    at = WORD_COUNTS.index("n_stop_words")
    columns[at] = pa.array(np.ascontiguousarray(counts[:, at]), mask=counts[:, at] < 0)
    return pa.StructArray.from_arrays(columns, fields=list(_STRUCT), mask=texts.is_null())
