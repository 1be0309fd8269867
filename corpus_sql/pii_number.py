"""Card, Aadhaar and PAN numbers: a form, a prefix and a checksum."""

from __future__ import annotations

import functools
import re

from stdnum import luhn, verhoeff
from stdnum.in_ import pan

from corpus_sql.pii_fold import DASH, OTHER, SPACE, byte_at, is_digit, is_word, pattern

# Issuers: first prefix, last prefix, lengths. Sources: ISO/IEC 7812 assignments as the networks publish them.
_ISSUERS = (
    ("4", "4", (13, 16, 19)),  # Visa
    ("51", "55", (16,)), ("2221", "2720", (16,)),  # Mastercard
    ("34", "34", (15,)), ("37", "37", (15,)),  # American Express
    ("300", "305", (14, 16)), ("3095", "3095", (14,)), ("36", "36", (14,)), ("38", "39", (14, 16)),  # Diners Club
    ("6011", "6011", (16, 19)), ("644", "649", (16, 19)), ("65", "65", (16, 19)),  # Discover
    ("3528", "3589", (16, 17, 18, 19)),  # JCB
    ("62", "62", (16, 17, 18, 19)), ("81", "81", (16, 17, 18, 19)),  # UnionPay; RuPay shares 81
    ("60", "60", (16,)), ("508", "508", (16,)), ("82", "82", (16,)), ("353", "353", (16,)),
    ("356", "356", (16,)),  # RuPay
    ("5018", "5018", tuple(range(12, 20))), ("5020", "5020", tuple(range(12, 20))),  # Maestro
    ("5038", "5038", tuple(range(12, 20))), ("5893", "5893", tuple(range(12, 20))),
    ("6304", "6304", tuple(range(12, 20))), ("6759", "6759", tuple(range(12, 20))),
    ("6761", "6763", tuple(range(12, 20))), ("6799", "6799", tuple(range(12, 20))),
    ("5019", "5019", (16,)), ("4571", "4571", (16,)),  # Dankort
    ("2200", "2204", (16, 17, 18, 19)),  # Mir
    ("9792", "9792", (16,)),  # Troy
    ("506099", "506198", (16, 18, 19)), ("650002", "650027", (16, 18, 19)), ("507865", "507964", (16, 18, 19)),  # Verve
    ("5067", "5067", (16,)), ("509", "509", (16,)), ("636368", "636369", (16,)), ("636297", "636297", (16,)),  # Elo
    ("636", "639", (16,)),  # InterPayment, InstaPayment
    ("6331", "6331", (16, 18, 19)), ("6333", "6334", (16, 18, 19)), ("6767", "6767", (16, 18, 19)),  # Switch, Solo
    ("4903", "4903", (16, 18, 19)), ("4905", "4905", (16, 18, 19)), ("4911", "4911", (16, 18, 19)),
    ("4936", "4936", (16, 18, 19)), ("564182", "564182", (16, 18, 19)),
    ("6706", "6706", (16, 17, 18, 19)), ("6709", "6709", (16, 17, 18, 19)), ("6771", "6771", (16, 17, 18, 19)),  # Laser
    ("8600", "8600", (16,)), ("9860", "9860", (16,)),  # Uzcard, Humo
)  # fmt: skip
_SHAPES = ((4, 4, 4, 4, 3), (4, 4, 4, 4), (4, 4, 4, 1), (4, 6, 5), (4, 6, 4), (6, 13))
# Numbers that say what they are: of ten numbers with a card's prefix and length one passes Luhn by chance.
_NO_CARD = re.compile(
    r"(?:(?<![a-z])(?:order|invoice|tracking|parcel|isbn|ean|upc|gtin|imei|iccid|timestamp|sku|serial|id|uid|status)"
    r"(?: ?(?:no|nr|number|id|code))?|"
    r"订单号?码?|单号|运单号?|快递单号|流水号|条形?码|时间戳|序列号)[.]?[\s:：=#\"']{0,4}\Z",
    re.IGNORECASE,
)
_AADHAAR_WORD = re.compile(r"a+dh?a+r|uidai|(?<![a-z])uid(?![a-z])|आधार|আধার|ஆதார்", re.IGNORECASE)
_PAN_WORD = re.compile(r"(?<![a-z])pan(?![a-z])|permanent account|पैन", re.IGNORECASE)
_NEAR = 40  # code points in which a context word stands, before or (half of it) after the number
# A hexadecimal dump: groups of four with letters among them.
_HEX_BEFORE = re.compile(rb"(?<![0-9A-Za-z])(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{4} {1,2}\Z")
_HEX_AFTER = re.compile(rb" {1,2}(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{4}(?![0-9A-Za-z])")
_BESIDE = re.compile(rb"[:/._,|-][0-9]|[ \xa0][0-9]{4}(?![0-9])")  # the number goes on
_DIGITS = re.compile(rb"[0-9]+")


_GAP = f"[ {chr(SPACE)}{chr(DASH)}-]{{0,2}}"
_PARTED = f"[2-9](?:[ {chr(SPACE)}{chr(DASH)}{chr(OTHER)}:/._,|-]{{0,3}}[0-9]){{11}}"  # after a context word
_PAN = "[A-Z]{5}[0-9]{4}[A-Z]|[a-z]{5}[0-9]{4}[a-z]"
CARD_HINTS = (f"[0-9](?:{_GAP}[0-9]){{11}}",)
AADHAAR_HINTS = (*CARD_HINTS, _PARTED)
PAN_HINTS = (_PAN,)


@functools.cache
def _patterns():
    return pattern(f"[0-9](?:{_GAP}[0-9]){{11,}}"), pattern(_PARTED), pattern(_PAN)


def find_cards(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of card numbers: Luhn, an issuer's prefix and length, no part of a longer number."""
    spans = []
    for cluster in _patterns()[0].finditer(folded):
        groups = [match.span() for match in _DIGITS.finditer(folded, *cluster.span())]
        i = 0
        while i < len(groups):
            n = _card_at(text, folded, groups, i)
            if n:
                spans.append((groups[i][0], groups[i + n - 1][1]))
            i += n or 1
    return spans


def _card_at(text: str, folded: bytes, groups: list[tuple[int, int]], i: int) -> int:
    """Return how many groups from i on make one card number, 0 for none."""
    first, last = groups[i]
    if last - first >= 12:
        alone = not _tied(folded, groups, i, i, same_size=False)
        word = _NO_CARD.search(text[max(0, first - 24) : first])
        return int(alone and not word and is_card(folded[first:last].decode()))
    lengths = tuple(end - start for start, end in groups[i : i + 6])
    for shape in _SHAPES:
        n = len(shape)
        if lengths[:n] == shape and not _tied(folded, groups, i, i + n - 1, same_size=True):
            if is_card(_digits(folded, groups, i, n)):
                return n
    n = len(lengths)
    whole = i == 0 and n == len(groups) and 2 <= n <= 5 and min(lengths) >= 3
    gaps = {folded[groups[j][1] : groups[j + 1][0]] for j in range(n - 1)}
    if whole and len(gaps) == 1 and not _tied(folded, groups, 0, n - 1, same_size=True):
        return n if is_card(_digits(folded, groups, 0, n)) else 0
    return 0


def _digits(folded: bytes, groups: list[tuple[int, int]], i: int, n: int) -> str:
    return b"".join(folded[start:end] for start, end in groups[i : i + n]).decode()


def _tied(folded: bytes, groups: list[tuple[int, int]], i: int, j: int, *, same_size: bool) -> bool:
    """Whether groups i..j belong to a longer number: letters, a decimal point, a dash, or a group of the same size."""
    start, end = groups[i][0], groups[j][1]
    before, after = byte_at(folded, start - 1), byte_at(folded, end)
    if is_word(before) or is_word(after):
        return True
    if before == 0x2E and is_digit(byte_at(folded, start - 2)) or after == 0x2E and is_digit(byte_at(folded, end + 1)):
        return True
    for dash, beyond, other in ((before, start - 2, i - 1), (after, end + 1, j + 1)):
        if dash in (0x2D, DASH) and is_word(byte_at(folded, beyond)):
            return True
        if same_size and 0 <= other < len(groups) and groups[other][1] - groups[other][0] == 4:
            return True
    if same_size:
        return bool(_HEX_BEFORE.search(folded, max(0, start - 8), start) or _HEX_AFTER.match(folded, end))
    return before == 0x2F and is_word(byte_at(folded, start - 2))  # a path: /status/4111111111111111


def is_card(digits: str) -> bool:
    """Whether a run of digits passes Luhn and has the prefix and length of an issuer."""
    n = len(digits)
    issued = any(n in lengths and first <= digits[: len(first)] <= last for first, last, lengths in _ISSUERS)
    return issued and luhn.is_valid(digits)


def find_aadhaar(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of Aadhaar numbers: Verhoeff, and 4-4-4 grouping or a context word."""
    spans = []
    grouped, parted, _ = _patterns()
    for cluster in grouped.finditer(folded):
        groups = [match.span() for match in _DIGITS.finditer(folded, *cluster.span())]
        for i, (start, end) in enumerate(groups):
            if end - start == 12:
                bare = is_aadhaar(folded[start:end].decode()) and not _tied(folded, groups, i, i, same_size=False)
                if bare and _near(_AADHAAR_WORD, text, start, end):
                    spans.append((start, end))
            elif [last - first for first, last in groups[i : i + 3]] == [4, 4, 4]:
                if not _tied(folded, groups, i, i + 2, same_size=True) and is_aadhaar(_digits(folded, groups, i, 3)):
                    spans.append((start, groups[i + 2][1]))
    for match in parted.finditer(folded):
        start, end = match.span()
        digits = b"".join(_DIGITS.findall(match.group())).decode()
        tied = any(is_word(byte_at(folded, at)) for at in (start - 1, end)) or _BESIDE.match(folded, end)
        tied = tied or (byte_at(folded, start - 1) in b"/.:,_|-" and is_digit(byte_at(folded, start - 2)))
        if not tied and is_aadhaar(digits) and _near(_AADHAAR_WORD, text, start, end):
            spans.append((start, end))
    return spans


def is_aadhaar(digits: str) -> bool:
    """Whether twelve digits are an Aadhaar number: no leading 0 or 1, Verhoeff check digit."""
    return len(digits) == 12 and digits[0] >= "2" and verhoeff.is_valid(digits)


def find_pans(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of PANs: the holder's type in the fourth place; in lower case only after a context word."""
    spans = []
    for match in _patterns()[2].finditer(folded):
        start, end = match.span()
        if is_word(byte_at(folded, start - 1)) or is_word(byte_at(folded, end)):
            continue
        number = match.group().decode()
        if pan.is_valid(number) and (number.isupper() or _near(_PAN_WORD, text, start, end)):
            spans.append((start, end))
    return spans


def _near(word: re.Pattern, text: str, start: int, end: int) -> bool:
    return bool(word.search(text[max(0, start - _NEAR) : start]) or word.search(text[end : end + _NEAR // 2]))
