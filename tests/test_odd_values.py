"""Every key of a config and of a ledger row with values that do not belong there: sentences, all at once."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corpus_sql import ledger, recipes
from corpus_sql.errors import CorpusError
from corpus_sql.project import open_project

ODD = {
    "an empty text": "", "a word": "x", "upper case": "A" * 64, "NUL": "\0", "a long text": "a" * 100_000,
    "below 0": -5, "0": 0, "a fraction": 1.5, "beyond 64 bits": 10**30, "NaN": float("nan"), "infinity": float("inf"),
    "true": True, "false": False, "no list": [], "one word": ["x"], "a word twice": ["x", "x"],
    "a list of numbers": [1], "a list of lists": [[]], "an empty table": {}, "a table": {"x": 1},
    "no day": "2026-13-45",
}  # fmt: skip
ROW = {
    "source_id": "a", "url": "https://example.org", "license_spdx": "MIT", "data_class": "public",
    "retrieved": "2026-01-02", "revision": None, "reviewer": None,
    "files": [{"path": "a/20260101/part-00000.jsonl.zst", "sha256": "0" * 64, "bytes": 1}],
    "superseded": [], "upstream": [{"url": "u", "sha256": None, "bytes": None}],
    "recipe": {"url": ["x"], "revision": None, "format": "jsonl", "fields": {}},
}  # fmt: skip
CONFIG = {
    "dataset": "d", "version": "v1", "sources": ["a"], "stages": ["lang", "gopher", "near_dedup"], "shard_rows": 5,
    "max_line_bytes": 5, "keep_rejected_text": True,
    "paths": {"artifacts": "artifacts", "work": "artifacts/.work", "cache_max": "1GB"},
    "split": {"method": "group_hash", "salt": "x", "train": 900, "validation": 50, "test": 50, "stratify": ["lang"]},
    "lang": {"keep": ["en"], "min_score": 0.5, "undetermined": "keep", "model": "script", "model_sha256": "0" * 64},
    "gopher": {"min_n_words": 5, "zh": {"stop_words": ["x"], "max_n_words": 9}},
    "repetition": {"max_dup_line_ratio": 0.1},
    "near_dedup": {
        "num_perm": 16, "bands": 4, "jaccard_threshold": 0.5, "shingle": 3, "keep": "first", "max_bucket": 5,
    },
    "decontaminate": {"ngram": 3, "protected": ["x"], "min_tokens": 3},
    "pii": {"kinds": ["email"]},
    "source": {"a": {
        "url": "https://example.org/a.jsonl", "format": "jsonl", "revision": "r", "hosts": ["example.org"],
        "fields": {"text": "t"}, "sha256": "0" * 64, "max_unpacked_bytes": 5, "max_ratio": 3, "retrieved": "2026-01-01",
    }},
}  # fmt: skip


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """The path of every key that holds no table."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if isinstance(inner, dict):
            yield from places(inner, (*path, key))
        else:
            yield (*path, key)


def spoilt(whole: dict, paths: list[tuple], value: Any) -> dict:
    found = copy.deepcopy(whole)
    for *parents, key in paths:
        at = found
        for parent in parents:
            at = at[parent]
        at[key] = value
    return found


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


def complaint(call) -> list[str]:
    """The lines of the refusal; anything but a CorpusError is a failure, no refusal an empty list."""
    try:
        call()
    except CorpusError as error:
        return str(error).splitlines()
    return []


def in_our_words(said: list[str]) -> None:
    for line in said:
        assert len(line) < 500, line[:500]
        assert not re.search(r"does not match|is not of type|is a required|^Traceback|'[\^(]", line), line


@pytest.mark.parametrize("name", ODD)
def test_every_key_of_a_ledger_row_at_once_and_alone(name, tmp_path):
    path = tmp_path / "LEDGER.jsonl"

    def read(row: dict) -> list[str]:
        path.write_text(json.dumps(row) + "\n")
        return complaint(lambda: ledger.read_ledger(path))

    keys = list(places(ROW))
    alone = [said for key in keys if (said := read(spoilt(ROW, [key], ODD[name])))]
    together = read(spoilt(ROW, keys, ODD[name]))
    for said in (*alone, together):
        in_our_words(said)
    assert len(together) >= (1 if name in ("NaN", "infinity") else 3)  # these two are no JSON at all


@pytest.mark.parametrize("name", ODD)
def test_every_key_of_a_config_at_once_and_some_alone(name, tmp_path):
    path = tmp_path / "corpus.toml"

    def read(config: dict) -> list[str]:
        path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in config.items()))
        return complaint(lambda: recipes.read(open_project(path).config))

    keys = list(places(CONFIG))
    together = read(spoilt(CONFIG, keys, ODD[name]))
    # a few alone, so that what is judged only of a sound config is reached
    alone = [read(spoilt(CONFIG, [key], ODD[name])) for key in keys[len(name) % 3 :: 3]]
    for said in (*alone, together):
        in_our_words(said)
    assert len(together) >= 10


def test_the_config_and_the_row_are_sound_as_they_stand(tmp_path):
    path = Path(tmp_path / "corpus.toml")
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in CONFIG.items()))
    assert complaint(lambda: recipes.read(open_project(path).config)) == []
    path.write_text(json.dumps(ROW) + "\n")
    assert complaint(lambda: ledger.read_ledger(path)) == []
