"""Near duplicates of what earlier builds keep: documents of this build against documents of theirs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from corpus_sql.functions import stream_udf
from corpus_sql.near_blocks import Block, blocks
from corpus_sql.near_earlier import touch

_TOUCHED = pa.schema([("row_index", pa.int64()), ("place", pa.int64()), ("jaccard", pa.float64())])
_BLOCK = 1 << 22  # shingles (8 bytes each) that are gathered before whole components are compared


@stream_udf(returns=(("row_index", "BIGINT"), ("place", "BIGINT"), ("jaccard", "DOUBLE")), requires=("numba", "numpy"))
def against_verify(
    batches: Iterator[pa.RecordBatch], jaccard_threshold: float, shingle: int, max_bucket: int | None = None
) -> Iterator[pa.RecordBatch]:
    """From (component, number, buckets BIGINT[], text), in that order, make (row_index, place, jaccard).

    number: 2 * row_index of a document that enters, 2 * place + 1 of an earlier one. Each document that shares a bucket
    with an earlier one is compared with those, in order of their places, until the Jaccard similarity of the two
    shingle sets reaches the threshold; that one is its row. Of a bucket of more than max_bucket documents (None: no
    limit) the first earlier one is compared alone. The order of a component's rows, and how they are cut into batches,
    do not matter. Memory: the shingles of one component, or of _BLOCK shingles of whole small ones, 8 bytes each.
    """
    limit = np.iinfo(np.int64).max if max_bucket is None else max_bucket
    for block in blocks(batches, "number", shingle, _BLOCK):
        yield _touched(block, float(jaccard_threshold), limit)


def _touched(block: Block, threshold: float, limit: int) -> pa.RecordBatch:
    """Compare whole components; the rows come in order of the row_index within the block."""
    earlier = block.numbers % 2 == 1
    offsets = np.zeros(len(earlier) + 1, np.int64)
    np.cumsum(block.set_sizes, out=offsets[1:])
    # places among all texts of the block, ordered so that earlier ones ascend
    order = np.argsort(block.numbers)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    rows = np.repeat(np.arange(len(earlier)), block.bucket_sizes)
    _, bucket, sizes = np.unique(block.buckets, return_inverse=True, return_counts=True)
    seen = np.lexsort((rank[rows], bucket))
    seen = seen[earlier[rows[seen]]]
    held = bucket[seen]
    firsts = np.diff(held, prepend=-1) > 0
    seen = seen[firsts | (sizes[held] <= limit)]
    members, held = rows[seen], bucket[seen]
    starts = np.searchsorted(held, np.arange(len(sizes) + 1))
    entering = np.flatnonzero(~earlier)
    places = np.concatenate([[0], np.cumsum(block.bucket_sizes)])
    own = np.concatenate([bucket[places[x] : places[x + 1]] for x in entering] or [np.zeros(0, np.int64)])
    own_offsets = np.concatenate([[0], np.cumsum(block.bucket_sizes[entering])])
    # the kernel numbers texts from 0: those that enter, then the earlier ones in order of their places
    old = order[earlier[order]]
    new = np.concatenate([entering, old])
    at = np.empty(len(new), np.int64)
    at[new] = np.arange(len(new))
    kept = np.concatenate([block.sets[offsets[x] : offsets[x + 1]] for x in new])
    kept_offsets = np.concatenate([[0], np.cumsum(block.set_sizes[new])])
    first, jaccard = np.full(len(entering), -1, np.int64), np.zeros(len(entering))
    touch(kept, kept_offsets, at[members], starts, own, own_offsets, threshold, first, jaccard)
    hit = np.flatnonzero(first >= 0)
    columns = (block.numbers[entering[hit]] // 2, block.numbers[new[first[hit]]] // 2, jaccard[hit])
    return pa.record_batch([pa.array(values) for values in columns], schema=_TOUCHED)
