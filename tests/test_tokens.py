"""The one tokeniser: what a token is, and that the kernel sees the same tokens as the plain definition."""

from __future__ import annotations

import json
import random
import sys
import unicodedata

import pyarrow as pa
import pytest
import zstandard
from conftest import shared

from corpus_sql import tokens as module
from corpus_sql.tokens import ASSIGNED, SINGLES, TOKENS_PER_BYTE, gram_hash, hashes, token_hash, tokens

CASES = {
    "words, case and punctuation": ("Don't PANIC -- it's 42.", ["don", "t", "panic", "it", "s", "42"]),
    "an underscore separates": ("snake_case", ["snake", "case"]),
    "Han one by one": ("我爱Python编程3次", ["我", "爱", "python", "编", "程", "3", "次"]),
    "kana one by one": ("ひらがなカナ", ["ひ", "ら", "が", "な", "カ", "ナ"]),
    "half-width kana as full-width, the voiced mark joined": ("ｶﾞｷﾞ", ["ガ", "ギ"]),
    "Hangul by the word": ("한국어 문장", ["한국어", "문장"]),
    "Hangul from conjoining letters": ("\u1112\u1161\u11ab", ["한"]),
    "Devanagari keeps its vowel signs": ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
    "Thai by the character, marks with their base": ("ที่นี่", ["ที่", "นี่"]),
    "Thai SARA AM is a mark and a letter": ("น้ำ", ["น้\u0e4d", "\u0e32"]),
    "Khmer and Lao by the character": ("កា ລາວ", ["កា", "ລ", "າ", "ວ"]),
    "full-width forms as narrow ones": ("ＡＢＣ，１２", ["abc", "12"]),
    "sharp s folds to two letters": ("STRASSE straße", ["strasse", "strasse"]),
    "final sigma as sigma": ("ΛΟΓΟΣ λόγος", ["λογοσ", "λόγοσ"]),
    "accents count, however they are written": ("cafe\u0301 café cafe", ["café", "café", "cafe"]),
    "marks out of order are put in order": ("a\u0301\u0323", ["ạ\u0301"]),
    "one sign of several words": ("\ufdfa", ["صلى", "الله", "عليه", "وسلم"]),
    "one sign of four Han characters": ("㍿", ["株", "式", "会", "社"]),
    "Roman numeral and fraction": ("Ⅳ ½", ["iv", "1", "2"]),
    "a mark after a separator begins a token": ("- \u0301a", ["\u0301a"]),
    "a letter after a Han character begins a token, a mark does not": ("中a中\u0301", ["中", "a", "中\u0301"]),
    "a zero-width space separates, U+FE0F is a mark": ("a\u200bb c\ufe0fd", ["a", "b", "c\ufe0fd"]),
    "line ends do no more than a space": ("one\r\ntwo\u2028three", ["one", "two", "three"]),
    "NUL and noncharacters separate": ("a\x00b\uffffc", ["a", "b", "c"]),
    "nothing but punctuation": ("…!?", []),
    "empty": ("", []),
}


def definition(text: str) -> list[str]:
    """The contract's sentence, character by character."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    found: list[str] = []
    inside = alone = False  # inside a token; that token is a single character
    for character in text:
        category = unicodedata.category(character)[0]
        single = category != "M" and any(first <= ord(character) <= last for first, last in SINGLES)
        if category not in "LMN":
            inside = alone = False
        elif category == "M" and inside:
            found[-1] += character
        elif not inside or single or alone:
            found.append(character)
            inside, alone = True, single
        else:
            found[-1] += character
    return found


def kernel(texts: list[str], kind: pa.DataType | None = None) -> list[list[int]]:
    """The token hashes of each text."""
    found = []
    for chunk in hashes(pa.array(texts, kind or pa.string())):
        bounds = zip(chunk.starts, chunk.ends, strict=True)
        found += [chunk.hashes[start:end].tolist() for start, end in bounds]
    return found


def odd_texts(n: int) -> list[str]:
    """Short texts of a few code points each, rich in marks, jamo and signs that change when normalised."""
    chance = random.Random(20260102)
    assigned = [c for block in ASSIGNED for c in block if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    marks = [c for c in assigned if unicodedata.category(chr(c))[0] == "M" or 0x1100 <= c < 0x1200]
    changing = [c for c in assigned if not unicodedata.is_normalized("NFKC", chr(c)) or chr(c).casefold() != chr(c)]
    found = []
    for _ in range(n):
        few = (
            chance.choices(assigned, k=6) + chance.choices(changing, k=6) + chance.choices(marks, k=chance.randrange(8))
        )
        few += [0x20, 0x41, 0x4E2D]
        found.append("".join(map(chr, chance.choices(few, k=chance.randrange(30)))))
    return found


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_what_a_token_is(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected
    assert kernel([text]) == [[token_hash(token) for token in expected]]


def test_every_text_has_the_tokens_of_the_definition() -> None:
    texts = odd_texts(8_000)
    cache: dict[str, int] = {}
    for text, found in zip(texts, kernel(texts), strict=True):
        expected = definition(text)
        assert tokens(text) == expected, ascii(text)
        assert found == [cache.setdefault(t, token_hash(t)) for t in expected], ascii(text)


def test_every_code_point_alone_and_after_a_letter() -> None:
    texts = [chr(c) for block in ASSIGNED for c in block if not 0x3400 <= c < 0xD7A4 and not 0x20000 <= c < 0x32000]
    texts += ["é" + text for text in texts]
    cache: dict[str, int] = {}
    for text, found in zip(texts, kernel(texts), strict=True):
        assert found == [cache.setdefault(t, token_hash(t)) for t in definition(text)], ascii(text)


def test_the_tables_cover_all_of_unicode() -> None:
    covered = {code for block in ASSIGNED for code in block}
    left_out = {unicodedata.category(chr(code)) for code in range(0x110000) if code not in covered}
    assert left_out == {"Cn", "Co", "Cs"}


def test_room_for_tokens_suffices() -> None:
    most = max(
        len(tokens(chr(code))) / len(chr(code).encode())
        for block in ASSIGNED
        for code in block
        if not unicodedata.is_normalized("NFKC", chr(code))
    )
    assert most == TOKENS_PER_BYTE


def test_a_gram_is_hashed_from_its_bytes() -> None:
    a, b = token_hash("深"), token_hash("sea")
    assert gram_hash("深 sea".encode()) == module.fmix64((a * module.BASE + b) % 2**64)
    assert gram_hash(b"x") != gram_hash(b"x x")


def test_a_text_has_the_same_tokens_in_any_company(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text for text, _ in CASES.values()] * 3
    alone = [kernel([text])[0] for text in texts]
    assert kernel(texts) == alone
    assert kernel(texts, pa.large_string()) == alone
    monkeypatch.setattr(module, "CHUNK", 16)
    assert kernel(texts) == alone


def test_null_empty_and_sliced_arrays() -> None:
    array = pa.array(["x", None, "", "a b", "cafe\u0301", None]).slice(1, 4)
    (chunk,) = hashes(array)
    assert (chunk.ends - chunk.starts).tolist() == [0, 0, 2, 1]
    assert chunk.valid.tolist() == [False, True, True, True]
    assert list(hashes(pa.array([], pa.string()))) == []
    assert [c.hashes.tolist() for c in hashes(pa.array([None], pa.string()))] == [[]]


def test_real_texts_have_the_tokens_of_the_shared_reference() -> None:
    folder = shared("data", "slice-small", "corpus", "raw")
    sys.path.insert(0, str(shared("checks")))
    try:
        from shingles import contract_tokens
    finally:
        sys.path.pop(0)
    texts = []
    for path in sorted(folder.rglob("*.zst")):
        lines = (
            zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True).read().split(b"\n")
        )
        texts += [json.loads(line)["text"] for line in lines[::4] if line.strip()]
    cache: dict[str, int] = {}
    assert len(texts) > 400
    for text, found in zip(texts, kernel(texts), strict=True):
        expected = contract_tokens(text)
        assert tokens(text) == expected
        assert found == [cache.setdefault(t, token_hash(t)) for t in expected]


def test_a_flood_of_marks_has_its_tokens_in_linear_time() -> None:
    flood = "\u0f74\u0f72\u0f71" * 100_000  # put in order one by one this took minutes
    (found,) = kernel(["x " + flood])
    assert len(found) == 2
    assert tokens("x " + flood)[0] == "x"
