"""Candidates for near duplicates, gathered into blocks of whole components as they stream by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from corpus_sql.arrays import list_parts
from corpus_sql.shingle_sets import distinct, sort_each
from corpus_sql.tokens import hashes


class Block(NamedTuple):
    """Documents in the order they came; in flat arrays their parts follow each other, cut by the sizes."""

    components: np.ndarray  # int64[n], ascending
    numbers: np.ndarray  # int64[n], the column that names the documents
    sets: np.ndarray  # flat: each document's shingles as 64-bit hashes, distinct and sorted
    set_sizes: np.ndarray  # int64[n]
    buckets: np.ndarray  # flat: int64, each document's LSH buckets
    bucket_sizes: np.ndarray  # int64[n]


def blocks(batches: Iterable[pa.RecordBatch], number: str, shingle: int, size: int) -> Iterator[Block]:
    """Yield blocks of whole components from (component BIGINT, <number> BIGINT, buckets BIGINT[], text VARCHAR).

    The rows come in order of their component. shingle: tokens per shingle; size: shingles (8 bytes each) from which on
    a block leaves, so that memory holds about so many, or those of the largest component. What is made of a block must
    not depend on where the cuts are.
    """
    parts: list[Block] = []
    gathered = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        part = _part(batch, number, shingle)
        last = part.components[-1]
        parts.append(part)
        gathered += len(part.sets)
        if gathered >= size and parts[0].components[0] != last:
            whole = _joined(parts)
            cut = int(np.searchsorted(whole.components, last))
            yield _rows(whole, 0, cut)
            parts = [_rows(whole, cut, len(whole.components))]
            gathered = len(parts[0].sets)
    if parts:
        yield _joined(parts)


def _part(batch: pa.RecordBatch, number: str, shingle: int) -> Block:
    sets, sizes = [], []
    for found in hashes(batch.column("text")):
        shingles, offsets = distinct(found, shingle)
        sets.append(sort_each(shingles, offsets).copy())
        sizes.append(np.diff(offsets))
    bounds, buckets = list_parts(batch.column("buckets"), np.int64)
    names = (np.array(batch.column(name), np.int64) for name in ("component", number))
    return Block(*names, np.concatenate(sets), np.concatenate(sizes), buckets, np.diff(bounds))


def _joined(parts: list[Block]) -> Block:
    return Block(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _rows(block: Block, start: int, end: int) -> Block:
    sets = slice(block.set_sizes[:start].sum(), block.set_sizes[:end].sum())
    buckets = slice(block.bucket_sizes[:start].sum(), block.bucket_sizes[:end].sum())
    rows = slice(start, end)
    return Block(
        block.components[rows],
        block.numbers[rows],
        block.sets[sets].copy(),
        block.set_sizes[rows],
        block.buckets[buckets],
        block.bucket_sizes[rows],
    )
