"""Numbering plans: what `phonenumbers` knows of a country's numbers, as RE2 patterns.

`phonenumbers.is_valid_number` costs some 100 microseconds; its metadata compiled once to RE2 gives the same answer in
two, so a table of a million numbers stays cheap.
"""

from __future__ import annotations

import functools

import phonenumbers
import re2
from phonenumbers import PhoneMetadata

_TYPES = (
    "fixed_line", "mobile", "toll_free", "premium_rate", "shared_cost", "personal_number", "voip", "pager", "uan",
    "voicemail",
)  # fmt: skip


@functools.lru_cache(maxsize=256)
def _plan(code: int) -> tuple[re2._Regexp, frozenset[int]] | None:
    """Return (pattern of the valid national numbers, their lengths) of a country code; None if nobody has it."""
    regions = phonenumbers.COUNTRY_CODE_TO_REGION_CODE.get(code)
    if not regions:
        return None
    patterns, lengths = [], set()
    for region in regions:
        numbers = (
            PhoneMetadata.metadata_for_nongeo_region(code)
            if region == "001"
            else PhoneMetadata.metadata_for_region(region)
        )
        if numbers is None:
            continue
        lengths.update(numbers.general_desc.possible_length)
        for name in _TYPES:
            desc = getattr(numbers, name)
            if desc is not None and desc.national_number_pattern and desc.national_number_pattern != "NA":
                patterns.append(desc.national_number_pattern)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    alternatives = "|".join(f"(?:{national})" for national in patterns)
    return re2.compile(alternatives, options), frozenset(n for n in lengths if n > 0)


def split_code(digits: str) -> tuple[int, str] | None:
    """Split an international number without its `+` into country code and national number."""
    for n in (1, 2, 3):
        code = digits[:n]
        if len(code) == n and code[0] != "0" and int(code) in phonenumbers.COUNTRY_CODE_TO_REGION_CODE:
            return int(code), digits[n:]
    return None


def is_valid(code: int, national: str) -> bool:
    """Whether a national number without trunk prefix is one that the country's plan assigns."""
    plan = _plan(code)
    return plan is not None and plan[0].fullmatch(national) is not None


def is_possible(code: int, national: str) -> bool:
    """Whether a national number has a length that the country's plan has."""
    plan = _plan(code)
    return plan is not None and len(national) in plan[1]
