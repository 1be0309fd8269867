"""JSON Schema findings as sentences: which value, what is wrong with it, what to write instead.

A `$comment` in a schema says in words what its `type`, `pattern`, `not` or `propertyNames` asks for.
"""

from __future__ import annotations

import datetime
import difflib
import json
import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from corpus_sql.errors import ConfigError, Problem
from corpus_sql.pii_shown import without_pii
from corpus_sql.written_urls import in_text

_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "a table",
    "string": "a string",
}


_LONGEST = 60  # characters of a value or a key that a message repeats


class Finding(NamedTuple):
    """One thing wrong in a document: the path to the value (keys and list positions), the fact, the remedy."""

    path: tuple[str | int, ...]
    what: str
    fix: str


def _is_integer(_checker: Any, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)  # JSON Schema would take 1.0 for an integer


def _is_number(_checker: Any, value: Any) -> bool:
    # NaN is below no minimum and above no maximum: it would pass every limit
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterable[ValidationError]:
    # Python's $ also matches before a last line end, JSON Schema's does not
    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        yield ValidationError(f"does not match {pattern}")


def _names(validator: Any, rule: dict[str, Any], value: Any, _schema: Any) -> Iterable[ValidationError]:
    for name in value if isinstance(value, dict) else ():
        if next(validator.descend(name, rule), None):
            yield ValidationError("no such name", path=[name])


_Validator = extend(
    Draft202012Validator,
    validators={"pattern": _pattern, "propertyNames": _names},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": _is_integer, "number": _is_number}),
)


def findings(schema: dict[str, Any], document: Any) -> list[Finding]:
    """Return everything in which a document differs from a Draft 2020-12 schema, in order of path."""
    found = []
    for error in _Validator(schema).iter_errors(document):
        found += _sentences(error)
    return sorted(set(found), key=lambda one: ([str(part) for part in one.path], one.what))


def nearest(word: Any, known: Iterable[str], cutoff: float = 0.66) -> str:
    """Return the known word that is most like `word`, or an empty string when none is.

    cutoff: of difflib's ratio; at its own 0.6, stratify would be train.
    """
    if not isinstance(word, str) or len(word) > _LONGEST:
        return ""
    close = difflib.get_close_matches(word.lower(), sorted(known), n=1, cutoff=cutoff)
    return close[0] if close else ""


def did_you_mean(word: Any, known: Iterable[str]) -> str:
    """Return a sentence that proposes the nearest known word, or the one that it abbreviates, else lists them all."""
    known = sorted(known)
    close = nearest(word, known) or _abbreviated(word, known)
    if close:
        return f"Did you mean {close}?"
    return f"Known are: {', '.join(known)}." if known else ""


def _abbreviated(word: Any, known: list[str]) -> str:
    """Return the only known word with these letters in this order, from its first on: md is markdown."""
    if not isinstance(word, str) or not re.fullmatch("[A-Za-z]{2,8}", word):
        return ""
    letters = re.compile(".*".join(word.lower()))
    found = [one for one in known if letters.match(one)]
    return found[0] if len(found) == 1 else ""


def choice(where: str, value: str, known: Iterable[str]) -> None:
    """Raise ConfigError unless a value given at `where` is one of those known."""
    if value not in known:
        raise ConfigError(Problem(where, f"is {shown(value)}, which is not known", did_you_mean(value, known)))


def size_bytes(text: str) -> int | None:
    """Read a size such as 10GB, 512MiB or 4096, in powers of 1024; None for what is no size."""
    match = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,18})?) *([kmgt]?)(?:i?b)?", text.strip().lower())
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2] or " ")) if match else None


def shown(value: Any) -> str:
    """Return a value as it would be written, without personal data and what signs a URL, cut to about 60 characters."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, str):
        value = without_pii(in_text(value[: 4 * _LONGEST]), cut=len(value) > 4 * _LONGEST)
    if isinstance(value, str) and len(value) > _LONGEST - 2:
        value = value[: _LONGEST - 5] + "..."
    return cut(in_text(json.dumps(value, ensure_ascii=False, default=str)))


def cut(text: str) -> str:
    """Return a text cut to 60 characters."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def size_of(size: int) -> str:
    """Spell a size in bytes."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size:,} bytes"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: 1 file, 2,000 files, 2 records of type request."""
    if n == 1:
        return f"1 {noun}"
    head, of, rest = noun.partition(" of ")
    return f"{n:,} {head}s{of}{rest}"


def _sentences(error: ValidationError) -> list[Finding]:
    path, value, rule = tuple(error.absolute_path), error.instance, error.validator_value
    match error.validator:
        case "required":
            return [Finding((*path, key), "is missing", "") for key in rule if key not in value]
        case "additionalProperties":
            known = list(error.schema.get("properties", ()))
            patterns = error.schema.get("patternProperties", ())
            extras = [key for key in value if key not in known and not _matches(patterns, key)]
            return [Finding((*path, key), "is not a known key", did_you_mean(key, known)) for key in extras]
        case "uniqueItems":
            twice = [item for i, item in enumerate(value) if item in value[:i]]
            return [Finding(path, f"names {shown(item)} twice", "Name it once.") for item in twice]
        case "enum":
            fix = (
                did_you_mean(value, rule) if isinstance(value, str) else f"Write one of: {', '.join(map(shown, rule))}."
            )
            return [Finding(path, f"is {shown(value)}, which is not known", fix)]
        case "type" | "not":
            return [Finding(path, f"is {shown(value)}, not {error.schema.get('$comment') or _kinds(rule)}", "")]
        case "pattern":
            form = error.schema.get("$comment") or f"of the form {cut(rule)}"
            return [Finding(path, f"is {shown(value)}, not {form}", "")]
        case "propertyNames":
            return [Finding(path, f"is not {rule.get('$comment') or 'a name that may stand here'}", "")]
        case "const":
            return [Finding(path, f"is {shown(value)}, not {shown(rule)}", f"Write {shown(rule)}.")]
        case "minLength" | "minItems" | "minProperties":
            return [Finding(path, "is empty" if not value else f"has {_size(value)}, fewer than {rule}", "")]
        case "maxLength" | "maxItems" | "maxProperties":
            return [Finding(path, f"has {_size(value)}, more than {rule}", "")]
        case "minimum":
            return [Finding(path, f"is {shown(value)}, less than {rule}", "")]
        case "exclusiveMinimum":
            return [Finding(path, f"is {shown(value)}, not greater than {rule}", "")]
        case "maximum":
            return [Finding(path, f"is {shown(value)}, more than {rule}", "")]
        case "exclusiveMaximum":
            return [Finding(path, f"is {shown(value)}, not less than {rule}", "")]
    return [Finding(path, f"is {shown(value)}, which is not allowed here", "")]


def _size(value: Any) -> str:
    return counted(len(value), "character" if isinstance(value, str) else "member")


def _kinds(types: Any) -> str:
    names = [types] if isinstance(types, str) else types if isinstance(types, list) else []
    return " or ".join(_TYPES[one] for one in names) or "what may stand here"


def _matches(patterns: Iterable[str], key: str) -> bool:
    return any(re.search(pattern, key) for pattern in patterns)
