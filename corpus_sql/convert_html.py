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

_COMMENT = re.compile(rb"<!--.*?(?:-->|$)", re.DOTALL)
_META = re.compile(rb"<meta[\s/]([^>]{0,500})", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""([^\s"'>/=]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")
_IN_CONTENT = re.compile(rb"""charset\s*=\s*["']?\s*([^\s;"']+)""", re.IGNORECASE)
_XML = re.compile(rb"""^<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_:.-]{1,40})""")
_MARKUP = re.compile(rb"<[^<>]*>")  # no byte of a longer character of an encoding below is < or >
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_LETTER, _KANA, _SYLLABLES = map(re.compile, (r"[^\W\d_\x00-\x7f]", "[\u3041-\u30fa]", "[\uac00-\ud7a3]"))
_RUN = re.compile(r"(.)\1+")  # Korean laughs and cries in such (U+314B, U+3160), which EUC-JP has as kana
_LOOKED_AT = 4096  # bytes in which a page says how it is encoded; the standard asks for 1024, pages take more
# The encodings of the web (WHATWG Encoding Standard) by Python's names, where it means a larger one: by that
_SAME = (
    "utf-8 utf-16-le utf-16-be cp866 koi8-r koi8-u mac-roman mac-cyrillic cp874 gb18030 big5hkscs euc_jp iso2022_jp "
    "cp932 cp949 " + " ".join(f"cp{n}" for n in range(1250, 1259)) + " "
    "iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-15 "
    "iso8859-16"
).split()
_CODECS = dict.fromkeys(_SAME) | {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "euc_jp": "euc_jis_2004",  # has what Windows adds, such as (1) in a circle
    "utf-16": "utf-16-le",
}
# Names of the web that Python does not know, beside those that begin with x- and windows-
_ALSO = {"windows-31j": "cp932", "ks_c_5601-1989": "cp949", "ksc_5601": "cp949", "x-user-defined": "cp1252"}
# What charset-normalizer may find. Not UTF-16, which has a mark, and not what differs from these in rare signs alone
_FOUND = [
    *("gb18030", "big5hkscs", "cp932", "euc_jis_2004", "cp949"),
    *("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "cp874"),
]


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


def read(path: Path, max_bytes: int, limits: Count | None) -> Iterator[Record | Bad]:
    """One page a file; a page that cannot be decoded is Bad, and the import goes on without it."""
    content = content_of(path, max_bytes, limits, keep_mark=True)
    if isinstance(content, Bad):
        yield content
        return
    try:
        yield Record(None, fields(content))
    except ValueError as error:
        yield Bad(None, str(error), left_out=True)


def fields(content: bytes, charset: str | None = None) -> dict[str, Any]:
    """Return text, html_sha256 (of the bytes) and extractor; the text is empty where the page has none.

    charset: what the server said. Raises ValueError as `decoded` does.
    """
    found = {"html_sha256": hashlib.sha256(content).hexdigest(), "extractor": extractor()}
    html = decoded(content, charset)
    text = _trafilatura().extract(html, include_comments=False, deduplicate=False) if html.strip() else None
    return {"text": text or "", **found}


def decoded(content: bytes, charset: str | None = None, is_html: bool = True) -> str:
    """Return HTML, or text without markup, as text, in the encoding that a browser takes.

    That is the one of the byte order mark, the server (charset), the page; a name that is not known counts for nothing.
    Else UTF-8 if it is that, else what charset-normalizer finds. No character is replaced: raises ValueError where the
    bytes are not in the encoding that was named, or where none fits.
    """
    for mark, codec in _MARKS.items():
        if content.startswith(mark):
            return _decoded(content[len(mark) :], codec, codec)
    names = [charset or "", *(_claimed(content[:_LOOKED_AT]) if is_html else [])]
    for i, name in enumerate(names):
        if codec := _codec(name):
            in_ascii = i > 0 and codec.startswith("utf-16")  # it could be read as ASCII, so it is not UTF-16 (WHATWG)
            return _decoded(content, "utf-8" if in_ascii else codec, name)
    try:
        return content.decode()
    except UnicodeDecodeError:
        return _decoded(content, _detected(content), "in the encoding that was detected")


def _claimed(head: bytes) -> Iterator[str]:
    """What the meta elements of a page say, else its XML declaration."""
    for meta in _META.findall(_COMMENT.sub(b"", head)):
        found = {key.lower(): value.strip(b"\"'").strip() for key, value in reversed(_ATTRIBUTE.findall(meta))}
        inside = _IN_CONTENT.search(found.get(b"content", b""))
        if b"charset" in found:
            yield found[b"charset"].decode("latin-1")
        elif inside and found.get(b"http-equiv", b"").lower() == b"content-type":
            yield inside[1].decode("latin-1")
    if xml := _XML.search(head):
        yield xml[1].decode()


def _codec(name: str) -> str | None:
    """Return Python's name of the encoding of the web that is meant by a name, or None."""
    name = name.strip("\"' \t\r\n").lower()
    name = _ALSO.get(name, re.sub(r"^x-(?=sjis|euc-jp|gbk|cp|mac-)", "", name))
    name = re.sub(r"^(?:windows|dos)-(?=[0-9])", "cp", name)
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return (_CODECS[known] or known) if known in _CODECS else None


def _detected(content: bytes) -> str:
    """Return the codec that charset-normalizer finds; markup, which says nothing of it, is left out.

    It takes two of three short Japanese and Chinese texts for Korean, so two scripts speak first: where a decoding has
    kana it is Japanese, and what has few Hangul syllables in the Korean decoding is not Korean.
    """
    from charset_normalizer import from_bytes

    content = _MARKUP.sub(b" ", content)
    for codec in ("euc_jis_2004", "cp932"):
        if _share(content, codec, _KANA) >= 0.2:  # of 157 Japanese sentences the least is 0.27, of others the most 0
            return codec
    others = [one for one in _FOUND if one != "cp949" or _share(content, one, _SYLLABLES) >= 0.8]
    matches = from_bytes(content, cp_isolation=others, enable_fallback=False)
    best = matches.best()
    if best is None:
        raise ValueError("names no encoding, is not UTF-8, and no other could be detected")
    if best.encoding == "cp1250" and any(one.encoding == "cp1252" and one.chaos <= best.chaos for one in matches):
        return "cp1252"  # a short text fits both, and browsers take this one
    return {"gbk": "gb18030", "gb2312": "gb18030"}.get(best.encoding, best.encoding)


def _share(content: bytes, codec: str, letters: re.Pattern[str]) -> float:
    """Return which part these are of the letters beyond ASCII; 0 where there are none, or the codec does not fit."""
    try:
        found = _LETTER.findall(_RUN.sub("", content.decode(codec)))
    except UnicodeDecodeError:
        return 0.0
    return sum(map(bool, map(letters.match, found))) / max(1, len(found))


def _decoded(content: bytes, codec: str, name: str) -> str:
    try:
        return content.decode(codec, "c1" if codec.startswith("cp125") else "strict")
    except UnicodeDecodeError as error:
        what = f"is not {name}: byte {error.start} (0x{content[error.start]:02x})"
        raise ValueError(what) from None


def _c1(error: UnicodeError) -> tuple[str, int]:
    """Bytes 0x80 to 0x9f that have no character in a code page of Windows are controls (WHATWG)."""
    if isinstance(error, UnicodeDecodeError) and 0x80 <= error.object[error.start] <= 0x9F:
        return chr(error.object[error.start]), error.start + 1
    raise error


codecs.register_error("c1", _c1)
