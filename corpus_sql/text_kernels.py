"""The kernel that counts words, lines and repeated n-grams. What these are is defined in `corpus_sql/text_counts.py`.

Numba keeps compiled code by this file's time stamp alone: whatever the kernels freeze into themselves stands here.
"""

from __future__ import annotations

import numpy as np

from corpus_sql.kernels import njit, uint64

# Flags of a code point, in the table that `text_counts.classes` makes.
SPACE, LETTER, MARK, WORD, CHARACTER_WORD, HANGUL, BULLET, DOT, END = (1 << bit for bit in range(9))

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
    "n_dup_sentence_chars",  # characters of the words of sentences that stood before
    *(f"n_top_{n}gram_chars" for n in (2, 3, 4)),
    *(f"n_dup_{n}gram_chars" for n in (5, 6, 7, 8, 9, 10)),
)
N_WORD_COUNTS = len(WORD_COUNTS)
N_COUNTS = N_WORD_COUNTS + len(REPETITION_COUNTS)

SEED = uint64(0xCBF29CE484222325)
MULTIPLIER = uint64(0x9E3779B97F4A7C15)
_THIRTY_TWO = uint64(32)


@njit(nogil=True, cache=True, inline="always")
def mix(state, code):
    """One step of a 64-bit hash over code points: a bijection of the state for every code."""
    state = (state ^ uint64(code)) * MULTIPLIER
    return state ^ (state >> _THIRTY_TWO)


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
        place = np.int64((key ^ (key >> _THIRTY_TWO)) * MULTIPLIER >> _THIRTY_TWO) & mask
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
    data, at, end, classes, folded, longer, use_stops, stops, seen, stamp,
    words, ends, lines, line_lengths, paragraphs, paragraph_lengths, sentences, sentence_lengths, out,
):  # fmt: skip
    """Split the text in data[at:end]; return (words, lines, paragraphs, sentences, characters, whether all had room).

    words uint64[], ends int64[one more]: out, hash of each word and the characters up to its end; lines, paragraphs,
    sentences uint64[] and their lengths int64[], of one size: out, hashes and characters (of a sentence, those of its
    words). out int64[N_WORD_COUNTS]: added to. stops uint64[a power of two]: one row of `stop_table`; seen
    int64[stops.size]: stamp where a stop word was found.
    """
    stop_mask = stops.size - 1
    n_words = n_lines = n_paragraphs = n_sentences = visible = sentence_start = np.int64(0)
    ends[0] = 0
    word = stop = stop_so_far = line = line_so_far = paragraph = sentence = SEED
    word_chars = line_chars = paragraph_chars = np.int64(0)
    word_flags = 0
    single = mixed = bullet = ellipsis = stopped = ended = False
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
                    return n_words, n_lines, n_paragraphs, n_sentences, visible, False
                words[n_words] = word
                ends[n_words + 1] = ends[n_words] + word_chars
                n_words += 1
                sentence = mix(sentence, word)
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
            ended = ended or stopped or code == 10 or code == 13
            stopped = False
            if code == 13 or (code == 10 and before != 13):
                if line_chars > 0:
                    if n_lines == lines.size:
                        return n_words, n_lines, n_paragraphs, n_sentences, visible, False
                    lines[n_lines] = line_so_far
                    line_lengths[n_lines] = line_chars
                    n_lines += 1
                    out[9] += bullet
                    out[10] += ellipsis
                    if paragraph_chars == 0:
                        paragraph = SEED
                    paragraph = mix(paragraph * MULTIPLIER ^ line_so_far, 10)
                    paragraph_chars += line_chars
                if paragraph_chars > 0 and (line_chars == 0 or at > end):
                    paragraphs[n_paragraphs] = paragraph
                    paragraph_lengths[n_paragraphs] = paragraph_chars
                    n_paragraphs += 1
                    paragraph_chars = np.int64(0)
                line_chars = np.int64(0)
                line = SEED
            elif code != 10:
                line = mix(line, code)
            before = code
            continue

        visible += 1
        if word_chars == 0:
            if ended and ends[n_words] > sentence_start:
                sentences[n_sentences] = sentence
                sentence_lengths[n_sentences] = ends[n_words] - sentence_start
                n_sentences += 1
                sentence_start = ends[n_words]
                sentence = SEED
            ended = False
            word = stop = stop_so_far = SEED
            word_flags = 0
            single = flags & CHARACTER_WORD != 0
            mixed = mixed or single
        ended = ended or flags & END != 0
        stopped = code == 46 or (stopped and not flags & WORD)
        word_chars += 1
        word_flags |= flags
        word = mix(word, code)
        if use_stops and word_flags & WORD:
            to = np.int64(folded[code])
            if to > 0:
                stop = mix(stop, to)
            elif to < 0:
                for i in range(1 - to, 1 - to + longer[-to]):
                    stop = mix(stop, longer[i])
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
    if ends[n_words] > sentence_start:
        sentences[n_sentences] = sentence
        sentence_lengths[n_sentences] = ends[n_words] - sentence_start
        n_sentences += 1
    return n_words, n_lines, n_paragraphs, n_sentences, visible, True


@njit(nogil=True, cache=True)
def count_texts(data, offsets, valid, classes, folded, longer, stops, which_stops, repetition):
    """Return int64[rows, N_COUNTS]: the counts named above of each valid text, zeros for the others.

    data, offsets, valid: of `utf8_buffers`; classes: of `text_counts.classes`; folded, longer: of `word_fold.tables`;
    stops: of `text_counts.stop_table`, with at least one row; which_stops int32[rows]: the row of stops that holds for
    a text, or -1, which gives -1 stop words; repetition: False leaves the repetition counts at zero and saves their
    time.
    """
    rows = valid.size
    result = np.zeros((rows, N_COUNTS), np.int64)
    room = 1024
    hashes = np.empty((4, room), np.uint64)
    lengths = np.empty((4, room + 1), np.int64)
    scratch = np.empty((5, room), np.int32)
    places = np.empty(2 * room, np.int32)
    seen = np.zeros(stops.shape[1], np.int64)
    for row in range(rows):
        if not valid[row]:
            continue
        out = result[row]
        stop_row = which_stops[row]
        while True:
            n_words, n_lines, n_paragraphs, n_sentences, visible, done = scan(
                data, offsets[row], offsets[row + 1], classes, folded, longer,
                stop_row >= 0, stops[max(stop_row, 0)], seen, row + 1,
                hashes[0], lengths[0], hashes[1], lengths[1], hashes[2], lengths[2], hashes[3], lengths[3], out,
            )  # fmt: skip
            if done:
                break
            # Arrays that could grow inside `scan` would make it four times slower; so it starts again.
            room *= 2
            hashes = np.empty((4, room), np.uint64)
            lengths = np.empty((4, room + 1), np.int64)
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
        _, out[base + 6] = count_repeats(hashes[3], lengths[3], n_sentences, places, ids, counts, firsts)
        count_ngrams(
            hashes[0], lengths[0], n_words, places, ids, counts, firsts, scratch[3], scratch[4], out[base + 7 :]
        )
    return result
