"""The story of one id, as `corpus-sql why` tells it."""

from __future__ import annotations

import json

import made_corpus
import pytest
from conftest import Corpus, raw_line

from corpus_sql import explain, shown
from corpus_sql.errors import ConfigError

BASE = made_corpus.text("en", 500, 4)
# neighbours share more than eight tenths of their shingles, the first and the last share fewer
CHAIN = [
    BASE,
    BASE.replace("The ", "A very old ", 1),
    BASE.replace("The ", "A very old ", 1) + " Nobody knows more of it than that, and so the story ends here.",
]
LINES = [
    f"{made_corpus.text('en', 501, 5)} Write to keeper@example.com or to 192.0.2.7 if it rains.",  # 0
    "# # # too few words ...",  # 1
    raw_line(made_corpus.text("en", 501, 5) + " Write to keeper@example.com or to 192.0.2.7 if it rains.  \r\n"),  # 2
    *CHAIN,  # 3, 4, 5
    f"{made_corpus.text('en', 502, 5)} {made_corpus.PROTECTED}",  # 6
    b'{"url": "https://example.org/a", "text": "\xe4\xba\xff\x1b[31m"}',  # 7
    "",  # 8: becomes an empty text
    b"   ",  # 9
    raw_line("short", license_spdx="MIT"),  # 10
    raw_line(made_corpus.text("en", 503, 5), parent_ids=["s:3", "s:7", "s:99"]),  # 11
]
CONFIG = made_corpus.CONFIG.replace("shard_rows = 60", "shard_rows = 2")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("explain"))
    (corpus.folder / "eval").mkdir()
    for name, text in (("lighthouse-1", made_corpus.PROTECTED), ("lighthouse-2", made_corpus.PROTECTED + " Say why.")):
        with open(corpus.folder / "eval" / "items.jsonl", "a") as file:
            file.write(json.dumps({"id": name, "text": text}) + "\n")
    corpus.source("s", LINES)
    corpus.run(CONFIG)
    return corpus


def story(corpus: Corpus, id: str) -> list[str]:
    return list(shown.story(explain.why(corpus.version, id)))


NAME = "s/20260102/part-00000.jsonl.zst"
ORIGIN = "  https://example.org/a  CC0-1.0, fetched 2026-01-02T03:04:05Z"
KEPT_BY_ALL = """\
  read           keep
  lang           keep        lang_score 0.989663 (min 0.65)
  gopher         keep        alpha_word_ratio 0.989899 (min 0.8), mean_word_length 3.88889 (min 3)
  repetition     keep        top_2gram_char_ratio 0.0311688 (max 0.2)
  exact_dedup    keep
  near_dedup     keep
  decontaminate  keep
  pii            keep""".splitlines()


def test_a_kept_document(built: Corpus):
    text = json.loads(LINES[2])["text"].rstrip()
    email, ip = text.index("keeper@"), text.index("192.0.2.7")
    assert story(built, "s:0") == [
        f"s:0  {NAME}, line 1, byte 0",
        ORIGIN,
        f"  en, {len(text)} characters",
        *KEPT_BY_ALL,
        "  group s:0, with s:2",
        f"  scrubbed: email at characters {email} to {email + len('keeper@example.com')}",
        f"  scrubbed: ip at characters {ip} to {ip + len('192.0.2.7')}",
        "  kept: shard-00000-of-00002.parquet, row 0, split train",
    ]


def test_the_values_that_let_it_pass(built: Corpus):
    """As JSON, all of a stage, with both ends of a range, each as the tables of the build have it."""
    passed = {one["stage"]: one["passed"] for one in explain.why(built.version, "s:0").decisions}
    (lang,) = passed["lang"]
    assert (lang["reason"], lang["metric"], lang["threshold"]) == ("lang_undetermined", "lang_score", 0.65)
    told = {rule["reason"]: (rule["value"], rule["threshold"]) for rule in passed["gopher"]}
    with explain.open_build(built.version) as connection:
        (n_words,) = connection.execute("select n_words from measures.words where id = 's:0'").fetchone()
    assert told["low_n_words"] == (n_words, 50) and told["high_n_words"] == (n_words, 100_000)
    assert "no_words" not in told  # it has no threshold
    assert len(passed["repetition"]) == 13
    assert passed["read"] == passed["exact_dedup"] == passed["near_dedup"] == passed["pii"] == []
    assert {one["stage"]: one["passed"] for one in explain.why(built.version, "s:1").decisions}["gopher"] == []


def test_a_rule_of_the_users_own_tells_what_it_measured_or_nothing(corpus: Corpus):
    """One over a measure does; one that reads the text, which the build has not for every document, cannot."""
    sql = corpus.folder / "sql" / "stages"
    sql.mkdir(parents=True)
    head = "-- {0}: a rule.\n--\n-- config: max_n | most\nselect d.id as id, {{{{ hits([high('n')]) }}}} as hits\nfrom "
    over = "(select d.id as id, {1} as n from {{{{ input }}}} as d join {2} using (id)) as d"
    for name, n, table in (("words_", "n_words", "measures.words"), ("letters", "length(text)", "read.documents")):
        (sql / f"{name}.sql").write_text((head + over).format(name, n, table) + "\n")
    corpus.source("s", ["one two three"])
    corpus.run('stages = ["words_", "letters"]\n[words_]\nmax_n = 9\n[letters]\nmax_n = 99')
    assert story(corpus, "s:0")[4:6] == ["  words_   keep        n 3 (max 9)", "  letters  keep"]


def test_a_rejected_document_and_all_other_rules_that_fired(built: Corpus):
    assert story(built, "s:1")[2:] == [
        "  en, 23 characters",
        "  read    keep",
        "  lang    keep        lang_score 0.948277 (min 0.65)",
        "  gopher  reject      low_n_words  n_words 7, threshold 50",
        "          also        low_mean_word_length  mean_word_length 2.42857, threshold 3",
        "          also        high_hash_ratio  hash_ratio 0.428571, threshold 0.1",
        "          also        high_ellipsis_ratio  ellipsis_ratio 0.142857, threshold 0.1",
        "          also        high_ellipsis_line_ratio  ellipsis_line_ratio 1, threshold 0.3",
        "          also        low_alpha_word_ratio  alpha_word_ratio 0.428571, threshold 0.8",
        "          also        low_n_stop_words  n_stop_words 0, threshold 2",
    ]


def test_an_exact_duplicate(built: Corpus):
    assert story(built, "s:2")[-3:] == [
        "  exact_dedup  reject      exact_duplicate  -> s:0",
        "  s:2 - s:0: the same text",
        "  group s:0, with s:0",
    ]


def test_a_near_duplicate_and_the_way_to_the_one_that_stays(built: Corpus):
    rejected, *path, group = story(built, "s:5")[-4:]
    assert rejected.startswith("  near_dedup   reject      near_duplicate  jaccard 0.795181")  # the two ends
    assert rejected.endswith(", threshold 0.8  -> s:3")
    first, second = explain.why(built.version, "s:5").path
    assert (first["from"], first["to"], second["from"], second["to"]) == ("s:5", "s:4", "s:4", "s:3")
    assert path == [f"  s:5 - s:4: Jaccard {first['jaccard']:.4f}", f"  s:4 - s:3: Jaccard {second['jaccard']:.4f}"]
    assert min(first["jaccard"], second["jaccard"]) >= 0.8
    assert group == "  group s:11, with s:11, s:3, s:4"


def test_a_contaminated_document(built: Corpus):
    start = LINES[6].index(made_corpus.PROTECTED)
    gram = "'which of the seven lighthouses on the northern coast was the last one'"
    assert story(built, "s:6")[-5:] == [
        "  decontaminate  reject      contaminated  -> items:lighthouse-1",
        "  shares 10 of 10 n-grams with items:lighthouse-1, the first of them at",
        f"    characters {start} to {start + 69}, in the item 0 to 69: {gram}",
        "  shares 10 of 12 n-grams with items:lighthouse-2, the first of them at",
        f"    characters {start} to {start + 69}, in the item 0 to 69: {gram}",
    ]


def test_a_contaminated_document_where_no_rejected_text_is_kept(corpus: Corpus):
    (corpus.folder / "eval").mkdir()
    (corpus.folder / "eval" / "items.jsonl").write_text(json.dumps({"id": "item", "text": made_corpus.PROTECTED}))
    corpus.source("s", [made_corpus.PROTECTED])
    corpus.run('stages = ["decontaminate"]\nkeep_rejected_text = false\n[decontaminate]\nprotected = ["eval/*"]')
    assert story(corpus, "s:0")[-1] == "    characters 0 to 69, in the item 0 to 69"


def test_relatives(built: Corpus):
    """A parent may be a document, a line that could not be read, or in no raw file at all."""
    assert story(built, "s:11")[-5:-1] == [
        "  parent: s:3",
        "  parent: s:7 (a line that could not be read)",
        "  parent: s:99 (in no raw file)",
        "  group s:11, with s:3, s:4, s:5",
    ]
    assert story(built, "s:3")[-3:-1] == ["  children: s:11", "  group s:11, with s:11, s:4, s:5"]


def test_a_quarantined_line_and_its_bytes(built: Corpus):
    """Bytes that are no text, and those that a terminal would act on, are shown as escapes."""
    head, decision, detail, content = story(built, "s:7")
    assert head.startswith(f"s:7  {NAME}, line 8, byte ")
    assert decision == "  read  quarantine  invalid_utf8"
    assert detail.startswith("  byte 0xe4 at byte 42: invalid continuation byte; the line has 52 bytes, SHA-256 ")
    assert content == r"""  bytes: {"url": "https://example.org/a", "text": "\xe4\xba\xff\x1b[31m"}"""


def test_what_a_terminal_would_act_on_is_escaped(corpus: Corpus):
    """In whatever field a document brings it; as JSON nothing is lost."""
    acting = "\x1b[2J\x9b31m\u202e\n"
    corpus.source(
        "s",
        [raw_line("one text", url=f"https://example.org/{acting}", parent_ids=[f"p{acting}"], group_id=f"g{acting}")]
        * 2,
    )
    corpus.run("stages = []")
    lines = story(corpus, "s:0")
    escaped = r"\x1b[2J\x9b31m\u202e\n"
    assert f"  https://example.org/{escaped}  CC0-1.0, fetched 2026-01-02T03:04:05Z" in lines
    assert f"  parent: p{escaped} (in no raw file)" in lines
    assert not [line for line in lines for c in "\x1b\x9b\u202e\n" if c in line]
    told = shown.as_json(shown.story_dict(explain.why(corpus.version, "s:0")), indent=1)
    assert shown.json_plain(told) == told and json.loads(told)["document"]["url"] == f"https://example.org/{acting}"


def test_a_line_of_another_licence(built: Corpus):
    _, decision, detail, _ = story(built, "s:10")
    assert decision == "  read  quarantine  license_mismatch"
    assert detail.startswith('  license_spdx is "MIT", the ledger says "CC0-1.0"; the line has ')


UNKNOWN = {
    "s:9": "s:9: this is a blank line: it holds no document",
    "s:12": "s:12: the build has no such line\n    s has the lines s:0 to s:11.",
    "s:01": "s:01: the build has no such line\n    s has the lines s:0 to s:11.",
    "s:x": "s:x: the build has no such line\n    s has the lines s:0 to s:11.",
    "x:0": "x:0: the build has no such source\n    An id is <source>:<position>. The sources are s.",
    "s": "s: the build has no such source\n    An id is <source>:<position>. The sources are s.",
}


@pytest.mark.parametrize(("id", "message"), UNKNOWN.items(), ids=list(UNKNOWN))
def test_an_id_the_build_does_not_hold(built: Corpus, id: str, message: str):
    with pytest.raises(ConfigError) as error:
        explain.why(built.version, id)
    assert str(error.value) == message


@pytest.mark.parametrize("k", [0, 1, 5, 6, 7])
def test_the_story_as_json(built: Corpus, k: int):
    told = shown.story_dict(explain.why(built.version, f"s:{k}"))
    read = json.loads(json.dumps(told, ensure_ascii=False, default=str, allow_nan=False))
    assert read == told
    keys = "id document quarantined decisions path witnesses contamination redactions parents children members"
    assert list(told) == keys.split()
    assert [one["stage"] for one in told["decisions"]][0] == "read"
    assert (told["document"] is None) == (k == 7)


def test_a_build_can_be_moved(built: Corpus):
    before = story(built, "s:5")
    moved = built.folder / "elsewhere" / "copy of v1"
    moved.parent.mkdir()
    built.version.rename(moved)
    try:
        assert list(shown.story(explain.why(moved, "s:5"))) == before
    finally:
        moved.rename(built.version)


def test_numbers_as_a_person_reads_them():
    values = [0.0, 7.0, 1234567.0, 0.1, 1 / 3, 1e-9, 123456.789, 1e15]
    assert [shown.number(value) for value in values] == [
        "0", "7", "1,234,567", "0.1", "0.333333", "1e-09", "123457", "1e+15"
    ]  # fmt: skip


def test_columns_of_wide_characters_stay_in_line():
    lines = list(shown.table(("source", "n"), [("云在青天", 5), ("ab", 12345), (None, None)]))
    assert lines == ["source         n", "云在青天       5", "ab        12,345", ""]
