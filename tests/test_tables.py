"""The tables of a build: each has one schema, whatever the corpus holds."""

from __future__ import annotations

import json
from pathlib import Path

import made_corpus
import pyarrow.parquet as pq
import pytest
from conftest import Corpus, raw_line

LONG = "x" * 70_000  # longer than any string that a file keeps statistics of

CORPORA = {
    "no document at all": [],
    "nothing but lines that cannot be read": [b"{", b""],
    "one plain document": ["A text."],
    "names of 70,000 characters": [
        raw_line("A text.", source_record_id=LONG, group_id=LONG, parent_ids=[LONG, "s:1"], url=LONG, more=LONG),
        raw_line("Another.", parent_ids=[]),
    ],
}


def schemas(folder: Path) -> dict[str, str]:
    """Return the columns of each Parquet file of a build, as stored and as Arrow reads them; all shards are one."""
    found = {}
    for path in sorted(folder.rglob("*.parquet")):
        name = "shard" if path.name.startswith("shard-") else path.relative_to(folder).as_posix()
        own = f"{pq.ParquetFile(path).schema}\n{pq.read_schema(path)}".partition("\n")[2]
        assert found.setdefault(name, own) == own
    return found


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    corpus = made_corpus.fill(Corpus(tmp_path_factory.mktemp("full")), 20)
    corpus.run()
    return schemas(corpus.version)


@pytest.mark.parametrize("lines", CORPORA.values(), ids=CORPORA)
@pytest.mark.parametrize("stages", [None, "stages = []"], ids=["all stages", "no stages"])
def test_each_table_has_one_schema(corpus: Corpus, full: dict[str, str], lines: list, stages: str | None):
    corpus.source("s", lines)
    (corpus.folder / "eval").mkdir()
    (corpus.folder / "eval" / "items.jsonl").write_text(json.dumps({"id": "q", "text": made_corpus.PROTECTED}))
    corpus.run(stages or made_corpus.CONFIG)
    found = schemas(corpus.version)
    assert found == {name: columns for name, columns in full.items() if name in found}
    assert stages or list(found) == list(full)
