"""What a run reuses: earlier results of more than one config, kept within a bound; comments make nothing anew."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import Corpus

from corpus_sql import cli
from corpus_sql.engine_duckdb import LEAST_MEMORY, DuckDB

SHORT = 'stages = ["gopher", "exact_dedup"]\n[gopher]\nmin_n_words = 2\nmin_n_stop_words = false\n'
LONG = SHORT.replace("= 2", "= 3")
STAGE = """\
-- shouting: reject documents full of exclamation marks.
--
-- config: max_exclamations | most of them that a document may have
select
    id,
    {{ hits([high("exclamations")]) }} as hits
from (
    select
        d.id as id,
        length(documents.text) - length(replace(documents.text, '!', '')) as exclamations
    from {{ input }} as d
    join read.documents as documents using (id)
) as counted
"""


@pytest.fixture
def texts(corpus: Corpus) -> Corpus:
    corpus.source("s", ["one", "two words", "and three words", "and three words", "four words are here!"])
    return corpus


def ran(corpus: Corpus, config: str, **options: object) -> list[str]:
    """Build a config and return the relations that were made for it."""
    return [step.name for step in corpus.run(config, replace=True, **options).steps if step.why]


def sums(corpus: Corpus) -> dict[str, str]:
    return {
        path.relative_to(corpus.version).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in corpus.version.rglob("*")
        if path.is_file() and path.name not in ("run.json", "SHA256SUMS")
    }


def stored(corpus: Corpus) -> dict[str, int]:
    """Return relation -> how many results of it the work file holds."""
    engine = DuckDB(corpus.folder / "artifacts" / ".work" / "t.duckdb", threads=1, memory=LEAST_MEMORY)
    found = {name: len(results) for name, results in engine.state().items()}
    engine.close()
    return found


# ------------------------------------------------------------------------------------------- configs that take turns


def test_two_configs_that_take_turns_reuse_all(texts: Corpus):
    assert "measures.words" in ran(texts, SHORT)
    first = sums(texts)
    assert ran(texts, LONG)[0] == "stages.gopher"
    assert sums(texts) != first
    leaves = [name for name in ran(texts, SHORT) if not name.startswith("outputs.")]
    assert leaves == []
    assert sums(texts) == first
    assert stored(texts)["stages.gopher"] == 2
    assert stored(texts)["measures.words"] == 1


def test_beyond_cache_max_the_results_that_were_used_longest_ago_go(texts: Corpus):
    bound = '[paths]\ncache_max = "0"\n'
    ran(texts, SHORT + bound)
    first = sums(texts)
    ran(texts, LONG + bound)
    assert set(stored(texts).values()) == {1}
    assert "stages.gopher" in ran(texts, SHORT + bound)
    assert sums(texts) == first


def test_a_run_keeps_what_it_needs_itself_whatever_the_bound(texts: Corpus):
    bound = '[paths]\ncache_max = "0"\n'
    ran(texts, SHORT + bound)
    assert [step.name for step in texts.run().steps if step.why and not step.name.startswith("outputs.")] == []


def test_the_oldest_go_first_and_no_more_than_need_be(tmp_path: Path):
    engine = DuckDB(tmp_path / "work.duckdb", threads=1, memory=LEAST_MEMORY)
    columns = (("n", "BIGINT"),)
    for turn in range(1, 5):
        engine._turn = turn
        made_from = {"fingerprint": f"f{turn}"}
        engine.build("measures.x", "select range as n from range(200000)", columns, made_from)
    engine._turn = 5
    engine.use("measures.x", "f1")
    engine._run("checkpoint work")
    assert engine.shrink(engine.held() - 1, [("measures.x", "f1")]) == 1
    assert [made_from["fingerprint"] for made_from, _ in engine.state()["measures.x"]] == ["f1", "f4", "f3"]
    assert engine.shrink(0, [("measures.x", "f1")]) == 2
    assert engine.state() == {"measures.x": [({"fingerprint": "f1"}, 200000)]}
    assert engine.values("select count(*) from measures.x") == [(200000,)]
    engine.close()


def test_what_a_killed_run_left_half_made_is_never_used_and_goes(texts: Corpus):
    ran(texts, SHORT)
    first = sums(texts)
    engine = DuckDB(texts.folder / "artifacts" / ".work" / "t.duckdb", threads=1, memory=LEAST_MEMORY)
    engine._run("create table work.measures.words__aside as select 'x' as id")
    engine._run("create table work.stages.gopher__half as select 'x' as id")
    engine.close()
    texts.run()
    assert sums(texts) == first
    engine = DuckDB(texts.folder / "artifacts" / ".work" / "t.duckdb", threads=1, memory=LEAST_MEMORY)
    names = [name for (name,) in engine.values("select table_name from duckdb_tables() where database_name = 'work'")]
    engine.close()
    assert not [name for name in names if name.endswith(("__aside", "__half"))]


def test_a_plan_names_the_bound(texts: Corpus, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    texts.configure(SHORT + '[paths]\ncache_max = "1.5GB"\n')
    monkeypatch.setattr("sys.argv", ["corpus-sql", "run", str(texts.config), "--plan"])
    with suppress(SystemExit):
        cli.main()
    found = re.search(r"^earlier results: (.*) held; (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert found and found[2] == "beyond cache_max, 1.5 GiB, the oldest go"
    assert re.fullmatch(r"[0-9.]+ [KM]iB|[0-9]+ bytes", found[1])


@pytest.mark.parametrize("size", ['"much"', '"-1GB"', '""'])
def test_a_size_that_is_none(texts: Corpus, size: str):
    with pytest.raises(Exception, match="cache_max: is .*, not a size such as 20GB"):
        texts.run(f"{SHORT}[paths]\ncache_max = {size}\n")


# -------------------------------------------------------------------------------------------------- comments


def write(corpus: Corpus, text: str) -> None:
    path = corpus.folder / "sql" / "stages" / "shouting.sql"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


SHOUTING = 'stages = ["shouting"]\n[shouting]\nmax_exclamations = 3\n'


@pytest.mark.parametrize(
    "changed",
    [
        STAGE.replace("full of", "too full of"),
        STAGE.replace("select\n    id,", "select /* which */\n    id,  -- the document"),
        STAGE.replace("    select\n", "  select\n\n"),
    ],
    ids=["a comment in the header", "comments in the SQL", "white space"],
)
def test_a_comment_makes_nothing_anew(texts: Corpus, changed: str):
    write(texts, STAGE)
    texts.run(SHOUTING)
    write(texts, changed)
    again = texts.run(SHOUTING, replace=True)
    assert [step.name for step in again.steps if step.why and not step.name.startswith("outputs.")] == []
    text = (texts.version / "_audit" / "compiled" / "stages" / "shouting.sql").read_text()
    head = changed.splitlines()[0]
    assert head in text  # what lies in the build is the file as it is now


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("replace(documents.text, '!', '')", "replace(documents.text, '--!', '')"),
        ("replace(documents.text, '!', '')", "replace(documents.text, $$/*!*/$$, '')"),
        ("'!'", "'! '"),
    ],
)
def test_what_only_looks_like_a_comment_or_white_space_counts(texts: Corpus, old: str, new: str):
    write(texts, STAGE)
    texts.run(SHOUTING)
    write(texts, STAGE.replace(old, new))
    assert "stages.shouting" in [step.name for step in texts.run(SHOUTING, replace=True).steps if step.why]


# ------------------------------------------------------------------------------------------------- the scrub


def test_a_changed_threshold_scrubs_nothing_anew(corpus: Corpus):
    """Only what reaches the stage pii is scrubbed in the build; what was found in the others waits for their turn."""
    corpus.source("s", ["one alice@example.com", "two words and bob@example.com", "not one"])
    config = 'stages = ["gopher", "pii"]\n[gopher]\nmin_n_stop_words = false\nmin_n_words = '
    assert "relations.redactions" in ran(corpus, f"{config}3")
    assert texts_of(corpus) == {"s:1": "two words and <EMAIL>"}
    assert redacted(corpus) == ["s:1"]
    assert rejected(corpus) == {"s:0": "one alice@example.com", "s:2": "not one"}
    again = ran(corpus, f"{config}1")
    assert "stages.gopher" in again and "relations.redactions" not in again
    assert texts_of(corpus) == {"s:0": "one <EMAIL>", "s:1": "two words and <EMAIL>", "s:2": "not one"}
    assert redacted(corpus) == ["s:0", "s:1"]
    assert "relations.redactions" in ran(corpus, f'{config}1\n[pii]\nkinds = ["ip"]\n')
    assert redacted(corpus) == []


def test_what_is_dropped_after_the_scrub_is_kept_scrubbed(corpus: Corpus):
    corpus.source("s", ["alice@example.com", "two words and bob@example.com"])
    ran(corpus, 'stages = ["pii", "gopher"]\n[gopher]\nmin_n_stop_words = false\nmin_n_words = 2')
    assert rejected(corpus) == {"s:0": "<EMAIL>"}
    assert redacted(corpus) == ["s:0", "s:1"]


def texts_of(corpus: Corpus) -> dict[str, str]:
    (shard,) = corpus.version.glob("shard-*.parquet")
    return {row["id"]: row["text"] for row in pq.read_table(shard).to_pylist()}


def redacted(corpus: Corpus) -> list[str]:
    return pq.read_table(corpus.version / "_audit" / "pii.parquet").column("id").to_pylist()


def rejected(corpus: Corpus) -> dict[str, str]:
    rows = pq.read_table(corpus.version / "_audit" / "rejected.parquet").to_pylist()
    return {row["id"]: row["text"] for row in rows}
