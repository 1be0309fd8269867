"""JSON Lines and JSON arrays, record by record."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterator
from pathlib import Path

from corpus_sql import packed, raw_fields, raw_line, to_quarantine
from corpus_sql.import_inputs import Bad, Blank, Record
from corpus_sql.packed import Count

BOM = b"\xef\xbb\xbf"
# The reasons of raw_line that concern the line as JSON, not its fields
_UNREADABLE = ("invalid_utf8", "invalid_json", "too_deep", "lone_surrogate", "not_an_object", "duplicate_key")
_SPACE = " \t\r\n"


def lines(path: Path, max_bytes: int, count: Count | None) -> Iterator[tuple[int, bytes, bool] | Bad | Blank]:
    """Yield (number, line without its end, whether it has one); blank and too long lines as that."""
    with packed.unpacked(path, count) as file:
        number = 0
        while line := file.readline(max_bytes + 2):
            number += 1
            if number == 1:
                line = line.removeprefix(BOM)
            if len(line.rstrip(b"\r\n")) > max_bytes:
                while line and not line.endswith(b"\n"):
                    line = file.readline(1 << 20)
                yield Bad(number, f"is longer than {max_bytes} bytes (max_line_bytes of the config)")
                continue
            has_end = line.endswith(b"\n")
            line = line.removesuffix(b"\n").removesuffix(b"\r")
            yield Blank(number) if not line.strip(b" \t\r") else (number, line, has_end)


def jsonl(path: Path, max_bytes: int, count: Count | None) -> Iterator[Record | Bad | Blank]:
    """One JSON object a line."""
    for one in lines(path, max_bytes, count):
        yield one if isinstance(one, (Bad, Blank)) else _object(*one)


def array(path: Path, max_bytes: int, count: Count | None) -> Iterator[Record | Bad]:
    """One array of objects; a record's number is its place in it, from 1. After a Bad that is no object, no more."""
    decoder, number = json.JSONDecoder(), 0
    with packed.unpacked(path, count) as file:
        text = _Text(file, max_bytes)
        if text.skip() != "[":
            yield Bad(None, "is no JSON array: it does not begin with [")
            return
        text.at += 1
        if text.skip() == "]":
            text.at += 1
        else:
            while True:
                number += 1
                text.skip()
                try:
                    element = text.value(decoder)
                except ValueError as error:
                    yield Bad(number, str(error))
                    return
                # no string holds a line end as it is; between tokens it is white space
                content = element.encode().replace(b"\n", b" ").replace(b"\r", b" ")
                if len(content) > max_bytes:
                    yield Bad(number, f"is longer than {max_bytes} bytes (max_line_bytes of the config)")
                else:
                    yield _object(number, content)
                end = text.skip()
                text.at += 1
                if end == "]":
                    break
                if end != ",":
                    yield Bad(
                        number, "is followed by " + (f"{end!r}, not by a comma or ]" if end else "the end of the file")
                    )
                    return
        if rest := text.skip():
            yield Bad(None, f"has {rest!r} after the end of the array")


class _Text:
    """The text of a file, of which as much is held as the value at hand needs."""

    def __init__(self, file, max_bytes: int):
        self.file, self.max_bytes, self.text, self.at, self.ended = file, max_bytes, "", 0, False
        self.decode = codecs.getincrementaldecoder("utf-8-sig")().decode

    def more(self, size: int) -> None:
        data = self.file.read(size)
        self.ended = not data
        self.text = self.text[self.at :] + self.decode(data, self.ended)
        self.at = 0

    def skip(self) -> str:
        """Go to the next character that is no white space and return it; "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended:
                return ""
            self.more(1 << 16)

    def value(self, decoder: json.JSONDecoder) -> str:
        """Take the JSON value that begins here; twice as much is read each time it turns out to be longer."""
        while True:
            held = len(self.text) - self.at
            try:
                _, end = decoder.raw_decode(self.text, self.at)
                if end < len(self.text) or self.ended:  # 1 may be the beginning of 12
                    element, self.at = self.text[self.at : end], end
                    return element
            except json.JSONDecodeError as error:
                if self.ended:
                    raise ValueError(f"invalid_json: {error.msg}") from None
            except RecursionError:
                raise ValueError("too_deep") from None
            if held > 2 * self.max_bytes:
                raise ValueError(
                    f"is no JSON value, or longer than {self.max_bytes} bytes (max_line_bytes of the config)"
                )
            self.more(max(held, 1 << 16))


def _object(number: int, line: bytes, has_end: bool = True) -> Record | Bad:
    """Let the reader of raw lines judge whether this is JSON; what fields it has is for the import to judge."""
    fault = raw_line.parse(line, "")
    if isinstance(fault, raw_fields.Fault) and fault.reason in _UNREADABLE:
        is_cut = not has_end and to_quarantine.stops_short(fault)
        return Bad(number, f"{fault.reason}: {fault.detail}", line, is_cut)
    try:
        # the standard library keeps integers of any length
        return Record(number, json.loads(line.decode(), parse_float=_finite))
    except (ValueError, RecursionError) as error:
        return Bad(number, str(error), line)  # JSON all the same: the build keeps what it does not read


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("holds a number that is larger than any double")
    return value
