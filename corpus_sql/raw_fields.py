"""What the fields of a raw document must hold, and the document that comes of them."""

from __future__ import annotations

import datetime
import re
import unicodedata
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

REQUIRED = ("url", "fetched_at", "license_spdx", "text")
OPTIONAL = ("source_record_id", "parent_ids", "group_id")
KNOWN = frozenset(REQUIRED + OPTIONAL)
KINDS = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


class Document(NamedTuple):
    """The fields of a good line. text is NFC; extra is JSON text, or None where there is no other field."""

    url: str
    fetched_at: str
    license_spdx: str
    text: str
    source_record_id: str | None
    parent_ids: list[str] | None
    group_id: str | None
    extra: str | None


class Fault(NamedTuple):
    """Why a line is no document: a reason of the list above, and what exactly; byte positions count from 0."""

    reason: str
    detail: str


# White_Space and Default_Ignorable_Code_Point of the Unicode Character Database (PropList, DerivedCoreProperties).
_EMPTY = re.compile(
    "[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]*+"
)
_DATE_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)


@lru_cache(maxsize=4096)
def rfc3339(value: str) -> bool:
    """Say whether a string is an RFC 3339 date-time: zone required, days and leap seconds checked, `t` and `z` allowed.

    The year is 0000 to 9999, an hour of 24 is none, a fraction has any number of digits.
    """
    match = _DATE_TIME.fullmatch(value)
    if not match:
        return False
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    ahead = int(match[8] or 0) * 60 + int(match[9] or 0)
    if not 1 <= month <= 12 or hour > 23 or minute > 59 or second > 60 or int(match[8] or 0) > 23:
        return False
    leap_year = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= (31, 29 if leap_year else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]:
        return False
    utc = hour * 60 + minute + (ahead if match[7] == "-" else -ahead)
    return int(match[9] or 0) <= 59 and (second < 60 or utc % 1440 == 1439)


def is_utc(value: str) -> bool:
    """Say whether a string is an RFC 3339 date-time in UTC: it ends in `Z`, `z` or `+00:00`.

    Any other offset is refused, though it names the same instant, for nothing in a line is converted. So is `-00:00`,
    by which RFC 3339 (section 4.3) says that the local offset is not known.
    """
    return value.endswith(("Z", "z", "+00:00")) and rfc3339(value)


def utc(time: str) -> str:
    """Return an RFC 3339 date-time in UTC, ending in Z; as written where its year in UTC is not 1 to 9999."""
    time = time.upper()
    if time.endswith("Z"):
        return time
    seconds = time[17:-6]  # with the fraction, and 60 in a leap second: no offset changes them
    try:
        moment = datetime.datetime.fromisoformat(f"{time[:17]}00{time[-6:]}").astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return time
    return f"{moment.isoformat()[:17]}{seconds}Z"


@lru_cache(maxsize=4)
def _marks(at_least: int, decomposed: str) -> re.Pattern[str]:
    """The pattern of a run of marks; decomposed: NFD or NFKD, after which a mark must be one."""

    def is_mark(char: str) -> bool:  # four marks, such as U+0F73, are of class 0 and decompose into others
        return unicodedata.combining(unicodedata.normalize(decomposed, char)[0]) > 0

    return re.compile("[" + "".join(filter(is_mark, map(chr, range(0x300, 0x20000)))) + f"]{{{at_least},}}+")


def nfc(text: str) -> str:
    """Return the Unicode normalisation form C, in linear time.

    unicodedata puts marks in order by insertion: 80,000 that alternate between two classes took 5 s, a line of 32 MiB
    would take days. So runs of 64 and more are sorted before, which leaves the text canonically equivalent. Every
    eighth character is enough to see whether there is such a run.
    """
    return _normal_form("NFC", "NFD", text)


def nfkc(text: str) -> str:
    """Return the Unicode normalisation form KC, in linear time as `nfc`."""
    return _normal_form("NFKC", "NFKD", text)


def _normal_form(form: str, decomposed: str, text: str) -> str:
    if text.isascii() or unicodedata.is_normalized(form, text):
        return text

    def in_order(run: re.Match[str]) -> str:
        marks = "".join(unicodedata.normalize(decomposed, mark) for mark in run[0])
        return "".join(sorted(marks, key=unicodedata.combining))

    if _marks(8, decomposed).search(text[::8]):
        text = _marks(64, decomposed).sub(in_order, text)
    return unicodedata.normalize(form, text)


def document(fields: dict[str, Any], extra: str | None, license_spdx: str) -> Document | Fault:
    """Check the known fields and put the text into NFC; `fields` may hold others, which are not looked at."""
    url, fetched_at, licence, text = map(fields.get, REQUIRED)
    record, parents, group = map(fields.get, OPTIONAL)
    if not (
        type(url) is str
        and url
        and type(fetched_at) is str
        and type(text) is str
        and licence == license_spdx
        and (record is None or type(record) is str)
        and (group is None or type(group) is str)
        and (parents is None or (type(parents) is list and all(type(parent) is str for parent in parents)))
        and is_utc(fetched_at)
        and _EMPTY.match(text).end() < len(text)
    ):
        return _field_faults(fields, license_spdx)
    return Document(url, fetched_at, licence, nfc(text), record, parents, group, extra)


def _field_faults(fields: dict[str, Any], license_spdx: str) -> Fault:
    """Return the first fault of the fields by precedence, with a detail that names all of them."""
    faults: list[Fault] = []
    for name in REQUIRED:
        if name not in fields:
            faults.append(Fault(f"missing_{name}", f"{name} is missing"))
        elif name == "url" and fields[name] == "":
            faults.append(Fault("missing_url", "url is an empty string, which names no place"))
        elif fields[name] is None:
            faults.append(Fault(f"null_{name}", f"{name} is null"))
        elif type(fields[name]) is not str:
            faults.append(Fault(f"{name}_not_string", f"{name} is {KINDS[type(fields[name])]}"))
    for name in OPTIONAL:
        value = fields.get(name)
        if value is None or type(value) is (list if name == "parent_ids" else str):
            strange = [item for item in value if type(item) is not str] if name == "parent_ids" and value else []
            if strange:
                faults.append(Fault("parent_ids_not_strings", f"parent_ids holds {KINDS[type(strange[0])]}"))
        else:
            reason = "parent_ids_not_strings" if name == "parent_ids" else f"{name}_not_string"
            faults.append(Fault(reason, f"{name} is {KINDS[type(value)]}"))
    fetched_at, licence, text = (fields.get(name) for name in REQUIRED[1:])
    if type(fetched_at) is str and not is_utc(fetched_at):
        lacks = "not in UTC (Z or +00:00)" if rfc3339(fetched_at) else "no RFC 3339 time in UTC"
        faults.append(Fault("invalid_fetched_at", f"fetched_at is {_quoted(fetched_at)}, {lacks}"))
    if type(licence) is str and licence != license_spdx:
        what = f"license_spdx is {_quoted(licence)}, the ledger says {_quoted(license_spdx)}"
        faults.append(Fault("license_mismatch", what))
    if type(text) is str and _EMPTY.fullmatch(text):
        what = f"text has {len(text)} code points, none but white space and default-ignorable ones"
        faults.append(Fault("empty_text", what))
    return Fault(faults[0].reason, "; ".join(fault.detail for fault in faults))


def is_empty(text: str) -> bool:
    """Return whether a text holds nothing but white space and default-ignorable characters."""
    return _EMPTY.fullmatch(text) is not None


def _quoted(value: str) -> str:
    """Show a short value in full and the beginning of a long one: a detail is not for text."""
    return orjson.dumps(value if len(value) <= 40 else value[:37] + "...").decode()
