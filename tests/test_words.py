"""Words, lines and repeats: named texts, and the kernel against a plain-Python reading of the same definitions."""

from __future__ import annotations

import random
import re
import tomllib
import unicodedata
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_sql.project import load_udf_file
from corpus_sql.text_counts import BULLETS, HAN_AND_KANA, SENTENCE_ENDS, UNSPACED, hash_text, stop_table
from corpus_sql.word_fold import fold

UDFS = Path(__file__).resolve().parents[1] / "udfs"
words_measure = load_udf_file(UDFS / "words.py").words_measure
repetition_measure = load_udf_file(UDFS / "repetition.py").repetition_measure

PAPER = "the be to of and that have with"


def measure(text: str, stop_words: str | None = PAPER) -> dict:
    """All counts of one text."""
    words = words_measure(pa.array([text]), pa.array([stop_words], pa.string()))[0].as_py()
    return words | repetition_measure(pa.array([text]))[0].as_py()


# --- words ----------------------------------------------------------------------------------------------------------

WORDS = {  # text: (words, words of one letter of a script without spaces, words with a letter)
    "": (0, 0, 0),
    " \t\n": (0, 0, 0),
    "The cat sat.": (3, 0, 3),
    "punctuation alone — is a word /": (7, 0, 5),
    "don't re-do it": (3, 0, 3),
    "no-break\u00a0space ideographic\u3000space": (4, 0, 4),
    "zero\u200bwidth joins": (2, 0, 2),
    "1984 and 42%": (3, 0, 1),
    "天气很好。": (4, 4, 4),
    "天气，很好！": (4, 4, 4),
    "天气 ， 很好": (5, 4, 4),  # punctuation apart is a word, as in English
    "Python语言": (3, 2, 3),
    "用Python3.12写": (3, 2, 3),
    "（Python）语言": (3, 2, 3),
    "第3章": (3, 2, 2),
    "ひらがなとカタカナー": (10, 10, 10),
    "ﾊﾞﾅﾅ": (3, 3, 3),  # half-width: the voicing mark belongs to the letter before
    "葛\U000e0100城": (2, 2, 2),  # a variation selector is a mark
    "\U00030000\U00020000": (2, 2, 2),
    "한국어 문장입니다.": (2, 0, 2),
    "भाषा में लिखा गया है।": (5, 0, 5),
    "ภาษาไทย": (7, 7, 7),
    "ที่นี่": (2, 2, 2),  # two letters with two marks each
    "ភាសាខ្មែរ": (5, 5, 5),
    "မြန်မာ": (3, 3, 3),
    "བོད་སྐད།": (4, 4, 4),
    "ሰላም፡ለዓለም": (2, 0, 2),
    "мир 世界 peace": (4, 2, 4),
}


@pytest.mark.parametrize("text", WORDS, ids=repr)
def test_words(text):
    found = measure(text)
    assert (found["n_words"], found["n_character_words"], found["n_alpha_words"]) == WORDS[text]


def test_hangul_words_and_characters_of_the_other_words():
    found = measure("서울은 Seoul 首都, big city")
    assert found["n_hangul_words"] == 1
    assert found["n_character_words"] == 2
    assert found["n_spaced_chars"] == len("Seoul") + len("big") + len("city")


MARKS = {  # text: ('#', ellipses)
    "# one ## two": (3, 0),
    "＃": (0, 0),
    "wait...": (0, 1),
    "wait.. no": (0, 0),
    "a run of dots ........ is one": (0, 1),
    "one … two … three": (0, 2),
    "还有……很多。。。": (0, 2),
    ". . .": (0, 0),
}


@pytest.mark.parametrize("text", MARKS, ids=repr)
def test_hashes_and_ellipses(text):
    found = measure(text)
    assert (found["n_hashes"], found["n_ellipses"]) == MARKS[text]


STOP_WORDS = {  # text: different stop words of the paper's list
    "The the THE": 1,
    "The.": 1,
    "(of) “and” that's": 2,
    "to be": 2,
    "tobe or not_to": 0,
    "用the一个of": 2,
}


@pytest.mark.parametrize("text", STOP_WORDS, ids=repr)
def test_stop_words_of_english(text):
    assert measure(text)["n_stop_words"] == STOP_WORDS[text]


def test_stop_words_are_those_of_the_row():
    texts = ["The cat and the dog", "Der Hund und die Katze", "的确是", "no list", None, "empty list"]
    lists = [PAPER, "der die und", "的 是 了", None, PAPER, ""]
    found = words_measure(pa.array(texts), pa.array(lists)).to_pylist()
    assert [row and row["n_stop_words"] for row in found] == [2, 3, 2, None, None, 0]


def test_stop_words_are_folded_and_composed_as_texts_are():
    text, listed = "ΚΑΙ Été হয়", "και e\u0301te\u0301 হয়"
    assert measure(unicodedata.normalize("NFC", text), listed)["n_stop_words"] == 3


FOLDED = {  # what: (text, stop words, different ones that are present)
    "Arabic, vocalised": ("مِنْ عَلَى هٰذَا كُلٌّ", "من على هذا كل", 4),
    "Arabic, Quranic marks": ("ٱلَّذِى لَا مَآ", "الذي لا ما", 3),
    "Arabic, stretched": ("فــــي مـــن", "في من", 2),
    "Arabic as typed in Egypt": ("فى التى إلى", "في التي إلى", 3),
    "Arabic presentation forms": ("ﻓﻲ ﻻ", "في لا", 2),
    "Hebrew, pointed": ("אֶת עַל כׇּל", "את על כל", 3),
    "Hebrew, cantillated": ("אֵ֥ת הָאָ֖רֶץ׃", "את הארץ", 2),
    "Hebrew presentation forms": ("שׁל ﬠל", "של על", 2),
    "Syriac, pointed": ("ܡܶܢ", "ܡܢ", 1),
    "Persian with Arabic letters": ("كه اين", "که این", 2),
    "Persian, joined or not": ("می‌شود آن‌ها", "میشود آنها", 2),
    "Urdu with Arabic letters": ("كى يه", "کی یہ", 2),
    "Yiddish digraphs": ("װאָס", "וואָס", 1),
    "Russian with stress marks": ("э́то что́ её", "это что ее", 3),
    "Greek, polytonic": ("καὶ τοῦ τῷ ἡ", "και του τω η", 4),
    "Greek, capitals": ("ΤΗΣ ΑΠΟ", "της από", 2),
    "German, sharp s": ("daß DASS", "dass", 1),
    "Turkish capitals": ("İÇİN KADIN", "için kadın", 2),
    "Romanian with cedilla": ("şi aceşti", "și acești", 2),
    "full-width Latin": ("ｔｈｅ ＡＮＤ", "the and", 2),
    "mathematical letters": ("𝐭𝐡𝐞 𝑎𝑛𝑑", "the and", 2),
    "ligatures": ("ﬁn", "fin", 1),
    "soft hyphens": ("th­e ha­ve", "the have", 2),
    "direction marks and joiners": ("‏the‎ a‍nd﻿", "the and", 2),
    "variation selectors": ("和︀ 與󠄀", "和 與", 2),
    "half-width kana": ("ｱﾒﾊ ｶｾﾞｶﾞ", "は が", 2),
    "half-width Hangul": ("ﾷￚﾩ ﾡￚﾩￜﾡￌ ﾷￆﾴﾧￂ", "을 그리고 없다", 3),  # final consonants, one of them a cluster
    "Hangul letters one by one": ("ㅇㅡㄴ ㄱㅏ", "은 가", 2),
    "a filler of half-width Hangul": ("ﾠﾷￚﾤ", "은", 1),
    "katakana": ("雨ハ風ガ", "は が", 2),
    "radicals of a PDF": ("⼀⼆", "一 二", 2),
    "a curly apostrophe": ("it’s", "it's", 1),
    # letters of the word, which are not set aside
    "Hindi vowel signs": ("की के", "का को", 0),
    "Thaana vowel signs": ("ދި", "ދު", 0),
    "Thai vowel signs": ("กี", "ก", 0),
    "kana with and without voicing marks": ("は か", "ば が", 0),
    "Hangul vowels": ("ﾷￚﾤ ﾡￂ", "운 거", 0),
    "Hangul with and without an initial ieung": ("간아", "가나", 0),
    "French accents": ("ou la", "où là", 0),
    "Vietnamese tones": ("có là", "cô la", 0),
    "a word of marks alone": ("ً the", "ـ the", 1),
}


@pytest.mark.parametrize("name", FOLDED)
def test_stop_words_are_compared_folded(name):
    text, listed, present = FOLDED[name]
    assert measure(unicodedata.normalize("NFC", text), listed)["n_stop_words"] == present


def test_no_two_stop_words_of_a_language_are_folded_into_one():
    tables = tomllib.loads((UDFS.parent / "configs" / "profiles.toml").read_text("utf-8"))["gopher"]
    lists = {lang: table.get("stop_words", []) for lang, table in tables.items() if isinstance(table, dict)}
    twice = {}
    for lang, words in lists.items():
        folded = [fold(unicodedata.normalize("NFC", word)) for word in words]
        twice |= {lang: found} if (found := {one for one in folded if folded.count(one) > 1}) else {}
    assert len(lists) > 50
    assert twice == {"ro": {"şi"}}  # one word in its two spellings


def test_a_stop_table_holds_every_hash_of_a_long_list():
    words = [f"w{i}" for i in range(300)]
    table = stop_table([words, ["a"]])
    assert table.shape == (2, 1024)
    assert set(table[0][table[0] != 0].tolist()) == set(map(hash_text, words))
    assert table[1].tolist().count(0) == 1023


# --- lines ----------------------------------------------------------------------------------------------------------

LINES = {  # text: (lines, of them with a bullet, of them ending in an ellipsis, paragraphs)
    "one": (1, 0, 0, 1),
    "one\ntwo": (2, 0, 0, 1),
    "one\r\ntwo\r\n": (2, 0, 0, 1),
    "one\rtwo\r": (2, 0, 0, 1),
    "one\n\ntwo": (2, 0, 0, 2),
    "one\r\n\r\ntwo": (2, 0, 0, 2),
    "one\r\rtwo": (2, 0, 0, 2),
    "one\n \t \ntwo\n\n\n\nthree\n": (3, 0, 0, 3),
    "one\u2028two\x0bthree\x85four": (1, 0, 0, 1),
    "- a\n * b\n• c\nd - e": (4, 3, 0, 1),
    "– said he\n— said she": (2, 0, 0, 1),  # dialogue, no bullets
    "a...\nb…  \nc... d\n…": (4, 0, 3, 1),
    "": (0, 0, 0, 0),
}


@pytest.mark.parametrize("text", LINES, ids=repr)
def test_lines_and_paragraphs(text):
    found = measure(text)
    assert (found["n_lines"], found["n_bullet_lines"], found["n_ellipsis_lines"], found["n_paragraphs"]) == LINES[text]


DUPLICATES = {  # text: (lines that stood before, their characters, paragraphs that stood before, their characters)
    "a b\nc\na b": (1, 2, 0, 0),
    "a b\na b\na b": (2, 4, 0, 0),
    "a b  \r\na b\r": (1, 2, 0, 0),  # neither line ends nor trailing white space count
    "Ab\nab": (0, 0, 0, 0),
    "x\n  x": (0, 0, 0, 0),  # indentation counts
    "\n\n\n\na": (0, 0, 0, 0),
    "a\nb\n\na\nb\n\nb\na": (4, 4, 1, 2),
    "a\n\nb": (0, 0, 0, 0),
    "ab\n\na\nb": (0, 0, 0, 0),
}


@pytest.mark.parametrize("text", DUPLICATES, ids=repr)
def test_duplicate_lines_and_paragraphs(text):
    found = measure(text)
    names = ("n_dup_lines", "n_dup_line_chars", "n_dup_paragraphs", "n_dup_paragraph_chars")
    assert tuple(found[name] for name in names) == DUPLICATES[text]


# --- n-grams --------------------------------------------------------------------------------------------------------


def test_an_ngram_that_occurs_once_is_no_top_ngram():
    found = measure("every word here is another one")
    assert [found[f"n_top_{n}gram_chars"] for n in (2, 3, 4)] == [0, 0, 0]


def test_the_longest_of_equally_frequent_ngrams_is_the_top_one():
    found = measure("a b long words x a b long words")
    assert found["n_top_2gram_chars"] == 2 * len("longwords")
    assert found["n_top_3gram_chars"] == 2 * len("blongwords")


def test_a_more_frequent_ngram_beats_a_longer_one():
    assert measure("a b x a b y a b z longer words q longer words")["n_top_2gram_chars"] == 3 * 2


def test_top_ngrams_that_overlap_cover_no_more_than_all_words():
    found = measure("spam " * 12)
    assert [found[f"n_top_{n}gram_chars"] for n in (2, 3, 4)] == [48, 48, 48]


def test_of_duplicate_ngrams_the_first_occurrence_is_none():
    found = measure("a b c d e f then a b c d e f")
    assert found["n_dup_5gram_chars"] == 6  # both 5-grams, a to e and b to f: each word once
    assert found["n_dup_6gram_chars"] == 6
    assert found["n_dup_7gram_chars"] == 0


def test_words_of_a_run_of_one_word_are_all_repeats_but_the_first():
    assert measure("ab " * 20)["n_dup_5gram_chars"] == 19 * 2
    assert measure("ab " * 20)["n_dup_10gram_chars"] == 19 * 2


def test_ngrams_cross_line_ends_and_words_are_not_glued():
    assert measure("a b c d e\n\na b c d e")["n_dup_5gram_chars"] == 5
    assert measure("ab cd ef gh ij then a bc de fg hij")["n_dup_5gram_chars"] == 0


def test_punctuation_between_han_characters_parts_no_ngram_but_counts_as_character():
    found = measure("一二三四五。一二三四五。")
    assert found["n_dup_5gram_chars"] == 5
    assert found["n_visible_chars"] == 12


SENTENCES = {  # text: characters of sentences that stood before
    "天下雨了。我回家。天下雨了。": 4,
    "天下雨了！我回家？“天下雨了”。": 4,  # compared by words: marks around them do not count
    "天下雨了，我回家，天下雨了，": 0,  # a comma ends no sentence
    "天下雨了\n我回家\n天下雨了": 4,  # a line end does
    "雨だ。風だ。雨だ。": 2,
    "It rains. I go. It rains.": 8,
    "It rains. I go. It rains": 0,  # of words with other punctuation
    "Version 3.5 is 3.5": 0,  # no white space after the full stop
    "He said (it rains.) He said (it rains.) ": 16,
    "वर्षा हुई। मैं गया। वर्षा हुई।": 9,
    "Really? Really? Really?": 14,
}


@pytest.mark.parametrize("text", SENTENCES, ids=repr)
def test_duplicate_sentences(text):
    assert measure(text)["n_dup_sentence_chars"] == SENTENCES[text]


# --- against plain Python -------------------------------------------------------------------------------------------


SPACES = "".join(char for char in map(chr, range(0x3001)) if char.isspace()) + "\u1361"


def _is_letter(char: str, ranges: tuple) -> bool:
    return any(first <= ord(char) <= last for first, last in ranges)


def _single(char: str) -> bool:
    return _is_letter(char, HAN_AND_KANA) or (_is_letter(char, UNSPACED) and unicodedata.category(char)[0] == "L")


def _mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M" or char in "\uff9e\uff9f"


def _split(text: str) -> tuple[list[str], list[int]]:
    """The words and where they begin, read from the definition: runs, cut at letters of scripts without spaces."""
    words, places = [], []
    for found in re.finditer(rf"[^{SPACES}]+", text):
        run, at = found[0], found.start()
        pieces: list[str] = []
        for char in run:
            if _single(char) or not pieces or (_single(pieces[-1][0]) and not _mark(char)):
                pieces.append(char)
            else:
                pieces[-1] += char
        mixed = any(_single(piece[0]) for piece in pieces)
        for piece in pieces:
            if not mixed or _single(piece[0]) or any(unicodedata.category(c)[0] in "LMN" for c in piece):
                words.append(piece)
                places.append(at)
            at += len(piece)
    return words, places


def _sentences(text: str, words: list[str], places: list[int]) -> list[tuple[str, ...]]:
    """The words, cut where a sentence or a line ended since the last one began."""
    found: list[list[str]] = []
    for i, word in enumerate(words):
        since = text[places[i - 1] : places[i]] if i else "\n"
        stops = [re.match(rf"[^{SPACES}]*", since[at.end() :])[0] for at in re.finditer(r"\.", since)]
        full_stop = any(
            len(rest) < len(since[at.end() :]) and not any(unicodedata.category(c)[0] in "LMN" for c in rest)
            for rest, at in zip(stops, re.finditer(r"\.", since), strict=True)
        )
        if full_stop or any(c in SENTENCE_ENDS + "\n\r" for c in since):
            found.append([])
        found[-1].append(word)
    return [tuple(one) for one in found]


def _reference(text: str) -> dict:
    words, places = _split(text)
    lines = [line.rstrip(SPACES) for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    blocks, block = [], []
    for line in [*lines, ""]:
        if line:
            block.append(line)
        elif block:
            blocks.append(tuple(block))
            block = []
    lines = [line for one in blocks for line in one]

    def chars(piece) -> int:
        return sum(c not in SPACES for c in "".join(piece))

    def repeats(pieces) -> list:
        return [piece for i, piece in enumerate(pieces) if piece in pieces[:i]]

    found = {
        "n_words": len(words),
        "n_character_words": sum(_single(word[0]) for word in words),
        "n_alpha_words": sum(any(unicodedata.category(c)[0] == "L" or _single(c) for c in word) for word in words),
        "n_lines": len(lines),
        "n_bullet_lines": sum(line.lstrip(SPACES)[0] in BULLETS for line in lines),
        "n_visible_chars": chars(text),
        "n_paragraphs": len(blocks),
        "n_dup_lines": len(repeats(lines)),
        "n_dup_line_chars": sum(map(chars, repeats(lines))),
        "n_dup_paragraphs": len(repeats(blocks)),
        "n_dup_paragraph_chars": sum(map(chars, repeats(blocks))),
        "n_dup_sentence_chars": sum(map(chars, repeats(_sentences(text, words, places)))),
    }
    for n in range(2, 11):
        grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
        counted = Counter(grams)
        if n <= 4:
            most = max(counted.values(), default=0)
            best = max((most * chars(gram) for gram, count in counted.items() if count == most), default=0)
            found[f"n_top_{n}gram_chars"] = min(best, chars(words)) if most > 1 else 0
        else:
            seen, covered = set(), set()
            for i, gram in enumerate(grams):
                if gram in seen:
                    covered.update(range(i, i + n))
                seen.add(gram)
            found[f"n_dup_{n}gram_chars"] = sum(chars(words[i]) for i in covered)
    return found


def _random_texts(seed: int, count: int) -> list[str]:
    """Texts of few pieces, so that much repeats, from many scripts, with odd spaces, marks and line ends."""
    draw = random.Random(seed)
    pieces = "a b The # ... a. .) ! … - • 1 é e\u0301 中 文 。 か ｶﾞ 한글 ไ ท ที่ नमस्ते ን ก็ ་ བོ".split(" ")
    pieces += ["\U0001f600", "\U00020000", "\u200b", "\ufeff", "\u1361", "\U000e0100"]
    gaps = ["", "", " ", " ", " ", "\n", "\n\n", "\r\n", "\r", "\t", "\u3000", "\u2028", " \n", "\x85"]
    return [
        "".join(draw.choice(pieces) + draw.choice(gaps) for _ in range(draw.choice((0, 1, 3, 20, 200))))
        for _ in range(count)
    ]


def test_kernel_equals_plain_python_on_random_texts():
    texts = _random_texts(7, 600)
    words = words_measure(pa.array(texts), pa.nulls(len(texts), pa.string())).to_pylist()
    repeated = repetition_measure(pa.array(texts)).to_pylist()
    for text, one, other in zip(texts, words, repeated, strict=True):
        expected = _reference(text)
        assert {name: (one | other)[name] for name in expected} == expected, repr(text)


def test_kernel_equals_plain_python_on_a_text_longer_than_its_first_scratch_space():
    draw = random.Random(3)
    text = (
        " ".join(f"w{draw.randrange(40)}" for _ in range(5000))
        + "\n"
        + "\n".join(f"line {i % 700}" for i in range(2000))
    )
    expected = _reference(text)
    found = measure(text, None)
    assert {name: found[name] for name in expected} == expected


# --- Arrow ----------------------------------------------------------------------------------------------------------


def test_null_in_gives_null_out_and_rows_stay_apart():
    texts = ["one two", None, "three", "", None]
    words = words_measure(pa.array(texts), pa.array([PAPER] * 5)).to_pylist()
    repeated = repetition_measure(pa.array(texts)).to_pylist()
    assert [row and row["n_words"] for row in words] == [2, None, 1, 0, None]
    assert [row and row["n_words"] for row in repeated] == [2, None, 1, 0, None]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_slices_and_both_offset_widths(kind):
    texts = pa.array(["left out", "a b c", None, "天气", "left out too"], kind)[1:4]
    lists = pa.array(["x", "a c", "x", None, "x"])[1:4]
    assert [row and row["n_words"] for row in words_measure(texts, lists).to_pylist()] == [3, None, 2]
    assert words_measure(texts, lists)[0].as_py()["n_stop_words"] == 2
    assert [row and row["n_words"] for row in repetition_measure(texts).to_pylist()] == [3, None, 2]


def test_empty_and_all_null_batches_have_the_declared_type():
    for texts in (pa.array([], pa.string()), pa.nulls(2, pa.string())):
        words = words_measure(texts, pa.nulls(len(texts), pa.string()))
        repeated = repetition_measure(texts)
        assert words.null_count == repeated.null_count == len(texts)
        for udf, result in ((words_measure.udf, words), (repetition_measure.udf, repeated)):
            declared = [pair.split() for pair in udf.returns.removeprefix("STRUCT(").removesuffix(")").split(", ")]
            assert declared == [[field.name, "BIGINT"] for field in result.type]
            assert all(field.type == pa.int64() for field in result.type)
