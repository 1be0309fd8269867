"""Repeated lines, paragraphs and n-grams of a text: the counts behind the Gopher repetition rules.

Definitions: `corpus_sql/text_counts.py`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from corpus_sql.functions import udf
from corpus_sql.text_counts import count
from corpus_sql.text_kernels import N_WORD_COUNTS, REPETITION_COUNTS

# Lines and words are the denominators of some ratios, so that this measure stands on its own.
_NAMES = ("n_words", "n_character_words", "n_lines", *REPETITION_COUNTS)
_STRUCT = pa.struct([(name, pa.int64()) for name in _NAMES])


@udf(
    args=("VARCHAR",),
    returns=f"STRUCT({', '.join(f'{name} BIGINT' for name in _NAMES)})",
    requires=("numba", "numpy"),
)
def repetition_measure(texts: pa.Array) -> pa.Array:
    """Count what is repeated in each text, in lines, paragraphs and characters (code points but for white space).

    Lines and paragraphs: those equal to one before them. Top n-gram, 2 to 4 words: the most frequent one, and the
    longest of equally frequent ones; occurrences times characters, at most all characters of the words; 0 where
    none occurs twice. Duplicate n-grams, 5 to 10 words: the characters of all words that lie in an occurrence that
    is not the first of its n-gram, each word once.
    """
    counts = count(texts, None, repetition=True)
    chosen = counts[:, [0, 1, 8, *range(N_WORD_COUNTS, counts.shape[1])]]
    columns = [pa.array(np.ascontiguousarray(column)) for column in chosen.T]
    return pa.StructArray.from_arrays(columns, fields=list(_STRUCT), mask=texts.is_null())
