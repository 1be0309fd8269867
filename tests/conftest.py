"""What the tests share: a tiny project made of texts, and one stage run over texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from corpus_sql import build

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


def shared(*parts: str) -> Path:
    """Return a path below the shared samples; skips the test, saying so, where they are not at hand."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the shared samples are not here: {'/'.join(parts)}")
    return path


def raw_line(text: str, **fields: object) -> bytes:
    """One raw document as a JSON line, without its line end."""
    document = {
        "url": "https://example.org/a",
        "fetched_at": "2026-01-02T03:04:05Z",
        "license_spdx": "CC0-1.0",
        "text": text,
    } | fields
    return json.dumps(document, ensure_ascii=False).encode()


class Corpus:
    """A project folder that a test fills with raw lines and builds."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.rows: dict[str, dict] = {}

    @property
    def config(self) -> Path:
        return self.folder / "corpus.toml"

    @property
    def version(self) -> Path:
        return self.folder / "artifacts" / "corpus" / "t" / "v1"

    def source(
        self, source_id: str, lines: list[bytes | str], *, parts: int = 1, frames: int = 1, day: str = "20260102"
    ) -> None:
        """Write raw lines (a str is a text to be wrapped) as parts of so many frames, and the ledger row."""
        lines = [raw_line(line) if isinstance(line, str) else line for line in lines]
        files = []
        step = -(-len(lines) // parts) if lines else 1
        for part in range(parts):
            name = f"{source_id}/{day}/part-{part:05d}.jsonl.zst"
            own = lines[part * step : (part + 1) * step]
            size = -(-len(own) // frames) if own else 1
            content = b"".join(
                zstandard.ZstdCompressor(level=3).compress(b"".join(line + b"\n" for line in own[i : i + size]))
                for i in range(0, max(len(own), 1), size)
            )
            path = self.folder / "artifacts" / "corpus" / "raw" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            files.append({"path": name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)})
        self.rows[source_id] = {
            "source_id": source_id, "url": "https://example.org", "license_spdx": "CC0-1.0",
            "data_class": "self-written", "retrieved": "2026-01-02", "revision": None, "reviewer": None,
            "files": files,
        }  # fmt: skip
        ledger = self.folder / "artifacts" / "corpus" / "LEDGER.jsonl"
        ledger.write_text("".join(json.dumps(row) + "\n" for row in self.rows.values()))

    def configure(self, text: str = "stages = []", version: str = "v1") -> None:
        head = f'dataset = "t"\nversion = "{version}"\nsources = {json.dumps(sorted(self.rows))}\n'
        self.config.write_text(head + text + "\n", encoding="utf-8")

    def run(self, text: str | None = None, **options: object) -> build.Outcome:
        """Build it, with the config given or the one written before."""
        if text is not None:
            self.configure(text)
        return build.run(self.config, **options)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


@pytest.fixture
def run_stage(corpus: Corpus) -> Callable[..., list[dict]]:
    """run_stage("gopher", texts, config) -> the stage's decision on each text, in order, as a dict of its row."""
    from corpus_sql.explain import open_build

    def run(stage: str, texts: list[str], config: str = "", before: tuple[str, ...] = ()) -> list[dict]:
        corpus.source("s", list(texts))
        corpus.run(f"stages = {json.dumps([*before, stage])}\n{config}", replace=True)
        with open_build(corpus.version) as connection:
            found = connection.execute("from decisions where stage = ?", [stage])
            names = [column[0] for column in found.description]
            rows = {row[2]: dict(zip(names, row, strict=True)) for row in found.fetchall()}
        return [rows.get(f"s:{k}") for k in range(len(texts))]

    return run
