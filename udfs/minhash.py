"""MinHash signatures, LSH buckets, and the verified near-duplicate pairs among what shares a bucket.

A shingle is so many tokens joined by one space. Its 32-bit hash is `minhash_hash32` of its UTF-8 bytes, and a signature
equals that of datasketch 2.0 for that hash function:
    MinHash(num_perm=num_perm, seed=1, hashfunc=minhash_hash32)         (scheme affine32)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from corpus_sql.arrays import list_parts
from corpus_sql.functions import stream_udf, udf
from corpus_sql.near_blocks import Block, blocks
from corpus_sql.near_pairs import flatten, unite, verify
from corpus_sql.shingle_sets import distinct
from corpus_sql.signatures import bucket, permutations, sign
from corpus_sql.tokens import gram_hash, hashes

_SIGNATURE = pa.struct(
    [
        ("n_tokens", pa.int32()),
        ("n_shingles", pa.int32()),
        ("set_hash_a", pa.int64()),
        ("set_hash_b", pa.int64()),
        ("signature", pa.list_(pa.int32())),
    ]
)
_COMPONENTS = pa.schema([("row_index", pa.int64()), ("root", pa.int64())])
_VERIFIED = pa.schema(
    [
        ("component", pa.int64()),
        ("a", pa.int64()),
        ("b", pa.int64()),
        ("jaccard", pa.float64()),
        ("compared", pa.int64()),
        ("capped", pa.int64()),
    ]
)
_ROWS = 1 << 16  # rows per batch that leaves
_BLOCK = 1 << 22  # shingles (8 bytes each) that are gathered before whole components are verified


def minhash_hash32(shingle: bytes) -> int:
    """Return the unsigned 32-bit hash of a shingle, given as its tokens joined by one space, in UTF-8."""
    return gram_hash(shingle) >> 32


@udf(
    args=("VARCHAR", "INTEGER", "INTEGER"),
    returns="STRUCT(n_tokens INTEGER, n_shingles INTEGER, set_hash_a BIGINT, set_hash_b BIGINT, signature INTEGER[])",
    requires=("numba", "numpy"),
)
def minhash_signature(texts: pa.Array, num_perm: pa.Array, shingle: pa.Array) -> pa.Array:
    """Return the MinHash signature of each text's shingles.

    num_perm: permutations; shingle: tokens per shingle; both constant. n_shingles counts distinct ones. Two equal sets
    have the same set_hash_a and set_hash_b (two 64-bit sums over the shingles). signature: the num_perm minima as
    32-bit bit views, empty for a text without tokens.
    """
    n = len(texts)
    perms, width = _setting(num_perm, 1), _setting(shingle, 1)
    a, b = permutations(perms)
    n_tokens, n_shingles = np.zeros(n, np.int32), np.zeros(n, np.int32)
    sums = np.zeros((n, 2), np.uint64)
    signatures = []
    for found in hashes(texts):
        rows = slice(found.first, found.first + len(found.starts))
        shingles, offsets = distinct(found, width)
        n_tokens[rows], n_shingles[rows] = found.ends - found.starts, np.diff(offsets)
        minima = np.full((np.count_nonzero(n_shingles[rows]), perms), 0xFFFFFFFF, np.uint32)
        sign(shingles, offsets, a, b, minima, sums[rows])
        signatures.append(minima.view(np.int32).ravel())
    bounds = np.zeros(n + 1, np.int32)
    np.cumsum(np.where(n_shingles > 0, perms, 0), out=bounds[1:])
    minima = np.concatenate(signatures) if signatures else np.zeros(0, np.int32)
    columns = [
        pa.array(n_tokens),
        pa.array(n_shingles),
        pa.array(sums[:, 0].copy().view(np.int64)),
        pa.array(sums[:, 1].copy().view(np.int64)),
        pa.ListArray.from_arrays(pa.array(bounds), pa.array(minima)),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(_SIGNATURE), mask=texts.is_null())


@udf(args=("INTEGER[]", "INTEGER"), returns="BIGINT[]", requires=("numba", "numpy"))
def minhash_bands(signatures: pa.Array, bands: pa.Array) -> pa.Array:
    """Return the LSH buckets of each signature: one 64-bit hash per band, made of the band's number and its minima.

    Two documents are candidates when they share a bucket. Raises ValueError if the signature does not divide into bands
    of equal size. An empty signature has no bucket.
    """
    count = _setting(bands, 1)
    bounds, minima = list_parts(signatures, np.int32)
    sizes = np.diff(bounds)
    if np.any(sizes % count):
        raise ValueError(f"{int(sizes.max())} permutations do not divide into {count} bands of equal size")
    out = np.empty(np.count_nonzero(sizes) * count, np.int64)
    bucket(minima.view(np.uint32), bounds, count, out)
    ends = np.zeros(len(bounds), np.int32)
    np.cumsum(np.where(sizes > 0, count, 0), out=ends[1:])
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(out), mask=_mask(signatures))


@stream_udf(returns=tuple((field.name, "BIGINT") for field in _COMPONENTS), requires=("numba", "numpy"))
def minhash_components(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """From edges (a BIGINT, b BIGINT), numbers from 0, make (row_index, root) of each number that was met.

    The root is the smallest number of the connected component. The order of the edges does not matter. Memory: 8 bytes
    for each number up to the largest.
    """
    parent = np.full(1 << 10, -1, np.int64)
    for batch in batches:
        if batch.num_rows == 0:
            continue
        a, b = (np.array(batch.column(name), np.int64) for name in ("a", "b"))
        top = int(max(a.max(), b.max()))
        if top >= len(parent):
            parent = np.concatenate([parent, np.full(max(top + 1, 2 * len(parent)) - len(parent), -1, np.int64)])
        unite(parent, a, b)
    flatten(parent)
    rows = np.flatnonzero(parent >= 0)
    yield from _batches(pa.record_batch([pa.array(rows), pa.array(parent[rows])], schema=_COMPONENTS))


@stream_udf(
    returns=(
        ("component", "BIGINT"),
        ("a", "BIGINT"),
        ("b", "BIGINT"),
        ("jaccard", "DOUBLE"),
        ("compared", "BIGINT"),
        ("capped", "BIGINT"),
    ),
    requires=("numba", "numpy"),
)
def minhash_verify(
    batches: Iterator[pa.RecordBatch], jaccard_threshold: float, shingle: int, max_bucket: int | None = None
) -> Iterator[pa.RecordBatch]:
    """From candidates (component, row_index, buckets BIGINT[], text), in that order, make the pairs that hold.

    A pair holds if both are in a bucket and the Jaccard similarity of their shingle sets reaches the threshold. The
    rows (component, a, b, jaccard), a < b, connect exactly what all pairs that hold connect, without a cycle: whoever
    is not united with the smallest member of a bucket is compared with all the others. After its pairs, each component
    has a row of its own with a, b and jaccard null: compared, the comparisons that were made, and capped, the buckets
    of more than max_bucket documents (None: no limit) that were compared with their smallest member only although not
    all were united with it. Only there can a pair that holds be missed.

    Memory: the shingles of one component, or of _BLOCK shingles of whole small ones, 8 bytes each.
    """
    limit = np.iinfo(np.int64).max if max_bucket is None else max_bucket
    for block in blocks(batches, "row_index", shingle, _BLOCK):
        yield from _batches(_verified(block, float(jaccard_threshold), limit))


@stream_udf(returns=(("row_index", "BIGINT"), ("jaccard", "DOUBLE")), requires=("numba", "numpy"))
def minhash_similarity(batches: Iterator[pa.RecordBatch], shingle: int) -> Iterator[pa.RecordBatch]:
    """From (witness, row_index, text), in that order, make (row_index, jaccard): how similar each is to its witness.

    The first row of a witness is its own, with a row_index below 0; it has no row in the result. shingle: tokens per
    shingle; a text without tokens has nothing in common with any. Memory: the shingles of a batch and of one witness.
    """
    witness, own = None, np.zeros(0, np.int64)
    for batch in batches:
        names, places = (np.array(batch.column(name), np.int64) for name in ("witness", "row_index"))
        values = np.zeros(batch.num_rows)
        for found in hashes(batch.column("text")):
            shingles, offsets = distinct(found, shingle)
            for i, (start, end) in enumerate(pairwise(offsets.tolist()), found.first):
                if names[i] != witness:
                    witness, own = names[i], shingles[start:end].copy()
                else:
                    values[i] = _jaccard(own, shingles[start:end])
        rows = np.flatnonzero(places >= 0)
        yield pa.record_batch([pa.array(places[rows]), pa.array(values[rows])], names=["row_index", "jaccard"])


def _jaccard(a: np.ndarray, b: np.ndarray) -> float:
    common = len(np.intersect1d(a, b, assume_unique=True))
    return common / max(len(a) + len(b) - common, 1)


def _verified(block: Block, threshold: float, limit: int) -> pa.RecordBatch:
    n = len(block.components)
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(block.set_sizes, out=offsets[1:])
    members, starts, own, own_offsets = _shared_buckets(block, limit)
    a, b, jaccard = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n)
    compared, capped = np.zeros(n, np.int64), np.zeros(n, np.int64)
    counters = a, b, jaccard, compared, capped
    found = verify(block.sets, offsets, members, starts, own, own_offsets, threshold, limit, *counters)
    firsts = np.flatnonzero(np.diff(block.components, prepend=block.components[0] - 1))
    component = np.concatenate([block.components[a[:found]], block.components[firsts]])
    place = np.lexsort((np.concatenate([b[:found], np.full(len(firsts), n)]), component))
    is_pair = np.arange(len(component)) < found
    pad = np.zeros(len(firsts), np.int64)
    columns = (
        (component, np.zeros(len(component), np.bool_)),
        (np.concatenate([block.numbers[a[:found]], pad]), ~is_pair),
        (np.concatenate([block.numbers[b[:found]], pad]), ~is_pair),
        (np.concatenate([jaccard[:found], pad]), ~is_pair),
        (np.concatenate([b[:found], np.add.reduceat(compared, firsts)]), is_pair),
        (np.concatenate([b[:found], np.add.reduceat(capped, firsts)]), is_pair),
    )
    return pa.record_batch([pa.array(v[place], mask=mask[place]) for v, mask in columns], schema=_VERIFIED)


def _shared_buckets(block: Block, limit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (members, starts, own, own_offsets) as `verify` takes them: buckets numbered in order of their hashes."""
    n = len(block.components)
    members = np.repeat(np.arange(n), block.bucket_sizes)
    order = np.lexsort((members, block.buckets))
    hashed, members = block.buckets[order], members[order]
    fresh = np.ones(len(hashed), np.bool_)
    fresh[1:] = (hashed[1:] != hashed[:-1]) | (members[1:] != members[:-1])
    hashed, members = hashed[fresh], members[fresh]
    _, bucket, sizes = np.unique(hashed, return_inverse=True, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    listed = sizes[bucket] <= limit
    texts = np.concatenate([members[listed], np.arange(n)])
    own = np.concatenate([bucket[listed], np.full(n, len(sizes))])
    own = own[np.lexsort((own, texts))]
    return members, starts, own, np.concatenate([[0], np.cumsum(np.bincount(texts, minlength=n))])


def _batches(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, _ROWS):
        yield batch.slice(start, _ROWS)


def _setting(constant: pa.Array, minimum: int) -> int:
    """Return the value of a constant argument; an empty batch has none, and any value serves it."""
    value = constant[0].as_py() if len(constant) else minimum
    if value is None or value < minimum:
        raise ValueError(f"{value} is below {minimum}")
    return value


def _mask(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None
