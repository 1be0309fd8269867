"""What the documents say is true: commands and options exist, links lead somewhere, SQL runs, config is valid."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pytest
import typer
from conftest import ROOT

from corpus_sql import build as building
from corpus_sql import cli, explain
from corpus_sql.project import load_udf_file, open_project
from corpus_sql.starting import init

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("**/*.md"))]
CONFIGS = [ROOT / "configs/demo/corpus.toml", ROOT / "configs/start/corpus.toml"]


class Snippet(NamedTuple):
    """Code in a page. kind: what stands after the fence, "" for indented code."""

    place: str
    kind: str
    code: str


def snippets(path: Path) -> list[Snippet]:
    """Fenced and indented code of a Markdown page, each with the line where it begins."""
    found, fence, code, start = [], None, [], 0
    lines = [*path.read_text("utf-8").splitlines(), ""]
    for number, line in enumerate(lines, start=1):
        if fence is None and line.startswith("```"):
            fence, code, start = line[3:].strip(), [], number
        elif fence is not None and line.startswith("```"):
            found.append(Snippet(f"{path.name}:{start}", fence, "\n".join(code)))
            fence, code = None, []
        elif fence is not None or (line.startswith("    ") and line.strip()):
            start = start if code else number
            code.append(line if fence is not None else line[4:])
        elif code:
            found.append(Snippet(f"{path.name}:{start}", "", "\n".join(code)))
            code = []
    assert fence is None, f"{path.name}:{start}: a code fence that does not end"
    return found


SNIPPETS = [snippet for page in PAGES if page.exists() for snippet in snippets(page)]


def commands() -> list[tuple[str, str]]:
    """Every line of shell in the pages and in the configs' comments that calls make or corpus-sql."""
    lines = [
        (one.place, line)
        for one in SNIPPETS
        if one.kind in ("", "sh", "bash", "console", "shell")
        for line in re.split(r"\n|&&|\|", one.code.replace("\\\n", " "))
    ]
    for path in CONFIGS:
        lines += [
            (f"{path.parent.name}/{path.name}", line.lstrip("# ")) for line in path.read_text("utf-8").splitlines()
        ]
    found = []
    for place, line in lines:
        line = re.sub(r"^(\$ )?(\S*/bin/)?", "", line.strip())
        line = re.sub(r"^[^:]*:\s+(?=corpus-sql )", "", line)
        if re.match(r"(make|corpus-sql) [a-z-]", line):
            found.append((place, line))
    return found


def test_the_pages_are_there_and_the_readme_names_the_two_commands():
    assert [page.name for page in PAGES if not page.exists()] == []
    said = {line.split("#")[0].strip() for place, line in commands() if place.startswith("README.md")}
    assert {"make demo", "make test"} <= said


@pytest.mark.parametrize(("place", "line"), commands(), ids=lambda value: value[:60])
def test_commands_and_options_exist(place, line):
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert words[1] in targets, f"{place}: make {words[1]}"
        return
    known = typer.main.get_command(cli.app).commands
    assert words[1] in known, f"{place}: corpus-sql {words[1]}"
    options = {option for parameter in known[words[1]].params for option in parameter.opts} | {"--help", "-h"}
    assert {word.split("=")[0] for word in words if word.startswith("--")} <= options, f"{place}: {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text("utf-8")
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    for target in (target for target in targets if "://" not in target and not target.startswith("mailto:")):
        name, _, anchor = target.partition("#")
        linked = page if not name else (page.parent / name)
        assert linked.exists(), f"{page.name}: {target}"
        if anchor:
            titles = re.findall(r"^#+ (.*)$", linked.read_text("utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor in slugs, f"{page.name}: {target}"


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("demo")
    init(root, demo=True)
    building.run(root / "corpus.toml")
    return root / "artifacts/corpus/demo/v1"


def queries() -> list[tuple[str, str]]:
    """The SQL of the pages, statement by statement; what holds a place for a name is no statement."""
    found = []
    for one in SNIPPETS:
        if one.kind == "sql" and not re.search(r"\{\{|\{%|…|<[a-z]+>", one.code):
            code = re.sub(r"--[^\n]*", "", one.code)
            found += [(one.place, part.strip()) for part in code.split(";") if part.strip()]
    return found


@pytest.mark.parametrize(("place", "query"), queries(), ids=lambda value: value[:60])
def test_sql_of_the_pages_runs_on_the_demo(place, query, demo):
    with explain.open_build(demo) as connection:
        try:
            connection.execute(query).fetchall()
        except duckdb.Error as error:
            pytest.fail(f"{place}: {error}")


@pytest.mark.parametrize("snippet", [one for one in SNIPPETS if one.kind == "toml"], ids=lambda one: one.place)
def test_toml_of_the_pages_is_a_config(snippet, tmp_path):
    """A part of a config is completed with what is required."""
    given = tomllib.loads(snippet.code)
    head = "".join(
        f"{key} = {value}\n"
        for key, value in (("dataset", '"d"'), ("version", '"v1"'), ("sources", '["s"]'), ("stages", "[]"))
        if key not in given
    )
    path = tmp_path / "corpus.toml"
    path.write_text(head + snippet.code, "utf-8")
    assert open_project(path).config.values.keys() >= given.keys(), snippet.place


def test_the_function_that_the_pages_show_works(tmp_path):
    (code,) = [one.code for one in SNIPPETS if one.kind == "python" and "@udf" in one.code]
    (tmp_path / "shouting.py").write_text(code)
    module = load_udf_file(tmp_path / "shouting.py")
    found = module.shouting_count(pa.array(["Come! Now!", "no", None], pa.large_string()))
    assert (found.type, found.to_pylist()) == (pa.int64(), [2, 0, None])
    assert module.shouting_count.udf.returns == "BIGINT"


def test_the_readme_counts_the_languages_that_have_profiles():
    tables = tomllib.loads((ROOT / "configs/profiles.toml").read_text("utf-8"))
    languages = {lang for table in tables.values() for lang, own in table.items() if isinstance(own, dict)}
    assert f"thresholds of {len(languages)} languages" in " ".join((ROOT / "README.md").read_text("utf-8").split())


def test_the_readme_shows_every_command():
    shown = {line.split()[1] for place, line in commands() if place.startswith("README.md") and "corpus-sql" in line}
    text = (ROOT / "README.md").read_text("utf-8")
    shown |= set(re.findall(r"`corpus-sql ([a-z]+)", text))
    assert set(typer.main.get_command(cli.app).commands) - shown == set()


def test_the_changelog_speaks_in_sentences():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "## [Unreleased]" in text or re.search(r"^## \[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$", text, re.MULTILINE)
    entries = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
    assert len(entries) >= 5
    for entry in entries:
        sentence = re.split(r"\n\n|\n#", entry)[0].strip()
        assert re.fullmatch(r"[A-Z`].*\.", sentence, re.DOTALL), sentence
