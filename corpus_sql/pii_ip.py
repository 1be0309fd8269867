"""IP addresses, version 4 and 6, in the forms that `ipaddress` takes."""

from __future__ import annotations

import functools
import ipaddress
import re

from corpus_sql.pii_fold import byte_at, is_digit, is_word, pattern

# A four-part number after one of these words, or before one of the endings, is a version or a section.
_BEFORE_VERSION = re.compile(
    r"(?:versions?[\"']?|(?<![a-z])(?:ver|v|rev|revision|release|build|firmware|driver|patch|update|upgrade|section|"
    r"firefox|chrome|chromium|opera|safari|thunderbird|python|java|windows(?: nt)?|libreoffice|openoffice|flash|"
    r"sections|sec|chapter|clause|figure|fig|table|appendix|annex|step|oid|kernel|abschnitt|kapitel|tabelle)"
    r"(?: ?(?:no|number|nr))?\.?[\"']?|版本号?|版|固件|内核|章节?|小节|节|表|图|第|§+|[=~!<>^]=|\^|~)"
    r"(?:\s?(?:[:：=为是>]|is))?\s{0,2}[\"'(\[vV]{0,3}\Z",
    re.IGNORECASE,
)
_PRODUCT = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]*[A-Z][A-Za-z]+/\Z")
_LIBRARY = re.compile(  # of lower-case names only with a first number that is a version's
    r"(?<![\w/.:@-])(?!(?:ip|inet|tcp|udp|http|host|addr|dns|peer|net|subnet|cidr|server|client|node|from|to|src|dst|"
    r"gateway|gw|route|proxy|remote|local|lan|wan|logs?|data|etc)\w{0,4}/)[a-z][a-z0-9_+-]+/\Z|"
    r"(?<![\w.])[a-z]+[0-9][a-z]+:\Z|[a-z]\w*(?:\.[\w-]+)+:[\w.-]+:\Z|"  # log4j:1.2.3.4, org.example:lib:1.2.3.4
    r"[a-z]-(?:core|api|client|common|utils?|lib|server|starter|plugin|sdk|cli|parent|bom):\Z"
)
_HEADING = re.compile(r"(?:\A|\n)#{1,6}\s+\Z")
_AFTER_VERSION = re.compile(
    r"-[0-9]+\.(?:fc|el)\d|[-+_.](?:alpha|beta|rc|snapshot|release|final|dev|pre|post|ga|m\d|ubuntu|el\d|fc\d|tar|tgz|zip|jar|whl|gem|rpm|deb|"
    r"exe|msi|dmg|pkg|apk|so|dll|pdf|gz|xz|bz2)|\s?(?:版|节|章)|\s(?:version|release|update|firmware)\b(?!\s?[:=(]?\s?v?[0-9])",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\.\s+[^\W\d_]")
_TITLED = re.compile(r"[ \t]{1,4}(?:[A-Z][a-z]{2,}|[\u4e00-\u9fff]{2})[^\n.。:：]{0,60}(?:\.{3,}[^\n]*)?(?:\n|\Z)")
_PLURAL = re.compile(r"(?:versions|releases|builds|revisions|sections)[^\w\n]{0,4}\Z", re.IGNORECASE)
_LISTED = re.compile(r"\s?(?:,|、|/|-|–|&|and|or|to|und|oder|bis|和|或|到|至|及)\s?[vV]?", re.IGNORECASE)
_LABEL = re.compile(r"(?<![A-Za-z0-9_])(?:[A-Za-z]{2,}|[Ii][Pp](?:[Vv]?[46])?)\Z")
_MASK_WORD = re.compile(r"mask(?:e|\s+is)?\s?[:=：]?\s{0,2}\Z|掩码\s?[:：为是]?\s{0,2}\Z", re.IGNORECASE)
_MASKS = frozenset(ipaddress.ip_address((2**32 - 1) >> 32 - n << 32 - n) for n in range(8, 32)) | frozenset(
    ipaddress.ip_address((1 << n) - 1) for n in (8, 16, 24)
)
_LONGEST = 45  # characters of the longest form, a v4-mapped address with full groups


_SIX = r"[0-9A-Fa-f:.]*::[0-9A-Fa-f:.]*|(?:[0-9A-Fa-f]{1,4}:){6}[0-9A-Fa-f:.]+"
HINTS = (r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]", r"[0-9A-Fa-f]::|::[0-9A-Fa-f]|(?:[0-9A-Fa-f]{1,4}:){6}")


@functools.cache
def _patterns():
    return pattern(HINTS[0], captures=False), pattern(r"[0-9]+(?:\.[0-9]+){3,}"), pattern(_SIX)


def find_ips(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of addresses; loopback, unspecified and netmask addresses are none."""
    hint, four, six = _patterns()
    spans = []
    colons = b"::" in folded or folded.count(b":") > 5  # fewer in most texts, and no address without them
    for match in six.finditer(folded) if colons else ():
        span = _six(text, folded, *match.span())
        if span:
            spans.append(span)
    plural, first, version = None, b"", -1  # where a version ended: what is listed with it is one too
    for match in four.finditer(folded) if hint.search(folded) else ():
        start, end = match.span()
        if match.group().count(b".") == 3 and end - start <= 15:
            listed = 0 <= version < start <= version + 8 and _LISTED.fullmatch(text, version, start)
            # A version word binds its own number; several of them only in the plural, or where they begin alike.
            listed = listed and (plural or match.group().split(b".")[0] == first)
            if not listed and _four(text, folded, start, end):
                spans.append((start, end))
            elif listed or _BEFORE_VERSION.search(text[max(0, start - 32) : start]):
                plural = listed and plural or _PLURAL.search(text[max(0, start - 32) : start])
                version, first = end, match.group().split(b".")[0]
    return spans


def _address(folded: bytes, start: int, end: int) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(folded[start:end].decode("ascii"))
    except ValueError:
        return None


def _four(text: str, folded: bytes, start: int, end: int) -> bool:
    before, after = byte_at(folded, start - 1), byte_at(folded, end)
    if is_word(before) or is_word(after) or (before == 0x2E and is_word(byte_at(folded, start - 2))):
        return False
    if byte_at(folded, start - 1) == 0x0A and _NUMBERED.match(text, end, min(len(text), end + 8)) and end - start <= 11:
        return False  # a heading: 6.2.4.1. Setting up
    if byte_at(folded, start - 1) == 0x0A or start == 0:
        parts = [int(part) for part in folded[start:end].split(b".")]
        if max(parts) < 40 and 0 < parts[0] != 10 and len(set(parts)) > 1 and _TITLED.match(text, end, end + 90):
            return False  # a heading: 4.1.2.3 Requirements
    return _kept(text, folded, start, end) is False


def _kept(text: str, folded: bytes, start: int, end: int) -> bool | None:
    """None if the part is no IPv4 address, True if it is one that stays (or a version), False if it goes."""
    address = _address(folded, start, end)
    if address is None:
        return None
    head = text[max(0, start - 32) : start]
    if address.is_loopback or address.is_unspecified or address in _MASKS:
        return True
    if int(address) == 2**32 - 1 and _MASK_WORD.search(head):
        return True
    if _BEFORE_VERSION.search(head) or _PRODUCT.search(head) or _HEADING.search(head):
        return True
    if int(address) >> 24 < 40 and int(address) >> 24 != 10 and _LIBRARY.search(head):
        return True
    return _AFTER_VERSION.match(text, end, min(len(text), end + 24)) is not None


def _six(text: str, folded: bytes, start: int, end: int) -> tuple[int, int] | None:
    if is_word(byte_at(folded, end)):
        return None
    while end > start and folded[end - 1] == 0x2E:
        end -= 1
    if folded[end - 1 : end] == b":" and folded[end - 2 : end - 1] != b":":
        end -= 1
    if start > 0 and is_word(folded[start - 1]) or folded[start : start + 1] == b".":
        # A word and a colon before the address: IPv6:2001:db8::1. The run begins with the word's last hex letters.
        colon = folded.find(b":", start, min(end, start + 24))
        label = _LABEL.search(text, max(0, colon - 24), max(colon, 0))
        if colon < 0 or folded[colon + 1 : colon + 2] == b":" or not label:
            return None
        start = colon + 1
    elif folded[start : start + 1] == b":" and folded[start + 1 : start + 2] != b":":
        start += 1
    if not 2 <= end - start <= _LONGEST:
        return None
    address = _address(folded, start, end)
    if address is None or address.version != 6:
        return None
    inner = address.ipv4_mapped or address
    if inner.is_loopback or inner.is_unspecified or _code(folded, start, end):
        return None
    return start, end


def _code(folded: bytes, start: int, end: int) -> bool:
    """Whether a legal IPv6 form is rather a path, a slice or hexadecimal bytes."""
    run = folded[start:end]
    groups = run.split(b":")
    if len(groups) == 8 and all(len(group) == 2 for group in groups):
        return True  # an EUI-64 or other dump of eight bytes
    lone = any(group and groups[i + 1] for i, group in enumerate(groups[:-1]))
    if not lone and not any(map(is_digit, run)):
        return True  # a::b in Rust or C++
    if byte_at(folded, end) == 0x28:
        return True  # a call: c10::add(
    short = not lone and all(group.isdigit() or not group for group in groups) and len(run) <= 8
    if short:
        line = folded[max(0, start - 60) : start]
        bracket = line.rfind(b"[")
        if bracket > 0 and bracket > line.rfind(b"]") and (is_word(line[bracket - 1]) or line[bracket - 1] in b")]"):
            return True  # a slice: x[1::2]
    return False
