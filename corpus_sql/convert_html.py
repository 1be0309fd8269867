"""HTML: the main text by trafilatura, with the hash of the HTML and the version of the extractor beside it."""

from __future__ import annotations

import codecs
import hashlib
import logging
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from corpus_sql.convert_text import content_of
from corpus_sql.errors import missing
from corpus_sql.import_inputs import Bad, Record
from corpus_sql.packed import Count

_META = re.compile(rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""^<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_:.-]{1,40})""")
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_LOOKED_AT = 4096  # bytes in which a page says how it is encoded; the standard asks for 1024, pages take more
# Names that mean a larger encoding on the web (WHATWG Encoding Standard); Python takes them for the smaller one
_LARGER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
}


@cache
def _trafilatura() -> Any:
    try:
        import trafilatura
    except ImportError:
        raise missing("trafilatura", "html", "html") from None
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # what it can't extract is said by an empty text
    return trafilatura


def extractor() -> str:
    """Return name and version of what takes the text out of HTML."""
    return f"trafilatura {_trafilatura().__version__}"


def read(path: Path, max_bytes: int, count: Count | None) -> Iterator[Record | Bad]:
    """One page a file; a page that is not in the encoding it claims is Bad."""
    content = content_of(path, max_bytes, count)
    if isinstance(content, Bad):
        yield content
        return
    try:
        yield Record(None, fields(content))
    except ValueError as error:
        yield Bad(None, str(error))


def fields(content: bytes, charset: str | None = None) -> dict[str, Any]:
    """Return text, html_sha256 (of the bytes) and extractor; the text is empty where the page has none.

    charset: what the server said. Raises ValueError where the bytes are not in the encoding that holds, with which one:
    byte order mark, server, page, else UTF-8. Nothing is guessed, and no character is replaced.
    """
    found = {"html_sha256": hashlib.sha256(content).hexdigest(), "extractor": extractor()}
    html = decoded(content, charset)
    text = _trafilatura().extract(html, include_comments=False, deduplicate=False) if html.strip() else None
    return {"text": text or "", **found}


def decoded(content: bytes, charset: str | None = None) -> str:
    """Return HTML as text; raises ValueError as `fields` does."""
    for mark, name in _MARKS.items():
        if content.startswith(mark):
            return _decoded(content[len(mark) :], name, name)
    head = content[:_LOOKED_AT]
    claimed = _XML.search(head) or _META.search(head)
    name = charset or (claimed[1].decode() if claimed else "utf-8")
    if not charset and name.lower().startswith("utf-16"):
        name = "utf-8"  # it could be read as ASCII, so it is not UTF-16 (WHATWG)
    try:
        known = codecs.lookup(name.strip("\"' ")).name
    except (LookupError, ValueError):
        raise ValueError(f"says it is encoded as {name!r}, which is not known") from None
    return _decoded(content, _LARGER.get(known, known), name)


def _decoded(content: bytes, codec: str, name: str) -> str:
    try:
        return content.decode(codec)
    except UnicodeDecodeError as error:
        what = f"is not {name}: byte {error.start} (0x{content[error.start]:02x})"
        raise ValueError(what) from None
    except (LookupError, TypeError):  # base64 and the like are codecs to Python
        raise ValueError(f"says it is encoded as {name!r}, which is no encoding of text") from None
