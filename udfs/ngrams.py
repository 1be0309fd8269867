"""Decontamination: which documents share an n-gram of tokens with a protected evaluation item."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from corpus_sql.functions import Files, udf
from corpus_sql.grams import fill, roll, scan
from corpus_sql.protected import protected_items
from corpus_sql.tokens import hashes, located, tokens

_HITS = pa.list_(
    pa.struct(
        [
            ("item", pa.string()),
            ("n_shared", pa.int32()),
            ("n_ngrams", pa.int32()),
            ("ngram", pa.string()),
            ("start_char", pa.int32()),
            ("end_char", pa.int32()),
            ("item_start_char", pa.int32()),
            ("item_end_char", pa.int32()),
        ]
    )
)
_lock = threading.Lock()


class _Grams(NamedTuple):
    """The n-grams of a protected set."""

    ids: list[str]  # names of the protected items
    texts: list[str]
    counts: np.ndarray  # int64: different grams of each item
    lengths: np.ndarray  # int64: tokens of the grams there are, ascending
    hashes: np.ndarray  # uint64: of the grams, ascending, distinct
    starts: np.ndarray  # int64: items of gram i are owners[starts[i]:starts[i + 1]]
    owners: np.ndarray  # int64: item
    places: np.ndarray  # int64: first token of the gram in that item
    bits: np.ndarray  # uint64: one bit per hash, looked at first
    table: np.ndarray  # uint64: open addressing, 0 is empty
    words: dict[int, list[str]]  # tokens of the items that were hit so far
    spelled: dict[
        int, dict[str, list[tuple[int, int]]]
    ]  # gram that was hit so far -> its tokens, joined -> items, places


@udf(
    args=("VARCHAR", "VARCHAR", "INTEGER", "INTEGER"),
    returns="STRUCT(item VARCHAR, n_shared INTEGER, n_ngrams INTEGER, ngram VARCHAR, start_char INTEGER, "
    "end_char INTEGER, item_start_char INTEGER, item_end_char INTEGER)[]",
    requires=("numba", "numpy"),
    files=("protected",),
)
def ngrams_contaminated(texts: pa.Array, protected: Files, ngram: pa.Array, min_tokens: pa.Array) -> pa.Array:
    """Return the protected items that each text shares an n-gram with; null where there is none.

    protected: the protected files; ngram: tokens of an n-gram; min_tokens: an item
    with fewer tokens than an n-gram is looked for whole if it has so many; all constant. One hit for each item, in
    order of the first n-gram in the text that it has too, then of the names. n_shared: different n-grams that both
    have; n_ngrams: those of the item; ngram: the first, its tokens joined by spaces; start_char, end_char: its first
    code point in the text, and the one behind its last; item_start_char, item_end_char: the same in the item's text,
    where it stands there first. A hit counts only if the tokens themselves are equal, not just their hashes. Raises
    DataError and ConfigError for files that `corpus_sql.protected.protected_items` does not take.
    """
    rows: list[list[dict] | None] = [None] * len(texts)
    if len(texts):
        with _lock:  # the first of several threads reads the files
            grams = _grams(protected, ngram[0].as_py(), min_tokens[0].as_py())
        for found in hashes(texts):
            hit = np.zeros(len(found.starts), np.bool_)
            tables = grams.lengths, grams.bits, grams.table
            scan(found.hashes, found.starts, found.ends, *tables, hit)
            for i in np.flatnonzero(hit):
                row = found.first + int(i)
                of_text = found.hashes[found.starts[i] : found.ends[i]]
                rows[row] = _evidence(grams, texts[row].as_py(), of_text)
    return pa.array(rows, _HITS)


@functools.lru_cache(maxsize=4)
def _grams(files: Files, ngram: int, min_tokens: int) -> _Grams:
    items = [item for item in protected_items(files.paths, ngram, min_tokens) if item.status != "unprotected"]
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
    counts = np.bincount(owners, minlength=len(items))
    return _Grams(ids, texts, counts, sizes, distinct, starts, owners, places, bits, table, {}, {})


def _spelled(grams: _Grams, slot: int, length: int) -> dict[str, list[tuple[int, int]]]:
    """Return (item, first token) of one gram by its tokens, joined by spaces; two grams' hashes may agree."""
    if slot not in grams.spelled:
        found: dict[str, list[tuple[int, int]]] = {}
        for at in range(grams.starts[slot], grams.starts[slot + 1]):
            item, place = int(grams.owners[at]), int(grams.places[at])
            if item not in grams.words:
                grams.words[item] = tokens(grams.texts[item])
            found.setdefault(" ".join(grams.words[item][place : place + length]), []).append((item, place))
        grams.spelled[slot] = found
    return grams.spelled[slot]


class _First(NamedTuple):
    """The first n-gram of a text that an item has as well: tokens from place on; the same in the item."""

    place: int
    length: int
    gram: str
    item_place: int


def _evidence(grams: _Grams, text: str, of_text: np.ndarray) -> list[dict] | None:
    """Return the items that one text shares n-grams with, equal token by token; None if only hashes agreed."""
    firsts: dict[int, _First] = {}
    n_shared: Counter[int] = Counter()
    places = located(text)
    for length in grams.lengths.tolist():
        rolled = roll(of_text, length)
        slots = np.minimum(np.searchsorted(grams.hashes, rolled), len(grams.hashes) - 1)
        met = np.flatnonzero(grams.hashes[slots] == rolled)
        for slot, at in zip(*np.unique(slots[met], return_index=True), strict=True):  # the first place of each n-gram
            place = int(met[at])
            start, end = places[place, 0], places[place + length - 1, 1]
            own = f" {' '.join(tokens(text[start:end]))} "  # more than the n-gram where a code point is several tokens
            for gram, items in _spelled(grams, int(slot), length).items():
                if f" {gram} " not in own:
                    continue  # only the hashes agreed
                for item, item_place in items:
                    n_shared[item] += 1
                    if item not in firsts or place < firsts[item].place:
                        firsts[item] = _First(place, length, gram, item_place)
    if not firsts:
        return None
    hits = sorted(firsts.items(), key=lambda hit: (hit[1].place, hit[0]))
    return [_hit(grams, item, first, n_shared[item], places) for item, first in hits]


def _hit(grams: _Grams, item: int, first: _First, n_shared: int, places: np.ndarray) -> dict:
    of_item = located(grams.texts[item])
    return {
        "item": grams.ids[item],
        "n_shared": n_shared,
        "n_ngrams": int(grams.counts[item]),
        "ngram": first.gram,
        "start_char": int(places[first.place, 0]),
        "end_char": int(places[first.place + first.length - 1, 1]),
        "item_start_char": int(of_item[first.item_place, 0]),
        "item_end_char": int(of_item[first.item_place + first.length - 1, 1]),
    }
