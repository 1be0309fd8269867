"""What a run says at its end of what was lost: whole sentences, and nothing where there is nothing to tell."""

import json

import pytest
from conftest import Corpus, raw_line
from typer.testing import CliRunner

from corpus_sql.cli import app
from corpus_sql.verifying import verify

LONG = "The keeper of the old lighthouse wrote down the weather, and the pages lie in a box that nobody has opened. "
SCRIPT = '[lang]\nmodel = "script"\n'
KEPT = "which seven of the nine boats came back to the harbour before the great storm of that winter night"


def english(n: int) -> str:
    """Texts that no stage drops: no two are alike."""
    word = [
        f"{'bcdfghklmn'[n % 10]}{'aeiou'[n // 10 % 5]}{'bcdfghklmnprstv'[n // 50 % 15]}{i}" for i in "abcdefghijklmnop"
    ]
    return " ".join(
        f"The {a} of the {b} was with that {a}{b} and they have to be in it."
        for a, b in zip(word[:7], word[7:14], strict=True)
    )


def told(corpus: Corpus, config: str, **options: object) -> list[str]:
    """The notices of a build, without those on splits and models that every tiny build has."""
    outcome = corpus.run(config, **options)
    assert json.loads((corpus.version / "_audit" / "build.json").read_text())["notices"] == outcome.notices
    return [one for one in outcome.told if "split" not in one]


def test_nothing_lost_nothing_told(corpus: Corpus):
    corpus.source("s", [english(n) for n in range(10)])
    assert told(corpus, 'stages = ["lang", "gopher", "exact_dedup", "near_dedup"]\n' + SCRIPT + 'keep = ["*"]') == []


# --------------------------------------------------------------------------------------- a tenth of a stage


@pytest.mark.parametrize(("short", "said"), [(1, []), (2, ["gopher 16.7 % (2)"])])
def test_a_stage_that_lost_more_than_a_tenth(corpus: Corpus, short: int, said: list[str]):
    corpus.source("s", [english(n) for n in range(10 if short == 2 else 9)] + ["the box of the keeper"] * short)
    read = "; read some: from rejected where stage = 'gopher' order by md5(id) limit 20"
    assert told(corpus, 'stages = ["gopher"]\n' + SCRIPT) == [
        f"lost more than a tenth of what entered: {one}{read}" for one in said
    ]


def test_stages_stand_in_one_sentence_the_greatest_loss_first(corpus: Corpus):
    corpus.source("s", [english(n) for n in range(4)] + ["the box of the keeper"] + [english(0)] * 2)
    assert told(corpus, 'stages = ["gopher", "exact_dedup"]\n' + SCRIPT) == [
        "lost more than a tenth of what entered: exact_dedup 33.3 % (2), gopher 14.3 % (1); "
        "read some: from rejected where stage = 'exact_dedup' order by md5(id) limit 20"
    ]


def test_lines_that_could_not_be_read_are_shown_from_the_quarantine(corpus: Corpus):
    corpus.source("s", [english(0), b"}", b"}", b""])
    assert told(corpus, "stages = []\n" + SCRIPT) == [
        "lost more than a tenth of what entered: read 66.7 % (2); read some: from quarantine order by md5(id) limit 20"
    ]


def test_a_raw_file_whose_last_line_is_cut(corpus: Corpus):
    corpus.source("s", [english(n) for n in range(20)] + [b'{"text": "tw'])
    outcome = corpus.run("stages = []\n" + SCRIPT)
    (said,) = [one for one in outcome.notices if "cut last" in one]
    assert said.startswith("1 raw file has a cut last line and may be incomplete: s/")


# -------------------------------------------------------------------------------------------------- languages


def test_languages_that_were_not_determined(corpus: Corpus):
    corpus.source("s", [english(n) for n in range(8)] + ["12345 67890", "+++ --- +++"])
    assert told(corpus, 'stages = ["lang"]\n' + SCRIPT + 'keep = ["en"]') == [
        "lost more than a tenth of what entered: lang 20.0 % (2); "
        "read some: from rejected where stage = 'lang' order by md5(id) limit 20",
        "the language of 20.0 % of the documents (2) was not determined (und); "
        "look at them: from rejected where reason = 'lang_undetermined' order by md5(id) limit 20",
    ]


def test_languages_that_were_not_determined_and_kept_are_told_too(corpus: Corpus):
    corpus.source("s", [english(n) for n in range(8)] + ["12345 67890", "+++ --- +++"])
    assert told(corpus, "stages = []\n" + SCRIPT) == [
        "the language of 20.0 % of the documents (2) was not determined (und); "
        "look at them: from documents where lang = 'und' order by md5(id) limit 20"
    ]


def test_a_language_that_a_stage_treats_worse_than_the_others(corpus: Corpus):
    corpus.source("s", [english(n) for n in range(40)] + [f"灯塔看守人{n}号写下天气" for n in range(10)])
    notices = told(corpus, 'stages = ["gopher"]\n' + SCRIPT)
    assert (
        "a language lost more than twice what the others did: gopher 100.0 % of zh (10), 0.0 % of the others" in notices
    )


# ---------------------------------------------------------------------------------------------------- sources


def test_a_source_that_vanished(corpus: Corpus):
    corpus.source("good", [english(n) for n in range(30)])
    corpus.source("bad", ["the box of the keeper", "the box and that of the keeper", english(0)])
    corpus.source("worse", ["that of the keeper"])
    corpus.source("broken", [b"{"])  # entered with no document: that is told as what could not be read
    assert told(corpus, 'stages = ["gopher", "exact_dedup"]\n' + SCRIPT)[-1] != ""
    corpus.source("bad", ["the box of the keeper", "the box and that of the keeper"])
    notices = told(corpus, 'stages = ["gopher", "exact_dedup"]\n' + SCRIPT, replace=True)
    assert (
        "nothing is kept of 2 sources: bad (2 documents, most lost by gopher), worse (1 document, most lost by gopher)"
        in notices
    )


# ------------------------------------------------------------------------------------- stages that match nothing


def protect(corpus: Corpus, *texts: str) -> str:
    items = [json.dumps({"id": f"item-{i}", "text": text}) for i, text in enumerate(texts)]
    (corpus.folder / "items.jsonl").write_text("\n".join(items) + "\n")
    return '[decontaminate]\nprotected = ["items.jsonl"]\n'


def test_a_protected_set_that_nothing_matched(corpus: Corpus):
    corpus.source("s", [english(n) for n in range(3)])
    config = 'stages = ["decontaminate"]\n' + SCRIPT + protect(corpus, KEPT)
    assert told(corpus, config) == ["matched nothing: decontaminate in 3 documents"]


def test_a_stage_of_ones_own_that_matched_nothing(corpus: Corpus):
    (corpus.folder / "sql/stages").mkdir(parents=True)
    (corpus.folder / "sql/stages/never.sql").write_text(
        "-- never: drops nothing.\n"
        "select d.id as id, {{ hits([reject('too_bad', '1 = 2')]) }} as hits from {{ input }} as d\n"
    )
    corpus.source("s", [english(n) for n in range(3)])
    assert told(corpus, 'stages = ["never"]\n' + SCRIPT) == ["matched nothing: never in 3 documents"]


def test_a_stage_that_no_document_entered_is_not_told(corpus: Corpus):
    corpus.source("s", ["the box of the keeper"])
    config = 'stages = ["gopher", "decontaminate"]\n' + SCRIPT + protect(corpus, KEPT)
    assert not [one for one in told(corpus, config) if "matched nothing" in one]


def test_no_personal_data_at_all(corpus: Corpus):
    corpus.source("s", [english(n) for n in range(3)])
    assert told(corpus, 'stages = ["pii"]\n[pii]\nkinds = ["email", "ip"]\n' + SCRIPT) == [
        "pii found none of these kinds in 3 documents: email, ip"
    ]


def test_some_kind_of_personal_data_in_few_documents_is_enough(corpus: Corpus):
    corpus.source("s", [f"{english(0)} write to anna@example.org today"])
    assert told(corpus, 'stages = ["pii"]\n[pii]\nkinds = ["email", "ip"]\n' + SCRIPT) == []


# ------------------------------------------------------------------------------------------- one item, many losses


SAME = "Which of the following four sentences about the text above is the true one"  # 14 tokens: two n-grams


def test_one_protected_item_that_dropped_many(corpus: Corpus):
    corpus.source("s", [english(n) + " " + KEPT for n in range(10)] + [english(n) for n in range(10, 120)])
    config = 'stages = ["decontaminate"]\n' + SCRIPT + protect(corpus, KEPT)
    assert told(corpus, config) == [
        "one protected item dropped many of 10 contaminated documents: items:item-0 10; "
        "read some: from decisions where witness = 'items:item-0' limit 20",
        'the 13-gram "which seven of the nine boats came back to the harbour before the" is the first shared one in '
        "10 of 10 contaminated documents; "
        "read some: from contamination where item = 'items:item-0' and item_start_char = 0 limit 20",
    ]


def ngram_notices(corpus: Corpus, texts: list[str], items: list[str], more: str = "") -> list[str]:
    """What is told of n-grams, of texts that are contaminated and a hundred that are not."""
    corpus.source("s", texts + [english(n) for n in range(100)])
    notices = told(corpus, f'{more}stages = ["decontaminate"]\n' + SCRIPT + protect(corpus, *items))
    return [one for one in notices if "-gram" in one]


def test_one_ngram_of_several_items_that_dropped_many(corpus: Corpus):
    """Each item asks its own question after the same words; documents have those words alone, or an item's."""
    phrase = SAME.rpartition(" ")[0]
    items = [f"{word * 9} {SAME} {word} {word} {word}" for word in ("Anna ", "Bert ", "Cleo ", "Dora ")]
    texts = [f"{n} {phrase} {n}" for n in range(12)] + [f"{n} {items[n % 4]}" for n in range(28)]
    assert ngram_notices(corpus, texts, items) == [
        'the 13-gram "which of the following four sentences about the text above is the true" alone dropped 12 of 40 '
        "contaminated documents; read some: from contamination where item = 'items:item-0' and item_start_char = 46 "
        "limit 20"
    ]


def test_an_ngram_that_some_documents_share_more_after(corpus: Corpus):
    texts = [f"{n} {SAME.rpartition(' ')[0]} {n}" for n in range(4)] + [f"{n} {SAME} {n}" for n in range(8)]
    (said,) = ngram_notices(corpus, texts, [SAME])
    assert said.partition(";")[0].endswith(
        "is the first shared one in 12 of 12 contaminated documents, the only one in 4"
    )


@pytest.mark.parametrize(("n", "others", "told_of"), [(9, 0, 0), (10, 0, 1), (10, 90, 0), (10, 89, 1)])
def test_an_ngram_of_fewer_than_ten_or_of_at_most_a_tenth_is_not_told(
    corpus: Corpus, n: int, others: int, told_of: int
):
    items = [" ".join(f"{word}{k}" for word in KEPT.split()[:13]) for k in range(others)]
    texts = [f"{k} {SAME}" for k in range(n)] + [f"{k} {item}" for k, item in enumerate(items)]
    assert len(ngram_notices(corpus, texts, [SAME, *items])) == told_of


@pytest.mark.parametrize(
    ("item", "quoted"),
    [
        ("call me on +1 212 555 0142 or come to the old harbour", '"call me on <PHONE> or come to the old harbour"'),
        ("请问这座石桥最后一次整修在哪", '"请 问 这 座 石 桥 最 后 一 次 整 修 在"'),
        ("a" * 90 + " or come to the old harbour now", '"' + "a" * 90 + ' or come …"'),
        ("or come to the old harbour now " + "b" * 9000, '"or come to the old harbour now ' + "b" * 68 + '…"'),
    ],
    ids=["personal data", "Chinese", "longer than a line", "much longer than a line"],
)
def test_an_ngram_is_quoted_in_one_line_without_personal_data(corpus: Corpus, item: str, quoted: str):
    (said,) = ngram_notices(corpus, [f"{n} {item} {n}" for n in range(10)], [item])
    assert quoted in said


def test_an_ngram_is_named_by_its_place_where_no_text_of_what_is_dropped_is_kept(corpus: Corpus):
    texts = [f"{n} {KEPT}" for n in range(10)]
    (said,) = ngram_notices(corpus, texts, [KEPT], "keep_rejected_text = false\n")
    assert said.startswith("the 13-gram of items:item-0 from character 0 on is the first shared one in 10 of 10 ")
    assert "boats" not in (corpus.version / "_audit" / "build.json").read_text()


# ------------------------------------------------------------------------------------------------ nothing was kept


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ["the box of the keeper", "the box and that of the keeper"],
            "nothing was kept: gopher dropped all 2 that entered it",
        ),
        (["the box of the keeper"], "nothing was kept: gopher dropped the only one that entered it"),
        ([b"{", b"["], "nothing was kept: no line could be read as a document"),
        ([b"", b" "], "nothing was kept: the raw files hold no document"),
    ],
    ids=["all dropped", "one dropped", "all broken", "all blank"],
)
def test_nothing_was_kept(corpus: Corpus, lines: list, said: str):
    corpus.source("s", lines)
    assert told(corpus, 'stages = ["gopher", "exact_dedup"]\n' + SCRIPT)[-1] == said
    (notice,) = [one for one in verify(corpus.version).findings if "nothing was kept" in one.what]
    assert (notice.severity, notice.what) == ("notice", "nothing was kept: the build holds no document")


def test_the_command_warns_last_that_nothing_was_kept(corpus: Corpus):
    corpus.source("s", [raw_line("the box of the keeper")])
    corpus.configure('stages = ["gopher"]\n' + SCRIPT)
    done = CliRunner().invoke(app, ["run", str(corpus.config)])
    assert done.exit_code == 0
    assert done.stderr.splitlines()[-1] == "warning: nothing was kept: gopher dropped the only one that entered it"
