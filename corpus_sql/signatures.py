"""MinHash signatures of shingle sets, equal to datasketch's scheme affine32, and the LSH buckets they fall into."""

from __future__ import annotations

import functools

import numpy as np

from corpus_sql.kernels import njit


@functools.cache
def permutations(num_perm: int) -> tuple[np.ndarray, np.ndarray]:
    """Return datasketch's multipliers and summands for seed 1, uint32."""
    generator = np.random.RandomState(1)
    a = generator.randint(0, 1 << 31, num_perm, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return a, generator.randint(0, 1 << 32, num_perm, dtype=np.uint32)


@njit(nogil=True, cache=True)
def sign(shingles, offsets, a, b, minima, sums):
    """Lower minima (one row per text that has shingles) and fill sums, both over all shingles of each text."""
    row = 0
    for i in range(len(offsets) - 1):
        if offsets[i] == offsets[i + 1]:
            continue
        first = np.uint64(0)
        second = np.uint64(0)
        signature = minima[row]
        row += 1
        for j in range(offsets[i], offsets[i + 1]):
            h = shingles[j]
            first += h
            second += (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) ^ (h >> np.uint64(32))
            # fmix32, then one multiply-add per permutation: datasketch's affine32
            m = h >> np.uint64(32)
            m ^= m >> np.uint64(16)
            m = (m * np.uint64(0x85EBCA6B)) & np.uint64(0xFFFFFFFF)
            m ^= m >> np.uint64(13)
            m = (m * np.uint64(0xC2B2AE35)) & np.uint64(0xFFFFFFFF)
            m ^= m >> np.uint64(16)
            mixed = np.uint32(m)
            for k in range(len(a)):
                signature[k] = min(signature[k], np.uint32(a[k] * mixed + b[k]))
        sums[i, 0] = first
        sums[i, 1] = second


@njit(nogil=True, cache=True)
def bucket(minima, bounds, bands, out):
    """Hash each band of each signature: h = fmix64(h ^ value) per value, from (band + 1) * 2**32."""
    w = 0
    for i in range(len(bounds) - 1):
        rows = (bounds[i + 1] - bounds[i]) // bands
        for band in range(bands if rows else 0):
            h = np.uint64(band + 1) << np.uint64(32)  # above the values, so that no two bands begin alike
            for k in range(bounds[i] + band * rows, bounds[i] + (band + 1) * rows):
                h ^= np.uint64(minima[k])
                h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
                h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
                h ^= h >> np.uint64(33)
            out[w] = np.int64(h)
            w += 1
