"""Ctrl-C, SIGTERM, a closed pipe, and a system that gives too little: one line or none, and the right exit code."""

from __future__ import annotations

import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT

from corpus_sql import build, limits, stopping
from corpus_sql.errors import Problem, shortened
from corpus_sql.starting import init

PROGRAM = [sys.executable, "-m", "corpus_sql"]
LINE = "stopped; what was finished is kept, run again to go on\n"
IMPORT = "--license CC0-1.0 --data-class public --url https://example.org --fetched-at 2026-01-01T00:00:00Z".split()


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    """The demo, built once; the tests of this file only read it, or copy it."""
    folder = tmp_path_factory.mktemp("demo")
    init(folder, demo=True)
    build.run(folder / "corpus.toml")
    texts = folder / "texts"
    texts.mkdir()
    for n in range(200):
        (texts / f"{n}.txt").write_text(f"Letter {n} was never sent, and so nobody has answered it.\n")
    return folder


def unbuilt(demo: Path, folder: Path) -> Path:
    """A copy of the demo before its first run."""
    return Path(shutil.copytree(demo, folder / "copy", ignore=shutil.ignore_patterns("v1", "reports", ".work")))


def commands(demo: Path, copy: Path) -> dict[str, list[str]]:
    version = str(demo / "artifacts/corpus/demo/v1")
    config = str(copy / "corpus.toml")
    return {
        "run": ["run", config],
        "verify": ["verify", version],
        "import": ["import", "text", str(copy / "texts"), "--source", "letters", "--config", config, *IMPORT],
        "report": ["report", version],
    }


def listening() -> None:
    """Before a program starts: where the tests are themselves a job in the background, Ctrl-C is not heard."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def stopped_at(command: list[str], seconds: float, number: int) -> subprocess.CompletedProcess:
    """Start a command, send it the signal after a while, and wait for its end."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(PROGRAM + command, **pipes, cwd=ROOT, preexec_fn=listening)
    time.sleep(seconds)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a build but what tells of the run."""
    own = {"run.json", "SHA256SUMS"}
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name not in own}


@pytest.mark.parametrize("name", ["run", "verify", "import", "report"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_moment(name, number, demo, tmp_path):
    copy = unbuilt(demo, tmp_path)
    command = commands(demo, copy)[name]
    moment = random.Random(f"{name} {number}").uniform(0.3, 2.5)
    done = stopped_at(command, moment, number)
    if done.returncode == 0:  # it was quicker
        return
    assert (done.returncode, done.stderr.count(LINE), done.stderr[-len(LINE) :]) == (128 + number, 1, LINE), moment
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert not list(copy.rglob("*.building"))
    again = subprocess.run(PROGRAM + command, capture_output=True, text=True, cwd=ROOT)
    assert again.returncode == 0, again.stderr
    if name == "run":
        assert content(copy / "artifacts/corpus/demo/v1") == content(demo / "artifacts/corpus/demo/v1")


def inside(body: str, number: int = signal.SIGINT) -> subprocess.CompletedProcess:
    """Run `body` as a command that a signal reaches by `stop()`, from within."""
    code = (
        "import os, signal, sys, time\n"
        "from corpus_sql import stopping\n"
        f"def stop(): os.kill(os.getpid(), {int(number)})\n"
        "def command():\n" + "".join(f"    {line}\n" for line in body.splitlines()) + "stopping.guarded(command)\n"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT, preexec_fn=listening)


MOMENTS = {
    "in plain Python": "stop(); time.sleep(9)",
    "in a query": """
import duckdb
import threading
threading.Timer(0.3, stop).start()
duckdb.sql("select count(*) from range(10000000000) a where a.range % 7 = 3").fetchall()""",
    "in a function that the engine calls": """
import duckdb
from duckdb.sqltypes import BIGINT
c = duckdb.connect()
c.create_function("f", lambda x: stop() or x, [BIGINT], BIGINT)
c.execute("select f(1)").fetchall()""",
    "where an error is made of it": """
try:
    stop(); time.sleep(9)
except BaseException as error:
    raise ValueError("a fault of the UDF") from error""",
    "where it is swallowed": """
class Gone:
    def __del__(self):
        stop(); time.sleep(0.1)
Gone()
raise KeyError""",
    "where the command ends well all the same": """
try:
    stop(); time.sleep(9)
except BaseException:
    return 0""",
    "where the command prints its errors": """
try:
    stop(); time.sleep(9)
except BaseException:
    sys.exit(2)""",
}


@pytest.mark.parametrize("name", MOMENTS)
def test_a_signal_is_told_wherever_it_comes(name):
    done = inside(MOMENTS[name])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", LINE)


def test_what_never_looks_up_is_ended_after_a_while():
    begun = time.monotonic()
    done = inside("while True:\n    try:\n        stop(); time.sleep(60)\n    except BaseException: time.sleep(60)")
    assert (done.returncode, done.stderr) == (130, LINE)
    assert time.monotonic() - begun < stopping.GRACE + 20


def test_the_second_signal_ends_it_at_once():
    done = inside("try:\n    stop(); time.sleep(9)\nexcept BaseException:\n    stop(); time.sleep(60)", signal.SIGTERM)
    assert (done.returncode, done.stderr) == (143, LINE)


def test_a_job_in_the_background_of_a_script_keeps_its_deaf_ear():
    code = "from corpus_sql import stopping; import os, signal; stopping.guarded(lambda: os.kill(os.getpid(), 2) or 0)"
    line = f"trap '' INT; exec {sys.executable} -c '{code}'"
    assert subprocess.run(["sh", "-c", line], cwd=ROOT).returncode == 0


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_closed_pipe_ends_in_silence(format, demo):
    command = PROGRAM + ["sql", str(demo / "artifacts/corpus/demo/v1"), "from range(200000)", "--format", format]
    line = f"{' '.join(repr(one) for one in command)} | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout.splitlines()[-1], done.stderr) == (str(128 + signal.SIGPIPE), "")


# ------------------------------------------------------------------------------------------------- a starving system


def test_too_few_file_handles_are_told():
    done = subprocess.run(
        PROGRAM + ["check", "none.toml"], capture_output=True, text=True, cwd=ROOT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5)),
    )  # fmt: skip
    said = "error: corpus-sql: this process may open too few files\n    Raise `ulimit -n`, and run again.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


MEMORY = Problem(
    "corpus-sql",
    "the system gives this process too little memory",
    "Raise `ulimit -v`, or free some memory, and run again.",
)
HANDLES = Problem("corpus-sql", "this process may open too few files", "Raise `ulimit -n`, and run again.")
STARVED = {
    "Python's own": (MemoryError(), MEMORY),
    "the system's": (OSError(12, "Cannot allocate memory"), MEMORY),
    "the loader's": (ImportError("libarrow.so: failed to map segment from shared object"), MEMORY),
    "of a thread": (RuntimeError("can't start new thread"), MEMORY),
    "C++": (RuntimeError("std::bad_alloc"), MEMORY),
    "handles": (OSError(24, "Too many open files"), HANDLES),
    "handles of the whole system": (OSError(23, "Too many open files in system"), HANDLES),
    "something else": (OSError(2, "No such file or directory"), None),
}


def met(error: Exception) -> Problem | None:
    found = limits.of(error)
    return found.problems[0] if found else None


@pytest.mark.parametrize("name", STARVED)
def test_what_a_lack_looks_like(name):
    error, problem = STARVED[name]
    assert met(error) == problem
    outer = ValueError("made of it")
    outer.__cause__ = error
    assert met(outer) == problem


# -------------------------------------------------------------------------------------------------- what is printed


def test_equal_facts_are_counted():
    found = [Problem(f"a.jsonl:{n}", "no text", "Give one.") for n in range(1234)] + [Problem("b.jsonl", "no licence")]
    assert list(shortened(found)) == [
        "a.jsonl:0: no text\n    Give one.",
        "a.jsonl:1: no text\n    Give one.",
        "a.jsonl:2: no text\n    Give one.",
        "b.jsonl: no licence",
        "1,231 more like it: no text",
    ]


def test_a_value_is_cut_in_the_middle():
    (said,) = shortened([Problem("x", "水" * 10_000)])
    assert said == "x: " + "水" * 200 + " [… 9,700 characters …] " + "水" * 100


def test_many_lines_are_cut_at_the_end():
    (said,) = shortened([Problem("x", "\n".join(f"line {n}" for n in range(20)))])
    assert said == "x: " + "\n".join(f"line {n}" for n in range(8)) + "\n[… 12 lines …]"


def test_signals_are_seen_to_before_anything_large_is_imported():
    """Until then Python ends with a traceback, so this module is the first and imports little."""
    code = "import sys, corpus_sql.stopping; print(*sorted(m for m in sys.modules if m.partition('.')[0] in LARGE))"
    large = "LARGE = ('typing', 'pathlib', 're', 'traceback', 'dataclasses', 'typer', 'duckdb', 'pyarrow', 'numpy'); "
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {large}{code}"],
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("\n", "")
