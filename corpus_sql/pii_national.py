"""Phone numbers in a country's own form after a word for a phone: `Tél : 01 99 00 12 34`, `тел. 8 (495) 123-45-67`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from corpus_sql import pii_plan as plan
from corpus_sql.pii_fold import (
    CLOSE,
    DASH,
    FORMAT,
    GLUED,
    LATIN,
    LETTER,
    MARK,
    OPEN,
    OTHER,
    SPACE,
    byte_at,
    is_digit,
    pattern,
)

# Country codes of the plans that are tried, by what is dialled before the national number within the country.
_AFTER_0 = (
    86,
    91,
    62,
    92,
    234,
    55,
    880,
    81,
    251,
    63,
    20,
    84,
    243,
    90,
    98,
    49,
    66,
    33,
    44,
    82,
    380,
    27,
    54,
    61,
    31,
    254,
    966,
)
_WITHOUT = (1, 52, 39, 34, 48, 57, 7, 55, 91, 90, 54)  # nothing is, or people leave it out
_WORDS = tuple(
    "tel tél téléphone telephone telefon telefono teléfono telefone telefones telefoon telefonnummer téléphones phone "
    "phones telefax telp telepon fon fono mobil mobile móvil movil mob portable cell cellulare cellphone celular handy"
    " gsm cep hp fax whatsapp hotline fixe komórka kom sđt đt тел телефон телефоны телефона телефону моб мобильный"
    " мобильного мобила факс сот сотовый контактный appelez call dial thoại động".split()
)
_GLUED_WORDS = tuple(
    "电话 電話 手机 手機 座机 热线 传真 携帯 전화 전화번호 휴대폰 휴대전화 핸드폰 연락처 팩스 โทร โทรศัพท์ มือถือ "
    "هاتف جوال موبايل تليفون تلفن "
    "موبایل فون موبائل ফোন মোবাইল টেলিফোন फ़ोन फोन मोबाइल दूरभाष ስልክ".split()
)
_BETWEEN = " \u00a0\u202f\u3000:：.|*[\u200e\u200f"
_NUMBER_ENDS = (
    "no",
    "nos",
    "nr",
    "number",
    "número",
    "numéro",
    "numero",
    "номер",
    "n°",
    "nº",
    "号",
    "号码",
    "號",
    "號碼",
    "番号",
    "is",
    "at",
    "on",
    "us",
)
_NUMBER_WORD = re.compile(
    r"[\s.]+(?:nos?|nr|number|número|numéro|numero|номер|n[°º]|is|us|us at|us on)\Z|(?:号码?|號碼?|番号)\Z"
)
_DATE = re.compile(rb"(?:19|20)\d\d[-./ ]\d\d?[-./ ]\d\d?(?!\d)|\d\d?[./-]\d\d?[./-](?:19|20)\d\d(?!\d)")
_GROUP = re.compile(rb"[0-9]+")
_FIRST = re.compile(rb"[0-9(\xab]")
_LAST_WORD = re.compile(r"[^\W\d_]*\Z")


_MORE = re.compile(r"\s?[/,;、|]\s?")  # another number of the same owner


def _number() -> str:
    loose = f"[ {chr(SPACE)}./()\\-{chr(DASH)}{chr(OPEN)}{chr(CLOSE)}]{{0,2}}"
    return f"([({chr(OPEN)}]?[0-9](?:{loose}[0-9]){{8,13}})"


def _labelled() -> str:
    between = f"[ {chr(SPACE)}{chr(OTHER)}{chr(FORMAT)}:.|*[]"
    alphabets = f"[A-Za-z{chr(LATIN)}{chr(LETTER)}]{between}{{1,6}}"
    return f"(?:{alphabets}|[{chr(GLUED)}{chr(MARK)}{chr(LETTER)}]{between}{{0,6}}){_number()}"


NATIONAL = _labelled()


@functools.cache
def _patterns():
    return pattern(NATIONAL, captures=False), pattern(_number())


def find_national(text: str, folded: bytes, end_of: Callable[[int], int | None]) -> list[tuple[int, int]]:
    """Return the spans of national numbers right after a word for a phone; `end_of` gives the end with an extension."""
    labelled, number = _patterns()
    spans = []
    for match in labelled.finditer(folded):
        start = _FIRST.search(folded, match.start()).start()
        more = _says_phone(text[max(0, start - 40) : start])
        while (
            more and (candidate := number.match(folded, start)) and (span := _span(folded, *candidate.span(), end_of))
        ):
            spans.append(span)
            more = _MORE.match(text, span[1])
            start = more.end() if more else start
    return spans


def _says_phone(head: str) -> bool:
    """Whether a text ends with a word for a phone, perhaps with `No.:` behind it."""
    head = head.rstrip(_BETWEEN).lower()
    if head.endswith(_NUMBER_ENDS):
        head = _NUMBER_WORD.sub("", head).rstrip(_BETWEEN)
    if head.endswith(_GLUED_WORDS):
        return True
    return head.endswith(_WORDS) and _LAST_WORD.search(head)[0] in _WORDS


def _span(folded: bytes, start: int, limit: int, end_of: Callable[[int], int | None]) -> tuple[int, int] | None:
    """Return the span of the number that begins at `start`, with as many groups of digits as its plan takes."""
    if _DATE.match(folded, start):
        return None
    groups = [group.span() for group in _GROUP.finditer(folded, start, limit)]
    if is_digit(byte_at(folded, limit)):
        groups.pop()
    for n in range(len(groups), max(0, len(groups) - 5), -1):
        digits = b"".join(folded[first:last] for first, last in groups[:n]).decode()
        end = end_of(groups[n - 1][1]) if is_national(digits) else None
        if end is not None:
            closed = any(byte in folded[start:end] for byte in (b")", bytes([CLOSE])))
            return start + (folded[start] in (0x28, OPEN) and not closed), end
    return None


def is_national(digits: str) -> bool:
    """Whether digits as they are dialled within a country are a number that its plan assigns."""
    if not 9 <= len(digits) <= 12:
        return False
    if digits[0] == "0":
        return any(plan.is_valid(code, digits[1:]) for code in _AFTER_0) or plan.is_valid(39, digits)
    if len(digits) == 11 and digits[0] in "18" and plan.is_valid(7 if digits[0] == "8" else 1, digits[1:]):
        return True
    return any(plan.is_valid(code, digits) for code in _WITHOUT)
