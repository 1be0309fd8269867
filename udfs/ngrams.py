"""Decontamination: which documents share an n-gram of tokens with a protected evaluation item."""

from __future__ import annotations

import functools
import threading
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from corpus_sql import resources
from corpus_sql.functions import udf
from corpus_sql.grams import fill, roll, scan
from corpus_sql.protected import protected_items
from corpus_sql.tokens import hashes, tokens

_HIT = pa.struct([("item", pa.string()), ("ngram", pa.string()), ("items", pa.list_(pa.string()))])
_lock = threading.Lock()


class _Grams(NamedTuple):
    """The n-grams of a protected set."""

    ids: list[str]  # of the protected items
    texts: list[str]
    lengths: np.ndarray  # int64: tokens of the grams there are, ascending
    hashes: np.ndarray  # uint64: of the grams, ascending, distinct
    starts: np.ndarray  # int64: items of gram i are owners[starts[i]:starts[i + 1]]
    owners: np.ndarray  # int64: item
    places: np.ndarray  # int64: first token of the gram in that item
    bits: np.ndarray  # uint64: one bit per hash, looked at first
    table: np.ndarray  # uint64: open addressing, 0 is empty
    words: dict[int, list[str]]  # tokens of the items that were hit so far
    spelled: dict[int, dict[str, list[int]]]  # gram that was hit so far -> its tokens, joined -> items


@udf(
    args=("VARCHAR", "VARCHAR", "INTEGER", "INTEGER"),
    returns="STRUCT(item VARCHAR, ngram VARCHAR, items VARCHAR[])",
    requires=("numba", "numpy"),
)
def ngrams_contaminated(texts: pa.Array, protected: pa.Array, ngram: pa.Array, min_tokens: pa.Array) -> pa.Array:
    """Return the protected items that each text shares an n-gram with; null where there is none.

    protected: key of the protected files in `corpus_sql.resources`; ngram: tokens of an n-gram; min_tokens: an item
    with fewer tokens than an n-gram is looked for whole if it has so many; all constant. item: the item of the first
    n-gram in the text, of several the smallest id; ngram: its tokens, joined by spaces; items: all, in byte order.
    A hit counts only if the tokens themselves are equal, not just their hashes. Raises DataError and ConfigError for
    files that `corpus_sql.protected.protected_items` does not take.
    """
    rows: list[dict | None] = [None] * len(texts)
    if len(texts):
        with _lock:  # the first of several threads reads the files
            grams = _grams(protected[0].as_py(), ngram[0].as_py(), min_tokens[0].as_py())
        for found in hashes(texts):
            hit = np.zeros(len(found.starts), np.bool_)
            tables = grams.lengths, grams.bits, grams.table
            scan(found.hashes, found.starts, found.ends, *tables, hit)
            for i in np.flatnonzero(hit):
                row = found.first + int(i)
                of_text = found.hashes[found.starts[i] : found.ends[i]]
                rows[row] = _evidence(grams, tokens(texts[row].as_py()), of_text)
    return pa.array(rows, _HIT)


@functools.lru_cache(maxsize=4)
def _grams(key: str, ngram: int, min_tokens: int) -> _Grams:
    items = [item for item in protected_items(resources.paths(key), ngram, min_tokens) if item.status != "unprotected"]
    items.sort(key=lambda item: item.id)  # so that the smallest item number is the smallest id
    found, owners, places, lengths = [], [], [], set()
    base = 0
    for chunk in hashes(pa.array([item.text for item in items], pa.large_string())):
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            length = min(ngram, end - start)
            lengths.add(length)
            found.append(roll(chunk.hashes[start:end], length))
            owners.append(np.full(end - start - length + 1, base, np.int64))
            places.append(np.arange(end - start - length + 1))
            base += 1
    if not found:
        found, owners, places = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    found, owners, places = map(np.concatenate, (found, owners, places))
    order = np.lexsort((places, owners, found))
    found, owners, places = found[order], owners[order], places[order]
    fresh = np.ones(len(found), np.bool_)  # one place per gram and item
    fresh[1:] = (found[1:] != found[:-1]) | (owners[1:] != owners[:-1])
    found, owners, places = found[fresh], owners[fresh], places[fresh]
    distinct, starts = np.unique(found, return_index=True)
    size = 1 << max((2 * len(distinct)).bit_length(), 4)
    bits, table = np.zeros(max(size // 8, 1), np.uint64), np.zeros(size, np.uint64)
    fill(distinct, bits, table)
    starts = np.append(starts, len(found)).astype(np.int64)
    ids, texts = [item.id for item in items], [item.text for item in items]
    sizes = np.array(sorted(lengths), np.int64)
    return _Grams(ids, texts, sizes, distinct, starts, owners, places, bits, table, {}, {})


def _spelled(grams: _Grams, slot: int, length: int) -> dict[str, list[int]]:
    """Return the items of one gram by its tokens, joined by spaces; more than one key where two grams' hashes agree."""
    if slot not in grams.spelled:
        found: dict[str, list[int]] = {}
        for at in range(grams.starts[slot], grams.starts[slot + 1]):
            item, place = int(grams.owners[at]), int(grams.places[at])
            if item not in grams.words:
                grams.words[item] = tokens(grams.texts[item])
            found.setdefault(" ".join(grams.words[item][place : place + length]), []).append(item)
        grams.spelled[slot] = found
    return grams.spelled[slot]


def _evidence(grams: _Grams, words: list[str], of_text: np.ndarray) -> dict | None:
    """Return the hits of one text, equal token by token; None if only hashes agreed."""
    found: set[int] = set()
    first: tuple[int, int, str] | None = None  # place, item, gram
    seen: set[int] = set()
    for length in grams.lengths.tolist():
        if length > len(words):
            continue
        rolled = roll(of_text, length)
        slots = np.minimum(np.searchsorted(grams.hashes, rolled), len(grams.hashes) - 1)
        for place in np.flatnonzero(grams.hashes[slots] == rolled).tolist():
            slot = int(slots[place])
            if slot in seen:
                continue  # it stands earlier in the text
            gram = " ".join(words[place : place + length])
            items = _spelled(grams, slot, length).get(gram)
            if items:
                seen.add(slot)
                found.update(items)
                if first is None or (place, items[0]) < first[:2]:
                    first = place, items[0], gram
    if first is None:
        return None
    _, item, gram = first
    return {"item": grams.ids[item], "ngram": gram, "items": [grams.ids[item] for item in sorted(found)]}
