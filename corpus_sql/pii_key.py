"""Secrets: vendors' tokens by their prefixes, JWTs, private keys, passwords in addresses, labelled secrets."""

from __future__ import annotations

import functools
import re

from corpus_sql.pii_fold import byte_at, is_word, pattern

_WORD = "[A-Za-z0-9_-]"
_HEX = "[0-9a-f]"
# Tokens whose prefix says what they are. The forms are those of the vendors' documentation; lengths are lower bounds
# where a vendor has changed them.
TOKENS = (
    r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}",  # AWS access key ids
    r"ABSK[A-Za-z0-9+/]{60,}={0,2}",  # Amazon Bedrock
    r"LTAI[A-Za-z0-9]{12,26}", r"AKID[A-Za-z0-9]{13,40}", r"AKLT[A-Za-z0-9_-]{20,60}", r"JDC_[A-Z0-9]{28}",  # CN clouds
    rf"AIza{_WORD}{{35}}", rf"ya29\.{_WORD}{{20,}}", rf"GOCSPX-{_WORD}{{20,}}", rf"1//0[a-z]?{_WORD}{{40,}}",  # Google
    r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",  # Azure client secrets
    rf"do[opr]_v1_{_HEX}{{64}}", rf"dapi{_HEX}{{32}}(?:-[0-9])?", rf"HRKU-{_WORD}{{36,}}", r"nfp_[A-Za-z0-9]{36,}",
    r"fo1_[A-Za-z0-9_-]{43}", rf"hv[bsr]\.{_WORD}{{20,}}", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}", rf"pul-{_HEX}{{40}}",  # hosting and operations
    r"gh[pousr]_[A-Za-z0-9]{36,}", r"github_pat_[A-Za-z0-9_]{22,}",  # GitHub
    rf"gl(?:pat|dt|rt|rtr|ptt|cbt|ft|imt|agent|oas|soat|ffct|wt)-{_WORD}{{20,}}(?:\.{_WORD}{{2,}})*",  # GitLab
    rf"GR1348941{_WORD}{{20}}", r"ATBB[A-Za-z0-9]{24,}", r"AT(?:ATT|CTT)3[A-Za-z0-9_=-]{50,}",  # Bitbucket, Atlassian
    rf"pypi-{_WORD}{{50,}}", r"npm_[A-Za-z0-9]{36,}", rf"rubygems_{_HEX}{{48}}", r"cio[A-Za-z0-9]{32}",
    rf"dckr_(?:pat|oat)_{_WORD}{{20,}}", rf"oy2{'[a-z0-9]'}{{43}}",  # package and image registries
    r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}", r"xapp-[0-9]-[A-Za-z0-9-]{20,}", r"xwfp-[A-Za-z0-9-]{20,}",
    r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}",  # Slack
    rf"https://(?:[a-z]+\.)?discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{{15,20}}/{_WORD}{{30,}}",
    rf"[MNO][A-Za-z0-9_-]{{23,27}}\.{_WORD}{{6}}\.{_WORD}{{27,45}}",  # Discord
    r"https://[a-z0-9-]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{40,}",
    rf"[0-9]{{8,10}}:{_WORD}{{35}}",  # Telegram bots
    r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}", r"whsec_[A-Za-z0-9+/]{24,}={0,2}",  # Stripe
    rf"sq0[a-z]{{3}}-{_WORD}{{22,43}}", rf"EAAA[a-zA-Z0-9_-]{{60}}", rf"shp(?:at|ca|pa|ss|ua|tka)_[A-Fa-f0-9]{{32}}",
    rf"access_token\$(?:production|sandbox)\$[0-9a-z]{{16}}\${_HEX}{{32}}", r"rzp_(?:live|test)_[A-Za-z0-9]{14,}",
    r"FLWSECK(?:_TEST)?-[0-9a-zA-Z]{12,}(?:-X)?", r"EZ[AT]K[A-Za-z0-9]{54}", r"(?:live|test)_[A-Za-z0-9]{35}",  # payment
    r"sk-(?:proj|svcacct|admin|None|service|live|test)-[A-Za-z0-9_-]{20,}", r"sess-[A-Za-z0-9]{40}",
    rf"sk-or-v1-{_HEX}{{32,}}", r"sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{20,}", r"sk-[A-Za-z0-9]{20,}",
    r"hf_[A-Za-z0-9]{30,}", r"api_org_[A-Za-z0-9]{34}", r"gsk_[A-Za-z0-9]{40,}", r"r8_[A-Za-z0-9]{37,}",
    r"pplx-[A-Za-z0-9]{40,}", r"xai-[A-Za-z0-9]{60,}", rf"nvapi-{_WORD}{{40,}}", r"tgp_v1_[A-Za-z0-9_-]{40,}",
    r"fw_[A-Za-z0-9]{22,}", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", r"jina_[A-Za-z0-9]{40,}", r"tvly-[A-Za-z0-9-]{30,}",
    r"voy?a?-?pa-[A-Za-z0-9_-]{40,}", r"wandb_v1_[A-Za-z0-9_]{40,}", rf"pcsk_[A-Za-z0-9_]{{50,}}",  # AI
    rf"SG\.{_WORD}{{16,32}}\.{_WORD}{{30,64}}", rf"key-{_HEX}{{32}}", rf"{_HEX}{{32}}-us[0-9]{{1,2}}",
    rf"x(?:keysib|smtpsib)-{_HEX}{{64}}-[A-Za-z0-9]{{16}}", rf"(?:SK|AC){_HEX}{{32}}", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}",
    r"EAA[A-Za-z0-9]{80,}", r"AAAAAAAAA[A-Za-z0-9%]{60,}",  # mail, messages, social
    r"gl(?:c|sa)_[A-Za-z0-9_+/]{30,}={0,2}", r"NRA[KL]-[A-Z0-9]{27}", r"NRJS-[a-f0-9]{19}", rf"PMAK-{_HEX}{{24}}-{_HEX}{{34}}",
    r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", r"ntn_[A-Za-z0-9]{40,}", r"secret_[A-Za-z0-9]{43}", rf"fig[dour]_{_WORD}{{20,}}",
    rf"pat[A-Za-z0-9]{{14}}\.{_HEX}{{64}}", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}",
    rf"sb[ps]_{_HEX}{{40}}", r"sb_secret_[A-Za-z0-9_-]{20,}", rf"[sp]k\.eyJ{_WORD}+\.{_WORD}{{20,}}", r"aio_[A-Za-z0-9]{28}",
    r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}", r"AGE-SECRET-KEY-1[A-Z0-9]{58}", r"ops_eyJ[A-Za-z0-9+/]{200,}={0,3}",
    r"EZAK[A-Za-z0-9]{54}", r"sha256~[A-Za-z0-9_-]{43}", r"phc_[A-Za-z0-9]{40,}", r"phx_[A-Za-z0-9]{40,}", r"cfut_[A-Za-z0-9]{40,}",
    r"AKCp[A-Za-z0-9]{60,}", r"tk-us-[A-Za-z0-9_-]{48}", r"CLOJARS_[a-z0-9]{60}", r"sk_[a-f0-9]{48}",
    rf"eyJ{_WORD}{{10,}}\.eyJ{_WORD}{{10,}}(?:\.{_WORD}{{10,}})?",  # JWT
    rf"eyJ{_WORD}{{10,}}(?:\.{_WORD}*){{3}}\.{_WORD}{{10,}}",  # JWE
)  # fmt: skip
_LABELLED = (
    r"(?:AccountKey|SharedAccessKey|SharedSecret)=([A-Za-z0-9+/]{40,}={0,2})",  # Azure connection strings
    r"[?&;]sig=([A-Za-z0-9%+/]{40,}(?:%3[dD]|=){0,2})",  # signed Azure addresses
    r"(?i:aws|secret)[^\n<>]{0,30}?[\"'=: ]([A-Za-z0-9/+]{40})",  # AWS secret keys
    r"(?i:authorization)[\"']?\s?[:=]\s?[\"']?(?i:bearer|basic|token)\s+([A-Za-z0-9._~+/-]{16,}={0,2})",
    r"[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s:@/<>\"']{0,64}:([^\s@/<>\"'{}$]{1,128})@",  # a password in an address
    r"(?i:api[_-]?key|apikey|secret|token|passwd|password|pwd|access[_-]?key|private[_-]?key|credentials?)"
    r"[\"']?\s{0,3}(?:=>|:=|=|:)\s{0,3}[\"'`]([A-Za-z0-9_+/.~-]{20,128}={0,2})[\"'`]",
)
_SECRET_40, _ASSIGNED, _PASSWORD = 2, 5, 4  # places in _LABELLED that need a second look
_BEGIN = r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----|---- BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY ----"
_END = _BEGIN.replace("BEGIN", "END")
_BODY = re.compile(r"[A-Za-z0-9+/=]{16}")
_TORN = re.compile(r"(?:[A-Za-z-]{4,20}: [^\n<>]{1,80}\s{1,2}|(?:\\n|\\r|\s){0,4}[A-Za-z0-9+/=]{16,}|\s{0,4}[A-Za-z0-9+/=]{2,15}(?=\s|$))+")
_MASKED = re.compile(r"x{6}|X{6}|\*{3}|\.{3}|0{12}|1234567890abcdef|(?i:your|placeholder|change_?me|redacted)")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@functools.cache
def _patterns():
    return (
        pattern(f"(?:^|[^A-Za-z0-9_])({'|'.join(TOKENS)})"),
        tuple(map(pattern, _LABELLED)),
        pattern(f"({_BEGIN})|({_END})"),
    )


def find_keys(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of secrets. A private key is one span from BEGIN to END; public keys and certificates stay."""
    tokens, labelled, marks = _patterns()
    spans = _blocks(text, folded, marks) if b"PRIVATE KEY" in folded else []
    at = 0
    while match := tokens.search(folded, at):
        start, end = match.span(1)
        if not is_word(byte_at(folded, end)) and _plausible(text[start:end]):
            spans.append((start, end))
            at = end
        else:
            at = start + 3
    for place, search in enumerate(labelled):
        for match in search.finditer(folded):
            start, end = match.span(1)
            value = text[start:end]
            if not text[match.start() : end].isascii() or not _fits(place, value, folded, start, end):
                continue
            spans.append((start, end))
    return spans


def _plausible(token: str) -> bool:
    """Whether a token is one: ASCII in the text itself, neither masked nor the same few characters over and over."""
    body = token[4:]
    if not token.isascii() or _MASKED.search(body) or len(set(body)) < 6:
        return False
    return not token.startswith("sk-") or any(c.isdigit() for c in body)


def _fits(place: int, value: str, folded: bytes, start: int, end: int) -> bool:
    if place == _PASSWORD:
        return not re.fullmatch(r"[*.x%]+|%[a-z]", value)
    lower, upper, digit = (any(map(test, value)) for test in (str.islower, str.isupper, str.isdigit))
    if _MASKED.search(value) or len(set(value)) < 8:
        return False
    if place == _SECRET_40:
        after = byte_at(folded, end)
        return lower and upper and digit and not is_word(after) and after not in b"/+="
    if place == _ASSIGNED:
        return digit and (lower or upper) and not _UUID.fullmatch(value)
    return True


def _blocks(text: str, folded: bytes, marks) -> list[tuple[int, int]]:
    """Return PEM and PGP private keys: BEGIN to the next END, or BEGIN and the lines of a key that was cut off."""
    spans, begin = [], None
    found = [(match.start(), match.end(), match.start(1) >= 0) for match in marks.finditer(folded)]
    for start, end, begins in [*found, (len(text), len(text), True)]:
        if begins:
            if begin is not None:
                torn = _TORN.match(text, begin[1], start)
                if torn and _BODY.search(torn.group()):
                    spans.append((begin[0], torn.end()))
            begin = (start, end)
        elif begin is not None:
            body = text[begin[1] : start]
            if "<" not in body and ">" not in body and _BODY.search(body):
                spans.append((begin[0], end))
            begin = None
    return spans
