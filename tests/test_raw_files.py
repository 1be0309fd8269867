"""Files: order, positions over parts, frames, damage; and the sample cases where they are at hand."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import struct
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard
from raw_cases import LICENSE, LIMIT, frames, line, raw_file, read_all, stored, streamed

from corpus_sql import raw
from corpus_sql.errors import DataError
from corpus_sql.raw import RawFile, read

SHARED = Path(__file__).parents[1].parent / "shared"
RESTORE = "\n    No line of this file was used: restore it from its source, or import it anew."
SKIPPABLE = struct.pack("<II", 0x184D2A53, 10) + b"x" * 10


def message(file: RawFile) -> str:
    with pytest.raises(DataError) as caught:
        read_all([file])
    return str(caught.value)


MANY = b"\n".join(line(url=str(number)) for number in range(5000)) + b"\n"


# --- order and positions ---------------------------------------------------------------------------------------------


def test_k_counts_over_the_parts_of_a_source_in_byte_order(tmp_path):
    files = [
        raw_file(tmp_path, line(url="c") + b"\n", 10, "b-source"),
        raw_file(tmp_path, line(url="x") + b"\n", 0, "a-source"),
        raw_file(tmp_path, b"\n" + line(url="b"), 9, "b-source"),
        raw_file(tmp_path, b"oops\n" + line(url="a"), 2, "b-source"),
    ]
    found = read_all(files)
    assert [(row["id"], row["url"], row["line"]) for row in found["documents"]] == [
        ("b-source:1", "a", 2),
        ("b-source:3", "b", 2),
        ("b-source:4", "c", 1),
        ("a-source:0", "x", 1),
    ]
    assert [row["id"] for row in found["quarantine"]] == ["b-source:0"]
    assert [(row["file"], row["lines"], row["blank"]) for row in found["files"]] == [
        ("b-source/20261009/part-00002.jsonl.zst", 2, 0),
        ("b-source/20261009/part-00009.jsonl.zst", 2, 1),
        ("b-source/20261009/part-00010.jsonl.zst", 1, 0),
        ("a-source/20261009/part-00000.jsonl.zst", 1, 0),
    ]


def test_a_line_across_two_parts_is_two_bad_lines(tmp_path):
    whole = line()
    found = read_all([raw_file(tmp_path, line() + b"\n" + whole[:50]), raw_file(tmp_path, whole[50:] + b"\n", 1)])
    assert [row["id"] for row in found["documents"]] == ["demo:0"]
    assert [(row["id"], row["reason"], row["raw"]) for row in found["quarantine"]] == [
        ("demo:1", "invalid_json", whole[:50]),
        ("demo:2", "invalid_json", whole[50:]),
    ]


def test_files_are_read_with_their_own_licence(tmp_path):
    mine = raw_file(tmp_path, line(license_spdx="MIT"), 0, "mine")
    found = read_all([RawFile(mine.source_id, mine.name, mine.path, mine.sha256, mine.bytes, "MIT")])
    assert [row["license_spdx"] for row in found["documents"]] == ["MIT"]
    assert read_all([mine])["quarantine"][0]["reason"] == "license_mismatch"


def test_nothing_to_read():
    assert read_all([]) == {"documents": [], "quarantine": [], "files": []}


def rows_of(files: list[RawFile], max_line_bytes: int = LIMIT) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a reading without what names the part or counts within it."""
    found = read_all(files, max_line_bytes)
    return {
        kind: [{key: value for key, value in row.items() if key not in ("file", "line", "byte_offset")} for row in rows]
        for kind, rows in found.items()
        if kind != "files"
    }


def test_frames_parts_pieces_and_batches_change_no_row(tmp_path, monkeypatch):
    lines = [line(url=str(i), text=f"号 {i} e\u0301") if i % 7 else b"bad \xff" * (i % 11) for i in range(300)]
    stream = b"\n".join(lines) + b"\n"
    one = raw_file(tmp_path, stream, source="demo")
    expected = read_all([one])
    assert len(expected["documents"]) == 257 and len(expected["quarantine"]) == 39

    for size in (1000, 37):
        assert read_all([raw_file(tmp_path / str(size), stream, frame=size)])["documents"] == expected["documents"]
    with monkeypatch.context() as patch:
        patch.setattr("corpus_sql.raw_stream.CHUNK", 13)
        patch.setattr(raw, "BATCH_ROWS", 10)
        assert {**read_all([one]), "files": []} == {**expected, "files": []}
    with monkeypatch.context() as patch:
        patch.setattr(raw, "BATCH_BYTES", 500)
        sizes = [batch.num_rows for kind, batch in read([one], LIMIT) if kind == "documents"]
        assert max(sizes) == 5 and sum(sizes) == 257

    cut = stream.index(b"\n", len(stream) // 2) + 1
    parts = [raw_file(tmp_path / "parts", stream[:cut], 0), raw_file(tmp_path / "parts", stream[cut:], 1)]
    assert rows_of(parts) == rows_of([one])


def test_a_long_line_is_never_held_whole(tmp_path):
    digest = hashlib.sha256()
    for _ in range(100):
        digest.update(b"y" * (1 << 20))
    file = stored(tmp_path, frames(b"y" * (100 << 20) + b"\n" + line(), level=1))
    tracemalloc.start()
    found = read_all([file], max_line_bytes=1 << 20)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()
    long = found["quarantine"][0]
    assert long["detail"] == (
        f"longer than max_line_bytes = 1048576; the line has {100 << 20} bytes, SHA-256 {digest.hexdigest()}"
    )
    assert long["raw"] == b"y" * (64 << 10)
    assert [(row["id"], row["byte_offset"]) for row in found["documents"]] == [("demo:1", (100 << 20) + 1)]


def test_progress_is_told_the_compressed_bytes_of_all_files(tmp_path):
    files = [raw_file(tmp_path, MANY, number) for number in range(3)]
    told: list[int] = []
    list(read(files, LIMIT, told.append))
    assert told == sorted(told) and told[-1] == sum(file.bytes for file in files)


def test_a_reading_that_is_left_leaves_no_thread_behind(tmp_path):
    before = threading.active_count()
    reading = read([raw_file(tmp_path, MANY, 0), raw_file(tmp_path, MANY, 1)], LIMIT)
    next(reading)
    reading.close()
    assert threading.active_count() == before


# --- frames that are fine --------------------------------------------------------------------------------------------

FINE = {
    "several frames": frames(MANY, 50_000),
    "a skippable frame before": SKIPPABLE + frames(MANY),
    "a skippable frame between": frames(MANY[:100]) + SKIPPABLE + frames(MANY[100:]),
    "a skippable frame after": frames(MANY) + SKIPPABLE,
    "a large skippable frame": struct.pack("<II", 0x184D2A5F, 9 << 20) + bytes(9 << 20) + frames(MANY),
    "empty frames": frames(b"") + frames(MANY) + frames(b"") * 1000,
    "no checksum": frames(MANY, write_checksum=False),
    "no content size": frames(MANY, write_content_size=False),
    "a frame that ends in a line": frames(MANY, 33),
}


@pytest.mark.parametrize("name", FINE)
def test_frames_are_one_stream(tmp_path, name):
    found = read_all([stored(tmp_path, FINE[name])])
    assert [row["k"] for row in found["documents"]] == list(range(5000))
    assert found["quarantine"] == []


# --- damage ----------------------------------------------------------------------------------------------------------

ONE, SMALL = frames(MANY), frames(line() + b"\n" + line(url="2"))
WINDOW = zstandard.ZstdCompressionParameters(window_log=30, enable_ldm=True, compression_level=1)


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 12, 40, len(ONE) // 2, len(ONE) - 5, len(ONE) - 4, len(ONE) - 1])
def test_a_truncated_frame(tmp_path, cut):
    said = message(stored(tmp_path, ONE[:cut]))
    start = "demo/20261009/part-00000.jsonl.zst: is truncated: the zstd frame at byte 0 does not end within the file's"
    assert said.startswith(f"{start} {cut} bytes; ") and said.endswith(
        f" decompressed bytes can be read before that{RESTORE}"
    )


def test_a_truncated_frame_says_how_far_it_can_be_read(tmp_path):
    two = ONE + frames(MANY * 3)
    cut = len(two) - 20
    prefix = len(
        zstandard.ZstdDecompressor().stream_reader(two[len(ONE) : cut]).read()
    )  # which python-zstandard returns
    assert message(stored(tmp_path, two[:cut])) == (
        f"demo/20261009/part-00000.jsonl.zst: is truncated: the zstd frame at byte {len(ONE)} does not end within the "
        f"file's {cut} bytes; {len(MANY) + prefix // 4096 * 4096} decompressed bytes can be read before that{RESTORE}"
    )


SHARED_START = zstandard.train_dictionary(1000, [line(url=str(n), text="x" * n) for n in range(500)]).as_bytes()
AFTER = f"holds 1 bytes after its last zstd frame, from byte {len(ONE)} on, that are no frame"
DAMAGED = {
    "zero bytes": (b"", f"is empty: 0 bytes hold no zstd frame{RESTORE}"),
    "gzip": (gzip.compress(MANY), "is gzip, not zstd\n    Compress its content with zstd, and list that file."),
    "xz": (lzma.compress(MANY), "is xz, not zstd\n    Compress its content with zstd, and list that file."),
    "bzip2": (bz2.compress(MANY), "is bzip2, not zstd\n    Compress its content with zstd, and list that file."),
    "plain JSON lines": (MANY, f"is not zstd: it begins with the bytes 7b 22 75 72{RESTORE}"),
    "one line feed after": (ONE + b"\n", AFTER + RESTORE),
    "zeros after": (
        ONE + SKIPPABLE + bytes(4096),
        f"holds 4096 bytes after its last zstd frame, from byte {len(ONE) + 18} on, that are no frame{RESTORE}",
    ),
    "a skippable frame cut": (
        ONE + SKIPPABLE[:-3],
        f"is truncated: the zstd frame at byte {len(ONE)} does not end within the file's {len(ONE) + 15} bytes; "
        f"{len(MANY)} decompressed bytes can be read before that{RESTORE}",
    ),
    "checksum": (
        ONE + flipped(SMALL, len(SMALL) - 1),
        f"is damaged in the zstd frame at byte {len(ONE)}: Restored data doesn't match checksum; "
        f"{len(MANY)} decompressed bytes can be read before that{RESTORE}",
    ),
    "a dictionary": (
        ONE + frames(MANY, dict_data=zstandard.ZstdCompressionDict(SHARED_START)),
        f"is damaged in the zstd frame at byte {len(ONE)}: Dictionary mismatch; "
        f"{len(MANY)} decompressed bytes can be read before that{RESTORE}",
    ),
    "a window of 1 GiB": (
        streamed(MANY, compression_params=WINDOW),
        "the zstd frame at byte 0 needs a window of 1073741824 bytes, more than 134217728\n"
        "    Compress it anew without --long, or with --long=27 at most, and list the new file in the ledger.",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_named_with_its_offset(tmp_path, name):
    data, said = DAMAGED[name]
    assert message(stored(tmp_path, data)) == f"demo/20261009/part-00000.jsonl.zst: {said}"


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 65_791, 65_792, 1 << 20])
@pytest.mark.parametrize("content", ["one byte again and again", "text"])
@pytest.mark.parametrize("says_its_size", [True, False])
def test_the_end_of_a_frame_is_found_by_its_headers(tmp_path, size, content, says_its_size):
    stream = bytes(size) if content != "text" else MANY[:size]  # of one byte zstd makes RLE blocks
    frame = frames(stream) if says_its_size else streamed(stream, write_checksum=size % 2 == 0)
    what = f"holds 3 bytes after its last zstd frame, from byte {len(frame)} on, that are no frame{RESTORE}"
    assert message(stored(tmp_path, frame + b"???")) == f"demo/20261009/part-00000.jsonl.zst: {what}"


def test_no_flipped_byte_of_a_frame_with_a_checksum_goes_unnoticed(tmp_path):
    for at in range(len(SMALL)):
        assert message(stored(tmp_path, flipped(SMALL, at))).startswith("demo/20261009/part-00000.jsonl.zst: ")


def test_rows_of_files_before_a_damaged_one_are_out_but_no_file_is_counted(tmp_path):
    reading = read([raw_file(tmp_path, MANY), stored(tmp_path, ONE[:-1], 1)], LIMIT)
    with pytest.raises(DataError, match="part-00001.*is truncated"):
        assert {kind for kind, _ in reading} == {"documents"}


def test_all_damaged_files_are_named_at_once(tmp_path):
    files = [raw_file(tmp_path, MANY, 0), stored(tmp_path, ONE + b"\n", 1)]
    files += [raw_file(tmp_path, MANY, 2), stored(tmp_path, b"", 3), raw_file(tmp_path, MANY, 4)]
    files[2].path.unlink()
    with pytest.raises(DataError) as caught:
        read_all(files)
    assert [(problem.where.split("/")[-1], problem.what) for problem in caught.value.problems] == [
        ("part-00001.jsonl.zst", AFTER),
        ("part-00002.jsonl.zst", "cannot be opened: No such file or directory"),
        ("part-00003.jsonl.zst", "is empty: 0 bytes hold no zstd frame"),
    ]


def test_a_file_that_is_not_the_one_in_the_ledger(tmp_path):
    file = raw_file(tmp_path, line(url="new"))
    then = frames(line(url="as it was"))
    listed = RawFile("demo", file.name, file.path, hashlib.sha256(then).hexdigest(), len(then), LICENSE)
    assert message(listed) == (
        f"demo/20261009/part-00000.jsonl.zst: {file.bytes} bytes with SHA-256 {file.sha256} were read, "
        f"the ledger lists {len(then)} bytes with SHA-256 {listed.sha256}\n"
        "    It was changed while it was read, or since the ledger was written: restore it, or import it anew."
    )


def test_a_file_that_is_gone(tmp_path):
    file = raw_file(tmp_path, line())
    file.path.unlink()
    assert message(file) == "demo/20261009/part-00000.jsonl.zst: cannot be opened: No such file or directory"


# --- the sample cases ------------------------------------------------------------------------------------------------

REASONS = {"not_an_object": "not_object", "invalid_fetched_at": "invalid_value", "license_mismatch": "invalid_value"}


def test_the_sample_cases_of_malformed_input(tmp_path):
    expected = SHARED / "cases" / "malformed" / "expect.jsonl"
    if not expected.exists():
        pytest.skip("the sample cases are not beside this checkout: 49 malformed inputs were not read")
    results = []
    for case in map(json.loads, expected.read_text(encoding="utf-8").splitlines()):
        folder = expected.parent / ("files" if case["level"] == "file" else "lines") / "raw"
        files = []
        for part in case["files"]:
            if part[:8].isdigit():  # folders of another form are never read
                path, name = folder / case["case"] / part, f"{case['case']}/{part}"
                data = path.read_bytes()
                files.append(RawFile(case["case"], name, path, hashlib.sha256(data).hexdigest(), len(data), LICENSE))
        try:
            found = read_all(files)
        except DataError:
            results.append({"case": case["case"], "file_outcome": "file_error"})
            continue
        for row in found["documents"]:
            digest = hashlib.sha256(row["text"].encode()).hexdigest()
            results.append({"case": case["case"], "k": row["k"], "outcome": "kept", "sha256": digest})
        for row in found["quarantine"]:
            reason = row["reason"]
            reason = REASONS.get(reason, "wrong_type" if reason.endswith("_not_string") else reason)
            reason = "null_field" if reason.startswith("null_") else reason
            results.append({"case": case["case"], "k": row["k"], "outcome": "quarantined", "reason": reason})
    (tmp_path / "result.jsonl").write_text("\n".join(map(json.dumps, results)), encoding="utf-8")
    scorer = [sys.executable, SHARED / "checks" / "score_malformed.py", tmp_path / "result.jsonl", "--reason", "a=a"]
    score = subprocess.run(scorer, capture_output=True, text=True)
    assert score.stdout == "('ambiguous', 'pass') 12\n('must', 'pass') 37\n"
