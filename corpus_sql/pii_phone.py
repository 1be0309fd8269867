"""Phone numbers: forms found by RE2, numbering plans from `phonenumbers`, and guards against every other number."""

from __future__ import annotations

import functools
import re

from corpus_sql import pii_plan as plan
from corpus_sql.pii_fold import (
    CLOSE,
    DASH,
    GLUED,
    LATIN,
    LETTER,
    MARK,
    OPEN,
    SPACE,
    byte_at,
    is_digit,
    is_word,
    pattern,
)
from corpus_sql.pii_national import NATIONAL, find_national

_WORD = re.compile(
    r"(?<![a-z])(?:tel(?:e(?:phone|fon))?|phones?|fon|mobile?|mob|cell(?:ular)?|handy|telefax|fax|call(?:s|ed|ing)?|"
    r"ring|dial|whatsapp|sms|texts?|hotline|helpline|rufnummer|telefonnummer|anruf\w*|contacts?|kontakt|reach|landline|"
    r"toll[- ]free)(?![a-z])|\bmy number is|(?:^|[\s|(])[TMPF]:|"
    r"电话|電話|手机|手機|座机|座機|热线|熱線|传真|傳真|联系|聯繫|聯絡|致电|拨打|撥打|来电|固话|短信|微信|移动|携帯|"
    r"फ़ोन|फोन|मोबाइल|दूरभाष|संपर्क|कॉल|नंबर",
    re.IGNORECASE,
)
_LOOSE = re.compile(
    r"(?:reach|contacts?|kontakt|texts?|sms|ring|mobil|mobile?|cell|短信|微信|移动|联系)\W*\Z", re.IGNORECASE
)
_OTHER = re.compile(
    r"(?<![a-z])(?:orders?|invoices?|isbn|issn|ean|upc|sku|serial|tickets?|case|id|uid|pid|uuid|tracking|parcel|accounts?|"
    r"acct|iban|bic|imei|ref|reference|zip|postal|version|build|timestamp|port|pmid|doi|arxiv|patent|issue|bug|commit|qq|"
    r"ssn|passport|isrc|vin|batch|model|part|code|key|hash|seed|offset|size|bytes|population|bestell\w*|kunden\w*|"
    r"rechnung\w*|konto\w*|blz)(?![a-z])|"
    r"订单|訂單|单号|編號|编号|运单|快递|流水|账号|帐号|帳號|身份证|证号|邮编|卡号|序列号|时间戳|版本|专利|学号|工号|群号|"
    r"发票|批号|条码|条形码|备案|代码|编码",
    re.IGNORECASE,
)
_NUMBER_WORDS = dict.fromkeys(map(ord, "号號码碼是为為"))
_NAMED = 28  # code points before a number in which a word says what it is
_AFTER = re.compile(
    r"\s?(?:元|块|万|亿|円|₹|€|£|\$|%|％|美元|人民币|人次|人|个|次|件|吨|公里|USD|EUR|CNY|RMB|GBP|INR|JPY|Rs\b|"
    r"dollars?\b|euros?\b|km\b|kg\b|bytes\b|MB\b)"
)
_MONEY = re.compile(r"(?:[$€£¥￥₹#＃№@]|USD|EUR|CNY|RMB|GBP|INR|Rs\.?)\s?\Z")
_EXTENSION = re.compile(
    r"(?:[ \u00a0]?[,;]?[ ]?(?:extension|extn?|x|durchwahl|dw)\.?:?[ ]?|[ ]?[转轉]接?[ ]?|"
    r"[ ]?[（(]?(?:分机|分機|内线|內線)号?[:：]?[ ]?)[0-9]{1,6}(?![0-9A-Za-z_])",
    re.IGNORECASE,
)
_DIRECT = re.compile(r"[-\u2013][0-9]{1,4}(?![0-9A-Za-z_-])")  # a trailing direct-dial number: 010-55550100-801
_DATE = re.compile(
    rb"(?:19|20)\d\d[-./ ](?:0?[1-9]|1[0-2])[-./ ](?:0?[1-9]|[12]\d|3[01])(?!\d)|"
    rb"(?:0?[1-9]|[12]\d|3[01])[-./ ](?:0?[1-9]|[12]\d|3[01])[-./ ](?:(?:19|20)\d\d|\d\d)(?!\d)"
)
_RESERVED = re.compile(  # ranges kept for drama and tests that no plan assigns: Ofcom; NANP 555
    r"0?(?:7700900\d{3}|1632960\d{3}|3069990\d{3}|8081570\d{3}|9098790\d{3}|"
    r"(?:113|114|115|116|117|118|121|131|141|151|161|191)4960\d{3}|2079460\d{3}|2896496\d{3}|2920180\d{3})"
)
_UNIT = re.compile(  # what a number of figures counts or names; no phone number has it behind
    r"\s?(?:m|ft|feet|met(?:er|re)s?|miles?|yards?|series|range|units|items|users|people|customers|patients|words|"
    r"characters|pages|points|pieces|times|hours|steps|rpm|psi|hz|条|條|字|米|名|家|户|戶|种|種|篇|只|台|辆|套|页|分|步|年|"
    r"小时|系列|型号)(?![A-Za-z])",
    re.IGNORECASE,
)
_HOME = (44, 49, 91, 86)  # plans with the trunk prefix 0 that a national form is tried in
_LATIN_LETTER = re.compile(rb"[A-Za-z]")
_GROUP = re.compile(rb"[0-9]+")
_OPEN_ENDED = ("plus", "zeros", "trunk")  # forms that may run into the next number
_FORMS = ("plus", "zeros", "nanp", "mobile86", "trunk", "split91", "free", "bare", "local")


def _forms() -> str:
    dash = rf"\-{chr(DASH)}"
    space = f" {chr(SPACE)}"
    gap = f"[{space}.{dash}]"
    opening, closing = f"[({chr(OPEN)}]", f"[){chr(CLOSE)}]"
    loose = f"[{space}.{dash}/(){chr(OPEN)}{chr(CLOSE)}]{{0,3}}"
    forms = {
        "plus": rf"{opening}?\+[{space}]?{opening}?[0-9](?:{loose}[0-9]){{6,16}}",
        "zeros": rf"(?:00|011[{space}{dash}])[{space}]?[1-9](?:{loose}[0-9]){{7,15}}",
        "nanp": rf"(?:1{gap}?)?(?:{opening}[1-9][0-9]{{2}}{closing}[{space}]?{gap}?|[1-9][0-9]{{2}}[{space}.{dash}/])"
        rf"[0-9]{{3}}(?:{gap}|[{space}][{dash}][{space}])[0-9]{{4}}",
        "mobile86": rf"(?:86{gap}?)?1[3-9][0-9](?:{gap}?[0-9]{{4}}{gap}?[0-9]{{4}}|{gap}[0-9]{{3}}{gap}[0-9]{{5}})|"
        rf"86[{space}{dash}]{opening}?(?:10|2[0-9]|[3-9][0-9]{{2}}){closing}?[{space}{dash}][0-9]{{4}}{gap}?[0-9]{{3,4}}",
        "trunk": rf"{opening}?0[1-9](?:{closing}?[{space}]?[{dash}/.]?[{space}]?[0-9]){{7,14}}",
        "split91": rf"(?:91[{space}{dash}])?[6-9][0-9]{{4}}[{space}{dash}][0-9]{{5}}|91[{space}{dash}]?[6-9][0-9]{{9}}",
        "free": rf"400{gap}?(?:[0-9]{{3}}{gap}?[0-9]{{4}}|[0-9]{{4}}{gap}?[0-9]{{3}})|"
        rf"1?800{gap}?(?:[0-9]{{3}}{gap}?[0-9]{{3,4}}|[0-9]{{2}}{gap}?[0-9]{{4,5}})",
        "bare": r"1?[2-9][0-9]{9}",
        "local": rf"[2-9][0-9]{{2}}[{dash}][0-9]{{4}}|[2-9][0-9]{{3}}[{space}{dash}]?[0-9]{{4}}",
    }
    end = "(?:[^0-9A-WYZa-wyz_]|$)"  # an x may begin an extension
    ends = {name: "" if name in _OPEN_ENDED else end for name in _FORMS}
    alternatives = "|".join(f"(?:({forms[name]}){ends[name]})" for name in _FORMS[:-1])
    # A local number is one only after a word, so that the figures of a table are not even looked at.
    words = "".join(map(chr, (LATIN, LETTER, GLUED, MARK)))
    named = f"(?:[A-Za-z{words}][^0-9A-Za-z_+]{{1,12}}|[{words}])"
    return f"(?:^|[^0-9A-Za-z_+])(?:{alternatives})|{named}({forms['local']}){end}"


HINTS = (_forms(), NATIONAL)


@functools.cache
def _pattern():
    return pattern(HINTS[0])


def find_phones(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of phone numbers: international, US, UK, German, Indian and Chinese forms, with extensions."""
    spans: list[tuple[int, int]] = []
    search, at, previous = _pattern().search, 0, -1
    while match := search(folded, at):
        which = next(i for i in range(1, len(_FORMS) + 1) if match.start(i) >= 0)
        start, limit = match.span(which)
        form = _FORMS[which - 1]
        span = _number(form, text, folded, start, limit, previous)
        if span is None and form == "zeros" and folded[start + 1] != 0x30:
            span = _number("trunk", text, folded, start, limit, previous)  # 011 is also the area code of Delhi
        if span:
            spans.append(span)
            at = previous = span[1]
        else:
            first = _GROUP.search(folded, start)
            at = first.end() if first else limit
    return spans + find_national(text, folded, functools.partial(_end, "trunk", text, folded))


def _number(form: str, text: str, folded: bytes, start: int, limit: int, previous: int) -> tuple[int, int] | None:
    """Return the span of the number of this form that begins at `start`; `limit` is the end of the form's match."""
    words = _Words(text, start)
    if _linked(folded, start, previous, form, words) or _MONEY.search(text[max(0, start - 4) : start]):
        return None
    groups = [match.span() for match in _GROUP.finditer(folded, start, limit)]
    if is_digit(byte_at(folded, limit)):
        groups.pop()
        if form not in _OPEN_ENDED or not groups:
            return None
    open_ended = form in _OPEN_ENDED
    if len(groups) > 7 and all(end - begin <= 2 for begin, end in groups[:7]):
        return None
    groups = groups[:7] if open_ended else groups
    shortest = max(1, len(groups) - 3) if open_ended else len(groups)
    for judge, last in ((_assigned, shortest), (_likely, len(groups))) if open_ended else ((_assigned, shortest),):
        for n in range(len(groups), last - 1, -1):
            number = _Number(form, folded, start, groups[:n], words)
            if not 7 <= len(number.digits) <= 17:
                continue
            if judge(number):
                if words.other and form != "plus":
                    return None
                end = _end(form, text, folded, number.end)
                if end is not None:
                    unpaired = folded[start] in (0x28, OPEN) and not number.closed
                    return start + unpaired, end
    return None


class _Words:
    """What the words before a number say of it; looked for only when asked.

    named: a phone word stands before; near: it stands right before; other: a word for another kind of number does.
    """

    def __init__(self, text: str, start: int):
        self.text, self.head = text, text[max(0, start - _NAMED) : start]

    @functools.cached_property
    def _found(self) -> tuple[bool, bool, bool]:
        phone = other = -1
        for match in _WORD.finditer(self.head):
            phone = match.end()
        for match in _OTHER.finditer(self.head):
            other = match.end()
        between = self.head[max(phone, other) :].translate(_NUMBER_WORDS)
        near = max(phone, other) >= 0 and not any(c.isalnum() for c in between)
        return phone > other, phone > other and near, other > phone and near

    @property
    def named(self) -> bool:
        return self._found[0]

    @property
    def near(self) -> bool:
        return self._found[1]

    @property
    def loose(self) -> bool:
        """Only a word that has other uses stands before: reach, contact, text, 短信."""
        return _LOOSE.search(self.head) is not None

    @property
    def other(self) -> bool:
        return self._found[2]


class _Number:
    """A candidate: its digits and what separates them."""

    __slots__ = ("form", "digits", "gaps", "groups", "end", "closed", "crowded", "words", "dated", "folded", "counted")

    def __init__(self, form: str, folded: bytes, start: int, groups: list[tuple[int, int]], words: _Words):
        self.form, self.groups, self.words = form, groups, words
        self.end = groups[-1][1]
        self.digits = b"".join(folded[first:last] for first, last in groups).decode()
        self.gaps = b"".join(folded[a[1] : b[0]] for a, b in zip(groups, groups[1:], strict=False))
        inside = folded[start : self.end]
        self.closed = any(byte in inside for byte in (b")", bytes([CLOSE])))
        before, after = byte_at(folded, start - 1), byte_at(folded, self.end)
        spaces = (0x20, SPACE)
        self.crowded = (before in spaces and is_digit(byte_at(folded, start - 2))) or (
            after in spaces and is_digit(byte_at(folded, self.end + 1))
        )
        self.folded = folded
        self.counted = _UNIT.match(words.text, self.end) is not None
        self.dated = _DATE.match(folded, groups[0][0]) is not None

    @property
    def named(self) -> bool:
        return self.words.named

    @property
    def spaced(self) -> bool:
        """Only spaces or dots between the groups, as figures in a table have them."""
        return not self.closed and not any(byte in self.gaps for byte in (b"-", b"/", bytes([DASH])))

    @property
    def latin(self) -> bool:
        """Whether Latin letters stand near on its line and none of a script that is written without spaces."""
        first, last = self.groups[0][0], self.end
        around = (
            self.folded[max(0, first - 40) : first].rsplit(b"\n")[-1],
            self.folded[last : last + 40].split(b"\n")[0],
        )
        return not any(GLUED in part for part in around) and any(map(_LATIN_LETTER.search, around))


def _assigned(number: _Number) -> bool:
    """Whether a plan assigns the number and its form and surroundings speak for a phone number."""
    return _JUDGES[number.form](number)


def _plus(number: _Number) -> bool:
    parts = plan.split_code(number.digits)
    if parts is None or len(number.groups) > 7:
        return False
    code, national = parts
    return plan.is_valid(code, national) or (national[0:1] == "0" and plan.is_valid(code, national[1:]))


def _zeros(number: _Number) -> bool:
    digits = number.digits[3:] if number.digits.startswith("011") else number.digits[2:]
    parts = plan.split_code(digits)
    if parts is None or (number.crowded and number.spaced and not number.named):
        return False
    code, national = parts
    return plan.is_valid(code, national) or (national[0:1] == "0" and plan.is_valid(code, national[1:]))


def _nanp(number: _Number) -> bool:
    digits = number.digits[-10:]
    service = digits[0] in "48" and (plan.is_valid(86, digits) or plan.is_valid(91, number.digits))
    if service or plan.is_valid(1, digits):
        return not (number.crowded and number.spaced) or number.named
    if "1" in (digits[0], digits[3]) or digits[3] == "0":
        return number.closed or (number.named and not number.spaced)  # made up, as 123-456-7890
    led = len(number.digits) == 11
    return not number.spaced and (number.named or number.closed or led or digits.startswith("555"))


def _mobile86(number: _Number) -> bool:
    digits = number.digits if len(number.digits) == 11 else number.digits[2:]
    if number.gaps and number.spaced and number.crowded and not number.named:
        return False
    if not number.gaps and len(number.digits) == 11 and not number.named and number.latin:
        return False  # eleven digits in a text of Latin letters: limit: 13912345678
    return plan.is_valid(86, digits) or number.named


def _trunk(number: _Number) -> bool:
    digits, named = number.digits, number.named
    if not 9 <= len(digits) <= 12 or number.dated or b"/" in number.gaps.lstrip(b"/ "):
        return False
    if not number.words.named and [end - start for start, end in number.groups] == [5, 4]:
        return False  # a ZIP+4
    national = digits[1:]
    reserved = _RESERVED.fullmatch(digits) is not None
    if not reserved and not any(plan.is_valid(code, national) for code in _HOME):
        return False
    if named:
        return True
    if not number.gaps and not number.closed:
        return reserved or _bare_mobile(digits)
    pairs = len(number.groups) >= 4 and all(end - start <= 2 for start, end in number.groups)
    return not (pairs or (number.spaced and (number.crowded or b"." in number.gaps)))


def _bare_mobile(digits: str) -> bool:
    return len(digits) == 11 and digits[1] in "6789" and any(plan.is_valid(code, digits[1:]) for code in (44, 91))


def _split91(number: _Number) -> bool:
    if not plan.is_valid(91, number.digits[-10:]):
        return False
    led = len(number.digits) == 12 and number.gaps != b""  # by 91; without it 5-5 is as well a range of figures
    return number.named or (led and not number.crowded)


def _free(number: _Number) -> bool:
    digits = number.digits
    if not (number.gaps or number.named) or (number.spaced and number.crowded and not number.named):
        return False
    return any(plan.is_valid(code, digits) for code in (86, 91))


def _bare(number: _Number) -> bool:
    digits = number.digits
    return (plan.is_valid(1, digits[-10:]) or (len(digits) == 10 and plan.is_valid(91, digits))) and number.named


def _local(number: _Number) -> bool:
    digits = number.digits
    year = len(digits) == 8 and digits[:2] in ("19", "20")
    if year or number.crowded or not number.words.near or number.counted:
        return False
    # Two round figures are a range: reach 4500-5500, call 500-1000. 555-0100 is a number in every film.
    tens = len(number.groups) == 2 and digits[:3] != "555" and digits[-2:] == "00" and digits[:-4].endswith("0")
    return not (tens or (len(digits) == 8 and number.gaps and number.words.loose))


_JUDGES = {
    "plus": _plus, "zeros": _zeros, "nanp": _nanp, "mobile86": _mobile86, "trunk": _trunk, "split91": _split91,
    "free": _free, "bare": _bare, "local": _local,
}  # fmt: skip


def _likely(number: _Number) -> bool:
    """Whether a number that no plan assigns still has the length of one, where its form leaves little doubt."""
    digits = number.digits
    if number.form == "trunk":
        fits = 9 <= len(digits) <= 12 and any(plan.is_possible(code, digits[1:]) for code in _HOME)
        return fits and not number.dated and number.named
    if number.form == "zeros":
        if not (_RESERVED.fullmatch(digits[4:]) or number.named):
            return False
        digits = digits[3:] if digits.startswith("011") else digits[2:]
    parts = plan.split_code(digits)
    if parts is None or len(digits) < 9 or len(number.groups) > 7:
        return False
    return plan.is_possible(parts[0], parts[1].removeprefix("0"))


def _linked(folded: bytes, start: int, previous: int, form: str, words: _Words) -> bool:
    """Whether the number continues something before it: a decimal, a path, an identifier, a time."""
    before, beyond = byte_at(folded, start - 1), byte_at(folded, start - 2)
    if before in (0x2D, DASH):
        return is_word(beyond)
    if before == 0x2F and form != "plus" and is_word(beyond) and previous != start - 1:
        return not words.near  # a path: /text/01/02140000.html
    if before in b"./:":
        return is_digit(beyond) and previous != start - 1
    return before == 0x2C and is_digit(beyond) and form in ("bare", "local", "trunk") and previous != start - 1


def _end(form: str, text: str, folded: bytes, end: int) -> int | None:
    """Return the end with an extension, or None where the number goes on or is an amount."""
    extension = _EXTENSION.match(text, end) or (form in ("trunk", "free") and _DIRECT.match(text, end))
    if extension:
        end = extension.end()
    after, beyond = byte_at(folded, end), byte_at(folded, end + 1)
    if is_word(after) or _AFTER.match(text, end):
        return None
    if after in (0x2D, DASH) and is_word(beyond):
        return None
    if after == 0x2E and is_digit(beyond):
        return None
    return end
