"""Personal data and secrets out of a text: candidates by one RE2 search, spans by kind, placeholders put in.

A text is scrubbed until nothing more is found, so scrubbing twice changes nothing: a placeholder can free what stood
next to it. A found span never contains `<` or `>`, so a later round never touches a placeholder.
"""

from __future__ import annotations

import functools

import re2

from corpus_sql.pii_email import find_emails
from corpus_sql.pii_fold import fold, marks_end
from corpus_sql.pii_ip import find_ips
from corpus_sql.pii_key import find_keys
from corpus_sql.pii_number import find_aadhaar, find_cards, find_pans
from corpus_sql.pii_phone import find_phones

Span = tuple[str, int, int]  # kind, first code point, behind the last

# In the order in which they win a tie. A key wins over any other kind: a token in an address is a secret first.
FINDERS = {
    "key": find_keys,
    "email": find_emails,
    "card": find_cards,
    "aadhaar": find_aadhaar,
    "pan": find_pans,
    "ip": find_ips,
    "phone": find_phones,
}
_ROUNDS = 8  # hostile texts that free one more value in each round end here; two rounds are the normal case

_HEXA = r"[\p{Nd}A-Fa-f\x{FF21}-\x{FF26}\x{FF41}-\x{FF46}]"
_LETTER = r"[A-Za-z\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}]"
_DOT = r"[.\x{FF0E}]"
# What a text must hold for a kind to be in it: supersets of the finders' patterns, in the text's own UTF-8.
_HINTS = {
    "email": r"[@＠]|[\[({（] ?(?i:at) ?[\])}）]|&(?:#64|#[xX]40|commat);|%40|[#＃](?:换|換|改|替)",
    "phone": rf"\p{{Nd}}(?:[^\p{{L}}\p{{Nd}}\n]{{0,4}}\p{{Nd}}){{6}}",
    "card": rf"\p{{Nd}}(?:[^\p{{L}}\p{{Nd}}\n]{{0,2}}\p{{Nd}}){{11}}",
    "aadhaar": rf"\p{{Nd}}(?:[^\p{{L}}\p{{Nd}}\n]{{0,2}}\p{{Nd}}){{11}}",
    "pan": rf"{_LETTER}{{5}}\p{{Nd}}{{4}}{_LETTER}",
    "ip": rf"\p{{Nd}}{_DOT}\p{{Nd}}{{1,3}}{_DOT}\p{{Nd}}{{1,3}}{_DOT}\p{{Nd}}|::|(?:{_HEXA}{{1,4}}:){{6}}",
    # Nearly every token has a run of 24 of its characters; the shorter ones and those with other characters are named.
    "key": r"[A-Za-z0-9_-]{24}|[A-Za-z0-9/+]{40}|AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9]|LTAI|AKID|ABSK|ya29\.|hv[bsr]\.|xox[a-s]|"
    r"hooks\.slack|webhook\.office|[sr]k_(?:live|test|prod)_|whsec_|rzp_|FLWSECK|sk-[A-Za-z0-9]{20}|dp\.[a-z]{2,5}\.|"
    r"gl(?:c|sa)_|sntry|pscale_|AAAAAAAAA|k\.eyJ|eyJ|\.atlasv1\.|[0-9]Q~|AT(?:ATT|CTT)3|PRIVATE KEY|[?&;]sig=|"
    r"(?i:authorization)|://[^\s:@/<>\"']{0,64}:[^\s@/<>\"'{}$]|"
    r"(?i:key|secret|token|passwd|password|pwd|credentials?)[\"']?\s{0,3}[:=]>?=?\s{0,3}[\"'`]",
}


def parse_kinds(kinds: str) -> tuple[str, ...]:
    """Return the kinds named in a comma-joined setting; raises ValueError for one that does not exist."""
    names = tuple(name for name in kinds.split(",") if name)
    unknown = [name for name in names if name not in FINDERS]
    if unknown:
        raise ValueError(f"no kind of personal data: {', '.join(unknown)}; there are {', '.join(FINDERS)}")
    return tuple(kind for kind in FINDERS if kind in names)


@functools.cache
def hint(kinds: tuple[str, ...]) -> re2._Regexp:
    """Return the prefilter over UTF-8 bytes: a text that it does not match holds nothing of these kinds."""
    options = re2.Options()
    options.max_mem = 256 << 20
    options.never_capture = True
    return re2.compile("|".join(_HINTS[kind] for kind in kinds) or r"[^\x{0}-\x{10FFFF}]", options)


def find_spans(text: str, kinds: tuple[str, ...]) -> list[Span]:
    """Return the spans of one round, ascending and apart: the larger structure wins, marks behind it belong to it."""
    folded = fold(text)
    found = []
    for order, kind in enumerate(FINDERS):
        if kind in kinds:
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
