"""What people look at quotes no personal data: pages, terminal tables, stories, notices, messages."""

import json
import subprocess
import sys

import made_corpus
import pytest
from conftest import Corpus, raw_line

from corpus_sql import explain, reporting, sampling, shown, validation
from corpus_sql.pii_shown import without_pii

PRIVATE = (
    "anna.lee@example.org",
    "198.51.100.7",
    "+1 312 555 0144",
    "4111 1111 1111 1111",
    "9999 4105 7058",
    "DE89 3704",
)
SAID = (
    f"Write to {PRIVATE[0]} or {PRIVATE[1]}, call {PRIVATE[2]}, pay {PRIVATE[3]}, {PRIVATE[4]}, "
    f"{PRIVATE[5]} 0044 0532 0130 00."
)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("nothing here", "nothing here"),
        ("write to anna@example.org", "write to <EMAIL>"),
        ("aadhaar 9999 4105 7058", "aadhaar <AADHAAR>"),
        ("DE89 3704 0044 0532 0130 00", "<IBAN>"),
        ("from fe80::7 on", "from <IP> on"),
        ("anna [at] example [dot] org", "<EMAIL>"),
    ],
)
def test_all_kinds_are_scrubbed(text: str, after: str):
    assert without_pii(text) == after


def test_half_an_address_before_a_cut_goes_too():
    assert without_pii("write to anna.lee@exa", cut=True) == "write to "
    assert without_pii("写信到 anna.lee@exa", cut=True) == "写信到 "
    assert without_pii("write to somebo", cut=True) == "write to somebo"
    assert without_pii("write to anna@example.org", cut=True) == "write to <EMAIL>"
    assert without_pii("x" * 600, cut=True) == "x" * 600


def test_a_message_quotes_no_personal_data():
    assert validation.shown("anna@example.org") == '"<EMAIL>"'
    assert validation.shown("a" * 30 + " anna@example.org") == '"' + "a" * 30 + ' <EMAIL>"'
    assert validation.shown(13912345678) == "13912345678"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("shown"))
    (corpus.folder / "eval").mkdir()
    item = f"{made_corpus.PROTECTED} {SAID}"
    (corpus.folder / "eval" / "items.jsonl").write_text(json.dumps({"id": "one", "text": item}) + "\n")
    lines = [
        f"{SAID} short",  # 0: dropped by quality
        f"{SAID} {made_corpus.text('en', 501, 5)}",  # 1
        f"{SAID} {made_corpus.text('en', 502, 5)} {item}",  # 2: holds the protected item
        raw_line(
            made_corpus.text("en", 503, 5), parent_ids=[PRIVATE[0]], url=f"https://example.org/?m={PRIVATE[0]}"
        ),  # 3
        raw_line(SAID, fetched_at=PRIVATE[0]),  # 4: quarantined
        raw_line(SAID).rstrip(b"}"),  # 5: quarantined
    ]
    corpus.source("s", lines)
    corpus.run(made_corpus.CONFIG)
    return corpus


def no_private(text: str):
    assert [one for one in PRIVATE if one in text] == []


@pytest.mark.parametrize("k", range(6))
def test_a_story(built: Corpus, k: int):
    found = explain.why(built.version, f"s:{k}")
    no_private("\n".join(shown.story(found)))


@pytest.mark.parametrize("kind", ["by-reason", "reservoir"])
def test_a_sample(built: Corpus, kind: str):
    """The table is scrubbed; as JSON Lines, for reading, whole texts are the build's own."""
    found = sampling.sample(built.version, kind)
    no_private("\n".join(sampling.lines(found)))
    assert any(PRIVATE[0] in line for line in found.jsonl())


def test_a_report(built: Corpus):
    written = reporting.report(built.version)
    pages = [path for path in written if path.suffix in (".html", ".md")]
    assert len(pages) == 2
    for page in pages:
        no_private(page.read_text())


def test_notices(built: Corpus):
    no_private((built.version / "_audit" / "build.json").read_text().split('"notices"')[1])


def test_the_scrub_is_not_loaded_for_help():
    code = (
        "import sys, corpus_sql.cli, corpus_sql.asking, corpus_sql.shown; print('corpus_sql.pii_scrub' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
