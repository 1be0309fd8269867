"""The matching normalisation of `content_hash`: what two texts must share to be exact duplicates."""

from __future__ import annotations

from corpus_sql.kernels import njit


@njit(nogil=True, cache=True)
def match_normalise(data, offsets, out, ends):
    """Write each text, normalised, to out, from where it began in data; ends[i] is the end of what was written."""
    for i in range(len(ends)):
        p, stop = offsets[i], offsets[i + 1]
        w = p - offsets[0]
        line = w  # where the line begins in out
        keep = w  # behind the last character in out that is not white space
        seen = False  # a line that is not blank
        while p < stop:
            b = data[p]
            if b == 10 or b == 13:
                if b == 13 and p + 1 < stop and data[p + 1] == 10:
                    p += 1
                p += 1
                if seen:
                    w = max(line, keep)
                    out[w] = 10
                    w += 1
                    line = w
                else:
                    w = line
                continue
            n = 1  # bytes of white space here, or 0
            if b > 32 and b < 128:
                n = 0
            elif b < 128:
                n = 1 if b == 32 or (b >= 9 and b <= 13) or (b >= 28 and b <= 31) else 0
            elif b == 0xC2:
                n = 2 if data[p + 1] == 0x85 or data[p + 1] == 0xA0 else 0
            elif b == 0xE1:
                n = 3 if data[p + 1] == 0x9A and data[p + 2] == 0x80 else 0
            elif b == 0xE2:
                c, d = data[p + 1], data[p + 2]
                n = 0
                if c == 0x80 and (d <= 0x8A or d == 0xA8 or d == 0xA9 or d == 0xAF):
                    n = 3
                elif c == 0x81 and d == 0x9F:
                    n = 3
            elif b == 0xE3:
                n = 3 if data[p + 1] == 0x80 and data[p + 2] == 0x80 else 0
            else:
                n = 0
            if n == 0:
                out[w] = b
                w += 1
                p += 1
                keep = w
                seen = True
            else:
                for _ in range(n):
                    out[w] = data[p]
                    w += 1
                    p += 1
        ends[i] = keep
