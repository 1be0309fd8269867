"""Long documents, split by paragraphs as they are imported: the parent and its children are raw lines of their own.

A child is a piece of its parent's text, from the beginning of a paragraph to that of a later one; together they are the
whole text, character for character. It names its parent by the whole id and its place in it as `span`: [start, end], in
code points of the text in NFC, which is how a build reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from corpus_sql.raw_fields import is_empty, nfc


def spans(text: str, most: int) -> list[tuple[int, int]]:
    """Return the places (start, end) that a text is cut at, in order and without a gap; one if it is not cut.

    A paragraph ends with the blank lines behind it. Paragraphs are put together as long as they make at most `most`
    characters; one that is longer by itself is left whole.
    """
    found, start, end = [], 0, 0
    for begin in [*_paragraphs(text), len(text)]:
        if begin - start > most and end > start:
            found.append((start, end))
            start = end
        end = begin
    return [*found, (start, len(text))]


def _paragraphs(text: str) -> Iterator[int]:
    """Yield where each paragraph but the first begins: at a line with something on it, behind one with nothing."""
    at, blank, some = 0, False, False
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        if is_empty(text[at:end]):
            blank = some
        else:
            if blank:
                yield at
            blank, some = False, True
        at = end


def children(document: dict[str, Any], id: str, most: int) -> list[dict[str, Any]]:
    """Return the children of a raw document, none if its text is at most `most` characters or one paragraph.

    id: the whole id that its line will have. A child has the url, time, licence and group of its parent, and
    <record id>#<start>-<end> as its record id where the parent has one; other fields stay with the parent.
    """
    text = document["text"]
    if not isinstance(text, str) or len(text) <= most:
        return []
    text = nfc(text)
    cut = spans(text, most)
    if len(cut) == 1:
        return []
    found = []
    for start, end in cut:
        child = {key: document[key] for key in ("url", "fetched_at", "license_spdx")}
        child["text"] = text[start:end]
        if record := document.get("source_record_id"):
            child["source_record_id"] = f"{record}#{start}-{end}"
        child["parent_ids"] = [id]
        if document.get("group_id") is not None:
            child["group_id"] = document["group_id"]
        found.append({**child, "span": [start, end]})
    return found
