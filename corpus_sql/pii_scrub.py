"""Personal data and secrets out of a text: candidates by one RE2 search, spans by kind, placeholders put in.

A text is scrubbed until nothing more is found, so scrubbing twice changes nothing: a placeholder can free what stood
next to it. A found span never contains `<` or `>`, so a later round never touches a placeholder.
"""

from __future__ import annotations

import functools

from corpus_sql import pii_email, pii_id, pii_ip, pii_key, pii_number, pii_phone
from corpus_sql.pii_email import find_emails
from corpus_sql.pii_fold import fold, marks_end, pattern
from corpus_sql.pii_id import find_cn_ids, find_cn_usccs, find_gstins, find_ibans, find_us_ssns
from corpus_sql.pii_ip import find_ips
from corpus_sql.pii_key import find_keys
from corpus_sql.pii_number import find_aadhaar, find_cards, find_pans
from corpus_sql.pii_phone import find_phones

Span = tuple[str, int, int]  # kind, first code point, behind the last

# In the order in which they win a tie. A key wins over any other kind: a token in an address is a secret first.
FINDERS = {
    "key": find_keys,
    "email": find_emails,
    "iban": find_ibans,
    "gstin": find_gstins,
    "cn_id": find_cn_ids,
    "cn_uscc": find_cn_usccs,
    "card": find_cards,
    "aadhaar": find_aadhaar,
    "pan": find_pans,
    "us_ssn": find_us_ssns,
    "ip": find_ips,
    "phone": find_phones,
}
_ROUNDS = 8  # hostile texts that free one more value in each round end here; two rounds are the normal case

_HINTS = {
    "key": pii_key.HINTS,
    "email": pii_email.HINTS,
    "iban": pii_id.IBAN_HINTS,
    "gstin": pii_id.GSTIN_HINTS,
    "cn_id": pii_id.CN_ID_HINTS,
    "cn_uscc": pii_id.CN_USCC_HINTS,
    "card": pii_number.CARD_HINTS,
    "aadhaar": pii_number.AADHAAR_HINTS,
    "pan": pii_number.PAN_HINTS,
    "us_ssn": pii_id.US_SSN_HINTS,
    "ip": pii_ip.HINTS,
    "phone": pii_phone.HINTS,
}


def parse_kinds(kinds: str) -> tuple[str, ...]:
    """Return the kinds named in a comma-joined setting; raises ValueError for one that does not exist."""
    names = tuple(name for name in kinds.split(",") if name)
    unknown = [name for name in names if name not in FINDERS]
    if unknown:
        raise ValueError(f"no kind of personal data: {', '.join(unknown)}; there are {', '.join(FINDERS)}")
    return tuple(kind for kind in FINDERS if kind in names)


@functools.cache
def _hints(kinds: tuple[str, ...]) -> tuple:
    """The prefilter over folded bytes: (kinds, one alternation of their finders' own patterns).

    Keys have one of their own: the states of both together are the product of theirs.
    """
    hints = []
    for group in (("key",), tuple(kind for kind in kinds if kind != "key")):
        sources = dict.fromkeys(source for kind in group if kind in kinds for source in _HINTS[kind])
        if sources:
            hints.append((group, pattern("|".join(f"(?:{one})" for one in sources), captures=False)))
    return tuple(hints)


def may_hold(folded: bytes, kinds: tuple[str, ...]) -> set[str]:
    """Return the kinds that a text may hold; for most texts there are none."""
    return {kind for group, hint in _hints(kinds) if hint.search(folded) for kind in group}


def find_spans(text: str, kinds: tuple[str, ...]) -> list[Span]:
    """Return the spans of one round, ascending and apart: the larger structure wins, marks behind it belong to it."""
    folded = fold(text)
    possible = may_hold(folded, kinds)
    if not possible:
        return []
    found = []
    for order, kind in enumerate(FINDERS):
        if kind in possible:
            for start, end in FINDERS[kind](text, folded):
                end = marks_end(folded, end)
                if b"<" not in folded[start:end] and b">" not in folded[start:end]:
                    found.append((kind != "key", start - end, order, start, end, kind))
    taken, spans = bytearray(len(folded)), []
    for _, _, _, start, end, kind in sorted(found):
        if taken.find(1, start, end) < 0:
            taken[start:end] = b"\x01" * (end - start)
            spans.append((kind, start, end))
    return sorted(spans, key=lambda span: span[1])


def scrub(text: str, kinds: tuple[str, ...]) -> tuple[str | None, list[Span]]:
    """Return (the text with placeholders, or None if nothing was found; the spans in code points of the text given)."""
    spans: list[Span] = []
    current = text
    for _ in range(_ROUNDS):
        found = find_spans(current, kinds)
        if not found:
            break
        spans = _merged(spans, found)
        current = put_placeholders(text, spans)
    return (current if spans else None), spans


def put_placeholders(text: str, spans: list[Span]) -> str:
    """Return a text with `<KIND>` in the place of each span."""
    parts, at = [], 0
    for kind, start, end in spans:
        parts += [text[at:start], f"<{kind.upper()}>"]
        at = end
    return "".join([*parts, text[at:]])


def _merged(spans: list[Span], found: list[Span]) -> list[Span]:
    """Add spans of a later round, whose offsets count placeholders, to those of the earlier rounds."""
    merged, shift, i = [], 0, 0
    for kind, start, end in found:
        while i < len(spans) and spans[i][1] + shift < start:
            merged.append(spans[i])
            shift += len(spans[i][0]) + 2 - (spans[i][2] - spans[i][1])
            i += 1
        merged.append((kind, start - shift, end - shift))
    return merged + spans[i:]
