"""A URL as it may be written down or said: without the user name, the password and what signs or opens it.

Ledgers, raw files and messages are published or passed on, and a signed URL opens its file to whoever reads it.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

# A parameter is secret if one of these is a word of its name: X-Amz-Security-Token, AWSAccessKeyId, api_key, sig.
# The names are those of S3, Google Cloud Storage, Azure's SAS, CloudFront, Akamai and OAuth 2.0
_WORDS = frozenset(
    "signature sig hmac token credential credentials secret password passwd pwd key apikey auth authorization jwt "
    "session sessionid googleaccessid policy hdnts hdnea".split()
)
_ENDS = ("token", "signature", "secret", "password", "apikey", "accesskey", "accessid", "keyid")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Up to the last @ before the path; a password may hold a bare /, then what follows the colon is no port
_USER = re.compile(
    r"(?:(?<=//)[^/?#]*@|(?<=//)[^/?#@:\[]+:(?!\d*(?:[/?#]|$))[^?#]*@|^[^/?#:]+:(?!//)[^/?#]*@)", re.DOTALL
)
_QUERY = re.compile(r"\?([^#]*)", re.DOTALL)
_FRAGMENT = re.compile(r"#(.*)", re.DOTALL)
_SLASH = re.compile(r"^[\"']?[a-z][a-z0-9+.-]+:/(?=[^/])")  # what a path makes of https://
_BETWEEN = re.compile(r"[^\s\"'<>()]+")


def written(url: str) -> str:
    """Return a URL without user-info and secret parameters; everything else stays as it is, in its order."""
    url = _USER.sub("", url)
    url = _QUERY.sub(lambda found: _without_secrets("?", found[1]), url)
    return _FRAGMENT.sub(lambda found: _without_secrets("#", found[1]), url)


def in_text(text: str) -> str:
    """Return a message with each URL, and each user:password@host, in it as `written` has it."""
    return _BETWEEN.sub(lambda found: _spoken(found[0]), text)


def _spoken(word: str) -> str:
    if "@" in word:
        word = _SLASH.sub(lambda scheme: scheme[0] + "/", word)
    return written(word) if re.search(r"//|\?|[^:/@]:[^:/@]+@", word) else word


def _without_secrets(sign: str, query: str) -> str:
    parts = re.findall(r"(^|[&;])([^&;]*)", query)
    kept = [part for part in parts if not _is_secret(part[1])]
    if len(kept) == len(parts):
        return sign + query
    return sign + "".join(map("".join, kept)).lstrip("&;") if kept else ""


def _is_secret(part: str) -> bool:
    name, given, _ = part.partition("=")
    name = unquote(name).strip()
    words = {name.lower(), *(word.lower() for word in _WORD.findall(name))}
    return bool(given) and (bool(words & _WORDS) or name.lower().endswith(_ENDS))
