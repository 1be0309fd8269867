"""Sets of shingles as sorted arrays of 64-bit hashes; the form that signatures and exact Jaccard are made from."""

from __future__ import annotations

import numpy as np

from corpus_sql.kernels import njit
from corpus_sql.tokens import BASE, Hashes


def distinct(found: Hashes, shingle: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (shingles uint64[], offsets int64[n + 1]): the distinct shingle hashes of each text, in order of the text.

    shingle: tokens per shingle. A text with fewer tokens has one shingle, all of them; one without tokens has none.
    The hash is `corpus_sql.tokens.gram_hash` of the tokens joined by one space.
    """
    counts = found.ends - found.starts
    room = np.where(counts > 0, np.maximum(counts - shingle + 1, 1), 0)
    out = np.empty(int(room.sum()), np.uint64)
    table = np.zeros(1 << max(int(room.max(initial=1)), 1).bit_length() + 1, np.uint64)
    offsets = np.zeros(len(counts) + 1, np.int64)
    _distinct(found.hashes, found.starts, found.ends, shingle, table, out, offsets)
    return out[: offsets[-1]], offsets


def sort_each(shingles: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the sets as int64 bit views, each sorted ascending (signed), in the same places."""
    signed = shingles.view(np.int64)
    bounds = offsets.tolist()
    for start, end in zip(bounds, bounds[1:], strict=False):
        signed[start:end].sort()
    return signed


@njit(nogil=True, cache=True)
def _distinct(hashes, starts, ends, shingle, table, out, offsets):
    """Fill out and offsets; table: zeros, a power of two above twice the largest set, and zeros again on return."""
    w = 0
    for i in range(len(starts)):
        offsets[i] = w
        count = ends[i] - starts[i]
        if count == 0:
            continue
        width = min(shingle, count)
        slots = np.int64(4)
        while slots < 2 * (count - width + 1):
            slots *= 2
        mask = np.uint64(slots - 1)
        first = np.uint64(1)  # BASE ** (width - 1), the weight of the token that leaves
        for _ in range(width - 1):
            first *= np.uint64(BASE)
        h = np.uint64(0)
        zero = False
        for j in range(count):
            token = hashes[starts[i] + j]
            if j >= width:
                h -= hashes[starts[i] + j - width] * first
            h = h * np.uint64(BASE) + token
            if j < width - 1:
                continue
            f = h ^ (h >> np.uint64(33))
            f *= np.uint64(0xFF51AFD7ED558CCD)
            f ^= f >> np.uint64(33)
            f *= np.uint64(0xC4CEB9FE1A85EC53)
            f ^= f >> np.uint64(33)
            if f == np.uint64(0):
                if not zero:
                    out[w] = f
                    w += 1
                zero = True
                continue
            slot = f & mask
            while table[slot] != np.uint64(0) and table[slot] != f:
                slot = (slot + np.uint64(1)) & mask
            if table[slot] == np.uint64(0):
                table[slot] = f
                out[w] = f
                w += 1
        table[:slots] = 0
    offsets[len(starts)] = w
