"""What a person is shown of a text: nothing personal. Every place that quotes a document asks here.

All kinds are scrubbed, also those that a build leaves in: a page or a terminal is passed on more freely than a corpus.
`sql`, `export` and `sample --format jsonl` give the build's own bytes and do not come here.
"""

from __future__ import annotations

import re

# Without one of these no kind matches, and the scrub and its libraries are not even loaded.
_MAY_HOLD = re.compile(r"\d|[@＠]|at[\])}]|&commat;|::|[A-Za-z0-9]{16}", re.IGNORECASE)
_TORN = re.compile(r"(?<![!-~])[!-~]{1,200}\Z")  # the last run of ASCII before a cut: half an address is one no longer


def without_pii(text: str, *, cut: bool = False) -> str:
    """Return a text with `<KIND>` for all personal data in it; cut: the text ends where it was cut, not by itself."""
    if not _MAY_HOLD.search(text):
        return text
    from corpus_sql.pii_scrub import FINDERS, scrub

    new, _ = scrub(text, tuple(FINDERS))
    new = text if new is None else new
    torn = _TORN.search(new) if cut else None
    if torn and _MAY_HOLD.search(torn[0]) and not torn[0].endswith(">"):
        new = new[: torn.start()]
    return new
