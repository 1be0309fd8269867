"""Identity, tax and account numbers: Chinese residents and companies, Indian GST, IBAN, US social security."""

from __future__ import annotations

import functools
import re

from stdnum import iban
from stdnum.cn import ric, uscc
from stdnum.in_ import gstin

from corpus_sql.pii_fold import DASH, SPACE, byte_at, is_digit, is_word, pattern

_NEAR = 40  # code points before a number in which a context word stands
_CN_ID_WORD = re.compile(
    r"身份证|身分证|身份證|证件号|公民身份|resident id|identity card|(?<![a-z])id (?:card|number|no)", re.I
)
_USCC_WORD = re.compile(r"信用代码|信用代碼|税号|纳税人识别|uscc|credit code", re.I)
_GST_WORD = re.compile(r"(?<![a-z])gst", re.I)
_SSN_WORD = re.compile(r"(?<![a-z])ssn(?![a-z])|social[ -]security", re.I)

_GAP = f"[ {chr(SPACE)}{chr(DASH)}-]?"
_CN_ID = (
    f"[1-8][0-9]{{5}}{_GAP}(?:18|19|20)[0-9]{{2}}[01][0-9][0-3][0-9]{_GAP}[0-9]{{3}}[0-9Xx]|"
    "[1-8][0-9]{7}[01][0-9][0-3][0-9]{4}"
)
_USCC = "[1-9][0-9][0-9]{6}[0-9A-HJ-NPQRTUWXY]{10}"
_GSTIN = "[0-3][0-9][A-Z]{5}[0-9]{4}[A-Z][1-9A-Z]Z[0-9A-Z]|[0-3][0-9][a-z]{5}[0-9]{4}[a-z][1-9a-z]z[0-9a-z]"
_IBAN = f"[A-Z]{{2}}[0-9]{{2}}(?:[ {chr(SPACE)}]?[A-Z0-9]){{11,30}}"
_SSN = f"[0-8][0-9]{{2}}{_GAP}[0-9]{{2}}{_GAP}[0-9]{{4}}"
CN_ID_HINTS, CN_USCC_HINTS, GSTIN_HINTS, IBAN_HINTS, US_SSN_HINTS = (_CN_ID,), (_USCC,), (_GSTIN,), (_IBAN,), (_SSN,)


@functools.cache
def _compiled(source: str):
    return pattern(f"(?:{source})")


def _alone(source: str, folded: bytes) -> list[tuple[int, int, str]]:
    """Return (start, end, letters and digits) of the matches that are no part of a longer word, number or decimal."""
    found = []
    for match in _compiled(source).finditer(folded):
        start, end = match.span()
        before, after = byte_at(folded, start - 1), byte_at(folded, end)
        tied = is_word(before) or is_word(after) or (before in (0x2D, 0x2E) and is_word(byte_at(folded, start - 2)))
        if not tied and not (after in (0x2D, 0x2E) and is_digit(byte_at(folded, end + 1))):
            found.append(
                (start, end, "".join(c for c in match.group().decode("latin-1") if c.isascii() and c.isalnum()))
            )
    return found


def _bare(folded: bytes) -> str:
    return re.sub(rb"[^0-9A-Za-z]", b"", folded).decode("ascii")


def _said(word: re.Pattern, text: str, start: int) -> bool:
    return word.search(text, max(0, start - _NEAR), start) is not None


def find_cn_ids(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of Chinese resident ids: a date and the check character (GB 11643); 15 digits after a word."""
    spans = []
    for start, end, number in _alone(_CN_ID, folded):
        if len(number) == 15:
            valid = _dated(number[:6] + "19" + number[6:]) and _said(_CN_ID_WORD, text, start)
        else:
            valid = _dated(number) and number[-1].upper() == ric.calc_check_digit(number.upper())
        if valid:
            spans.append((start, end))
    return spans


def _dated(number: str) -> bool:
    try:
        ric.get_birth_date(number)
    except ValueError:
        return False
    return True


def find_cn_usccs(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of social credit codes: check character (GB 32100), and a letter or a word before."""
    return [
        (start, end)
        for start, end, number in _alone(_USCC, folded)
        if uscc.is_valid(number) and (not number.isdigit() or _said(_USCC_WORD, text, start))
    ]


def find_gstins(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of Indian GST numbers: state, PAN and check character; in lower case only after a word."""
    return [
        (start, end)
        for start, end, number in _alone(_GSTIN, folded)
        if gstin.is_valid(number.upper()) and (number.isupper() or _said(_GST_WORD, text, start))
    ]


def find_ibans(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of IBANs, in one run or in groups: the country's form and the check digits (ISO 13616)."""
    spans = []
    for match in _compiled(_IBAN).finditer(folded):
        start, end = match.span()
        if is_word(byte_at(folded, start - 1)):
            continue
        while end - start >= 15:  # what follows in capitals is no part of it: DE89 3704 0044 0532 0130 00 BIC
            valid = iban.is_valid(_bare(folded[start:end]), check_country=False)
            if valid and not is_word(byte_at(folded, end)):
                spans.append((start, end))
                break
            gap = max(folded.rfind(b" ", start, end), folded.rfind(bytes([SPACE]), start, end))
            end = gap if gap > start else start
    return spans


def find_us_ssns(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of US social security numbers after a word that says so; areas 000, 666 and 9xx are none."""
    return [
        (start, end)
        for start, end, number in _alone(_SSN, folded)
        if number[:3] not in ("000", "666")
        and number[3:5] != "00"
        and number[5:] != "0000"
        and _said(_SSN_WORD, text, start)
    ]
