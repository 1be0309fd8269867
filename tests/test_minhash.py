"""MinHash: signatures equal datasketch's, sets are told apart, buckets are what LSH says."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from datasketch import MinHash

from corpus_sql import near_pairs, shingle_sets, signatures
from corpus_sql import tokens as tokeniser
from corpus_sql.project import load_udf_file
from corpus_sql.tokens import gram_hash, tokens

udfs = load_udf_file(Path(__file__).parents[1] / "udfs" / "minhash.py")

TEXTS = {
    "English": "The kettle sang, and the old cook went on telling her story to nobody in particular. " * 2,
    "Chinese": "清晨的渡口没有人，只有一条旧船靠在岸边，绳子上挂着露水。",
    "Hindi": "नदी के किनारे एक पुराना मंदिर है, जहाँ हर शाम दीपक जलाए जाते हैं।",
    "mixed": "用 Python 3.12 写一个 parser，然后 run 它 twice.",
    "fewer tokens than a shingle": "Salt and pepper",
    "one token": "x",
    "the same token many times": "ha " * 200,
    "longer than a chunk of the kernel": "".join(f"line {i} of a long table\n" for i in range(60_000)),
}


def constant(value: int, n: int) -> pa.Array:
    return pa.array([value] * n, pa.int32())


def sign(texts: list[str | None], num_perm: int = 128, shingle: int = 5) -> list[dict | None]:
    n = len(texts)
    return udfs.minhash_signature(pa.array(texts, pa.string()), constant(num_perm, n), constant(shingle, n)).to_pylist()


def shingles(text: str, n: int = 5) -> list[bytes]:
    """All shingles in order: n tokens joined by one space, or all tokens of a shorter text."""
    found = tokens(text)
    if not found:
        return []
    return [" ".join(found[i : i + n]).encode() for i in range(max(len(found) - n + 1, 1))]


@pytest.mark.parametrize("num_perm", [1, 16, 128])
@pytest.mark.parametrize(
    "text", [t for t in TEXTS.values() if len(t) < 10_000], ids=[k for k, t in TEXTS.items() if len(t) < 10_000]
)
def test_signatures_equal_datasketch(text: str, num_perm: int) -> None:
    expected = MinHash(num_perm=num_perm, seed=1, hashfunc=udfs.minhash_hash32)
    for shingle in shingles(text):
        expected.update(shingle)
    (found,) = sign([text], num_perm)
    assert np.array(found["signature"], np.int32).view(np.uint32).tolist() == expected.hashvalues.tolist()
    assert found["n_tokens"] == len(tokens(text))
    assert found["n_shingles"] == len(set(shingles(text)))


def test_the_shingles_are_sorted_distinct_hashes_of_their_bytes() -> None:
    texts = [*TEXTS.values(), "", "!?", None]
    found = []
    for part in tokeniser.hashes(pa.array(texts)):
        hashed, offsets = shingle_sets.distinct(part, 5)
        in_order = shingle_sets.sort_each(hashed, offsets).tolist()
        found += [in_order[start:end] for start, end in pairwise(offsets)]
    assert found == [sorted({signed(gram_hash(s)) for s in set(shingles(text or ""))}) for text in texts]


def signed(h: int) -> int:
    return h - 2**64 if h >= 2**63 else h


def test_a_text_without_tokens_has_an_empty_signature_and_a_null_text_none() -> None:
    nothing = {"n_tokens": 0, "n_shingles": 0, "set_hash_a": 0, "set_hash_b": 0, "signature": []}
    assert sign(["", "?! …", None]) == [nothing, nothing, None]
    assert sign([]) == []


def test_equal_sets_have_equal_fingerprints_and_others_do_not() -> None:
    cycle = "one two three four five six " * 3
    same = ["two three four five six one " * 7, cycle.upper() + "!", cycle * 2]
    others = [cycle + "seven", "one two three four five six seven " * 3, "one two three four five", "six"]
    assert all(set(shingles(text)) == set(shingles(cycle)) for text in same)
    prints = [(row["set_hash_a"], row["set_hash_b"]) for row in sign([cycle, *same, *others])]
    assert set(prints[:4]) == {prints[0]}
    assert len(set(prints[3:])) == 1 + len(others)


def test_a_text_is_measured_the_same_in_any_company() -> None:
    texts = [*TEXTS.values(), None, ""]
    together = sign(texts)
    assert [sign([text])[0] for text in texts] == together
    n = len(texts)
    array = pa.array([None, *texts], pa.large_string()).slice(1)
    assert udfs.minhash_signature(array, constant(128, n), constant(5, n)).to_pylist() == together
    bands = udfs.minhash_bands(
        pa.array([row and row["signature"] for row in together], pa.list_(pa.int32())), constant(16, n)
    )
    for row, expected in zip(together, bands.to_pylist(), strict=True):
        one = udfs.minhash_bands(pa.array([row and row["signature"]], pa.list_(pa.int32())), constant(16, 1))
        assert one.to_pylist() == [expected]


def test_two_texts_share_a_bucket_where_a_band_of_their_signatures_is_equal() -> None:
    chance = random.Random(7)
    rows = [[chance.randrange(-2, 2) for _ in range(12)] for _ in range(60)]
    found = udfs.minhash_bands(pa.array(rows, pa.list_(pa.int32())), constant(4, 60)).to_pylist()
    assert {len(buckets) for buckets in found} == {4}
    for i, j in ((i, j) for i in range(60) for j in range(60)):
        equal = {band for band in range(4) if rows[i][band * 3 : band * 3 + 3] == rows[j][band * 3 : band * 3 + 3]}
        assert {b for b in range(4) if found[i][b] == found[j][b]} == equal
    everything = [bucket for buckets in found for bucket in set(buckets)]
    assert len(set(everything)) == len(
        {(band, tuple(row[band * 3 : band * 3 + 3])) for row in rows for band in range(4)}
    )


def test_bands_of_unequal_size_are_an_error() -> None:
    with pytest.raises(ValueError) as error:
        udfs.minhash_bands(pa.array([[1] * 10], pa.list_(pa.int32())), constant(3, 1))
    assert str(error.value) == "10 permutations do not divide into 3 bands of equal size"


def test_no_signature_has_no_bucket() -> None:
    rows = pa.array([[], None, [5, 6]], pa.list_(pa.int32()))
    empty, null, one = udfs.minhash_bands(rows, constant(1, 3)).to_pylist()
    assert (empty, null, len(one)) == ([], None, 1)


def test_the_estimate_is_as_good_as_the_theory() -> None:
    """120 pairs of sets of 300, Jaccard 0.8: the mean error is within 4 standard errors of sqrt(J (1 - J) / 128)."""
    chance = random.Random(11)
    texts, exact = [], []
    for _ in range(120):
        words = [str(chance.randrange(10**9)) for _ in range(333)]
        a, b = words[:300], words[33:]
        texts += [" ".join(a), " ".join(b)]
        exact.append(len({*a} & {*b}) / len({*a} | {*b}))
    rows = [np.array(row["signature"]) for row in sign(texts, 128, 1)]
    errors = [np.mean(a == b) - j for a, b, j in zip(rows[::2], rows[1::2], exact, strict=True)]
    assert abs(np.mean(errors)) < 4 * np.sqrt(0.8 * 0.2 / 128 / 120)


def test_every_kernel_is_compiled_once_whatever_the_arrays_are_like() -> None:
    for kind in (pa.string(), pa.large_string()):
        for texts in ([], [None], ["", None, "a b c"], ["cafe\u0301", "x"]):
            array, n = pa.array(texts, kind), len(texts)
            signed = udfs.minhash_signature(array, constant(16, n), constant(5, n))
            buckets = udfs.minhash_bands(signed.field("signature"), constant(4, n))
            numbers = pa.array(range(n), pa.int64())
            names = ["component", "row_index", "buckets", "text"]
            batch = pa.record_batch([pa.array([0] * n, pa.int64()), numbers, buckets, array], names=names)
            list(udfs.minhash_verify(iter([batch]), jaccard_threshold=0.8, shingle=5))
            edges = pa.record_batch([numbers, numbers], names=["a", "b"])
            list(udfs.minhash_components(iter([edges])))
    modules = (tokeniser, shingle_sets, signatures, near_pairs)
    counts = {name: len(f.signatures) for m in modules for name, f in vars(m).items() if hasattr(f, "signatures")}
    assert (
        len(counts) == 10
    )  # one that only other kernels call is not compiled by itself where those come from the cache
    assert max(counts.values()) == 1  # 0 for one that only other kernels call, where those come from the cache
