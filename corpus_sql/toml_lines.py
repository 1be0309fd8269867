"""Where in a TOML text a table or a key stands; tomllib gives no positions."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping

Where = tuple[str, ...]  # ("gopher", "zh", "min_n_words")

_KEY_PART = re.compile(r"""[ \t]*([A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')[ \t]*(\.?)""")
# What a value is made of besides brackets and line ends; a multi-line string may end with up to two quotes of its own
_SKIP = re.compile(
    r'''"""(?:[^\\]|\\.)*?"{3,5}|"(?:[^"\\]|\\.)*"|'''
    r"""'''.*?'{3,5}|'[^']*'|"""
    r"""\#[^\n]*|[^"'\#\[\]{}\n]+""",
    re.DOTALL,
)


def key_lines(text: str) -> dict[Where, int]:
    """Return the line, from 1, of every table header and every key of a valid TOML text.

    Keys inside an inline table have none of their own: `line_of` gives the line of their table.
    """
    lines: dict[Where, int] = {}
    table: Where = ()
    at = 0
    starts = [match.end() for match in re.finditer("\n", text)]
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] == "#":
            at = _line_end(text, at)
        elif text[at] == "[":
            table, end = _key(text, at + (2 if text.startswith("[[", at) else 1))
            lines.setdefault(table, bisect_right(starts, at) + 1)
            at = _line_end(text, end)
        else:
            key, end = _key(text, at)
            line = bisect_right(starts, at) + 1
            for n in range(1, len(key) + 1):
                lines.setdefault(table + key[:n], line)
            at = _value_end(text, end + 1)
    return lines


def line_of(lines: Mapping[Where, int], where: Where) -> int | None:
    """Return the line of a key, else of the table it would stand in, else None."""
    return next((lines[where[:n]] for n in range(len(where), 0, -1) if where[:n] in lines), None)


def _key(text: str, at: int) -> tuple[Where, int]:
    parts = []
    while True:
        match = _KEY_PART.match(text, at)
        part = match[1]
        parts.append(tomllib.loads(f"k={part}")["k"] if part[0] in "\"'" else part)
        at = match.end()
        if not match[2]:
            return tuple(parts), at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value_end(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        if match := _SKIP.match(text, at):
            at = match.end()
            continue
        if text[at] == "\n" and depth == 0:
            return at
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(text[at], 0)
        at += 1
    return at
