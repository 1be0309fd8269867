"""Which script the letters of a text are in: the measure for language where no language model is at hand.

A letter is a code point of category L; its script is read off its Unicode name (`CYRILLIC SMALL LETTER A`), so both
follow the Unicode version of the Python that runs. Letters of other scripts and of none are counted as `Zyyy`.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np

from corpus_sql import kernel_cache
from corpus_sql.iso639 import UNDETERMINED
from corpus_sql.kernels import njit

# How names of letters begin, ISO 15924 code, and the language where one language has the script nearly to itself on the
# web. Latin, Cyrillic and Arabic serve many large languages: undetermined, but for English (see ENGLISH).
# Devanagari counts as Hindi though Marathi and Nepali use it too, Bengali as Bengali, Hebrew as Hebrew, Ethiopic as
# Amharic: with a language model at hand these are told apart.
SCRIPTS = (
    ("LATIN", "Latn", UNDETERMINED),
    ("CJK", "Hani", "zh"),
    ("BOPOMOFO", "Hani", "zh"),
    ("IDEOGRAPHIC", "Hani", "zh"),
    ("HIRAGANA", "Jpan", "ja"),
    ("KATAKANA", "Jpan", "ja"),
    ("KATAKANA-HIRAGANA", "Jpan", "ja"),
    ("HANGUL", "Hang", "ko"),
    ("CYRILLIC", "Cyrl", UNDETERMINED),
    ("ARABIC", "Arab", UNDETERMINED),
    ("DEVANAGARI", "Deva", "hi"),
    ("ARMENIAN", "Armn", "hy"),
    ("BENGALI", "Beng", "bn"),
    ("ETHIOPIC", "Ethi", "am"),
    ("GEORGIAN", "Geor", "ka"),
    ("GREEK", "Grek", "el"),
    ("GUJARATI", "Gujr", "gu"),
    ("GURMUKHI", "Guru", "pa"),
    ("HEBREW", "Hebr", "he"),
    ("KANNADA", "Knda", "kn"),
    ("KHMER", "Khmr", "km"),
    ("LAO", "Laoo", "lo"),
    ("MALAYALAM", "Mlym", "ml"),
    ("MONGOLIAN", "Mong", "mn"),
    ("MYANMAR", "Mymr", "my"),
    ("ORIYA", "Orya", "or"),
    ("SINHALA", "Sinh", "si"),
    ("TAMIL", "Taml", "ta"),
    ("TELUGU", "Telu", "te"),
    ("THAANA", "Thaa", "dv"),
    ("THAI", "Thai", "th"),
    ("TIBETAN", "Tibt", "bo"),
    ("YI", "Yiii", "ii"),
)
CODES = (*dict.fromkeys(code for _, code, _ in SCRIPTS), "Zyyy")
LANGUAGES = {code: lang for _, code, lang in SCRIPTS} | {"Zyyy": UNDETERMINED}
# Han and kana are one writing: it is Japanese where at least this share of it is kana. Japanese prose has a third to
# two thirds, a Chinese text that quotes a Japanese name or uses の for 的 far less.
KANA_SHARE = 0.1
# Function words that are frequent in English and rare in other languages of the Latin script ('in', 'is', 'of', 'to'
# and 'for' are words elsewhere too). A Latin text is English where at least this share of its words is one of them.
ENGLISH = ("the", "and", "that", "with", "this", "from", "which", "you", "they", "your", "are", "have")
ENGLISH_SHARE = 0.05
_LAST = 0x40000  # no letter is assigned beyond plane 3


@cache
def letter_table() -> np.ndarray:
    """Return uint8[0x40000]: 0 for a code point that is no letter, else 1 + its place in CODES."""
    (table,) = kernel_cache.kept(__file__, lambda: [_letters()])
    table.flags.writeable = False
    return table


def _letters() -> np.ndarray:
    places = {begin: 1 + CODES.index(code) for begin, code, _ in SCRIPTS}
    table = np.zeros(_LAST, np.uint8)
    for point in range(_LAST):
        char = chr(point)
        if unicodedata.category(char)[0] == "L":
            name = unicodedata.name(char, "").removeprefix("HALFWIDTH ").removeprefix("FULLWIDTH ")
            begin = name.split(" ", 1)[0] if not name.startswith("KATAKANA-HIRAGANA") else "KATAKANA-HIRAGANA"
            table[point] = places.get(begin, len(CODES))
    return table


def _word_hash(word: str) -> int:
    value = 2166136261
    for byte in word.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


@cache
def english_hashes() -> np.ndarray:
    """Return uint32[]: the hashes of ENGLISH, as `count_letters` looks them up."""
    hashes = np.array([_word_hash(word) for word in ENGLISH], np.uint32)
    hashes.flags.writeable = False
    return hashes


@njit(nogil=True, cache=True)
def count_letters(data, offsets, valid, table, n_scripts, english, only_first):
    """Return int64[n, n_scripts + 2]: letters of each script, words of Latin letters, how many of these are English.

    only_first: stop at a text's first letter, which answers whether it has any. Texts are valid UTF-8; the rows of
    those that are not `valid` are 0.
    """
    n = len(offsets) - 1
    counts = np.zeros((n, n_scripts + 2), np.int64)
    for i in range(n):
        at, end = offsets[i], offsets[i + 1]
        word, inside = np.uint32(2166136261), False
        while valid[i] and at < end:
            first = np.int64(data[at])
            size = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            point = first if size == 1 else first & (0x7F >> size)
            for k in range(1, size):
                point = (point << 6) | (np.int64(data[at + k]) & 0x3F)
            at += size
            script = table[point] if point < len(table) else 0
            if script > 0:
                counts[i, script - 1] += 1
                if only_first:
                    break
            latin = script == 1
            if latin:
                # A to Z become a to z; other letters only have to keep the word from being an English one
                word = np.uint32((word ^ np.uint32(point | 32)) * np.uint32(16777619))
                inside = True
            if inside and (at >= end or not latin):
                counts[i, n_scripts] += 1
                for k in range(len(english)):
                    counts[i, n_scripts + 1] += word == english[k]
                word, inside = np.uint32(2166136261), False
    return counts


def judge(counts: np.ndarray) -> tuple[list[str | None], np.ndarray, list[str]]:
    """Return script code (None without letters), its share of the letters (0 without) and language of each row.

    counts: as `count_letters` returns them. Of equally frequent scripts the first in SCRIPTS wins.
    """
    letters = counts[:, : len(CODES)].copy()
    han, kana = CODES.index("Hani"), CODES.index("Jpan")
    written = letters[:, han] + letters[:, kana]
    japanese = letters[:, kana] >= np.maximum(KANA_SHARE * written, 1)
    letters[:, han], letters[:, kana] = np.where(japanese, 0, written), np.where(japanese, written, 0)
    totals, best = letters.sum(axis=1), letters.argmax(axis=1)
    shares = letters.max(axis=1) / np.maximum(totals, 1)
    words, english = counts[:, len(CODES)], counts[:, len(CODES) + 1]
    is_english = (english >= ENGLISH_SHARE * words) & (english > 0)
    codes, langs = [], []
    for total, place, in_english in zip(totals.tolist(), best.tolist(), is_english.tolist(), strict=True):
        code = CODES[place] if total else None
        codes.append(code)
        langs.append("en" if code == "Latn" and in_english else LANGUAGES[code] if code else UNDETERMINED)
    return codes, shares, langs
