"""Which candidate pairs are near duplicates: exact Jaccard inside the buckets of LSH, and the components they make."""

from __future__ import annotations

import numpy as np

from corpus_sql.kernels import njit


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
def similarity(sets, a, a_end, b, b_end, threshold):
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
def _met(own, own_offsets, x, y, bucket):
    """Return whether two texts share a bucket before this one: there they were compared, or united without it."""
    i, j = own_offsets[x], own_offsets[y]
    while own[i] < bucket and own[j] < bucket:
        if own[i] == own[j]:
            return True
        if own[i] < own[j]:
            i += 1
        else:
            j += 1
    return False


@njit(nogil=True, cache=True)
def verify(sets, offsets, members, starts, own, own_offsets, threshold, max_bucket, a, b, jaccard, compared, capped):
    """Write the pairs that unite the components of all verified candidate pairs to a, b, jaccard; return how many.

    sets, offsets: the sorted shingle set of each text; members[starts[k]:starts[k + 1]]: the texts of bucket k,
    ascending; own, own_offsets: the buckets of each text, ascending, without those above max_bucket, each list closed
    by a number above all. In each bucket everybody is compared with the first; whoever is not united with it is
    compared with all others, so each pair of the bucket ends in one component or was compared and is below the
    threshold. A bucket of more than max_bucket texts is spared the second step. compared, capped: per text, how many
    comparisons it began, and how many buckets of which it is the first were spared with texts left over.
    """
    parent = np.arange(len(offsets) - 1)
    found = 0
    for bucket in range(len(starts) - 1):
        start, end = starts[bucket], starts[bucket + 1]
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
                if _met(own, own_offsets, x, y, bucket):
                    continue
                compared[x] += 1
                value = similarity(sets, offsets[x], offsets[x + 1], offsets[y], offsets[y + 1], threshold)
                if value >= 0.0:
                    a[found], b[found], jaccard[found] = min(x, y), max(x, y), value
                    found += 1
                    p, q = _root(parent, x), _root(parent, y)
                    parent[max(p, q)] = min(p, q)
                    if step > start and _root(parent, x) == _root(parent, leader):
                        break  # whoever is left meets x in a step of its own
    return found
