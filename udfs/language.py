"""Which language a text is in, by a fastText model or, without one, by its script."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_sql import fasttext_model, iso639, unicode_scripts
from corpus_sql.arrays import utf8_buffers
from corpus_sql.functions import Files, udf

# what fastText's models were not trained on: Arabic with its vowels, half-width kana and jamo
_VOWEL, _ARABIC = re.compile("[\u064b-\u0652\u0670]"), re.compile("[\u0621-\u063a\u0641-\u064a\u0671-\u06d3]")
_HALF_WIDTH, _FULL_WIDTH = re.compile("[\uff66-\uffdc]+"), re.compile("[\u3041-\u30ff\uac00-\ud7a3]")
_SENTENCE = 20  # letters; fewer are a name or a face, and say little of the spelling of a text
RESULT = pa.struct([("label", pa.string()), ("score", pa.float64()), ("lang", pa.string())])


@udf(
    args=("VARCHAR", "VARCHAR"),
    returns="STRUCT(label VARCHAR, score DOUBLE, lang VARCHAR)",
    requires=("numba", "fasttext-wheel"),
    files=("model",),
)
def language_detect(text: pa.Array, model: Files | None) -> pa.Array:
    """Return label, score and language of each whole text.

    model: a fastText file; without one the script stands in. label: the model's own, without `__label__`, for a script
    the ISO 15924 code of the most frequent one. score: the model's probability, exactly fastText's float32
    (it may exceed 1 by about 1e-5), for a script its share of the letters. lang: two letters of ISO 639-1, or
    `und`. A text without a letter (category L) is not measured: label and score are null, lang is `und`.

    A model reads the text as it stands, but for two spellings that its training data lacks: 20 and more Arabic letters,
    vowel marks on more than half of them, are read without the marks (0.42 became 0.99 for `ar`), and 20 and more
    half-width kana or Hangul letters, if other kana and syllables are fewer, in full width (`su` 0.29 became `ja` 1.00,
    `tt` 0.15 became `ko` 1.00).

    Raises ModelError for a file that is no sound fastText classifier.
    """
    if len(text) == 0:
        return pa.nulls(0, RESULT)
    data, offsets, valid = map(fasttext_model.frozen, utf8_buffers(text))
    letters = unicode_scripts.count_letters(
        data,
        offsets,
        valid,
        unicode_scripts.letter_table(),
        len(unicode_scripts.CODES),
        unicode_scripts.english_hashes(),
        model is not None,  # a model needs to know only whether there is a letter
    )
    if model is None:
        labels, scores, langs = unicode_scripts.judge(letters)
    else:
        text, data, offsets = _as_trained(text, data, offsets)
        labels, scores, langs = _by_model(_load(model), text, data, offsets, letters.any(axis=1))
    unmeasured = np.array([label is None for label in labels])
    parts = [pa.array(labels, pa.string()), pa.array(scores.astype(np.float64), mask=unmeasured), pa.array(langs)]
    return pa.StructArray.from_arrays(parts, fields=list(RESULT), mask=pa.array(~valid))


def _as_trained(text: pa.Array, data: np.ndarray, offsets: np.ndarray) -> tuple[pa.Array, np.ndarray, np.ndarray]:
    """Return the texts as the model is to read them, and their buffers; for nearly all batches those given."""
    known = {}
    for row in _odd_rows(data, offsets):
        found = text[row].as_py()
        if (read := _respelled(found)) != found:
            known[row] = read
    if not known:
        return text, data, offsets
    text = pc.coalesce(pa.array([known.get(row) for row in range(len(text))], text.type), text)
    data, offsets, _ = map(fasttext_model.frozen, utf8_buffers(text))
    return text, data, offsets


def _odd_rows(data: np.ndarray, offsets: np.ndarray) -> list[int]:
    """Return the rows that hold an Arabic vowel mark (D9 8B to D9 92) or what is half-width (EF BD A6 to EF BF 9C)."""
    held = data[: offsets[-1]]
    marks = np.flatnonzero(held[:-1] == 0xD9)
    marks = marks[(held[marks + 1] >= 0x8B) & (held[marks + 1] <= 0x92)]
    half = np.flatnonzero(held[:-2] == 0xEF)
    second, third = held[half + 1], held[half + 2]
    half = half[((second == 0xBD) & (third >= 0xA6)) | (second == 0xBE) | ((second == 0xBF) & (third <= 0x9C))]
    found = np.unique(np.searchsorted(offsets, np.concatenate([marks, half]), side="right") - 1)
    return found[found >= 0].tolist()


def _respelled(text: str | None) -> str | None:
    if text is None:
        return None
    letters, half = len(_ARABIC.findall(text)), sum(map(len, _HALF_WIDTH.findall(text)))
    if letters >= _SENTENCE and 2 * len(_VOWEL.findall(text)) > letters:
        text = _VOWEL.sub("", text)
    if half >= _SENTENCE and half > len(_FULL_WIDTH.findall(text)):
        text = _HALF_WIDTH.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    return text


def _by_model(model, text, data, offsets, todo) -> tuple[list[str | None], np.ndarray, list[str]]:
    if model.kernel is None:
        return _by_wheel(model, text, todo)
    numbers, scores = fasttext_model.predict(data, offsets, fasttext_model.frozen(todo), *model.kernel)
    # the place after the last label, which -1 also is, stands for 'nothing predicted'
    labels = [*model.labels, None]
    langs = [*map(iso639.two_letters, model.labels), iso639.UNDETERMINED]
    return [labels[i] for i in numbers.tolist()], scores, [langs[i] for i in numbers.tolist()]


def _by_wheel(model, text, todo) -> tuple[list[str | None], np.ndarray, list[str]]:
    """The same through fasttext-wheel, for kinds of model that the kernel does not read."""
    predictor = _wheel(str(model.path))
    labels, scores = [], np.zeros(len(text))
    for i, wanted in enumerate(todo.tolist()):
        # the binding's own predict: FastText.predict around it fails with numpy 2
        line = text[i].as_py().replace("\n", " ") + "\n" if wanted else None
        found = predictor.predict(line, 1, 0.0, "strict") if wanted else []
        labels.append(found[0][1].removeprefix("__label__") if found else None)
        scores[i] = found[0][0] if found else 0.0
    return labels, scores, [iso639.UNDETERMINED if label is None else iso639.two_letters(label) for label in labels]


@cache
def _wheel(path: str):
    from fasttext.FastText import _FastText

    return _FastText(path).f


@cache
def _load(model: Files) -> fasttext_model.FastTextModel:
    return fasttext_model.load(model.path)
