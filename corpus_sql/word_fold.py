"""What counts as the same word when a text's words are looked up among stop words. Nothing else is folded by this.

A letter is taken in its compatibility form (full width, half width, ligatures, presentation forms) and its full case
folding (`straße` is `STRASSE`). Then these are set aside, on both sides:

* what a reader of the language may leave out: the vowel points and cantillation of Hebrew, Arabic and Syriac with the
  tatweel, the accents and breathings of Greek, the stress marks of Cyrillic (an acute, a grave or a dot above that no
  composed letter exists for). The vowel signs of Indic scripts and of Thaana are letters of the word, and stay.
* what is invisible: soft hyphens, joiners and non-joiners, direction marks, variation selectors.
* which of two spellings of one letter was typed: see `VARIANTS`. Katakana is read as hiragana: telegrams, older
  statutes and text in half-width kana write the particles in it. A Hangul syllable is compared by its letters, of which
  a final consonant is the same as an initial one: half-width jamo do not say which of the two they are.

The Arabic letters are those of Lucene's ArabicNormalizer and PersianNormalizer, but for the letters of Urdu that differ
in meaning (U+06D2, U+06BE) and the teh marbuta.
"""

from __future__ import annotations

import functools
import unicodedata

import numpy as np

from corpus_sql import kernel_cache

# the letter that is compared: those that stand for it
VARIANTS = {
    "\u0627": "\u0622\u0623\u0625\u0671",  # alef, with madda, with hamza, wasla
    "\u064a": "\u0649\u06cc",  # yeh: without dots (Egypt), Farsi
    "\u0643": "\u06a9",  # kaf: keheh (Persian, Urdu)
    "\u0647": "\u06c0\u06c1\u06c2",  # heh: goal (Urdu), with the ezafe's hamza
    "\u0629": "\u06c3",  # teh marbuta: goal (Urdu)
    "\u05d5\u05d5": "\u05f0",  # the digraphs of Yiddish
    "\u05d5\u05d9": "\u05f1",
    "\u05d9\u05d9": "\u05f2",
    "i": "\u0131",  # Turkish and Azerbaijani capitals cannot be told apart without their language
    "\u015f": "\u0219",  # Romanian with cedilla, as in older encodings
    "\u0163": "\u021b",
    "\u0435": "\u0451",  # Russian, where the dots are optional
    "'": "\u2018\u2019\u02bb\u02bc",
    "-": "\u2010\u2011",
}
_LETTER = {variant: letter for letter, variants in VARIANTS.items() for variant in variants}
_OPTIONAL = "\u0640\u0300\u0301\u0307\u0313\u0314\u0342\u0345"  # tatweel; marks that only stay where none composes
_POINTED = ("HEBREW ", "ARABIC ", "SYRIAC ", "SAMARITAN ", "MANDAIC ")
_FILLERS = "\u115f\u1160"  # stand for a letter of a Hangul syllable that is not there; the half-width one becomes this
_SELECTORS = "\u034f\u180b\u180c\u180d\u180f"
_LAST = 0x20000  # no letter folds beyond this, but for ideographs that NFC has replaced already


def fold(text: str) -> str:
    """Return the form of a word in which it is compared with others, empty where nothing of it counts."""
    return "".join(map(_fold, text))


@functools.cache
def tables() -> tuple[np.ndarray, np.ndarray]:
    """Return (folded int32[0x110000], longer int32[]): what each code point becomes in the comparison.

    Above 0 the code point, 0 nothing, below 0 several: from longer[-folded] on their number and they themselves.
    """
    folded, longer = kernel_cache.kept(__file__, _tables)
    return folded, longer


def _tables() -> tuple[np.ndarray, np.ndarray]:
    folded = np.arange(0x110000, dtype=np.int32)
    longer = [0]
    for code in (*range(0xD800), *range(0xE000, _LAST), *range(0xE0000, 0xE0200)):
        to = _fold(chr(code))
        if len(to) > 1:
            folded[code] = -len(longer)
            longer += [len(to), *map(ord, to)]
        else:
            folded[code] = ord(to) if to else 0
    return folded, np.array(longer, np.int32)


def _fold(char: str) -> str:
    if _dropped(char):
        return ""
    if unicodedata.name(char, "").startswith("GREEK "):
        letters = [one for one in unicodedata.normalize("NFD", char) if unicodedata.category(one) != "Mn"]
        return "".join(letters).casefold()
    text = unicodedata.normalize("NFKC", char).casefold()
    # in parts, as half-width kana are, whose voicing mark stands alone, and half-width jamo
    in_parts = unicodedata.name(text[0], "").startswith(("HIRAGANA ", "KATAKANA ", "HANGUL "))
    parts = map(_initial, unicodedata.normalize("NFD" if in_parts else "NFKC", text))
    return "".join(_hiragana(_LETTER.get(one, one)) for one in parts if not _dropped(one))


def _dropped(char: str) -> bool:
    kind = unicodedata.category(char)
    return (
        kind == "Cf"
        or char in _OPTIONAL
        or char in _FILLERS
        or char in _SELECTORS
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
        or char.isspace()  # of the compatibility form of a mark that stands alone
        or (kind == "Mn" and unicodedata.name(char, "").startswith(_POINTED))
    )


def _hiragana(char: str) -> str:
    return chr(ord(char) - 0x60) if "\u30a1" <= char <= "\u30f6" or char in "\u30fd\u30fe" else char


def _initial(char: str) -> str:
    """Return the initial consonant of Hangul that is the same letter as a final one; a cluster may have none."""
    name = unicodedata.name(char, "")
    if not name.startswith("HANGUL JONGSEONG "):
        return char
    try:
        return unicodedata.lookup(name.replace("JONGSEONG", "CHOSEONG"))
    except KeyError:
        return char
