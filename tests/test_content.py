"""Exact duplicates: which texts are the same after the matching normalisation."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_sql.project import load_udf_file

udfs = load_udf_file(Path(__file__).parents[1] / "udfs" / "content.py")

SPACES = "".join(chr(c) for c in range(0x110000) if chr(c).isspace())
CASES = {
    "plain": ("one\ntwo", "one\ntwo"),
    "line ends": ("one\r\ntwo\rthree\n", "one\ntwo\nthree"),
    "a lone \\r before \\r\\n is a blank line": ("one\r\r\ntwo", "one\n\ntwo"),
    "trailing white space of every line": ("one \t\n  two\u3000\nthree\u00a0 ", "one\n  two\nthree"),
    "outer blank lines, not inner ones": (" \n\n  one\n\n \ntwo\n \n\n", "  one\n\n\ntwo"),
    "case, digits and indentation stay": ("  ABC 12\n\tx", "  ABC 12\n\tx"),
    "only \\n ends a line": ("one \u2028two\x0b\x1c\x85", "one \u2028two"),
    "white space inside a line": ("a\u2003b\u205fc \u1680d", "a\u2003b\u205fc \u1680d"),
    "like white space but none": ("a\u200b\nb\u2060\nc\ufeff", "a\u200b\nb\u2060\nc\ufeff"),
    "nothing but white space": (" \n\u3000\r\n\t", ""),
    "empty": ("", ""),
}


def definition(text: str) -> str:
    """The contract's rule: one line end, no trailing white space, no outer blank lines."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    full = [i for i, line in enumerate(lines) if line]
    return "\n".join(lines[full[0] : full[-1] + 1]) if full else ""


def content(texts: list[str | None]) -> list[dict | None]:
    return udfs.content_hash(pa.array(texts, pa.string())).to_pylist()


@pytest.mark.parametrize(("text", "same_as"), CASES.values(), ids=CASES)
def test_what_two_texts_must_share(text: str, same_as: str) -> None:
    digest = hashlib.sha256(same_as.encode()).digest()
    assert content([text]) == [{"sha256": digest, "hash64": int.from_bytes(digest[:8], "big", signed=True)}]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.text(st.sampled_from("ab\u00e9\u4e2d\U0001f600\n\n\r" + SPACES), max_size=12), max_size=4))
def test_any_text_hashes_as_the_rule_says(texts: list[str]) -> None:
    texts = [unicodedata.normalize("NFC", text) for text in texts]
    expected = [hashlib.sha256(definition(text).encode()).digest() for text in texts]
    assert [row["sha256"] for row in content(texts)] == expected


def test_null_and_sliced_and_wide_arrays() -> None:
    array = pa.array(["x", None, "a \n", ""], pa.large_string()).slice(1)
    expected = [None, *content(["a", ""])]
    assert udfs.content_hash(array).to_pylist() == expected
    assert udfs.content_hash(pa.array([], pa.string())).to_pylist() == []
    assert udfs.content_hash(pa.array([None], pa.string())).to_pylist() == [None]


def test_of_equal_texts_the_first_in_id_order_stays(run_stage: Callable[..., list[dict]]) -> None:
    texts = ["same\n", *(f"other {i}" for i in range(1, 10)), "same  "]
    texts[2] = "\nsame"  # s:2 comes after s:10 and s:0
    rows = run_stage("exact_dedup", texts)
    assert {k: row["witness"] for k, row in enumerate(rows) if row["verdict"] == "reject"} == {2: "s:0", 10: "s:0"}
    assert {row["reason"] for row in rows} == {"exact_duplicate", None}


def test_case_and_indentation_make_another_text(run_stage: Callable[..., list[dict]]) -> None:
    rows = run_stage("exact_dedup", ["same", "Same", " same", "same."])
    assert [row["verdict"] for row in rows] == ["keep"] * 4
