"""A rule is a row: what a template says with low(), high() and reject() is the table `rules`, which all else asks."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import made_corpus
import pytest
from conftest import Corpus
from verify_cases import Copy

from corpus_sql import diffing, sampling
from corpus_sql.errors import AuditError, ConfigError
from corpus_sql.explain import open_build, why

MEASURE = """\
-- loud: Capital letters.
--
-- column: id VARCHAR | the document
-- column: n_loud BIGINT | letters from A to Z
select d.id as id, length(regexp_replace(d.text, '[^A-Z]', '', 'g')) as n_loud from read.documents as d
"""
STAGE = """\
-- loud: Texts that shout are dropped.
--
-- config: most | capital letters
-- reason: shouts | more capital letters than that
select
    d.id as id,
    {{{{ hits([{rule}]) }}}} as hits
from {{{{ input }}}} as d
join measures.loud using (id)
join relations.languages using (id)
"""
ONE_LINE = 'reject("shouts", "n_loud > " ~ limit("most"), metric="n_loud", threshold=limit("most"))'
THREE_LINES = """reject(
        "shouts",
        "n_loud >
            " ~ limit("most"),
        metric="n_loud", threshold=limit("most"))"""
CONFIG = 'stages = ["loud"]\n[loud]\nmost = 2\n[loud.zh]\nmost = 0\n'


def put(corpus: Corpus, name: str, text: str) -> None:
    path = corpus.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")


@pytest.fixture
def loud(corpus: Corpus) -> Corpus:
    """A project that drops texts with more than two capital letters, Chinese ones with any."""
    corpus.source("s", ["quiet", "A Bit LOUD", "VERY LOUD", made_corpus.text("zh", 1) + " OK"])
    put(corpus, "sql/measures/loud.sql", MEASURE)
    put(corpus, "sql/stages/loud.sql", STAGE.format(rule=ONE_LINE))
    corpus.configure(CONFIG)
    return corpus


def table(build: Path) -> list[tuple]:
    with open_build(build) as connection:
        return connection.execute(
            "select seq, stage, place, reason, metric, side, key, lang, threshold from rules "
            "order by seq, place, lang nulls first"
        ).fetchall()


def test_the_rules_of_a_stage_of_ones_own(loud: Corpus):
    loud.run()
    assert table(loud.version) == [
        (1, "loud", 0, "shouts", "n_loud", None, "loud.most", None, 2.0),
        (1, "loud", 0, "shouts", "n_loud", None, "loud.most", "zh", 0.0),
    ]
    record = json.loads((loud.version / "_audit/build.json").read_text())
    (rule,) = record["relations"]["stages.loud"]["rules"]
    assert (rule["reason"], rule["key"], rule["limits"]) == ("shouts", "loud.most", {"": 2, "zh": 0})


def test_built_in_rules_in_the_order_in_which_they_judge(corpus: Corpus):
    corpus.source("s", ["one"])
    corpus.run('stages = ["lang", "ppl", "exact_dedup"]\n[lang]\nkeep = ["en"]\nmin_score = 0.5')
    assert table(corpus.version) == [
        (1, "lang", 0, "lang_undetermined", "lang_score", None, "lang.min_score", None, 0.5),
        (1, "lang", 1, "lang_not_kept", "lang_score", None, None, None, None),
        (2, "ppl", 0, "high_perplexity", "perplexity", "high", "ppl.max_perplexity", None, None),  # off
        (3, "exact_dedup", 0, "exact_duplicate", None, None, None, None, None),
    ]


def test_a_build_without_stages_has_no_rule(corpus: Corpus):
    corpus.source("s", ["one"])
    corpus.run("stages = []")
    assert table(corpus.version) == []


@pytest.mark.parametrize("rule", [ONE_LINE, THREE_LINES], ids=["on one line", "over three lines"])
def test_however_a_rule_is_written_it_can_be_asked_for(loud: Corpus, rule: str):
    put(loud, "sql/stages/loud.sql", STAGE.format(rule=rule))
    loud.run()
    found = sampling.sample(loud.version, "near-threshold", rule="shouts")
    assert {row["id"]: row["side"] for row in found.rows} == {
        "s:0": "passed",
        "s:1": "hit",
        "s:2": "hit",
        "s:3": "hit",
    }
    (passed,) = why(loud.version, "s:0").decisions[-1]["passed"]
    assert passed == {"reason": "shouts", "metric": "n_loud", "value": 0.0, "threshold": 2.0}


@pytest.mark.parametrize("rule", [ONE_LINE, THREE_LINES], ids=["on one line", "over three lines"])
def test_diff_names_the_key_of_a_rule_that_reject_made(loud: Corpus, rule: str):
    put(loud, "sql/stages/loud.sql", STAGE.format(rule=rule))
    loud.run()
    loud.configure(CONFIG.replace("most = 2", "most = 6"), version="v2")
    loud.run()
    with diffing.diff(loud.version, loud.version.with_name("v2")) as found:
        (one,) = found.changes()
    assert (one["id"], one["change"], one["cause"]) == ("s:1", "verdict", "config")
    assert one["detail"] == {"key": "loud.most", "old": 2, "new": 6}


def test_a_hit_that_no_rule_made_is_refused(loud: Corpus):
    by_hand = (
        "[case when n_loud > 2 then {'verdict': 'reject', 'reason': 'shouts', 'metric': 'n_loud', 'value': "
        "cast(n_loud as double), 'threshold': cast(2 as double), 'witness': cast(null as varchar)} end]"
    )
    put(
        loud,
        "sql/stages/loud.sql",
        "-- loud: Texts that shout.\n--\n-- config: most | capital letters\n"
        f"select d.id as id, list_filter(cast({by_hand} "
        "as {{ hit_type }}[]), lambda h: h is not null) as hits\n"
        "from {{ input }} as d join measures.loud using (id)\n",
    )
    with pytest.raises(AuditError) as raised:
        loud.run()
    assert str(raised.value).splitlines() == [
        "audit hits_have_rules: Each hit is of a rule that low(), high() or reject() made; a struct written by hand is "
        "none, use reject(). It is not so: stage='loud', reason='shouts', hits=2, for_example='s:1'",
        "    Nothing was published.",
    ]
    assert not loud.version.exists()


def test_no_such_rule(loud: Corpus):
    loud.run()
    with pytest.raises(ConfigError) as raised:
        sampling.sample(loud.version, "near-threshold", rule="shout")
    assert str(raised.value).endswith(
        '"shout" is no rule of this build with documents on both sides of a threshold\n    Did you mean shouts?'
    )


def test_rules_that_were_changed_in_the_record_are_an_error(loud: Corpus, tmp_path: Path):
    loud.run()
    copy = Copy(loud, tmp_path / "copy")
    copy.record(lambda record: record["relations"]["stages.loud"]["rules"][0]["limits"].update({"": 9}))
    assert ("record", "the rules in build.json are not those of the table rules") in copy.errors()


def test_the_config_that_a_template_reads_is_noted_where_it_reads_it(corpus: Corpus):
    """In a branch that is not taken nothing is read; what decides the branch is."""
    corpus.source("s", ["one"])
    put(
        corpus,
        "sql/stages/mine.sql",
        "-- mine: Nothing of use.\n--\n-- config: wanted | whether\n-- config: most | how many\n"
        "select d.id as id,\n"
        "    {{ hits([reject('never', 'n > ' ~ config.mine.most)] if config.mine.wanted else []) }} as hits\n"
        "from (select id, 1 as n from {{ input }} as entered) as d\n",
    )
    for on, keys in ((True, ["mine.most", "mine.wanted", "stages"]), (False, ["mine.wanted", "stages"])):
        version = f"v{on:d}"
        corpus.configure(f'stages = ["mine"]\n[mine]\nwanted = {str(on).lower()}\nmost = 3', version=version)
        corpus.run()
        record = json.loads((corpus.version.with_name(version) / "_audit/build.json").read_text())
        assert record["relations"]["stages.mine"]["config"] == keys
