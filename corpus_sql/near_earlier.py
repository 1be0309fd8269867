"""Which documents are near duplicates of earlier ones: exact Jaccard inside the buckets that hold both."""

from __future__ import annotations

import numpy as np

from corpus_sql.kernels import njit
from corpus_sql.near_pairs import similarity


@njit(nogil=True, cache=True)
def touch(sets, offsets, members, starts, own, own_offsets, threshold, first, jaccard):
    """Write to first[i], jaccard[i] the first earlier text that text i is a near duplicate of; -1 where there is none.

    sets, offsets: the sorted shingle set of each text; members[starts[k]:starts[k + 1]]: the earlier texts of bucket k,
    ascending; own[own_offsets[i]:own_offsets[i + 1]]: the buckets of text i. An earlier text in several of its buckets
    is compared once.
    """
    at = np.zeros(len(own), np.int64)
    for k in range(len(own)):
        at[k] = starts[own[k]]
    for x in range(len(own_offsets) - 1):
        while first[x] < 0:
            y = len(offsets)
            for k in range(own_offsets[x], own_offsets[x + 1]):
                if at[k] < starts[own[k] + 1]:
                    y = min(y, members[at[k]])
            if y == len(offsets):
                break
            for k in range(own_offsets[x], own_offsets[x + 1]):
                if at[k] < starts[own[k] + 1] and members[at[k]] == y:
                    at[k] += 1
            value = similarity(sets, offsets[x], offsets[x + 1], offsets[y], offsets[y + 1], threshold)
            if value >= 0.0:
                first[x], jaccard[x] = y, value
