"""Which candidate pairs are near duplicates: exact Jaccard inside the buckets of LSH, and the components they make."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _root(parent, i):
    """Return the root of i; halves the path on the way. A root is the smallest member of its component."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(nogil=True, cache=True)
def unite(parent, a, b):
    """Unite a[i] and b[i], places in parent (int64, -1 where a place was never met)."""
    for i in range(len(a)):
        x, y = a[i], b[i]
        if parent[x] < 0:
            parent[x] = x
        if parent[y] < 0:
            parent[y] = y
        x, y = _root(parent, x), _root(parent, y)
        if x < y:
            parent[y] = x
        elif y < x:
            parent[x] = y


@njit(nogil=True, cache=True)
def flatten(parent):
    """Make each met place point at its root."""
    for i in range(len(parent)):
        if parent[i] >= 0:
            parent[i] = _root(parent, i)


@njit(nogil=True, cache=True)
def _jaccard(sets, a, a_end, b, b_end, threshold):
    """Return the Jaccard similarity of two sorted sets if it reaches the threshold, else -1."""
    size_a, size_b = a_end - a, b_end - b
    both = size_a + size_b
    # the smallest intersection that reaches it: from a little below the real solution of i / (both - i) = threshold
    need = max(np.int64(threshold / (1.0 + threshold) * both) - 2, 0)
    while need <= both // 2 and need / (both - need) < threshold:
        need += 1
    spare_a, spare_b = size_a - need, size_b - need  # elements that may miss in the other set
    common = 0
    while a < a_end and b < b_end and spare_a >= 0 and spare_b >= 0:
        x, y = sets[a], sets[b]
        if x == y:
            common += 1
            a += 1
            b += 1
        elif x < y:
            spare_a -= 1
            a += 1
        else:
            spare_b -= 1
            b += 1
    if common < need or common == 0:
        return -1.0
    return common / (both - common)


@njit(nogil=True, cache=True)
def verify(sets, offsets, buckets, members, threshold, max_bucket, out_a, out_b, out_jaccard, compared, capped):
    """Write the pairs that unite the components of all verified candidate pairs; return how many.

    sets, offsets: the sorted shingle set of each of n texts; buckets, members: one row per text and bucket, sorted by
    bucket, then text. In each bucket everybody is compared with the first; whoever is not united with it is compared
    with all others, so each pair of the bucket ends in one component or was compared and is below the threshold. A
    bucket of more than max_bucket texts is spared the second step. compared, capped: per text, how many comparisons
    it began, and how many buckets of which it is the first were spared with texts left over.
    """
    n = len(offsets) - 1
    parent = np.arange(n)
    found = 0
    start = 0
    while start < len(buckets):
        end = start + 1
        while end < len(buckets) and buckets[end] == buckets[start]:
            end += 1
        leader = members[start]
        # the first step compares the leader with all, a later one a member that is still unresolved
        for step in range(start, end):
            x = members[step]
            if step > start and _root(parent, x) == _root(parent, leader):
                continue
            if step > start and end - start > max_bucket:
                capped[leader] += 1
                break
            for other in range(start + 1, end):
                y = members[other]
                if _root(parent, x) == _root(parent, y):
                    continue
                if step > start and other < step and _root(parent, y) != _root(parent, leader):
                    continue  # y was unresolved before x and has met it
                compared[x] += 1
                jaccard = _jaccard(sets, offsets[x], offsets[x + 1], offsets[y], offsets[y + 1], threshold)
                if jaccard >= 0.0:
                    out_a[found] = min(x, y)
                    out_b[found] = max(x, y)
                    out_jaccard[found] = jaccard
                    found += 1
                    p, q = _root(parent, x), _root(parent, y)
                    parent[max(p, q)] = min(p, q)
                    if step > start and _root(parent, x) == _root(parent, leader):
                        break  # whoever is left meets x in a step of its own
        start = end
    return found
