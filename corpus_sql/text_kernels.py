"""Compiled counting of words, lines and repeated n-grams: what a character is, and one kernel over Arrow buffers.

What a character is
    A table over all code points, made from `unicodedata` and the block ranges below. White space is what `str.isspace`
    says, and the Ethiopic word space U+1361, which older spelling sets in its place. A *word character* is a letter,
    mark or number (categories L, M, N).

What a word is
    A run of characters other than white space. Two groups of scripts write no spaces between words; each of their
    letters, with the marks that follow it, is a word of its own ("character word"): Han and kana; Thai, Lao, Khmer,
    Myanmar, Tibetan, Yi, Javanese, Balinese and the Tai scripts. Where a run holds such letters, the stretches
    between them are words if they hold a word character, else (punctuation stuck to a Han character) they are none:
    `Python语言，3.12版。` is `Python 语 言 ，3.12 版`. A run without such letters is one word, whatever it holds:
    `word,` is one word of five characters and a lone `—` is a word.

What a line and a paragraph are
    `\\n`, `\\r\\n` and a bare `\\r` end a line, nothing else does. A line of white space alone is blank: it is no line
    in any count, and it ends a paragraph. Lines are compared without trailing white space; case and indentation count,
    as they do for exact duplicates.

Characters are code points other than white space, in every numerator and every denominator.
"""

from __future__ import annotations

import functools
import unicodedata

import numpy as np
import pyarrow as pa
from numba import njit, uint64

from corpus_sql.arrays import utf8_buffers

SPACE, LETTER, MARK, WORD, CHARACTER_WORD, HANGUL, BULLET, DOT = (1 << bit for bit in range(8))

# Dashes longer than the hyphen are left out: many languages open a line of dialogue with them.
BULLETS = "-*•‣⁃∙·・◦●○■□▪▫◆◇▶►▸➢➤"

HAN_AND_KANA = (
    (0x2E80, 0x2FD5),  # radicals, which text taken from PDF has in place of the characters
    (0x3005, 0x3005), (0x3007, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B),
    (0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9D),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
    (0x1AFF0, 0x1AFFE), (0x1B000, 0x1B167),
    (0x20000, 0x3FFFD),  # the two ideographic planes, ahead of the Unicode version of the Python that runs
)  # fmt: skip
UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF), (0x1A20, 0x1AAF), (0xAA80, 0xAADF),  # Tai Le, New Tai Lue, Tai Tham, Tai Viet
    (0x1B00, 0x1B7F), (0xA980, 0xA9DF),  # Balinese, Javanese
    (0xA000, 0xA48C),  # Yi
)  # fmt: skip
HANGUL_RANGES = ((0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97C), (0xAC00, 0xD7FB), (0xFFA0, 0xFFDC))

# Columns of the result of `count_texts`, in this order.
WORD_COUNTS = (
    "n_words",  # words
    "n_character_words",  # of them, words of one letter of a script without spaces
    "n_hangul_words",  # of them, words with a Hangul letter
    "n_alpha_words",  # of them, words with a letter
    "n_spaced_chars",  # characters of the words that are neither character words nor Hangul words
    "n_hashes",  # '#'
    "n_ellipses",  # runs of three and more full stops, runs of U+2026 or U+22EF
    "n_stop_words",  # different stop words present
    "n_lines",  # lines that are not blank
    "n_bullet_lines",  # of them, lines that begin with a bullet
    "n_ellipsis_lines",  # of them, lines that end with an ellipsis
)
REPETITION_COUNTS = (
    "n_visible_chars",  # characters other than white space
    "n_paragraphs",
    "n_dup_lines",  # lines that stood before
    "n_dup_line_chars",
    "n_dup_paragraphs",
    "n_dup_paragraph_chars",
    *(f"n_top_{n}gram_chars" for n in (2, 3, 4)),
    *(f"n_dup_{n}gram_chars" for n in (5, 6, 7, 8, 9, 10)),
)
N_WORD_COUNTS = len(WORD_COUNTS)
N_COUNTS = N_WORD_COUNTS + len(REPETITION_COUNTS)

_SEED = uint64(0xCBF29CE484222325)
_MULTIPLIER = uint64(0x9E3779B97F4A7C15)
_THIRTY_TWO = uint64(32)


def fold(char: str) -> str:
    """Return the case-folded form of one character where that is one character, else its lower case, else itself."""
    for folded in (char.casefold(), char.lower()):
        if len(folded) == 1:
            return folded
    return char


@functools.cache
def tables() -> tuple[np.ndarray, np.ndarray]:
    """Return (classes uint8[0x110000], folded int32[0x110000]): the flags above, and `fold`, of every code point."""
    classes = np.zeros(0x110000, np.uint8)
    folded = np.arange(0x110000, dtype=np.int32)
    for code in (*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200)):
        char = chr(code)
        kind = unicodedata.category(char)[0]
        if kind in "LMN":
            classes[code] = WORD | (LETTER if kind == "L" else MARK if kind == "M" else 0)
            folded[code] = ord(fold(char))
        elif char.isspace():
            classes[code] = SPACE
    for first, last in HAN_AND_KANA:
        classes[first : last + 1] = LETTER | WORD | CHARACTER_WORD
    for first, last in UNSPACED:
        classes[first : last + 1][classes[first : last + 1] & LETTER != 0] |= CHARACTER_WORD
    for first, last in HANGUL_RANGES:
        classes[first : last + 1][classes[first : last + 1] & LETTER != 0] |= HANGUL
    classes[0x1361] = SPACE
    classes[0xFF9E : 0xFF9F + 1] = MARK | WORD  # half-width voicing marks, letters by category
    classes[[ord(char) for char in BULLETS]] |= BULLET
    classes[[ord(char) for char in ".。…⋯"]] |= DOT
    return classes, folded


@njit(nogil=True, cache=True, inline="always")
def mix(state, code):
    """One step of a 64-bit hash over code points: a bijection of the state for every code."""
    state = (state ^ uint64(code)) * _MULTIPLIER
    return state ^ (state >> _THIRTY_TWO)


def hash_text(text: str) -> int:
    """Return the hash that the kernel computes for a word of these characters, as a Python integer below 2**64."""
    state = int(_SEED)
    for char in text:
        state = (state ^ ord(char)) * int(_MULTIPLIER) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 32
    return state


def stop_table(lists: list[list[str]]) -> np.ndarray:
    """Return uint64[len(lists), size]: one open-addressing table of the hashes of each list of stop words.

    size is a power of two, at least twice the longest list; 0 marks a free place. Words are folded as texts are.
    """
    sets = [sorted({hash_text("".join(map(fold, word))) for word in words}) for words in lists]
    size = 8
    while size < 2 * max(map(len, sets), default=0):
        size *= 2
    table = np.zeros((len(sets), size), np.uint64)
    for row, hashes in zip(table, sets, strict=True):
        for value in hashes:
            place = value & (size - 1)
            while row[place]:
                place = (place + 1) & (size - 1)
            row[place] = value
    return table


@njit(nogil=True, cache=True)
def number(keys, n, places, ids, counts, firsts):
    """Give each key the number of its first equal, in order of appearance; return how many numbers there are.

    keys uint64[>= n]: in; ids int32[>= n]: out, the number of key i; counts, firsts int32[>= n]: out, per number, how
    often it occurs and at which i first. places int32[>= 16, a power of two >= 2 n]: scratch.
    """
    size = 16
    while size < 2 * n:
        size *= 2
    mask = size - 1
    for place in range(size):
        places[place] = -1
    known = 0
    for i in range(n):
        key = keys[i]
        place = np.int64((key ^ (key >> _THIRTY_TWO)) * _MULTIPLIER >> _THIRTY_TWO) & mask
        while places[place] >= 0 and keys[firsts[places[place]]] != key:
            place = (place + 1) & mask
        if places[place] < 0:
            places[place] = known
            counts[known] = 0
            firsts[known] = i
            known += 1
        ids[i] = places[place]
        counts[ids[i]] += 1
    return known


@njit(nogil=True, cache=True)
def count_repeats(keys, lengths, n, places, ids, counts, firsts):
    """Return (how many of n keys stood before, their summed lengths)."""
    number(keys, n, places, ids, counts, firsts)
    repeats = 0
    chars = np.int64(0)
    for i in range(n):
        if firsts[ids[i]] != i:
            repeats += 1
            chars += lengths[i]
    return repeats, chars


@njit(nogil=True, cache=True)
def count_ngrams(keys, ends, n, places, ids, counts, firsts, positions, grams, out):
    """Fill out[0:3] with the characters of the top 2/3/4-gram, out[3:9] with those of repeated 5..10-grams.

    keys uint64[>= n]: the words (overwritten); ends int64[>= n + 1]: characters before word i. A repeated n-gram is
    made of two repeated (n-1)-grams, so that each length looks only at what the length before it left over; an
    n-gram is named by the numbers of these two, hence compared exactly once words are. out holds zeros at first.
    """
    number(keys, n, places, ids, counts, firsts)
    left = 0
    for i in range(n):
        grams[i] = -1
        if counts[ids[i]] > 1:
            grams[i] = ids[i]
            positions[left] = i
            left += 1
    for length in range(2, 11):
        # Candidates: the (length-1)-grams here and one word on are both repeated.
        found = 0
        for j in range(left):
            i = positions[j]
            if i + length <= n and grams[i] >= 0 and grams[i + 1] >= 0:
                keys[found] = (uint64(grams[i]) << _THIRTY_TWO) | uint64(grams[i + 1])
                positions[found] = i
                found += 1
            else:
                # Read again only as the neighbour of the position before, which has been handled.
                grams[i] = -1
        known = number(keys, found, places, ids, counts, firsts)
        if length <= 4:
            most = 1
            chars = np.int64(0)
            for name in range(known):
                if counts[name] > 1 and counts[name] >= most:
                    i = positions[firsts[name]]
                    here = counts[name] * (ends[i + length] - ends[i])
                    if counts[name] > most or here > chars:
                        chars = here
                    most = counts[name]
            out[length - 2] = min(chars, ends[n])
        left = 0
        covered = np.int64(0)
        chars = np.int64(0)
        for j in range(found):
            i = positions[j]
            if counts[ids[j]] < 2:
                grams[i] = -1
                continue
            if length >= 5 and firsts[ids[j]] != j:
                chars += ends[i + length] - ends[max(i, covered)]
                covered = i + length
            grams[i] = ids[j]
            positions[left] = i
            left += 1
        if length >= 5:
            out[length - 2] = chars
        if left == 0:
            break


@njit(nogil=True, cache=True)
def scan(
    data, at, end, classes, folded, use_stops, stops, seen, stamp,
    words, ends, lines, line_lengths, paragraphs, paragraph_lengths, out,
):  # fmt: skip
    """Split the text in data[at:end]; return (words, lines, paragraphs, characters, True), or False for lack of room.

    words uint64[], ends int64[one more]: out, hash of each word and the characters up to its end; lines, paragraphs
    uint64[] and their lengths int64[], of one size: out, hashes and characters. out int64[N_WORD_COUNTS]: added to.
    stops uint64[a power of two]: one row of `stop_table`; seen int64[stops.size]: stamp where a stop word was found.
    """
    stop_mask = stops.size - 1
    n_words = n_lines = n_paragraphs = visible = np.int64(0)
    ends[0] = 0
    word = stop = stop_so_far = line = line_so_far = paragraph = _SEED
    word_chars = line_chars = paragraph_chars = np.int64(0)
    word_flags = 0
    single = mixed = bullet = ellipsis = False
    dots = 0
    before = np.int64(-1)
    while at <= end:
        # One code point; after the last one a line end that closes word, line and paragraph.
        if at == end:
            code = np.int64(10)
            before = np.int64(-1)
            at += 1
        else:
            byte = np.int64(data[at])
            if byte < 0x80:
                code = byte
                at += 1
            elif byte < 0xE0:
                code = (byte & 0x1F) << 6 | (np.int64(data[at + 1]) & 0x3F)
                at += 2
            elif byte < 0xF0:
                code = (byte & 0x0F) << 12 | (np.int64(data[at + 1]) & 0x3F) << 6 | (np.int64(data[at + 2]) & 0x3F)
                at += 3
            else:
                code = (byte & 0x07) << 18 | (np.int64(data[at + 1]) & 0x3F) << 12
                code |= (np.int64(data[at + 2]) & 0x3F) << 6 | (np.int64(data[at + 3]) & 0x3F)
                at += 4
        flags = np.int64(classes[code])

        if word_chars > 0 and (flags & (SPACE | CHARACTER_WORD) or (single and not flags & MARK)):
            if word_flags & WORD or (flags & SPACE and not mixed):
                if n_words == words.size:
                    return n_words, n_lines, n_paragraphs, visible, False
                words[n_words] = word
                ends[n_words + 1] = ends[n_words] + word_chars
                n_words += 1
                if single:
                    out[1] += 1
                elif word_flags & HANGUL:
                    out[2] += 1
                else:
                    out[4] += word_chars
                if word_flags & LETTER:
                    out[3] += 1
                if use_stops:
                    place = np.int64(stop_so_far & uint64(stop_mask))
                    while stops[place] != 0:
                        if stops[place] == stop_so_far:
                            if seen[place] != stamp:
                                seen[place] = stamp
                                out[7] += 1
                            break
                        place = (place + 1) & stop_mask
            word_chars = np.int64(0)
        if flags & SPACE:
            mixed = False
            dots = 0
            if code == 13 or (code == 10 and before != 13):
                if line_chars > 0:
                    if n_lines == lines.size:
                        return n_words, n_lines, n_paragraphs, visible, False
                    lines[n_lines] = line_so_far
                    line_lengths[n_lines] = line_chars
                    n_lines += 1
                    out[9] += bullet
                    out[10] += ellipsis
                    if paragraph_chars == 0:
                        paragraph = _SEED
                    paragraph = mix(paragraph * _MULTIPLIER ^ line_so_far, 10)
                    paragraph_chars += line_chars
                if paragraph_chars > 0 and (line_chars == 0 or at > end):
                    paragraphs[n_paragraphs] = paragraph
                    paragraph_lengths[n_paragraphs] = paragraph_chars
                    n_paragraphs += 1
                    paragraph_chars = np.int64(0)
                line_chars = np.int64(0)
                line = _SEED
            elif code != 10:
                line = mix(line, code)
            before = code
            continue

        visible += 1
        if word_chars == 0:
            word = stop = stop_so_far = _SEED
            word_flags = 0
            single = flags & CHARACTER_WORD != 0
            mixed = mixed or single
        word_chars += 1
        word_flags |= flags
        word = mix(word, code)
        if word_flags & WORD:
            stop = mix(stop, folded[code])
            if flags & WORD:
                stop_so_far = stop
        if line_chars == 0:
            bullet = flags & BULLET != 0
        line_chars += 1
        line = mix(line, code)
        line_so_far = line
        ellipsis = False
        if flags & DOT:
            dots = dots + 1 if code == before else 1
            long = code == 0x2026 or code == 0x22EF
            ellipsis = long or dots >= 3
            if dots == (1 if long else 3):
                out[6] += 1
        elif code == 35:
            out[5] += 1
        before = code
    return n_words, n_lines, n_paragraphs, visible, True


@njit(nogil=True, cache=True)
def count_texts(data, offsets, valid, classes, folded, stops, which_stops, repetition):
    """Return int64[rows, N_COUNTS]: the counts named above of each valid text, zeros for the others.

    data, offsets, valid: of `utf8_buffers`; classes, folded: of `tables`; stops: of `stop_table`, with at least one
    row; which_stops int32[rows]: the row of stops that holds for a text, or -1, which gives -1 stop words;
    repetition: False leaves the repetition counts at zero and saves their time.
    """
    rows = valid.size
    result = np.zeros((rows, N_COUNTS), np.int64)
    room = 1024
    hashes = np.empty((3, room), np.uint64)
    lengths = np.empty((3, room + 1), np.int64)
    scratch = np.empty((5, room), np.int32)
    places = np.empty(2 * room, np.int32)
    seen = np.zeros(stops.shape[1], np.int64)
    for row in range(rows):
        if not valid[row]:
            continue
        out = result[row]
        stop_row = which_stops[row]
        while True:
            n_words, n_lines, n_paragraphs, visible, done = scan(
                data, offsets[row], offsets[row + 1], classes, folded,
                stop_row >= 0, stops[max(stop_row, 0)], seen, row + 1,
                hashes[0], lengths[0], hashes[1], lengths[1], hashes[2], lengths[2], out,
            )  # fmt: skip
            if done:
                break
            # Arrays that could grow inside `scan` would make it four times slower; so it starts again.
            room *= 2
            hashes = np.empty((3, room), np.uint64)
            lengths = np.empty((3, room + 1), np.int64)
            scratch = np.empty((5, room), np.int32)
            places = np.empty(2 * room, np.int32)
            out[:] = 0
            seen[:] = 0
        out[0] = n_words
        if stop_row < 0:
            out[7] = -1
        out[8] = n_lines
        if not repetition:
            continue
        ids, counts, firsts = scratch[0], scratch[1], scratch[2]
        base = N_WORD_COUNTS
        out[base] = visible
        out[base + 1] = n_paragraphs
        repeats, chars = count_repeats(hashes[1], lengths[1], n_lines, places, ids, counts, firsts)
        out[base + 2] = repeats
        out[base + 3] = chars
        repeats, chars = count_repeats(hashes[2], lengths[2], n_paragraphs, places, ids, counts, firsts)
        out[base + 4] = repeats
        out[base + 5] = chars
        count_ngrams(
            hashes[0], lengths[0], n_words, places, ids, counts, firsts, scratch[3], scratch[4], out[base + 6 :]
        )
    return result


def count(texts: pa.Array, stop_words: pa.Array | None, repetition: bool) -> np.ndarray:
    """Return int64[len(texts), N_COUNTS], see `count_texts`, of a string or large_string array.

    stop_words: per text a space-joined list of words, or null; None stands for nulls alone.
    """
    if stop_words is None:
        which, lists = np.full(len(texts), -1, np.int32), []
    else:
        encoded = stop_words.dictionary_encode()
        which = np.array(encoded.indices.fill_null(-1), np.int32)
        lists = [unicodedata.normalize("NFC", words).split() for words in encoded.dictionary.to_pylist()]
    arrays = [*utf8_buffers(texts), *tables(), stop_table(lists or [[]]), which]
    for i, array in enumerate(arrays):  # Arrow's buffers are read-only: one signature for all calls
        arrays[i] = array.view()
        arrays[i].flags.writeable = False
    return count_texts(*arrays, repetition)
