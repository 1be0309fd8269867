"""Tables made from Unicode data are computed once and found again, and nothing damaged is believed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

from corpus_sql import kernel_cache, text_counts, tokens, unicode_scripts, word_fold


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def made() -> list[np.ndarray]:
    return [np.arange(5, dtype=np.int32), np.zeros(0, np.uint8)]


def equal(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return len(one) == len(other) and all(
        a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(one, other, strict=True)
    )


def test_the_second_time_nothing_is_made(folder: Path):
    assert equal(kernel_cache.kept(__file__, made), made())
    assert [path.suffix for path in folder.iterdir()] == [".npz"]

    def never() -> list[np.ndarray]:
        raise AssertionError("made again")

    assert equal(kernel_cache.kept(__file__, never), made())


@pytest.mark.parametrize("damage", [b"", b"no archive", b"PK\x03\x04"], ids=["empty", "foreign", "cut"])
def test_a_damaged_file_is_made_again(folder: Path, damage: bytes):
    kernel_cache.kept(__file__, made)
    (file,) = folder.iterdir()
    file.write_bytes(damage)
    assert equal(kernel_cache.kept(__file__, made), made())
    assert equal(kernel_cache.kept(__file__, lambda: []), made())


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert equal(kernel_cache.kept(__file__, made), made())


@pytest.mark.parametrize(
    ("kept", "fresh"),
    [
        (lambda: list(tokens.tables()), lambda: list(tokens._tables())),
        (lambda: [text_counts.classes()], lambda: list(text_counts._tables())),
        (lambda: list(word_fold.tables()), lambda: list(word_fold._tables())),
        (lambda: [unicode_scripts.letter_table()], lambda: [unicode_scripts._letters()]),
    ],
    ids=["tokens", "words", "stop words", "scripts"],
)
def test_what_is_kept_is_what_is_made(kept, fresh):
    assert equal(kept(), fresh())


def test_the_folder_is_the_users_choice(tmp_path: Path):
    code = "import os, corpus_sql.kernels; print(os.environ['NUMBA_CACHE_DIR'])"
    command = [sys.executable, "-c", code]
    chosen = subprocess.run(
        command, env=os.environ | {"NUMBA_CACHE_DIR": "/chosen"}, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert chosen.stdout.strip() == "/chosen"
    given = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    default = subprocess.run(
        command, env=given | {"XDG_CACHE_HOME": str(tmp_path)}, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert Path(default.stdout.strip()).parent == tmp_path / "corpus-sql"


def test_every_kernel_takes_the_compiler_from_one_place():
    """numba asks for its folder when it is imported, so it is imported where that is chosen."""
    for path in [*(ROOT / "corpus_sql").glob("*.py"), *(ROOT / "udfs").glob("*.py")]:
        if path.name != "kernels.py":
            assert not re.search(r"^\s*(import|from) numba\b", path.read_text("utf-8"), re.M), path.name
