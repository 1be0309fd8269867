"""The gopher and repetition stages: named texts on both sides of every threshold, and the shipped language profiles."""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
from functools import cache
from itertools import product
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from conftest import shared

from corpus_sql.compile import Compiler
from corpus_sql.project import Project, load_udf_file, open_project

ROOT = Path(__file__).resolve().parents[1]


def shipped(stage: str) -> dict[str, dict]:
    """The thresholds that the package ships, by language, as `Config.limits` gives them."""
    table: dict = {}
    for name in ("default.toml", "profiles.toml"):
        if (ROOT / "configs" / name).exists():
            table |= tomllib.loads((ROOT / "configs" / name).read_text("utf-8")).get(stage, {})
    general = {key: value for key, value in table.items() if not isinstance(value, dict)}
    layers = {lang: general | own for lang, own in table.items() if isinstance(own, dict)}
    return {"": general} | {
        lang: {key: value for key, value in own.items() if value is not False} for lang, own in layers.items()
    }


@cache
def of_defaults(stage: str) -> Project:
    """A project with this one stage, and what is shipped for the rest."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "corpus.toml"
        config.write_text(f'dataset = "t"\nversion = "v1"\nsources = ["s"]\nstages = ["{stage}"]\n')
        return open_project(config)


def _one(function):
    return lambda a: function(a.combine_chunks())


def _two(function):
    return lambda a, b: function(a.combine_chunks(), b.combine_chunks())


def judge(stage: str, texts: list[tuple[str, str]]) -> list[list[dict]]:
    """Run measures and stage, the shipped SQL with the shipped thresholds, over (language, text); return the hits."""
    connection = duckdb.connect()
    for file in ("words", "repetition"):
        function = getattr(load_udf_file(ROOT / "udfs" / f"{file}.py"), f"{file}_measure")

        udf = function.udf
        adapted = _one(function) if len(udf.args) == 1 else _two(function)
        connection.create_function(
            udf.name, adapted, list(udf.args), udf.returns, type="arrow", null_handling="special"
        )
    given = pa.table(
        {"id": [f"{i:05}" for i in range(len(texts))], "lang": [t[0] for t in texts], "text": [t[1] for t in texts]}
    )
    connection.register("given", given)
    connection.execute(
        "create schema read; create schema measures; create schema relations;"
        "create table read.documents as select id, text from given;"
        "create table relations.languages as select id, lang from given;"
        "create table measures.language as select id, lang as model_lang from given;"
    )
    project = of_defaults(stage)
    compiler = Compiler(project, {}, {})
    for name in ("measures.words", "measures.repetition"):
        connection.execute(f"create table {name} as {compiler.compile(project.models[name]).sql}")
    judged = connection.execute(
        f"select hits from ({compiler.compile(project.models[f'stages.{stage}']).sql}) order by id"
    )
    return [row[0] for row in judged.fetchall()]


def reasons(stage: str, cases: list[tuple[str, str]]) -> list[list[str]]:
    return [[hit["reason"] for hit in hits] for hits in judge(stage, cases)]


def check(stage: str, cases: dict[str, tuple[str, str, list[str]]]) -> None:
    """cases: name -> (language, text, the reasons expected)."""
    found = reasons(stage, [(lang, text) for lang, text, _ in cases.values()])
    assert dict(zip(cases, found, strict=True)) == {name: expected for name, (_, _, expected) in cases.items()}


# Four-letter words, no two alike: baba, babe, babi, ...
DISTINCT = ["".join(letters) for letters in product("bdfgklmnprst", "aeiou", "bdfgklmnprst", "aeiou")]


def plain(n: int) -> str:
    """n different words of four letters, the first two of them stop words of four letters."""
    return " ".join(["that", "with", *DISTINCT][:n])


def lines(total: int, marked: int, mark) -> str:
    """So many lines of six words, the first `marked` of them passed through `mark`."""
    rows = [" ".join(["that", "with", *DISTINCT[4 * i : 4 * i + 4]]) for i in range(total)]
    return "\n".join(mark(row) if i < marked else row for i, row in enumerate(rows))


def test_gopher_thresholds_of_english():
    cases = {
        "49 words": ("en", plain(49), ["low_n_words"]),
        "50 words": ("en", plain(50), []),
        "100,000 words": ("en", "that with " * 50_000, []),
        "100,001 words": ("en", "that with " * 50_000 + "baba", ["high_n_words"]),
        "2.99 characters a word": ("en", "that with " + "abc " * 95 + "ab ab ab", ["low_mean_word_length"]),
        "3 characters a word": ("en", "that with " + "abc " * 96 + "ab ab", []),
        "10 characters a word": ("en", "that with " + "abcdefghij " * 86 + "abcdefghijk " * 12, []),
        "10.01 characters a word": (
            "en",
            "that with " + "abcdefghij " * 85 + "abcdefghijk " * 13,
            ["high_mean_word_length"],
        ),
        "a '#' in ten words": ("en", plain(90) + " #one" * 10, []),
        "11 '#' in 100 words": ("en", plain(89) + " #one" * 11, ["high_hash_ratio"]),
        "ten '#' on one word": ("en", plain(99) + " one" + 10 * "#", []),
        "an ellipsis in ten words": ("en", "and... " * 10 + plain(90), []),
        "11 ellipses in 100 words": ("en", "and… " * 11 + plain(89), ["high_ellipsis_ratio"]),
        "ten '#' and ten ellipses": ("en", "#one " * 10 + "and... " * 10 + plain(80), []),
        "18 of 20 lines are bullets": ("en", lines(20, 18, lambda row: "- " + row), []),
        "19 of 20 lines are bullets": ("en", lines(20, 19, lambda row: "• " + row), ["high_bullet_line_ratio"]),
        "6 of 20 lines end in an ellipsis": ("en", lines(20, 6, lambda row: row + "..."), []),
        "7 of 20 lines end in an ellipsis": ("en", lines(20, 7, lambda row: row + "…"), ["high_ellipsis_line_ratio"]),
        "80 of 100 words have a letter": ("en", plain(80) + " 2024" * 20, []),
        "79 of 100 words have a letter": ("en", plain(79) + " 2024" * 21, ["low_alpha_word_ratio"]),
        "one stop word, many times": ("en", "the The THE " * 20, ["low_n_stop_words"]),
        "two stop words": ("en", "The cat and " * 20, []),
    }
    check("gopher", cases)


def test_a_text_without_words_says_so_first():
    cases = {
        "empty": ("en", "", ["no_words", "low_n_words", "low_n_stop_words"]),
        "white space": ("zh", " \n\u3000", ["no_words", "low_n_words", "low_n_stop_words"]),
    }
    check("gopher", cases)
    check("repetition", {name: (lang, text, []) for name, (lang, text, _) in cases.items()})


def test_a_hit_names_metric_value_and_threshold():
    [[hit]] = judge("gopher", [("en", plain(40))])
    assert hit == {
        "verdict": "reject",
        "reason": "low_n_words",
        "metric": "n_words",
        "value": 40.0,
        "threshold": 50.0,
        "witness": None,
    }


CHINESE = (
    "我们到了山下的村子，先在井边喝水，又去看那座旧桥。桥上的石板已经磨平，两边长着青草，孩子们在那里等着放学的哥哥。"
)
JAPANESE = (
    "私たちは山のふもとの村に着いて、まず井戸で水を飲み、それから古い橋を見に行きました。石の板はすり減っていました。"
)
KOREAN = "우리는 산 아래 마을에 도착하여 우물에서 물을 마시고 오래된 다리를 보러 갔다 " * 5
THAI = (
    "พวกเรามาถึงหมู่บ้านที่เชิงเขา ดื่มน้ำที่บ่อ แล้วเดินไปดูสะพานเก่า หินบนสะพานสึกจนเรียบ มีหญ้าขึ้นสองข้างทาง"
    " เด็กๆ นั่งรอพี่ชายกลับจากโรงเรียน เย็นวันนั้นฝนตกหนัก เราจึงพักที่บ้านของครูจนถึงเช้า"
)
GERMAN = "Wir kamen ins Dorf am Fuß des Berges, tranken Wasser aus dem Brunnen und sahen uns die alte Brücke an. " * 3
HINDI = "हम पहाड़ के नीचे बसे गाँव में पहुँचे, कुएँ से पानी पिया और फिर पुराना पुल देखने गए। " * 4
MALAYALAM = "ഞങ്ങൾ മലയുടെ താഴ്‌വാരത്തിലുള്ള ഗ്രാമത്തിലെത്തിച്ചേർന്നു കിണറ്റിൽനിന്നു വെള്ളംകുടിച്ചതിനുശേഷം പഴയപാലം കാണുന്നതിനായി പുറപ്പെട്ടു " * 6


VOCALISED = "تُسَاعِدُ الْمُؤَسَّسَاتُ التَّعْلِيمِيَّةُ وَالْمَكْتَبَاتُ الْمُتَعَلِّمِينَ عَلَى تَطْوِيرِ قُدُرَاتِهِمْ فِي الْقِرَاءَةِ وَمَا بَعْدَهَا مِنَ الْأَبْحَاثِ "
POINTED = "בַּבֹּקֶר יָצָא הַיֶּלֶד אֶל הַשָּׂדֶה וְרָאָה אֶת הַסּוּס עַל הַגִּבְעָה, כִּי הַיּוֹם הָיָה יָפֶה. "
HALF_WIDTH = "ﾑﾗﾉ ﾊｼﾊ ﾌﾙｸ､ ｶﾜﾉ ﾐｽﾞｶﾞ ｷﾚｲﾃﾞｽ｡ ｺﾄﾞﾓﾀﾁﾊ ｲｼｦ ﾅｹﾞﾃ ｱｿﾝﾃﾞ ｲﾏｼﾀ｡"


def test_optional_marks_and_widths_are_no_reason_to_drop():
    cases = {
        "Arabic with its vowels": ("ar", VOCALISED * 5, []),
        "Hebrew with its points": ("he", POINTED * 4, []),
        "Japanese in half-width kana": ("ja", HALF_WIDTH + "ｱｼﾀﾓ ﾏﾀ ｸﾙﾄ ｲｯﾃ ｶｴﾘﾏｼﾀ｡", []),
        "English in full-width letters": ("en", plain(50).translate({n: n + 0xFEE0 for n in range(97, 123)}), []),
        "Arabic names without a stop word": ("ar", "مُحَمَّدٌ زَيْنَبُ خَالِدٌ " * 20, ["low_n_stop_words"]),
    }
    check("gopher", cases)


def test_good_prose_of_other_languages_is_not_judged_by_english_rules():
    cases = {
        "Chinese has no word length": ("zh", CHINESE, []),
        "Chinese that nobody recognised": ("und", CHINESE, []),
        "Japanese": ("ja", JAPANESE, []),
        "Korean has no word length": ("ko", KOREAN, []),
        "Korean that nobody recognised": ("und", KOREAN, []),
        "Thai": ("th", THAI, []),
        "German has its own stop words": ("de", GERMAN, []),
        "Hindi: vowel signs belong to words": ("hi", HINDI, []),
        "Malayalam words are long": ("ml", MALAYALAM, []),
        "a language without a table": ("ga", GERMAN, []),
    }
    check("gopher", cases)


def test_stop_words_are_judged_in_their_own_language_alone():
    menu = "Startseite Kontakt Impressum Anfahrt Hilfe Konto Warenkorb " * 10
    cases = {
        "German menu, as German": ("de", menu, ["low_n_stop_words"]),
        "German menu, undetermined": ("und", menu, []),
        "Chinese menu": ("zh", "首页新闻体育财经汽车房产" * 5, ["low_n_stop_words"]),
        "Chinese, two stop words": ("zh", "首页新闻体育财经汽车房产" * 5 + "的了", []),
    }
    check("gopher", cases)


def separated(pieces: list[str], words: int) -> str:
    """The pieces with a word of their own after each, filled up with different words to so many in all."""
    fill = iter(reversed(DISTINCT))
    text = " ".join(f"{piece} {next(fill)}" for piece in pieces)
    return " ".join([text, *(next(fill) for _ in range(words - len(text.split())))])


def repeated(n: int, pieces: int, words: int) -> str:
    """So many different n-grams, each standing twice, in a text of so many words of four letters."""
    grams = [" ".join(DISTINCT[n * i : n * i + n]) for i in range(pieces)]
    return separated(grams + grams, words)


def test_top_ngram_thresholds():
    pair, triple, quad = "baba bebe", "baba bebe bibi", "baba bebe bibi bobo"
    cases = {
        "2-gram 0.20": ("en", separated([pair] * 10, 100), []),
        "2-gram 0.22": ("en", separated([pair] * 11, 100), ["high_top_2gram_char_ratio"]),
        "3-gram 0.18": ("en", separated([triple] * 6, 100), []),
        "3-gram 0.21": ("en", separated([triple] * 7, 100), ["high_top_3gram_char_ratio"]),
        "4-gram 0.16": ("en", separated([quad] * 4, 100), []),
        "4-gram 0.1616": ("en", separated([quad] * 4, 99), ["high_top_4gram_char_ratio"]),
        "three words once": ("en", "one two three", []),
    }
    check("repetition", cases)


def test_duplicate_ngram_thresholds():
    cases = {
        "5-grams 0.15": ("en", repeated(5, 3, 100), []),
        "5-grams 0.1515": ("en", repeated(5, 3, 99), ["high_dup_5gram_char_ratio"]),
        "6-grams 0.14": ("en", repeated(6, 7, 300), []),
        "6-grams 0.1405": ("en", repeated(6, 7, 299), ["high_dup_6gram_char_ratio"]),
        "7-grams 0.13": ("en", repeated(7, 13, 700), []),
        "7-grams 0.1302": ("en", repeated(7, 13, 699), ["high_dup_7gram_char_ratio"]),
        "8-grams 0.12": ("en", repeated(8, 3, 200), []),
        "8-grams 0.1206": ("en", repeated(8, 3, 199), ["high_dup_8gram_char_ratio"]),
        "9-grams 0.11": ("en", repeated(9, 11, 900), []),
        "9-grams 0.1101": ("en", repeated(9, 11, 899), ["high_dup_9gram_char_ratio"]),
        "10-grams 0.10": ("en", repeated(10, 1, 100), []),
        "10-grams 0.1010": ("en", repeated(10, 1, 99), ["high_dup_10gram_char_ratio"]),
    }
    check("repetition", cases)


def blocks(sizes: list[int], copies: int, last: str, gap: str) -> str:
    """Lines or paragraphs of different words, of so many words each, and `copies` times the same short one."""
    fill = iter(DISTINCT)
    return gap.join([" ".join(next(fill) for _ in range(size)) for size in sizes] + [last] * copies)


def test_duplicate_line_and_paragraph_thresholds():
    kept, dropped = ([20] * 6, 4), ([20] * 5, 4)  # 3 of 10, 3 of 9 stood before
    long = " ".join(DISTINCT[-15:])  # 15 of 75 words stood before, 15 of 74
    tail = [f"high_dup_{n}gram_char_ratio" for n in range(5, 11)]
    cases = {
        "3 of 10 lines stood before": ("en", blocks(*kept, "x", "\n"), []),
        "3 of 9 lines stood before": ("en", blocks(*dropped, "x", "\n"), ["high_dup_line_ratio"]),
        "3 of 10 paragraphs stood before": ("en", blocks(*kept, "x", "\n\n"), []),
        "3 of 9 paragraphs stood before": (
            "en",
            blocks(*dropped, "x", "\n\n"),
            ["high_dup_line_ratio", "high_dup_paragraph_ratio"],
        ),
        "characters of such lines 0.2": ("en", blocks([15, 15, 15], 2, long, "\n"), tail),
        "characters of such lines above 0.2": (
            "en",
            blocks([15, 15, 14], 2, long, "\n"),
            ["high_dup_line_char_ratio", *tail],
        ),
        "characters of such paragraphs 0.2": ("en", blocks([15, 15, 15], 2, long, "\n\n"), tail),
        "characters of such paragraphs above 0.2": (
            "en",
            blocks([15, 15, 14], 2, long, "\n\n"),
            ["high_dup_line_char_ratio", "high_dup_paragraph_char_ratio", *tail],
        ),
        "blank lines between different ones": ("en", "\n\n\n\n".join(DISTINCT[:20]), []),
    }
    check("repetition", cases)


def said(different: int, again: int) -> str:
    """Sentences of ten Han characters and a full stop on one line; the last `again` of them stood before."""
    one = [f"{''.join(chr(0x4E00 + 10 * i + j) for j in range(10))}。" for i in range(different)]
    return "".join(one + one[:again])


def test_duplicate_sentences_where_a_letter_is_a_word():
    above = ["high_dup_sentence_char_ratio"]
    cases = {
        "110 of 550 characters stood before": ("zh", said(39, 11), []),
        "110 of 539": ("zh", said(38, 11), above),
        "the same, undetermined": ("und", said(38, 11), above),
        "Japanese": ("ja", said(38, 11), above),
        "a third of the text is a copy of its beginning": ("zh", said(20, 10), above),
        "each sentence but the last ones twice in a row": (
            "zh",
            re.sub("(.{11})", r"\1\1", said(10, 0)) + said(30, 0)[110:],
            above,
        ),
        "English has the paper's n-grams alone": ("en", "This is said. " * 2 + plain(90), []),
    }
    check("repetition", cases)


def test_ngrams_of_single_characters_have_their_own_thresholds():
    half = "有人说这座山里住着一位会唱歌的石匠每逢下雨便把门前的台阶擦得发亮"
    cases = {
        "prose, as Chinese": ("zh", CHINESE, []),
        "half of it said twice": ("zh", half + half, [f"high_dup_{n}gram_char_ratio" for n in (9, 10)]),
        "one phrase thirty times": ("zh", "点这里看更多，" * 30, [
            "high_top_2gram_char_ratio", "high_top_3gram_char_ratio", "high_top_4gram_char_ratio",
            *(f"high_dup_{n}gram_char_ratio" for n in range(5, 11)),
        ]),
    }  # fmt: skip
    check("repetition", cases)


def test_undetermined_text_of_single_characters_is_judged_as_chinese():
    thirds = (
        "一二三四五六七八九十甲乙丙丁戊己庚辛壬癸"
        + "子丑寅卯辰巳午未申酉戌亥"
        + "春夏秋冬东南西北"
        + "一二三四五六七八九十"
    )
    words = "uno dos tres cuatro cinco seis siete ocho nueve diez once doce uno dos tres cuatro cinco seis siete ocho"
    found = reasons("repetition", [("zh", thirds), ("und", thirds), ("en", thirds), ("und", words)])
    assert found[0] == found[1] == []
    assert found[2] == [f"high_dup_{n}gram_char_ratio" for n in range(5, 11)]
    assert "high_dup_8gram_char_ratio" in found[3]


# --- what is shipped ------------------------------------------------------------------------------------------------


def test_english_is_judged_by_the_papers_values():
    gopher, repetition = shipped("gopher")["en"], shipped("repetition")[""]
    assert gopher == {
        "min_n_words": 50,
        "max_n_words": 100000,
        "min_mean_word_length": 3,
        "max_mean_word_length": 10,
        "max_hash_ratio": 0.1,
        "max_ellipsis_ratio": 0.1,
        "max_bullet_line_ratio": 0.9,
        "max_ellipsis_line_ratio": 0.3,
        "min_alpha_word_ratio": 0.8,
        "min_n_stop_words": 2,
        "stop_words": ["the", "be", "to", "of", "and", "that", "have", "with"],
    }
    assert repetition == {
        "max_dup_line_ratio": 0.3,
        "max_dup_paragraph_ratio": 0.3,
        "max_dup_line_char_ratio": 0.2,
        "max_dup_paragraph_char_ratio": 0.2,
        "max_top_2gram_char_ratio": 0.2,
        "max_top_3gram_char_ratio": 0.18,
        "max_top_4gram_char_ratio": 0.16,
        "max_dup_5gram_char_ratio": 0.15,
        "max_dup_6gram_char_ratio": 0.14,
        "max_dup_7gram_char_ratio": 0.13,
        "max_dup_8gram_char_ratio": 0.12,
        "max_dup_9gram_char_ratio": 0.11,
        "max_dup_10gram_char_ratio": 0.1,
    }
    assert "en" not in shipped("repetition")


def test_every_profile_key_is_one_the_stage_declares():
    for stage in ("gopher", "repetition"):
        header = (ROOT / "sql" / "stages" / f"{stage}.sql").read_text("utf-8")
        declared = set(re.findall(r"^-- config: (\w+) \|", header, re.M))
        assert {key for own in shipped(stage).values() for key in own} <= declared


def test_stop_words_and_their_minimum_come_together():
    profiles = shipped("gopher")
    assert "stop_words" not in profiles[""]
    for lang, own in profiles.items():
        assert ("stop_words" in own) == ("min_n_stop_words" in own), lang
        words = own.get("stop_words", [])
        assert len(words) == len(set(words)), lang
        assert not [word for word in words if word.split() != [word]], lang


def test_the_perplexity_stage_keeps_everything_while_no_model_exists(run_stage):
    decisions = run_stage("ppl", ["one text", "天气很好"], "[ppl]\nmax_perplexity = 1")
    assert [(row["verdict"], row["hits"]) for row in decisions] == [("keep", []), ("keep", [])]


# --- sample cases ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stage", "field"), [("gopher", "quality"), ("repetition", "repetition")])
def test_sample_cases_but_for_matters_of_policy(stage, field):
    path = shared("cases", "quality.jsonl")
    cases = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    found = judge(stage, [(case["lang"], case["text"]) for case in cases])
    differ = [
        (case["id"], [hit["reason"] for hit in hits], case[field])
        for case, hits in zip(cases, found, strict=True)
        if case[field]["tier"] != "policy" and ("drop" if hits else "keep") != case[field]["decision"]
    ]
    assert differ == []
