"""Hashes of token n-grams, and the table that a text's n-grams are looked up in."""

from __future__ import annotations

import numpy as np

from corpus_sql.kernels import njit
from corpus_sql.tokens import BASE


@njit(nogil=True, cache=True)
def roll(hashes, length):
    """Return the hash of each n-gram of `length` tokens, `corpus_sql.tokens.gram_hash` with 0 made 1."""
    out = np.empty(max(len(hashes) - length + 1, 0), np.uint64)
    first = np.uint64(1)  # BASE ** (length - 1), the weight of the token that leaves
    for _ in range(length - 1):
        first *= np.uint64(BASE)
    h = np.uint64(0)
    for j in range(len(hashes)):
        if j >= length:
            h -= hashes[j - length] * first
        h = h * np.uint64(BASE) + hashes[j]
        if j >= length - 1:
            f = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
            f = (f ^ (f >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
            f ^= f >> np.uint64(33)
            out[j - length + 1] = f if f else np.uint64(1)
    return out


@njit(nogil=True, cache=True)
def fill(grams, bits, table):
    """Put hashes, none of them 0, into both; their sizes are powers of two, the table's above twice their number."""
    for gram in grams:
        bit = (gram >> np.uint64(32)) & np.uint64(len(bits) * 64 - 1)
        bits[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
        slot = gram & np.uint64(len(table) - 1)
        while table[slot]:
            slot = (slot + np.uint64(1)) & np.uint64(len(table) - 1)
        table[slot] = gram


@njit(nogil=True, cache=True)
def scan(hashes, starts, ends, lengths, bits, table, hit):
    """Set hit[i] where text i has a gram of the table, of one of the lengths."""
    for i in range(len(starts)):
        text = hashes[starts[i] : ends[i]]
        for length in lengths:
            first = np.uint64(1)
            for _ in range(length - 1):
                first *= np.uint64(BASE)
            h = np.uint64(0)
            for j in range(len(text)):
                if j >= length:
                    h -= text[j - length] * first
                h = h * np.uint64(BASE) + text[j]
                if j < length - 1:
                    continue
                f = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
                f = (f ^ (f >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
                f ^= f >> np.uint64(33)
                if not f:
                    f = np.uint64(1)
                bit = (f >> np.uint64(32)) & np.uint64(len(bits) * 64 - 1)
                if not (bits[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1):
                    continue
                slot = f & np.uint64(len(table) - 1)
                while table[slot] and table[slot] != f:
                    slot = (slot + np.uint64(1)) & np.uint64(len(table) - 1)
                if table[slot]:
                    hit[i] = True
                    break
            if hit[i]:
                break
