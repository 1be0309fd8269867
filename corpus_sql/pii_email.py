"""Mail addresses: found at their `@`, then trimmed to the address."""

from __future__ import annotations

import functools
import ipaddress
import re

from corpus_sql.pii_fold import GLUED, LATIN, LETTER, MARK, byte_at, is_word, pattern

# RFC 5321 allows these in a local part. What stands next to an address in prose, markup and code, = & / ! # * | and
# the like, belongs to it only where the rest shows so, see _local.
_ATEXT = r"A-Za-z0-9.!#$%&'*+/=?^_`{|}~\-" + chr(LATIN) + chr(LETTER) + chr(GLUED) + chr(MARK)
_UNICODE = "A-Za-z0-9" + chr(LATIN) + chr(LETTER) + chr(GLUED)
_TLD = "(?:xn--[A-Za-z0-9-]*[A-Za-z0-9]|[A-Za-z]{2,63})"
_DOMAIN = rf"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+{_TLD}"
_IDN_TLD = f"[{chr(LATIN)}{chr(LETTER)}{chr(GLUED)}{chr(MARK)}]{{2,24}}"
_IDN = rf"(?:[{_UNICODE}](?:[{_UNICODE}{chr(MARK)}-]*[{_UNICODE}{chr(MARK)}])?\.)+(?:{_TLD}|{_IDN_TLD})"
_LITERAL = r"\[(?:IPv6:)?[0-9A-Fa-f:.]{2,45}\]"
_QUOTED = r'"[^"\r\n<>@]{1,64}"'

_CORE = rb"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%+'-" + bytes([LATIN])
_SPECIAL = rb"!#$%&*/=?^`{|}~"
_ALNUM = re.compile(rb"[A-Za-z0-9]")
_ESCAPES = re.compile(rb".*%(?:20|22|26|2[CcFf]|3[AaCcDd])", re.DOTALL)
_VERSION = re.compile(rb"\d+\.\d")
_RETINA = re.compile(rb"\d(?:\.\d)?x\.")
_FILE_ENDINGS = frozenset(
    b"png jpg jpeg gif svg webp ico bmp tif tiff css js jsx ts tsx mjs json html htm xml txt pdf php exe dll".split()
)
_CALLED = frozenset(b"com org net edu gov mil int info biz dev app xyz test example".split())
_HAN_TLDS = frozenset("中国 中國 公司 网络 網絡 香港 台湾 台灣 在线 中文网 商标 网址 集团 政务 公益 商城".split())
_HASH_FOR_AT = re.compile("[#＃](?:换成|換成|改成|改为|替换为|替换成|换为)[@＠]")


_AT = r"(?: ?[\[({\xab] ?(?i:at) ?[\])}\xbb] ?|&#64;|&#[xX]40;|&commat;|%40)"
_DOT = r"(?: ?[\[({\xab] ?(?i:dot) ?[\])}\xbb] ?|\.)"
_NAME = r"[A-Za-z0-9_][A-Za-z0-9._+-]*"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_SPELLED = f"({_NAME}){_AT}({_LABEL}(?:{_DOT}{_LABEL})*{_DOT}[A-Za-z]{{2,24}})"
_HASHED = f"({_NAME})#({_DOMAIN})"
HINTS = (rf"@[\[{_UNICODE}]", _SPELLED, _HASHED)  # an address holds a match of one of these


@functools.cache
def _patterns():
    return (
        pattern(f"({_QUOTED}|[{_ATEXT}]+)@(?:({_DOMAIN})|({_IDN})|({_LITERAL}))"),
        pattern(_SPELLED),
        pattern(_HASHED),
        pattern(f"{_SPELLED}|{_HASHED}", captures=False),
    )


def find_emails(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of mail addresses, also written with `[at]`, `&#64;`, `%40`, or `#` where the text says so."""
    plain, spelled, hashed, rare = _patterns()
    spans = []
    if b"@" in folded:
        for match in plain.finditer(folded):
            at = match.end(1)
            start = _local(text, folded, match.start(1), at, match.group(2) is None)
            end = _domain(folded, at + 1, match.end())
            if start is not None and end is not None:
                spans.append((_unquoted(folded, start, end), end))
    if not rare.search(folded):
        return spans
    for match in spelled.finditer(folded):
        if not is_word(byte_at(folded, match.end())):
            spans.append(match.span())
    for notice in _HASH_FOR_AT.finditer(text):
        first = max(0, notice.start() - 80)
        spans += [match.span() for match in hashed.finditer(folded, first, notice.start())]
    return spans


def _local(text: str, folded: bytes, first: int, at: int, idn: bool) -> int | None:
    """Return where the local part begins that ends at `at`; None if there is none."""
    run = folded[first:at]
    if run[:1] == b'"':
        return first
    last = run[-1]
    if last in (LETTER, MARK):
        head = run.rstrip(bytes([LETTER, MARK]) + b"0123456789._-")
        return first + len(head) if head != run else None
    if last == GLUED:
        head = run.rstrip(bytes([GLUED]) + b"0123456789._-")
        # Prose runs into the address ('the suffix is @example.com'): only a short name before an IDN domain is clear.
        tld = _HAN_END.search(text, at, min(len(text), at + 80))
        clear = idn and len(run) - len(head) <= 12 and tld and (tld[1].isascii() or tld[1] in _HAN_TLDS)
        return first + len(head) if clear else None
    if last in _SPECIAL:
        head = run.rstrip(_CORE + _SPECIAL)
        return first + len(head) if _ALNUM.search(run, len(head)) or len(run) - len(head) >= 8 else None
    head = run.rstrip(_CORE)
    tail = run[len(head) :]
    escaped = _ESCAPES.match(tail)
    if escaped:
        head, tail = run[: len(head) + escaped.end()], tail[escaped.end() :]
    elif head[-1:] in (b"/", b"!", b"="):
        outer = head[:-1].rstrip(_CORE)
        name = head[len(outer) : -1]
        joined = name[:1].isalnum() and tail[:1].isalnum()
        if head[-1:] == b"=":
            joined = joined and b"+" in name and b"." in tail  # a bounce address: list+name=example.org@example.com
        else:
            joined = joined and b"." not in name and byte_at(folded, first + len(outer) - 1) not in b"/:.\\=&?!%#"
        if joined and (not outer or outer[-1] >= 0x80):
            head, tail = outer, name + head[-1:] + tail
    start = at - len(tail.lstrip(b".'%+-"))
    if byte_at(folded, start - 1) == 0x5C and byte_at(folded, start) in b"nrt" and at - start > 1:
        start += 1  # an escaped line end in source text: \nname@...
    return start if start < at else None


_HAN_END = re.compile(r"@.*?\.([^\W\d_]+)(?!\.?\w)")


def _domain(folded: bytes, start: int, end: int) -> int | None:
    """Return where the domain ends, or None if it is a version, a file name or a call."""
    domain = folded[start:end]
    if domain[:1] == b"[":
        try:
            ipaddress.ip_address(domain[1:-1].decode().removeprefix("IPv6:"))
        except ValueError:
            return None
        return end
    following = byte_at(folded, end)
    if is_word(following) and following != 0x5F:
        return None
    labels = domain.split(b".")
    last = labels[-1]
    if len(labels) > 2 and last.istitle() and following == 0x20 and re.fullmatch(rb"[a-z]{2,4}", labels[-2]):
        end -= len(last) + 1  # a sentence begins without a space: a@example.com.Then
        last = labels[-2]
    if _VERSION.match(domain) or last.lower() in _FILE_ENDINGS or _RETINA.match(domain):
        return None
    if following == 0x28 and len(last) > 2 and last.lower() not in _CALLED:
        return None  # a matrix product in code: w@self.weight(x)
    return end


def _unquoted(folded: bytes, start: int, end: int) -> int:
    """Move the start behind what only pairs with the byte after the address: `_a@b.example_`, `b'a@b.example'`."""
    following = byte_at(folded, end)
    if following == 0x5F and folded[start] == 0x5F:
        return start + 1
    if following == 0x27 and folded[start : start + 2].lower() in (b"b'", b"f'", b"r'", b"u'"):
        return start + 2
    return start
