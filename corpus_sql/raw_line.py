"""One line of a raw file: a document, or the reason why it is none.

`parse` takes orjson's word where that is sound, which is nearly always, and else scans the line by the grammar of
RFC 8259, token by token. The scan is the definition; the fast way must agree with it (tests compare the two).

Faults in order of precedence, the first one is the row's reason:

    invalid_utf8               the line is not UTF-8 (overlong forms, surrogates and bytes beyond U+10FFFF are none)
    invalid_json, too_deep     whichever comes first in the line; too_deep: more than 1,024 nested arrays and objects
    lone_surrogate             a \\ud800..\\udfff escape without its partner, anywhere: legal JSON, but no text
    not_an_object
    duplicate_key              a name twice in one object at any depth; names are compared after unescaping
    missing_<field>, null_<field>, <field>_not_string      for url, fetched_at, license_spdx, text in this order
    <field>_not_string, parent_ids_not_strings             for the optional fields, where they are neither null nor that
    invalid_fetched_at         no RFC 3339 date-time in UTC, see `is_utc`
    license_mismatch           differs from the licence of the ledger row, to the letter
    empty_text                 nothing but white space and default-ignorable characters

Of the fields' faults the detail names all, not only the first. Nothing is repaired.

Fields of other names become `extra`: one JSON object as text, members in the order of the line, no white space, strings
written by orjson, numbers exactly as they stood (1.0, 1e999 and integers of any length keep every character).
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from corpus_sql.raw_fields import KINDS, KNOWN, OPTIONAL, REQUIRED, Document, Fault, document

MAX_DEPTH = 1024  # orjson's own limit, so that both ways agree
DUMP_DEPTH = 200  # orjson writes at most 254 levels; deeper values are written by the scan


def parse(line: bytes, license_spdx: str) -> Document | Fault:
    """Read one line (without its line end, not blank) of a source whose ledger row says `license_spdx`."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        return parse_exactly(line, license_spdx)
    if type(fields) is not dict:
        return parse_exactly(line, license_spdx)
    keys = len(fields)
    extra = None
    if not fields.keys() <= KNOWN:
        others = {key: value for key, value in fields.items() if key not in KNOWN}
        nested, is_as_written = _below(list(others.values()), line)
        if nested < 0:
            return parse_exactly(line, license_spdx)
        keys += nested
        if not is_as_written:
            try:
                others = {key: value for key, value in _LITERAL.decode(line.decode()).items() if key not in KNOWN}
            except RecursionError:
                return parse_exactly(line, license_spdx)
        extra = orjson.dumps(others).decode()
    if _has_duplicate(line, keys):
        return parse_exactly(line, license_spdx)
    return document(fields, extra, license_spdx)


def parse_exactly(line: bytes, license_spdx: str) -> Document | Fault:
    """The same as `parse` by the scan alone: any line, some ten times slower."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return Fault("invalid_utf8", f"byte 0x{line[error.start]:02x} at byte {error.start}: {error.reason}")
    members = _scan(line)
    if isinstance(members, Fault):
        return members
    fields = {name: _value(members.pop(key)) for name, key in _KEYS.items() if key in members}
    extra = b",".join(key + b":" + b"".join(map(_canonical, tokens)) for key, tokens in members.items())
    return document(fields, f"{{{extra.decode()}}}" if members else None, license_spdx)


_KEYS = {name: orjson.dumps(name) for name in REQUIRED + OPTIONAL}
_QUOTE_COLON = re.compile(rb'"[ \t\r]*+:')
_MINUS_ZERO = re.compile(rb"[\[:, \t\r]-0")
_LITERAL = json.JSONDecoder(parse_float=orjson.Fragment, parse_int=orjson.Fragment)  # numbers stay as written


def _below(level: list[Any], line: bytes) -> tuple[int, bool]:
    """Return (number of keys of the objects below these values, or -1 where they are too deep for orjson to write;
    whether orjson would write all numbers as they stood)."""
    keys, is_as_written = 0, True
    for _ in range(DUMP_DEPTH):
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is str or kind is bool or value is None:
                continue
            if kind is dict:
                keys += len(value)
                below += value.values()
            elif kind is list:
                below += value
            elif is_as_written:
                is_as_written = kind is int and (value != 0 or not _MINUS_ZERO.search(line))
        if not below:
            return keys, is_as_written
        level = below
    return -1, False


def _has_duplicate(line: bytes, keys: int) -> bool:
    """Say whether an object of a valid line may name a member twice, where orjson kept `keys` names in all objects.

    Each member has a quote and a colon with nothing but white space between. More such places than names are no proof
    yet: a text may hold some, nearly always with an escaped quote, one after an odd number of backslashes.
    """
    if len(_QUOTE_COLON.findall(line)) == keys:
        return False
    unescaped = 0
    for match in _QUOTE_COLON.finditer(line):
        start = at = match.start()
        while line[at - 1] == 0x5C:  # a backslash; the line begins with none
            at -= 1
        unescaped += (start - at) % 2 == 0
    return unescaped != keys


_BODY = rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+'
_STRING_BODY = re.compile(_BODY)
_SPACE = re.compile(rb"[ \t\r\n]*+")
_TOKEN = re.compile(
    rb"[ \t\r\n]*+(?:"
    rb'("' + _BODY + rb'")'
    rb"|(-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null)"
    rb"|([\[{])|([\]}])|(,)|(:))"
)
_STRING, _SCALAR, _OPEN, _CLOSE, _COMMA, _COLON = range(1, 7)
_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _AFTER_KEY, _AFTER_VALUE = range(6)
_EXPECTED = (
    "a value",
    "a value or ]",
    "a key",
    "a key or }",
    "a colon",
    "a comma or the end of the array or object",
)
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u([dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


def _canonical(token: bytes) -> bytes:
    """Write a string as orjson does; other tokens stay."""
    if token[0] != 0x22 or b"\\" not in token:
        return token
    return orjson.dumps(orjson.loads(token))


def _name(token: bytes) -> bytes:
    try:
        return _canonical(token)
    except orjson.JSONDecodeError:  # a lone surrogate, which is found after the scan
        return token


def _scan(line: bytes) -> dict[bytes, list[bytes]] | Fault:
    """Return {name as canonical JSON: tokens of its value} of the object that the line (valid UTF-8) is, or the fault.

    Iterative: memory grows with the line, the Python stack does not.
    """
    members: dict[bytes, list[bytes]] = {}
    seen: list[set[bytes] | None] = []  # for each open object the names so far, for an open array None
    tokens: list[bytes] = []
    duplicate: Fault | None = None
    is_object = False
    position, state = 0, _VALUE
    while True:
        match = _TOKEN.match(line, position)
        kind = match.lastindex if match else 0
        token = match[kind] if match and kind else b""
        if state in (_VALUE, _VALUE_OR_END) and kind in (_STRING, _SCALAR):
            tokens.append(token)
            state = _AFTER_VALUE
        elif state in (_VALUE, _VALUE_OR_END) and kind == _OPEN:
            if len(seen) == MAX_DEPTH:
                return Fault("too_deep", f"more than {MAX_DEPTH} nested arrays and objects at byte {match.start(kind)}")
            is_object = is_object or (not seen and token == b"{")
            tokens.append(token)
            seen.append(set() if token == b"{" else None)
            state = _KEY_OR_END if token == b"{" else _VALUE_OR_END
        elif state in (_KEY, _KEY_OR_END) and kind == _STRING:
            name = _name(token)
            if name in seen[-1] and duplicate is None:
                shown = name if len(name) <= 42 else name[:40] + b"..."
                at = match.start(kind)
                duplicate = Fault("duplicate_key", f"{shown.decode(errors='ignore')} again in its object at byte {at}")
            seen[-1].add(name)
            if len(seen) == 1:
                tokens = members[name] = []
            else:
                tokens.append(token)
            state = _AFTER_KEY
        elif state == _AFTER_KEY and kind == _COLON:
            if len(seen) > 1:
                tokens.append(token)
            state = _VALUE
        elif state == _AFTER_VALUE and kind == _COMMA and seen:
            if len(seen) > 1 or seen[-1] is None:
                tokens.append(token)
            state = _VALUE if seen[-1] is None else _KEY
        elif kind == _CLOSE and _may_close(state, seen, token):
            seen.pop()
            tokens.append(token)
            state = _AFTER_VALUE
        else:
            return _syntax(line, position, state, bool(seen))
        position = match.end()
        if not seen and state == _AFTER_VALUE:
            break
    rest = _SPACE.match(line, position).end()
    if rest < len(line):
        return Fault("invalid_json", f"expected the end of the line at byte {rest}, found {_shown(line, rest)}")
    lone = next((match for match in _ESCAPE.finditer(line) if match[1]), None) if b"\\u" in line else None
    if lone:
        return Fault("lone_surrogate", f"{lone[0].decode()} at byte {lone.start()} has no partner")
    if not is_object:
        return Fault("not_an_object", f"the line is {KINDS[type(_value(tokens))]}")
    if duplicate:
        return duplicate
    tokens.pop()  # the } of the line itself, which stands after the last member's value
    return members


def _may_close(state: int, seen: list[set[bytes] | None], token: bytes) -> bool:
    if not seen or (seen[-1] is None) != (token == b"]"):
        return False
    return state == _AFTER_VALUE or state == (_VALUE_OR_END if token == b"]" else _KEY_OR_END)


def _syntax(line: bytes, position: int, state: int, inside: bool) -> Fault:
    """Say what is wrong at the first token that does not fit."""
    at = _SPACE.match(line, position).end()
    expected = _EXPECTED[state] if inside else "an object"
    if at < len(line) and line[at] == 0x22:
        stop = _STRING_BODY.match(line, at + 1).end()
        if stop == len(line):
            return Fault("invalid_json", f"the string from byte {at} on does not end")
        if line[stop] < 0x20:
            return Fault("invalid_json", f"control character 0x{line[stop]:02x} inside a string at byte {stop}")
        if line[stop] == 0x5C:
            return Fault("invalid_json", f"invalid escape inside a string at byte {stop}")
    return Fault("invalid_json", f"expected {expected} at byte {at}, found {_shown(line, at)}")


def _shown(line: bytes, at: int) -> str:
    """Return the byte or the ASCII word at a place; no more than 10 bytes, since a detail is not for text."""
    if at == len(line):
        return "the end of the line"
    word = re.compile(rb"[!-~]{1,10}").match(line, at)
    return word[0].decode() if word else f"byte 0x{line[at]:02x}"


def _value(tokens: list[bytes]) -> Any:
    """Return the Python value; a number too large for a double, which no known field may be, becomes some number."""
    try:
        return orjson.loads(b"".join(tokens))
    except orjson.JSONDecodeError:
        return {b"[": [0.0], b"{": {}}.get(tokens[0], 0.0)
