"""A text as one byte per code point, so that patterns speak of classes and offsets are code points.

ASCII stays itself. Every decimal digit becomes its ASCII digit, a full-width letter its ASCII letter; the other code
points become one of the class bytes below. RE2 then runs over Latin-1 bytes, and a match's offsets are the text's.
"""

from __future__ import annotations

import functools
import unicodedata

import numpy as np
import re2

SPACE = 0xA0  # white space that is not ASCII, category Zs
DASH = 0x96  # hyphens, the en dash and the minus sign; the em dash is punctuation
OPEN, CLOSE = 0xAB, 0xBB  # full-width parentheses
MARK = 0xCC  # category M
LATIN = 0xE1  # letters of the Latin script outside ASCII
GLUED = 0xC8  # letters of scripts written without spaces, or with particles glued on: Han, kana, Hangul, Thai, ...
LETTER = 0xD0  # every other letter
FORMAT = 0x9F  # category Cf
OTHER = 0xA7

_GLUED_RANGES = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF), (0x2E80, 0x2FDF), (0x3005, 0x3007),
    (0x3040, 0x318F), (0x31A0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA960, 0xA97F), (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF), (0xFF65, 0xFFDC), (0x20000, 0x3FFFF),
)  # fmt: skip
_LATIN_RANGES = ((0x00AA, 0x024F), (0x1E00, 0x1EFF), (0x2C60, 0x2C7F), (0xA722, 0xA7FF))
_DASHES = (0x2010, 0x2011, 0x2012, 0x2013, 0x2212, 0xFE58, 0xFE63, 0xFF0D)
_TWINS = {0xFF20: "@", 0xFF0E: ".", 0xFF0B: "+"}
_DIGIT = 0x30
_CLASSES = {"Nd": _DIGIT, "Zs": SPACE, "Cf": FORMAT} | {
    name: label
    for names, label in (
        ("Mn Mc Me", MARK),
        ("Lu Ll Lt Lm Lo", LETTER),
        ("Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zl Zp Cc Cs Co Cn", OTHER),
    )
    for name in names.split()
}  # of a Unicode category
_ASSIGNED = (range(0x80, 0x32400), range(0xE0000, 0xE0200))  # beyond these: no digits, letters or marks


@functools.cache
def _table() -> np.ndarray:
    table = np.full(0x110000, OTHER, np.uint8)
    table[:0x80] = np.arange(0x80)
    for block in _ASSIGNED:  # without a loop of Python's own over 200,000 code points, which took a tenth of a second
        categories = map(unicodedata.category, map(chr, block))
        table[block.start : block.stop] = np.frombuffer(bytes(map(_CLASSES.__getitem__, categories)), np.uint8)
        for code in block.start + np.flatnonzero(table[block.start : block.stop] == _DIGIT):
            table[code] = ord("0") + unicodedata.digit(chr(code))
    for ranges, label in ((_GLUED_RANGES, GLUED), (_LATIN_RANGES, LATIN)):
        for first, last in ranges:
            part = table[first : last + 1]
            part[part == LETTER] = label
    for first, ascii_first in ((0xFF21, ord("A")), (0xFF41, ord("a"))):
        table[first : first + 26] = np.arange(ascii_first, ascii_first + 26)
    table[list(_DASHES)] = DASH
    table[[0xFF08, 0xFF09]] = OPEN, CLOSE
    for code, twin in _TWINS.items():
        table[code] = ord(twin)
    return table


def fold(text: str) -> bytes:
    """Return one byte per code point of a text; `len(fold(text)) == len(text)`."""
    if text.isascii():
        return text.encode("ascii")
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    return _table().take(codes, mode="clip").tobytes()  # clip is the fast mode; no code is out of range


def pattern(source: str, *, captures: bool = True) -> re2._Regexp:
    """Compile a pattern over folded bytes. In the source, a class byte is written as the character of that number."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 128 << 20  # room for the automaton's states; beyond it RE2 is slower, never wrong
    options.log_errors = False
    options.never_capture = not captures
    return re2.compile(source.encode("latin-1"), options)


def marks_end(folded: bytes, end: int) -> int:
    """Return the end of the combining marks that follow a match: they would compose with the placeholder's `>`."""
    while end < len(folded) and folded[end] == MARK:
        end += 1
    return end


def byte_at(folded: bytes, index: int) -> int:
    """Return a folded byte, or a space beyond the ends of the text."""
    return folded[index] if 0 <= index < len(folded) else 0x20


def is_word(byte: int) -> bool:
    """Whether a folded byte is an ASCII letter, an ASCII digit or an underscore: boundaries are ASCII."""
    return byte < 0x80 and (chr(byte).isalnum() or byte == 0x5F)


def is_digit(byte: int) -> bool:
    """Whether a folded byte is a decimal digit."""
    return 0x30 <= byte <= 0x39
