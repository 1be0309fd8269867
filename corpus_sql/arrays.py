"""Arrow strings and lists as the flat arrays that kernels read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def utf8_buffers(array: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (data uint8[], offsets int64[n + 1], valid bool[n]) of a string, large_string or binary array.

    data is the array's own buffer without a copy: bytes of text i are data[offsets[i]:offsets[i + 1]]. It is not
    padded: a kernel may not read past offsets[n]. A slice (array.offset) and an empty buffer are honoured; the
    offsets of a null row are equal or meaningless, so look at valid first.
    """
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    if not wide and not (pa.types.is_string(array.type) or pa.types.is_binary(array.type)):
        raise TypeError(f"expected a string array, got {array.type}")
    _, offset_buffer, data_buffer = array.buffers()
    n = len(array)
    if n == 0 or offset_buffer is None:
        return np.zeros(0, np.uint8), np.zeros(n + 1, np.int64), np.zeros(n, np.bool_)
    offsets = np.frombuffer(offset_buffer, np.int64 if wide else np.int32)[array.offset : array.offset + n + 1]
    data = np.zeros(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    valid = np.ones(n, np.bool_) if array.null_count == 0 else np.asarray(array.is_valid())
    return data, offsets.astype(np.int64, copy=False), valid


def list_parts(lists: pa.Array, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Return (bounds int64[n + 1] from 0, values) of an array of lists; a null list is empty."""
    bounds = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(np.asarray(pc.fill_null(pc.list_value_length(lists), 0)), out=bounds[1:])
    return bounds, np.array(lists.flatten(), dtype)
