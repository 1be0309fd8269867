"""Circles among documents that name each other as parents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from corpus_sql.functions import stream_udf

_PASSES = 8  # over all links, before the few that are left are walked one by one


@stream_udf(returns=(("place", "BIGINT"), ("circle", "BIGINT")), requires=("numpy",))
def relations_circles(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """From links (child BIGINT, parent BIGINT) make (place, circle) of each number that is its own ancestor.

    circle: the smallest number among those that are ancestors of each other. The order of the links does not matter.
    Memory: some 50 bytes a link.
    """
    parts = [np.array([batch.column("child"), batch.column("parent")], np.int64) for batch in batches if batch.num_rows]
    child, parent = np.concatenate(parts, axis=1) if parts else np.zeros((2, 0), np.int64)
    for _ in range(_PASSES):  # whoever has no parent, or no child, is in no circle
        inside = np.isin(child, parent) & np.isin(parent, child)
        child, parent = child[inside], parent[inside]
    links: dict[int, list[int]] = {}
    for one, other in zip(child.tolist(), parent.tolist(), strict=True):
        links.setdefault(one, []).append(other)
    rows = sorted((place, first) for circle in _circles(links) for first in [min(circle)] for place in circle)
    columns = [pa.array([row[i] for row in rows], pa.int64()) for i in range(2)]
    yield pa.record_batch(columns, names=["place", "circle"])


def _circles(links: dict[int, list[int]]) -> Iterator[list[int]]:
    """Yield the strongly connected components with a link inside (Tarjan 1972, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: dict[int, None] = {}  # those whose component is not known yet, in order
    for start in links:
        if start in index:
            continue
        waiting = [(start, iter(links[start]))]
        index[start] = low[start] = len(index)
        open_[start] = None
        while waiting:
            one, others = waiting[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    open_[other] = None
                    waiting.append((other, iter(links.get(other, ()))))
                    break
                if other in open_:
                    low[one] = min(low[one], index[other])
            else:
                waiting.pop()
                if waiting:
                    low[waiting[-1][0]] = min(low[waiting[-1][0]], low[one])
                if low[one] == index[one]:
                    circle = []
                    while not circle or circle[-1] != one:
                        circle.append(open_.popitem()[0])
                    if len(circle) > 1 or one in links.get(one, ()):
                        yield circle
