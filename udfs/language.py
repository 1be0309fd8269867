"""Which language a text is in, by a fastText model or, without one, by its script."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from corpus_sql import fasttext_model, iso639, resources, unicode_scripts
from corpus_sql.arrays import utf8_buffers
from corpus_sql.errors import ModelError, Problem
from corpus_sql.functions import udf

SCRIPT = "script"
RESULT = pa.struct([("label", pa.string()), ("score", pa.float64()), ("lang", pa.string())])


@udf(
    args=("VARCHAR", "VARCHAR"),
    returns="STRUCT(label VARCHAR, score DOUBLE, lang VARCHAR)",
    requires=("numba", "fasttext-wheel"),
)
def language_detect(text: pa.Array, model: pa.Array) -> pa.Array:
    """Return label, score and language of each whole text.

    model: the key of a fastText file (its SHA-256), or `script`. label: the model's own, without `__label__`, for
    `script` the ISO 15924 code of the most frequent script. score: the model's probability, exactly fastText's float32
    (it may exceed 1 by about 1e-5), for `script` that script's share of the letters. lang: two letters of ISO 639-1, or
    `und`. A text without a letter (category L) is not measured: label and score are null, lang is `und`.

    Raises ModelError for an unknown key or a file that is no sound fastText classifier.
    """
    if len(text) == 0 or model[0].as_py() is None:
        return pa.nulls(len(text), RESULT)
    key = model[0].as_py()
    data, offsets, valid = map(fasttext_model.frozen, utf8_buffers(text))
    letters = unicode_scripts.count_letters(
        data,
        offsets,
        valid,
        unicode_scripts.letter_table(),
        len(unicode_scripts.CODES),
        unicode_scripts.english_hashes(),
        key != SCRIPT,  # a model needs to know only whether there is a letter
    )
    if key == SCRIPT:
        labels, scores, langs = unicode_scripts.judge(letters)
    else:
        labels, scores, langs = _by_model(_load(key), text, data, offsets, letters.any(axis=1))
    unmeasured = np.array([label is None for label in labels])
    parts = [pa.array(labels, pa.string()), pa.array(scores.astype(np.float64), mask=unmeasured), pa.array(langs)]
    return pa.StructArray.from_arrays(parts, fields=list(RESULT), mask=pa.array(~valid))


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
def _load(key: str) -> fasttext_model.FastTextModel:
    try:
        (path,) = resources.paths(key)
    except KeyError:
        raise ModelError(
            Problem("language_detect", f"no model file is known under the key {key!r}", "Register it: resources.add.")
        ) from None
    return fasttext_model.load(path)
