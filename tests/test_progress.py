"""What a person sees of a run: one bar over the whole, and lines that fit 80 columns."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import termios

import pytest
from conftest import Corpus
from rich.console import Console
from typer.testing import CliRunner

from corpus_sql import parts
from corpus_sql.cli import app
from corpus_sql.progress import Bar, Report

LONG = "The keeper of the old lighthouse wrote down the weather, and the pages lie in a box that nobody has opened. "
STAGES = 'stages = ["gopher", "exact_dedup", "near_dedup"]\n[lang]\nmodel = "script"\n'


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def drawn(bar: Bar, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, legacy_windows=False)
    console.print(bar)
    return console.file.getvalue().rstrip("\n").rstrip()


# ------------------------------------------------------------------------------------------------- the bar


def test_the_bar_is_over_the_whole_by_weight():
    clock = Clock()
    bar = Bar(clock)
    bar.plan({"read": 10, "measure": 30})
    bar.start("read", 200_000_000, "bytes")
    bar.advance(100_000_000)
    clock.now = 4.0
    assert bar.share() == 0.125
    assert bar.rate() == "25.0 MB/s"
    bar.end()
    bar.start("measure", 1000, "documents")
    bar.advance(500)
    clock.now = 12.0
    assert bar.share() == 0.625
    assert (bar.rate(), bar.left()) == ("62 docs/s", "7 s left")


def test_the_bar_never_goes_back_when_the_plan_turns_out_longer():
    bar = Bar(Clock())
    bar.plan({"a": 1, "b": 1})
    bar.start("a", None, "documents")
    bar.end()
    assert bar.share() == 0.5
    bar.plan({"a": 1, "b": 1, "c": 8})
    assert bar.share() == 0.5
    bar.start("c", 10, "documents")
    bar.advance(5)
    assert bar.share() == 0.5
    bar.advance(4)
    assert bar.share() == pytest.approx(0.82)


def test_the_bar_is_not_full_while_a_step_runs_that_counts_more_than_was_thought():
    bar = Bar(Clock())
    bar.plan({"a": 1})
    bar.start("a", 10, "documents")
    bar.advance(1000)  # a function that is called for each pair has more rows than there are documents
    assert bar.share() == 0.99
    bar.end()
    assert bar.share() == 0.99


def test_a_step_that_comes_twice_counts_once():
    bar = Bar(Clock())
    bar.plan({"a": 1, "b": 1})
    for _ in range(2):
        bar.start("a", 10, "documents")
        bar.advance(10)
        bar.end()
    assert bar.share() == 0.5


def test_a_step_that_nobody_planned_leaves_the_bar_where_it_is():
    bar = Bar(Clock())
    bar.plan({"a": 1, "b": 1})
    bar.start("surprise", 10, "documents")
    bar.advance(10)
    bar.end()
    assert bar.share() == 0.0


@pytest.mark.parametrize("called", ["read", "measure decontaminate", "measure " + "long" * 20, "measure 词频" * 5])
def test_the_bar_fits_80_columns(called: str):
    clock = Clock()
    bar = Bar(clock)
    bar.plan({"a": 1, "b": 99_999})
    bar.start("a", 10**12, "bytes", called)
    bar.advance(10**12)
    clock.now = 86_400.0
    bar.end()
    bar.start("b", 10**12, "documents", called)
    bar.advance(10**11)
    clock.now += 2
    line = drawn(bar)
    assert "\n" not in line and len(line) <= 79
    assert "50,000,000,000 docs/s" not in line or line.endswith("left")


@pytest.mark.parametrize(
    ("seconds", "said"), [(5, "5 s"), (89, "89 s"), (90, "2 min"), (5340, "89 min"), (5400, "1 h 30 min")]
)
def test_times(seconds: float, said: str):
    clock = Clock()
    bar = Bar(clock)
    bar.plan({"a": 1})
    bar.start("a", 2, "documents")
    bar.advance(1)
    bar.share()
    clock.now = float(seconds)
    assert bar.left() == f"{said} left"


def test_without_a_total_there_is_no_share_and_no_time_left():
    clock = Clock()
    bar = Bar(clock)
    bar.plan({"fetch": 1.0})
    bar.start("fetch", None, "bytes")
    bar.advance(30_000_000)
    clock.now = 20.0
    assert "1.5 MB/s" in drawn(bar)
    assert "%" not in drawn(bar) and "left" not in drawn(bar)


def test_a_step_of_its_own_is_timed():
    report = Report(quiet=True)
    with report.step("export", 3) as advance:
        advance(3)
    assert list(report.seconds) == ["export"]


# ------------------------------------------------------------------------------------------------ the lines


class Said(Report):
    """Keeps what a run says, with the seconds set to 0.0."""

    def __init__(self, verbose: bool = False) -> None:
        super().__init__(quiet=True, verbose=verbose)
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        assert verbose_or_narrow(self.verbose, text), text
        self.lines.append(re.sub(r"\s+\d+\.\d s(?=$|  )", " -", text, count=1))


def verbose_or_narrow(verbose: bool, text: str) -> bool:
    return verbose or all(len(line) < 80 for line in text.splitlines())


@pytest.fixture
def texts(corpus: Corpus) -> Corpus:
    corpus.source("s", [f"{LONG * 6}{n} boats came in." for n in range(3)])
    return corpus


def test_a_first_run_tells_of_measures_and_stages(texts: Corpus):
    said = Said()
    texts.run(STAGES, report=said)
    assert [line for line in said.lines if line.startswith(("ran", "reused"))] == [
        "ran  read                           3 documents -",
        "ran  measure language               3 documents -",
        "ran  measure words                  3 documents -",
        "ran  stage gopher                   3 documents -",
        "ran  measure content                3 documents -",
        "ran  stage exact_dedup              3 documents -",
        "ran  measure minhash                3 documents -",
        "ran  stage near_dedup               3 documents -",
        "ran  groups and tables -",
    ]


def test_a_second_run_tells_that_all_is_reused(texts: Corpus):
    texts.run(STAGES)
    said = Said()
    texts.run(report=said)
    assert [line for line in said.lines if line.startswith(("ran", "reused"))] == [
        "reused everything: read; measures language, words, content, minhash; stages\n  gopher, exact_dedup, near_dedup"
    ]


def test_a_new_threshold_is_told_with_what_follows_it(texts: Corpus):
    texts.run(STAGES)
    said = Said()
    texts.run(STAGES + "[gopher]\nmin_n_words = 7\n", report=said, replace=True)
    assert [line for line in said.lines if line.startswith(("ran", "reused"))] == [
        "reused read; measures language, words, content, minhash",
        "ran  stage gopher                   3 documents -  new settings or SQL",
        "ran  stage exact_dedup              3 documents -  follows gopher",
        "ran  stage near_dedup               3 documents -  follows gopher",
        "ran  groups and tables -  follows gopher",
    ]


def test_a_setting_of_relations_within_a_stage_is_told_as_the_stage(texts: Corpus):
    """The threshold stands in near_dedup.verified, which a person does not know."""
    texts.run(STAGES)
    said = Said()
    texts.run(STAGES + "[near_dedup]\njaccard_threshold = 0.9\n", report=said, replace=True)
    told = [line for line in said.lines if line.startswith("ran")]
    assert told[0] == "ran  stage near_dedup               3 documents -  new settings or SQL"
    assert told[1:] == ["ran  groups and tables -  follows near_dedup"]


def test_other_raw_files_are_told_once(texts: Corpus):
    texts.run(STAGES)
    texts.source("s", [f"{LONG * 7}{n} boats came in." for n in range(2)], day="20260103")
    (texts.folder / "artifacts/corpus/raw/s/20260102/part-00000.jsonl.zst").unlink()
    said = Said()
    texts.run(report=said, replace=True)
    told = [line for line in said.lines if line.startswith("ran")]
    assert told[0] == "ran  read                           2 documents -  other raw files"
    assert {line.partition(" -  ")[2] for line in told[1:]} == {"follows read"}


def test_verbose_names_every_relation(texts: Corpus):
    said = Said(verbose=True)
    outcome = texts.run(STAGES, report=said)
    told = [line.removeprefix("ran     ").partition(":")[0] for line in said.lines if line.startswith("ran")]
    made = [step.name for step in outcome.steps if step.name not in parts.leaves(outcome.steps)]
    assert told == [name for name in made if not name.startswith("read.") or name == "read.documents"]
    again = Said(verbose=True)
    texts.run(report=again)
    assert [line for line in again.lines if line.startswith("reused")] == [f"reused  {name}" for name in made]


def test_a_plan_is_for_a_person_and_verbose_for_all_relations(texts: Corpus):
    texts.run(STAGES)
    texts.configure(STAGES + "[gopher]\nmin_n_words = 7\n")
    done = CliRunner().invoke(app, ["run", str(texts.config), "--plan"])
    head, _, sizes = done.stdout.partition("\n\n")
    assert head.splitlines() == [
        "part",
        "read               reuse",
        "measure language   reuse",
        "measure words      reuse",
        "stage gopher       run    new settings or SQL",
        "measure content    reuse",
        "stage exact_dedup  run    follows gopher",
        "measure minhash    reuse",
        "stage near_dedup   run    follows gopher",
        "groups and tables  run    follows gopher",
    ]
    assert [line.partition(":")[0] for line in sizes.splitlines()] == ["disk, at most about", "earlier results"]
    whole = CliRunner().invoke(app, ["run", str(texts.config), "--plan", "--verbose"]).stdout
    assert "near_dedup.bands" in whole and "stages.gopher              run    changed: its SQL" in whole


def test_a_name_too_long_for_a_line_is_cut():
    said = Said()
    step = type("Step", (), {"name": "measures." + "word" * 20, "why": parts.NEW, "rows": 5, "compiled": None})()
    telling = parts.Telling(said, [step])
    telling.ran(step, 1.0)
    assert said.lines == ["ran  measure " + "word" * 16 + "w…"]


# -------------------------------------------------------------------------------------- on a terminal, in a pipe


def on_a_terminal(command: list[str], columns: int = 80) -> str:
    """Run a command on a terminal of its own and return all that it wrote there."""
    pid, fd = pty.fork()
    if pid == 0:
        termios.tcsetwinsize(0, (40, columns))
        os.environ.update(TERM="xterm", COLUMNS=str(columns))
        os.execv(command[0], command)
    found = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        found += piece
    os.waitpid(pid, 0)
    return found.decode()


def test_a_terminal_sees_a_bar_that_only_grows_and_a_pipe_sees_none(texts: Corpus):
    texts.configure(STAGES)
    seen = on_a_terminal([sys.executable, "-m", "corpus_sql", "run", str(texts.config)])
    bars = re.findall(r"━[^\r\n]*? (\d+) %", seen.partition("stage  ")[0])
    assert bars and [int(n) for n in bars] == sorted(int(n) for n in bars) and int(bars[-1]) < 100
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen).replace("\r", "\n").split("\n")
    assert max(map(len, lines)) <= max(80, len(str(texts.version)) + 40)  # a path is not cut
    piped = subprocess.run(
        [sys.executable, "-m", "corpus_sql", "run", str(texts.config)], capture_output=True, text=True, check=True
    )
    assert "━" not in piped.stderr and "\x1b" not in piped.stderr + piped.stdout
    assert piped.stderr.splitlines()[-1].startswith("reused everything: ") or "  gopher" in piped.stderr
    assert json.loads((texts.version / "_audit" / "run.json").read_text())["seconds"]
