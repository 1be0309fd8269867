"""What a character, a word, a line is, and the counting of them in Arrow strings by one compiled kernel.

What a character is
    A table over all code points, made from `unicodedata` and the block ranges below. White space is what `str.isspace`
    says, and the Ethiopic word space U+1361, which older spelling sets in its place. A *word character* is a letter,
    mark or number (categories L, M, N).

What a word is
    A run of characters other than white space. Two groups of scripts write no spaces between words; each of their
    letters, with the marks that follow it, is a word of its own ("character word"): Han and kana; Thai, Lao, Khmer,
    Myanmar, Tibetan, Yi, Javanese, Balinese and the Tai scripts. Where a run holds such letters, the stretches
    between them are words if they hold a word character, else (punctuation stuck to a Han character) they are none:
    `Python语言，3.12版。` is `Python 语 言 ，3.12 版`. A run without such letters is one word, whatever it holds:
    `word,` is one word of five characters and a lone `—` is a word.

What a line and a paragraph are
    `\\n`, `\\r\\n` and a bare `\\r` end a line, nothing else does. A line of white space alone is blank: it is no line
    in any count, and it ends a paragraph. Lines are compared without trailing white space; case and indentation count,
    as they do for exact duplicates.

What a sentence is
    The words up to one of `SENTENCE_ENDS`, a full stop before white space, or a line end; two are the same if their
    words are. A text on one line has sentences but no lines to compare.

What a stop word is
    A word of the language's list, compared without the punctuation at its two ends and folded by `word_fold`.

Characters are code points other than white space, in every numerator and every denominator.
"""

from __future__ import annotations

import functools
import unicodedata

import numpy as np
import pyarrow as pa

from corpus_sql import kernel_cache
from corpus_sql.arrays import utf8_buffers
from corpus_sql.text_kernels import (
    BULLET,
    CHARACTER_WORD,
    DOT,
    END,
    HANGUL,
    LETTER,
    MARK,
    MULTIPLIER,
    SEED,
    SPACE,
    WORD,
    count_texts,
)
from corpus_sql.word_fold import fold, tables

# Dashes longer than the hyphen are left out: many languages open a line of dialogue with them.
BULLETS = "-*•‣⁃∙·・･◦●○■□▪▫◆◇▶►▸➢➤"

# A full stop ends a sentence before white space alone: it also stands in numbers, names and addresses.
SENTENCE_ENDS = "!?。｡！？．‼⁇⁈⁉‽।॥؟۔։።။។៕"

HAN_AND_KANA = (
    (0x2E80, 0x2FD5),  # radicals, which text taken from PDF has in place of the characters
    (0x3005, 0x3005), (0x3007, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B),
    (0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9D),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
    (0x1AFF0, 0x1AFFE), (0x1B000, 0x1B167),
    (0x20000, 0x3FFFD),  # the two ideographic planes, ahead of the Unicode version of the Python that runs
)  # fmt: skip
UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF), (0x1A20, 0x1AAF), (0xAA80, 0xAADF),  # Tai Le, New Tai Lue, Tai Tham, Tai Viet
    (0x1B00, 0x1B7F), (0xA980, 0xA9DF),  # Balinese, Javanese
    (0xA000, 0xA48C),  # Yi
)  # fmt: skip
HANGUL_RANGES = ((0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97C), (0xAC00, 0xD7FB), (0xFFA0, 0xFFDC))


@functools.cache
def classes() -> np.ndarray:
    """Return uint16[0x110000]: the kernel's flags of every code point."""
    (found,) = kernel_cache.kept(__file__, _tables)
    return found


def _tables() -> tuple[np.ndarray]:
    classes = np.zeros(0x110000, np.uint16)
    for code in (*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200)):
        char = chr(code)
        kind = unicodedata.category(char)[0]
        if kind in "LMN":
            classes[code] = WORD | (LETTER if kind == "L" else MARK if kind == "M" else 0)
        elif char.isspace():
            classes[code] = SPACE
    for first, last in HAN_AND_KANA:
        classes[first : last + 1] = LETTER | WORD | CHARACTER_WORD
    for first, last in UNSPACED:
        classes[first : last + 1][classes[first : last + 1] & LETTER != 0] |= CHARACTER_WORD
    for first, last in HANGUL_RANGES:
        classes[first : last + 1][classes[first : last + 1] & LETTER != 0] |= HANGUL
    classes[0x1361] = SPACE
    classes[0xFF9E : 0xFF9F + 1] = MARK | WORD  # half-width voicing marks, letters by category
    classes[[ord(char) for char in BULLETS]] |= BULLET
    classes[[ord(char) for char in ".。｡…⋯"]] |= DOT
    classes[[ord(char) for char in SENTENCE_ENDS]] |= END
    return (classes,)


def hash_text(text: str) -> int:
    """Return the hash that the kernel computes for a word of these characters, as a Python integer below 2**64."""
    state = int(SEED)
    for char in text:
        state = (state ^ ord(char)) * int(MULTIPLIER) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 32
    return state


def stop_table(lists: list[list[str]]) -> np.ndarray:
    """Return uint64[len(lists), size]: one open-addressing table of the hashes of each list of stop words.

    size is a power of two, at least twice the longest list; 0 marks a free place. Words are folded as texts are.
    """
    sets = [sorted({hash_text(word) for word in map(fold, words) if word}) for words in lists]
    size = 8
    while size < 2 * max(map(len, sets), default=0):
        size *= 2
    table = np.zeros((len(sets), size), np.uint64)
    for row, hashes in zip(table, sets, strict=True):
        for value in hashes:
            place = value & (size - 1)
            while row[place]:
                place = (place + 1) & (size - 1)
            row[place] = value
    return table


def count(texts: pa.Array, stop_words: pa.Array | None, repetition: bool) -> np.ndarray:
    """Return int64[len(texts), N_COUNTS], see `count_texts`, of a string or large_string array.

    stop_words: per text a space-joined list of words, or null; None stands for nulls alone.
    """
    if stop_words is None:
        which, lists = np.full(len(texts), -1, np.int32), []
    else:
        encoded = stop_words.dictionary_encode()
        which = np.array(encoded.indices.fill_null(-1), np.int32)
        lists = [unicodedata.normalize("NFC", words).split() for words in encoded.dictionary.to_pylist()]
    arrays = [*utf8_buffers(texts), classes(), *tables(), stop_table(lists or [[]]), which]
    for i, array in enumerate(arrays):  # Arrow's buffers are read-only: one signature for all calls
        arrays[i] = array.view()
        arrays[i].flags.writeable = False
    return count_texts(*arrays, repetition)
