"""fastText classifiers: a reader of the model file and a kernel that predicts exactly what fastText predicts.

The kernel gives the label and the float32 probability of `predict(text, k=1, threshold=0)`, bit for bit, for whole
documents and without holding the interpreter's lock. It reads the kind of model that language identification uses
(lid.176.ftz and lid.176.bin): supervised, hierarchical softmax, no word n-grams, output matrix not quantised. Every
other sound model goes through fasttext-wheel, one text at a time, with the same result.

Source of formats and formulas: fastText 0.9.2 (args.h, dictionary.cc, fasttext.cc, loss.cc, productquantizer.cc,
quantmatrix.cc). Kept as it is there, since exactness is the point: only space, \\t, \\n, \\v, \\f, \\r and NUL separate
words (U+00A0 and U+3000 do not); a word `</s>` in the text ends it, what follows is not looked at; words that begin
with `__label__` are dropped; a probability may exceed 1 by up to about 1e-4.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corpus_sql.errors import ModelError, Problem
from corpus_sql.kernels import njit

MAGIC = 793712314  # fasttext.cc: FASTTEXT_FILEFORMAT_MAGIC_INT32
NEWEST_VERSION = 12
END = b"</s>"
LABEL_PREFIX = b"__label__"
HIERARCHICAL_SOFTMAX = 1  # args.h: loss_name::hs
SUPERVISED = 3  # args.h: model_name::sup
MOST_BUCKETS = 1 << 24  # of a pruned model; the kernel's table takes 4 bytes for each (lid.176 has 2,000,000)
CENTROIDS = 256  # productquantizer.h: 2^8 centroids for one code byte


@dataclass(frozen=True)
class FastTextModel:
    """One model, loaded: labels without `__label__`; the arrays that `predict` needs, None for other kinds."""

    path: Path
    labels: tuple[str, ...]
    kind: str  # what the file holds, for messages and build records
    kernel: tuple[np.ndarray, ...] | None


class _File:
    """The bytes of a model file, read from the front; every read past the end is an error that names the part."""

    def __init__(self, path: Path):
        self.path, self.at, self.data = path, 0, path.read_bytes()

    def bad(self, what: str) -> ModelError:
        return ModelError(Problem(str(self.path), what, "Give a model file as fastText's save_model writes it."))

    def take(self, size: int, part: str) -> memoryview:
        if size < 0 or self.at + size > len(self.data):
            raise self.bad(f"the fastText model is damaged: it ends at byte {len(self.data)}, within the {part}")
        self.at += size
        return memoryview(self.data)[self.at - size : self.at]

    def unpack(self, form: str, part: str) -> tuple:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form), part))

    def array(self, dtype: str, count: int, part: str) -> np.ndarray:
        return np.frombuffer(self.take(np.dtype(dtype).itemsize * count, part), dtype)

    def word(self) -> bytes:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise self.bad(f"the fastText model is damaged: it ends at byte {len(self.data)}, within the dictionary")
        word, self.at = self.data[self.at : end], end + 1
        return word


def load(path: Path) -> FastTextModel:
    """Read a fastText model file.

    Raises ModelError, which names the file, when it is no fastText model, is damaged, or is not supervised.
    """
    file = _File(path)
    if len(file.data) < 8 or file.unpack("i", "header")[0] != MAGIC:
        raise file.bad("this is not a fastText model file")
    (version,) = file.unpack("i", "header")
    if version > NEWEST_VERSION:
        raise file.bad(f"the fastText model has format version {version}; versions up to {NEWEST_VERSION} can be read")
    dim, _, _, _, _, word_ngrams, loss, model, bucket, minn, maxn, _, _ = file.unpack("12id", "settings")
    if model != SUPERVISED:
        raise file.bad("the fastText model holds word vectors; language identification needs a supervised classifier")
    if version == 11:
        maxn = 0  # fasttext.cc, loadModel: supervised models of version 11 use no character n-grams

    size, n_words, n_labels, _, n_pruned = file.unpack("iiiqq", "dictionary")
    words, counts, types = [], [], []
    for _ in range(max(size, 0)):
        words.append(file.word())
        count, kind = file.unpack("qb", "dictionary")
        counts.append(count)
        types.append(kind)
    if min(n_words, n_labels - 1) < 0 or size != n_words + n_labels or types != [0] * n_words + [1] * n_labels:
        raise file.bad("the fastText model is damaged: its dictionary is not a list of words and then of labels")
    labels = _labels(file, words[n_words:])
    pruned = file.array("<i4", 2 * max(n_pruned, 0), "table of n-grams").reshape(-1, 2)

    (quantised,) = file.unpack("?", "input matrix")
    table = _quantised_matrix(file, "input matrix") if quantised else _matrix(file, "input matrix")
    (quantised_output,) = file.unpack("?", "output matrix")
    read_output = _quantised_matrix if quantised and quantised_output else _matrix
    output = read_output(file, "output matrix")
    if file.at != len(file.data):
        raise file.bad(f"the fastText model is damaged: it ends at byte {file.at}, the file at byte {len(file.data)}")

    wanted = n_words + (pruned[:, 1].max(initial=-1) + 1 if n_pruned >= 0 else bucket if maxn > 0 else 0)
    if table.shape[1] != dim or output.shape != (n_labels, dim) or wanted > len(table) or pruned.min(initial=0) < 0:
        raise file.bad("the fastText model is damaged: its matrices do not fit its dictionary")
    if not quantised and n_pruned >= 0:
        raise file.bad("the fastText model is of an early form that fastText itself refuses: pruned, but not quantised")
    if maxn > 0 and n_pruned != 0 and bucket <= 0:
        raise file.bad("the fastText model is damaged: it has character n-grams but no buckets for them")
    if not (np.isfinite(table).all() and np.isfinite(output).all()):
        raise file.bad("the fastText model is damaged: it holds numbers that are not finite")

    kind = f"{'quantised' if quantised else 'dense'} supervised fastText model of {n_labels} labels"
    too_wide = n_pruned > 0 and bucket > MOST_BUCKETS
    if loss != HIERARCHICAL_SOFTMAX or word_ngrams > 1 or (quantised and quantised_output) or too_wide:
        return FastTextModel(path, labels, kind + ", read by fasttext-wheel", None)
    settings = np.array([minn, maxn, bucket, n_words, n_pruned], np.int64)
    tree = _tree(counts[n_words:])
    lexicon = _lexicon(words)
    ngrams = _ngram_rows(pruned, bucket if n_pruned > 0 else 0)
    kernel = tuple(frozen(a) for a in (settings, *lexicon, *ngrams, table, *tree, output))
    return FastTextModel(path, labels, kind, kernel)


def _labels(file: _File, words: list[bytes]) -> tuple[str, ...]:
    try:
        return tuple(word.removeprefix(LABEL_PREFIX).decode() for word in words)
    except UnicodeDecodeError as error:
        raise file.bad("the fastText model is damaged: a label is not UTF-8") from error


def _matrix(file: _File, part: str) -> np.ndarray:
    rows, columns = file.unpack("qq", part)
    return file.array("<f4", rows * columns if min(rows, columns) >= 0 else -1, part).reshape(rows, columns)


def _quantised_matrix(file: _File, part: str) -> np.ndarray:
    """Return a product-quantised matrix as float32 rows: norm x centroid, the number fastText adds for each entry."""
    normed, rows, columns, n_codes = file.unpack("?qqi", part)
    codes = file.array("u1", n_codes, part)
    values = _decode(file, codes, rows, columns, part)
    if not normed:
        return values
    norms = _decode(file, file.array("u1", rows, part), rows, 1, part)
    return values * norms


def _decode(file: _File, codes: np.ndarray, rows: int, columns: int, part: str) -> np.ndarray:
    """Return float32[rows, columns] of one product quantiser: each group of columns is one of 256 centroids."""
    dim, groups, width, last_width = file.unpack("4i", part)
    sound = dim == columns and groups >= 1 and 0 < last_width <= width and (groups - 1) * width + last_width == dim
    if not sound or len(codes) != rows * groups:
        raise file.bad(f"the fastText model is damaged: the {part} does not fit its codes")
    centroids = file.array("<f4", dim * CENTROIDS, part)
    codes, start, values = codes.reshape(rows, groups), 0, np.empty((rows, columns), np.float32)
    for group in range(groups):
        size = last_width if group == groups - 1 else width
        block = centroids[start : start + CENTROIDS * size].reshape(CENTROIDS, size)
        values[:, group * width : group * width + size] = block[codes[:, group]]
        start += CENTROIDS * size
    return values


def _lexicon(words: list[bytes]) -> tuple[np.ndarray, ...]:
    """Return the dictionary as an open-addressing table: slots (word number or -1), bytes, and where each word starts.

    Of equal words the last wins, as in fastText's loading loop. Labels are in it too: they are found and then dropped.
    """
    size = 1 << max(4, (2 * len(words)).bit_length())
    slots = np.full(size, -1, np.int32)
    for number in sorted({word: i for i, word in enumerate(words)}.values()):
        slot = _fnv(words[number]) & (size - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = number
    starts = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in words], out=starts[1:])
    return slots, np.frombuffer(b"".join(words), np.uint8), starts


def _fnv(word: bytes) -> int:
    """FNV-1a of 32 bits with bytes from 0x80 sign-extended, as dictionary.cc computes it."""
    value = 2166136261
    for byte in word:
        value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return value


def _ngram_rows(pruned: np.ndarray, bucket: int) -> tuple[np.ndarray, np.ndarray]:
    """Return for a pruned model the row of each n-gram bucket (-1: dropped), and one bit for each that is kept.

    The bits (250 KB for lid.176.ftz) stay in the cache of a core; the rows (8 MB) are looked at only for kept buckets.
    """
    rows = np.full(bucket, -1, np.int32)
    rows[pruned[:, 0][pruned[:, 0] < bucket]] = pruned[:, 1][pruned[:, 0] < bucket]
    return rows, np.packbits(rows >= 0, bitorder="little")


def _tree(counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return left and right child of each node of the label tree (loss.cc, buildTree); the root is the last node."""
    leaves = len(counts)
    weights = [*counts, *[10**15] * (leaves - 1)]
    left, right = np.full(len(weights), -1, np.int32), np.full(len(weights), -1, np.int32)
    leaf, node = leaves - 1, leaves
    for parent in range(leaves, len(weights)):
        pair = []
        for _ in range(2):
            if leaf >= 0 and weights[leaf] < weights[node]:
                pair.append(leaf)
                leaf -= 1
            else:
                pair.append(node)
                node += 1
        left[parent], right[parent] = pair
        weights[parent] = weights[pair[0]] + weights[pair[1]]
    return left, right


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a contiguous, aligned, read-only view: a kernel that only ever sees such arrays is compiled once."""
    view = np.require(array, requirements=["C", "A"]).view()
    view.flags.writeable = False
    return view


_END, _LABEL_PREFIX = np.frombuffer(END, np.uint8), np.frombuffer(LABEL_PREFIX, np.uint8)
_BASIS, _PRIME = np.uint32(2166136261), np.uint32(16777619)  # FNV-1a, 32 bits


@njit(nogil=True, cache=True)
def _begins(word, length, prefix):
    if length < len(prefix):
        return False
    for k in range(len(prefix)):
        if word[k + 1] != prefix[k]:
            return False
    return True


@njit(nogil=True, cache=True)
def predict(
    data, offsets, todo, settings, slots, word_bytes, word_starts, ngram_rows, ngram_bits, table, left, right, output
):
    """Return (label number int32[n], probability float32[n]) of each text; -1 and 0 where `todo` is false.

    A label is -1 too where fastText predicts nothing (a model without `</s>` and a text without a known n-gram).
    data, offsets, todo: Arrow buffers and which texts to look at; the rest: `FastTextModel.kernel`, in its order.
    """
    n, dim, n_labels, n_nodes = len(offsets) - 1, table.shape[1], output.shape[0], len(left)
    minn, maxn, bucket, n_words, n_pruned = settings[0], settings[1], np.uint32(settings[2]), settings[3], settings[4]
    floor = np.float32(math.log(1e-5))  # loss.cc: dfs leaves out what is below std_log(threshold = 0)
    labels, scores = np.full(n, -1, np.int32), np.zeros(n, np.float32)
    hidden, word = np.empty(dim, np.float32), np.empty(256, np.uint32)
    stack, stack_score = np.empty(n_nodes + 1, np.int32), np.empty(n_nodes + 1, np.float32)
    for i in range(n):
        if not todo[i]:
            continue
        hidden[:] = np.float32(0)
        rows, at, end, ended = 0, offsets[i], offsets[i + 1], False
        while not ended:
            while at < end and (data[at] == 32 or 9 <= data[at] <= 13 or data[at] == 0):
                at += 1
            start = at
            while at < end and not (data[at] == 32 or 9 <= data[at] <= 13 or data[at] == 0):
                at += 1
            # '<' + word + '>', bytes from 0x80 sign-extended as in dictionary.cc; after the last word comes '</s>'
            length = at - start if at > start else len(_END)
            if length + 2 > len(word):
                word = np.empty(2 * length + 2, np.uint32)
            whole = _BASIS
            for k in range(length):
                word[k + 1] = np.int8(data[start + k] if at > start else _END[k])
                whole = np.uint32((whole ^ word[k + 1]) * _PRIME)
            word[0], word[length + 1] = 60, 62
            ended = length == len(_END) and _begins(word, length, _END)

            number, slot = -1, np.int64(whole) & (len(slots) - 1)
            while slots[slot] >= 0 and number < 0:
                begin, same = word_starts[slots[slot]], False
                if word_starts[slots[slot] + 1] - begin == length:
                    same = True
                    for k in range(length):
                        if word_bytes[begin + k] != np.uint8(word[k + 1]):
                            same = False
                            break
                if same:
                    number = np.int64(slots[slot])
                slot = (slot + 1) & (len(slots) - 1)
            if 0 <= number < n_words:
                for k in range(dim):
                    hidden[k] += table[number, k]
                rows += 1
            if ended or maxn <= 0 or n_pruned == 0 or number >= n_words:
                continue
            if number < 0 and _begins(word, length, _LABEL_PREFIX):
                continue
            for first in range(length + 2):
                if (word[first] & 0xC0) == 0x80:
                    continue
                value, j = _BASIS, first
                for size in range(1, maxn + 1):
                    if j == length + 2:
                        break
                    value = np.uint32((value ^ word[j]) * _PRIME)
                    j += 1
                    while j < length + 2 and (word[j] & 0xC0) == 0x80:
                        value = np.uint32((value ^ word[j]) * _PRIME)
                        j += 1
                    if size < minn or (size == 1 and (first == 0 or j == length + 2)):
                        continue
                    row = np.int64(value % bucket)
                    if n_pruned > 0:
                        if not (ngram_bits[row >> 3] >> (row & 7)) & 1:
                            continue
                        row = np.int64(ngram_rows[row])
                    for k in range(dim):
                        hidden[k] += table[n_words + row, k]
                    rows += 1
        if rows == 0:
            continue
        for k in range(dim):
            hidden[k] *= np.float32(1.0 / rows)
        # the best leaf of the label tree, left child first; of equal leaves the last wins, as in fastText's heap
        stack[0], stack_score[0], depth = n_nodes - 1, np.float32(0), 1
        best, best_score = -1, np.float32(0)
        while depth > 0:
            depth -= 1
            node, score = stack[depth], stack_score[depth]
            if score < floor or (best >= 0 and score < best_score):
                continue
            if left[node] < 0:
                best, best_score = node, score
                continue
            f = np.float32(0)
            for k in range(dim):
                f += output[node - n_labels, k] * hidden[k]
            # loss.cc, dfs: 1 / (1 + exp(-f)) is float32 inside and divided in double; both logarithms are double
            f = np.float32(1.0 / np.float64(np.float32(1) + math.exp(-f)))
            rest = np.float32(1.0 - np.float64(f))
            stack[depth], stack[depth + 1] = right[node], left[node]
            stack_score[depth] = score + np.float32(math.log(np.float64(f) + 1e-5))
            stack_score[depth + 1] = score + np.float32(math.log(np.float64(rest) + 1e-5))
            depth += 2
        if best >= 0:
            labels[i], scores[i] = best, math.exp(best_score)
    return labels, scores
