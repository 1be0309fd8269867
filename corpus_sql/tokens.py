"""The one tokeniser, for shingles and for decontamination.

Tokens are made from NFKC(casefold(NFKC(text))): runs of the categories L, M and N; each character of SINGLES (Han,
kana, Thai, Lao, Myanmar, Khmer) is a token of its own, with the marks that follow it. `tokens` gives them as strings,
`hashes` gives one 64-bit hash per token from a kernel; both see the same tokens.

The kernel maps code point by code point. That equals the mapping of the whole string as long as every code point has a
normalisation boundary before it; a text where one has not (a mark that may compose or move, conjoining jamo) is
normalised in Python first and then goes through the same kernel.

Hashes, all modulo 2**64:
    token    h = SEED; for each code point c: h = (h ^ c) * PRIME; then fmix64(h)
    n-gram   h = 0; for each token t: h = h * BASE + token(t); then fmix64(h)
fmix64 is the finaliser of MurmurHash3 (Appleby, public domain).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from corpus_sql import kernel_cache
from corpus_sql.arrays import utf8_buffers
from corpus_sql.kernels import njit
from corpus_sql.raw_fields import nfkc

SEED = 0xCBF29CE484222325  # the FNV-1a offset basis
PRIME = 0x9E3779B97F4A7C15  # 2**64 / golden ratio, odd
BASE = 0xD1342543DE82EF95  # a multiplier of Steele and Vigna's table for 64-bit congruential generators (2022)
MASK = 0xFFFFFFFFFFFFFFFF

# Blocks of Han, kana, Thai and Lao, Myanmar, Khmer; inclusive. The rarer blocks (Myanmar Extended, Kana Supplement)
# are left to runs, as in the reference that the contract names.
SINGLES = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3005, 0x3005),
    (0x3007, 0x3007),
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
)

# The code points that can be more than unassigned or private; a test holds that nothing else is assigned.
ASSIGNED = (range(0xD800), range(0xE000, 0x33480), range(0xE0000, 0xE0200))

SEPARATOR, RUN, MARK, SINGLE = 0, 1, 2, 3  # kinds, the low two bits of a class
MAPPED, CHECKED = 4, 8  # flags of a class
HARD = 255  # a head: only the whole string can be normalised

CHUNK = 1 << 20  # bytes of text per kernel call: its tokens stay in the cache
TOKENS_PER_BYTE = 2  # six tokens from three bytes (U+3316) are the most; a test holds it


class Tables(NamedTuple):
    """What the kernel looks up, by code point."""

    classes: np.ndarray  # uint8: kind | MAPPED | CHECKED, of the mapped code point
    kinds: np.ndarray  # uint8: kind of the code point itself
    heads: np.ndarray  # uint8: 0, HARD, or the combining class of a mark that may stand where it is
    tails: np.ndarray  # uint8: combining class at the end of the decomposition
    index: np.ndarray  # int32: where its sequence begins
    sequences: np.ndarray  # int32: length, then code point * 4 + kind each


def kind_of(code: int) -> int:
    """Return the kind of one code point of normalised text."""
    category = unicodedata.category(chr(code))[0]
    if category == "M":
        return MARK
    if category not in "LN":
        return SEPARATOR
    return SINGLE if any(first <= code <= last for first, last in SINGLES) else RUN


def normalise(text: str) -> str:
    """Return NFKC(casefold(NFKC(text)))."""
    return nfkc(nfkc(text).casefold())


class _Letters(dict):
    """Code point -> one ASCII letter for its kind, filled as code points are met."""

    def __missing__(self, code: int) -> str:
        letter = self[code] = " rms"[kind_of(code)]
        return letter


_letters = _Letters()
_token = re.compile("sm*|[rm]+")


def tokens(text: str) -> list[str]:
    """Return the tokens of a text as strings; the plain form of what the kernel hashes."""
    text = normalise(text)
    return [text[match.start() : match.end()] for match in _token.finditer(text.translate(_letters))]


def fmix64(h: int) -> int:
    """Return the MurmurHash3 finaliser of an unsigned 64-bit number."""
    h = ((h ^ (h >> 33)) * 0xFF51AFD7ED558CCD) & MASK
    h = ((h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53) & MASK
    return h ^ (h >> 33)


def token_hash(token: str) -> int:
    """Return the unsigned 64-bit hash of one token."""
    h = SEED
    for character in token:
        h = ((h ^ ord(character)) * PRIME) & MASK
    return fmix64(h)


def gram_hash(joined: bytes) -> int:
    """Return the unsigned 64-bit hash of an n-gram, given as its tokens joined by one space, in UTF-8."""
    h = 0
    for token in joined.decode().split(" "):
        h = (h * BASE + token_hash(token)) & MASK
    return fmix64(h)


@functools.cache
def tables() -> Tables:
    """Return the tables for this Python's Unicode version."""
    return Tables(*kernel_cache.kept(__file__, _tables))


def _tables() -> Tables:
    nfkd = functools.partial(unicodedata.normalize, "NFKD")
    combining = unicodedata.combining
    seconds = _seconds()
    classes, kinds, heads, tails = (np.zeros(0x110000, np.uint8) for _ in range(4))
    index, sequences = np.zeros(0x110000, np.int32), []
    for code in (code for block in ASSIGNED for code in block):
        character = chr(code)
        kinds[code] = classes[code] = kind = kind_of(code)
        parts, folded = nfkd(character), character.casefold()
        if parts == folded == character:
            tails[code] = ccc = combining(character)
            heads[code] = HARD if code in seconds else ccc
        else:
            folded = nfkc(character).casefold()
            folded_parts, mapped = nfkd(folded), nfkc(folded)
            tails[code] = max(combining(parts[-1]), combining(folded_parts[-1]))
            firsts = parts[0], folded_parts[0]
            heads[code] = HARD if any(combining(c) or ord(c) in seconds for c in firsts) else 0
            mapped_kinds = [kind_of(ord(c)) for c in mapped]
            if any(mapped_kinds) and mapped != character:
                index[code] = len(sequences)
                sequences += [len(mapped), *(ord(c) * 4 + k for c, k in zip(mapped, mapped_kinds, strict=True))]
                classes[code] = kind | MAPPED
            elif not any(mapped_kinds):
                classes[code] = SEPARATOR
        if heads[code]:
            classes[code] |= CHECKED
    return Tables(classes, kinds, heads, tails, index, np.array(sequences, np.int32))


def _seconds() -> set[int]:
    """Return the code points that may compose with what stands before them (NFC_QC=Maybe)."""
    seconds = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}  # Hangul vowels and finals
    for code in (code for block in ASSIGNED for code in block):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (chr(int(part, 16)) for part in parts)
            if unicodedata.normalize("NFC", first + second) == chr(code):
                seconds.add(ord(second))
    return seconds


@njit(nogil=True, cache=True)
def _tokenise(data, offsets, valid, classes, heads, tails, index, sequences, out, places, starts, ends, hard):
    """Write the hash of each token of each text to out; return how many.

    The tokens of text i are out[starts[i]:ends[i]]. places, unless it has no rows, gets the first code point of each in
    its text, and the one behind its last; a code point that makes several tokens is in all of them. hard[i] is set, and
    the text has none, where only the whole string can be normalised.
    """
    n = 0
    located = len(places) > 0
    for i in range(len(valid)):
        starts[i] = n
        ends[i] = n
        if not valid[i]:
            continue
        p, stop = offsets[i], offsets[i + 1]
        state = 0
        previous = 0
        at, begin, end = np.int64(-1), np.int64(0), np.int64(0)  # code points
        h = np.uint64(SEED)
        while p < stop:
            at += 1
            code = np.int64(data[p])
            if code < 0x80:
                p += 1
            elif code < 0xE0:
                code = ((code & 0x1F) << 6) | (np.int64(data[p + 1]) & 0x3F)
                p += 2
            elif code < 0xF0:
                code = ((code & 0x0F) << 12) | ((np.int64(data[p + 1]) & 0x3F) << 6) | (np.int64(data[p + 2]) & 0x3F)
                p += 3
            else:
                code = ((code & 0x07) << 18) | ((np.int64(data[p + 1]) & 0x3F) << 12)
                code |= ((np.int64(data[p + 2]) & 0x3F) << 6) | (np.int64(data[p + 3]) & 0x3F)
                p += 4
            group = classes[code]
            if group & 8:
                if heads[code] == 255 or heads[code] < tails[previous]:
                    hard[i] = True
                    break
            previous = code
            kind = np.int64(group & 3)
            length = 1
            first = np.int64(-1)
            if group & 4:
                first = np.int64(index[code]) + 1
                length = np.int64(sequences[first - 1])
            for q in range(length):
                if first >= 0:
                    code = np.int64(sequences[first + q])
                    kind = code & 3
                    code >>= 2
                if kind == 0 or kind == 3 or (kind == 1 and state == 3):
                    if state:
                        h ^= h >> np.uint64(33)
                        h *= np.uint64(0xFF51AFD7ED558CCD)
                        h ^= h >> np.uint64(33)
                        h *= np.uint64(0xC4CEB9FE1A85EC53)
                        out[n] = h ^ (h >> np.uint64(33))
                        if located:
                            places[n, 0], places[n, 1] = begin, end
                        n += 1
                    h = np.uint64(SEED)
                    state = kind
                    begin = at
                elif state == 0:
                    state = 1
                    begin = at
                if kind:
                    end = at + 1
                    h = (h ^ np.uint64(code)) * np.uint64(PRIME)
        if hard[i]:
            n = starts[i]
            continue
        if state:
            h ^= h >> np.uint64(33)
            h *= np.uint64(0xFF51AFD7ED558CCD)
            h ^= h >> np.uint64(33)
            h *= np.uint64(0xC4CEB9FE1A85EC53)
            out[n] = h ^ (h >> np.uint64(33))
            if located:
                places[n, 0], places[n, 1] = begin, end
            n += 1
        ends[i] = n
    return n


class Hashes(NamedTuple):
    """Token hashes of the texts first .. first + len(starts) of an array.

    Text first + i has hashes[starts[i]:ends[i]], uint64; none where it is null. valid: which texts are not null.
    """

    first: int
    hashes: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    valid: np.ndarray


def hashes(texts: pa.Array) -> Iterator[Hashes]:
    """Yield the token hashes of a string array, in chunks of whole texts of about CHUNK bytes."""
    data, offsets, valid = utf8_buffers(texts)
    first = 0
    while first < len(valid):
        last = int(np.searchsorted(offsets, offsets[first] + CHUNK, "right")) - 1
        last = min(max(last, first + 1), len(valid))
        yield Hashes(first, *_hash_chunk(data, offsets[first : last + 1], valid[first:last]))
        first = last


def located(text: str) -> np.ndarray:
    """Return the place of each token of `hashes` in the text as it is, int32[n, 2].

    It is the first code point and the one behind the last. One that makes several tokens (U+3316) is the place of each.
    """
    data = utf8_buffers(pa.array([text], pa.large_string()))
    *_, hard, places = _run(*data, tables().classes, tables(), locate=True)
    if not hard[0]:
        return places
    # a piece begins where normalisation cannot reach back, so the pieces normalised are the text normalised
    heads = tables().heads
    cuts = [i for i, c in enumerate(text) if i == 0 or not heads[ord(c)]]
    pieces = [(start, end, len(normalise(text[start:end]))) for start, end in pairwise([*cuts, len(text)])]
    first = np.repeat([start for start, _, _ in pieces], [n for *_, n in pieces])
    behind = np.repeat([end for _, end, _ in pieces], [n for *_, n in pieces])
    data = utf8_buffers(pa.array([normalise(text)], pa.large_string()))
    *_, places = _run(*data, tables().kinds, tables(), locate=True)
    return np.stack([first[places[:, 0]], behind[places[:, 1] - 1]], axis=1).astype(np.int32)


def _hash_chunk(data: np.ndarray, offsets: np.ndarray, valid: np.ndarray) -> tuple[np.ndarray, ...]:
    table = tables()
    found, starts, ends, hard, _ = _run(data, offsets, valid, table.classes, table)
    rows = np.flatnonzero(hard)
    if len(rows):
        texts = [normalise(data[offsets[i] : offsets[i + 1]].tobytes().decode()).encode() for i in rows]
        more = utf8_buffers(pa.array(texts, pa.large_binary()))
        plain, plain_starts, plain_ends, *_ = _run(*more, table.kinds, table)
        starts[rows], ends[rows] = plain_starts + len(found), plain_ends + len(found)
        found = np.concatenate([found, plain])
    return found, starts, ends, valid


def _run(data, offsets, valid, classes, table: Tables, locate: bool = False) -> tuple[np.ndarray, ...]:
    n = len(valid)
    data, offsets, valid = data.view(), offsets.copy(), valid.copy()
    data.flags.writeable = False  # as Arrow gives it: a writeable one would compile the kernel a second time
    out = np.empty(int(offsets[-1] - offsets[0]) * TOKENS_PER_BYTE + 1, np.uint64)
    starts, ends, hard = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_)
    places = np.empty((len(out) if locate else 0, 2), np.int32)
    looked_up = classes, table.heads, table.tails, table.index, table.sequences
    count = _tokenise(data, offsets, valid, *looked_up, out, places, starts, ends, hard)
    return out[:count], starts, ends, hard, places[:count]
