"""Hashes of a text: of its bytes as they are, and after the matching normalisation, for exact duplicates."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from corpus_sql.arrays import utf8_buffers
from corpus_sql.functions import udf
from corpus_sql.match_text import match_normalise

_HASHES = pa.struct([("sha256", pa.binary()), ("hash64", pa.int64())])


@udf(args=("VARCHAR",), returns="STRUCT(sha256 BLOB, hash64 BIGINT)", requires=("numpy",))
def content_sha256(texts: pa.Array) -> pa.Array:
    """Return the SHA-256 of the UTF-8 bytes of each text, and its first 8 bytes as a number.

    sha256: 32 bytes; hash64: the first 8, big-endian, as a signed bit view.
    """
    data, offsets, valid = utf8_buffers(texts)
    return _hashes(_digests(data, offsets[:-1], offsets[1:], valid), texts.is_null())


@udf(args=("VARCHAR", "VARCHAR"), returns="INTEGER")
def content_split_bucket(groups: pa.Array, salts: pa.Array) -> pa.Array:
    """Return the bucket, 0 to 999, of each group: first 8 bytes, big-endian, of SHA-256(salt, NUL, group), mod 1000."""
    rows = zip(groups.to_pylist(), salts.to_pylist(), strict=True)
    return pa.array([None if g is None or s is None else _bucket(g, s) for g, s in rows], pa.int32())


def _bucket(group: str, salt: str) -> int:
    digest = hashlib.sha256(f"{salt}\0{group}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % 1000


@udf(args=("VARCHAR",), returns="STRUCT(sha256 BLOB, hash64 BIGINT)", requires=("numba", "numpy"))
def content_hash(texts: pa.Array) -> pa.Array:
    """Return the SHA-256 of each text after the matching normalisation, and its first 8 bytes as a number.

    The texts must be NFC already. \\r\\n and \\r become \\n, each line loses its trailing white space (what str.isspace
    says; only \\n ends a line), outer blank lines go; case, digits and indentation stay. sha256: 32 bytes; hash64: the
    first 8, big-endian, as a signed bit view.
    """
    data, offsets, valid = utf8_buffers(texts)
    data, offsets = data.view(), offsets.copy()
    data.flags.writeable = False  # as Arrow gives it: a writeable one would compile the kernel a second time
    ends = np.zeros(len(valid), np.int64)
    out = np.empty(int(offsets[-1] - offsets[0]), np.uint8)
    match_normalise(data, offsets, out, ends)
    return _hashes(_digests(out, offsets[:-1] - offsets[0], ends, valid), texts.is_null())


def _hashes(digests: list[bytes | None], missing: pa.Array) -> pa.Array:
    firsts = np.frombuffer(b"".join(digest[:8] if digest else bytes(8) for digest in digests), ">i8")
    columns = [pa.array(digests, pa.binary()), pa.array(firsts.astype(np.int64), mask=np.asarray(missing))]
    return pa.StructArray.from_arrays(columns, fields=list(_HASHES), mask=missing)


def _digests(data: np.ndarray, starts: np.ndarray, ends: np.ndarray, valid: np.ndarray) -> list[bytes | None]:
    view, sha256 = memoryview(data), hashlib.sha256
    rows = zip(starts.tolist(), ends.tolist(), valid.tolist(), strict=True)
    return [sha256(view[start:end]).digest() if there else None for start, end, there in rows]
