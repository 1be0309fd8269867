"""SPDX licence expressions: is this one, and if not, which is meant."""

from __future__ import annotations

import re
from functools import cache

from license_expression import ExpressionError, ExpressionParseError, Licensing, get_spdx_licensing

from corpus_sql.validation import nearest, shown

# SPDX 2.3, annex D.4: a licence that is not on the list, named by whoever uses it
_OWN = re.compile(r"(DocumentRef-[A-Za-z0-9.-]+:)?LicenseRef-[A-Za-z0-9.-]+")


@cache
def _licensing() -> Licensing:
    return get_spdx_licensing()


def problem(expression: str) -> tuple[str, str] | None:
    """Return None for a valid SPDX licence expression, else what is wrong with it and what to write instead.

    The spelling of upper and lower case counts: `mit` and `MIT` would be two licences in every table.
    """
    not_one = f"{shown(expression)} is not an SPDX licence expression"
    own = "Write an identifier of spdx.org/licenses, or LicenseRef-<name> for a licence of another kind."
    licensing = _licensing()
    try:
        parsed = licensing.parse(expression, strict=True)
    except (ExpressionError, ExpressionParseError):
        return not_one, _nearest(expression) or own
    if parsed is None:
        return not_one, own
    for symbol in licensing.license_symbols(parsed):
        if symbol.key not in licensing.known_symbols and not _OWN.fullmatch(symbol.key):
            of_several = "" if symbol.key == expression else f": {symbol.key} is unknown"
            return not_one + of_several, _nearest(symbol.key) or own
    spelled = parsed.render()
    if spelled != expression and spelled.casefold() == " ".join(expression.casefold().split()):
        return f"{shown(expression)} is not spelled as SPDX does", f"Write {spelled}."
    return None


def _nearest(word: str) -> str:
    if word.startswith(("LicenseRef-", "DocumentRef-")):
        return ""
    symbols = _licensing().known_symbols
    known = {key.lower(): key for key in symbols if not key.startswith("LicenseRef-") and "exception" not in key}
    word = re.sub(r"(?i)[ _-]licen[cs]e$", "", word)
    spelled = re.sub(r"[ _]+", "-", word.lower())
    numbered = re.sub(r"([a-z])-?v?([0-9])", r"\1-\2", spelled)  # GPLv3, BSD3
    begun = [
        key for key in known if re.search("[0-9]$", numbered) and re.match(re.escape(numbered) + r"(?![0-9])", key)
    ]
    # CC0 is CC0-1.0
    close = (
        nearest(spelled, known, cutoff=0.9) or min(begun, key=len, default="") or nearest(spelled, known, cutoff=0.6)
    )
    return f"Did you mean {known[close]}?" if close and (known[close] == word or known[close] not in word) else ""
