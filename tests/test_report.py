"""The report: its numbers against the build's own tables, and a page that hostile texts cannot act on."""

import hashlib
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import Corpus, raw_line
from typer.testing import CliRunner

from corpus_sql import cli, files, reporting
from corpus_sql.cli import app
from corpus_sql.errors import ConfigError
from corpus_sql.explain import open_build
from corpus_sql.report_facts import Facts, facts, rules
from corpus_sql.report_parts import Section
from corpus_sql.report_problems import percent, problems
from corpus_sql.report_sections import sections
from corpus_sql.rules import Rule

WORDS = (
    "the ferry and its people have been to every harbour of that coast with letters for all who wait there because a "
    "winter storm can close small roads while children count lamps on distant boats before morning brings bread again "
    "some sailors sing old songs others mend nets or paint doors green under grey skies near our white lighthouse"
).split()
HOSTILE = "<script>alert('x')</script>\u202egnp.exe\u202c \x1b[31mred\x00 <img src=x onerror=y> ]]> --> &amp; {{ 7*7 }}"
CONFIG = """
stages = ["lang", "gopher", "repetition", "exact_dedup", "near_dedup", "pii"]
[lang]
model = "script"
keep = ["en", "zh"]
min_score = 0.5
[gopher]
min_n_words = 10
[gopher.zh]
min_n_words = 4
[repetition]
max_dup_line_ratio = 0.5
"""


def prose(n: int) -> str:
    """The words in an order of its own for each n, by their hashes."""
    return " ".join(sorted(WORDS, key=lambda word: hashlib.sha256(f"{n} {word}".encode()).digest())) + f" {n}."


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("report"))
    lines: list[bytes | str] = [prose(n) for n in range(20)]
    lines += [prose(0), prose(1)]  # exact copies: s:20, s:21
    lines += ["the short one and that", "the nine words that have not enough of them"]  # s:22, s:23: too short
    lines += [HOSTILE, "x" * 1_000_000]  # s:24, s:25: too short as well
    lines += ["写信给 alice@example.com，谢谢你的来信，这是我们的家。在山下的老房子里，我和他住了二十年。"]  # s:26
    lines += [b"{", b"", raw_line("\u200b")]  # quarantined, blank, quarantined
    corpus.source("s", lines)
    corpus.run(CONFIG)
    return corpus


@pytest.fixture(scope="module")
def found(built) -> Facts:
    return facts(built.version)


@pytest.fixture(scope="module")
def page(built) -> str:
    composition, html = reporting.report(built.version)
    assert composition == built.version.parent / "reports" / "v1" / "COMPOSITION.md"
    assert html == built.version.parent / "reports" / "v1" / "report.html"
    return html.read_text("utf-8")


@pytest.fixture(scope="module")
def markdown(built, page) -> str:
    return (built.version.parent / "reports" / "v1" / "COMPOSITION.md").read_text("utf-8")


def ask(corpus: Corpus, query: str) -> list[tuple]:
    with open_build(corpus.version) as connection:
        return connection.execute(query).fetchall()


def section(found: Facts, id: str) -> Section:
    (one,) = [one for one in sections(found) if one.id == id]
    return one


# Numbers


def test_the_funnel_is_the_reconciliation(built, found):
    (table,) = section(found, "funnel").tables
    wanted = ask(
        built,
        "select stage, entered, kept, rejected, quarantined, blank from reconciliation where source_id is null "
        "order by seq",
    )
    assert table.head == ("stage", "entered", "kept", "share dropped", "rejected", "quarantined", "blank")
    assert [(*row[:3], *row[4:]) for row in table.rows] == wanted
    assert wanted[0] == ("read", 30, 27, 0, 2, 1)


def test_a_way_to_end_that_no_line_took_has_no_column(corpus):
    corpus.source("s", [prose(1), prose(2)])
    corpus.run('stages = ["exact_dedup"]\n[lang]\nmodel = "script"')
    (table,) = section(facts(corpus.version), "funnel").tables
    assert table.head == ("stage", "entered", "kept", "share dropped")
    assert table.rows == [("read", 2, 2, "0.0 %"), ("exact_dedup", 2, 2, "0.0 %")]


def test_what_was_kept_comes_first_and_what_made_it_late(page, markdown):
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles[:3] == ["Kept: 77.8 %", "Known problems", "Sources"]
    assert titles.index("What made it") > titles.index("Tokens")
    assert re.findall(r"^## (.*)$", markdown, re.M) == titles[:-1]  # the samples of texts are in the page alone
    assert markdown.startswith("# t v1: composition\n\n21 of 27 documents were kept: ")


def test_every_table_lies_in_a_box_of_its_own_that_scrolls(page):
    assert (
        page.count("<table>")
        == page.count('role="region"')
        == len(re.findall(r'<div class="scroll"[^>]*><table>', page))
        > 9
    )


def test_a_source_ends_in_as_many_lines_as_it_began_with(found):
    table, _ = section(found, "sources").tables
    (row,) = [dict(zip(table.head, row, strict=True)) for row in table.rows]
    stages = [stage for stage in found.config["stages"] if stage in row]
    assert row["lines"] == row["blank"] + row["read"] + sum(row[stage] for stage in stages) + row["kept"] == 30


def test_a_reason_says_how_often_it_fired_alone_and_closely(found):
    (table,) = section(found, "reasons").tables
    rows = {row[1]: dict(zip(table.head, row, strict=True)) for row in table.rows}
    # 5 and 9 words where 10 are asked for: 9 is within 10 % of 10
    short = rows["low_n_words"]
    assert (short["stage"], short["documents"], short["fired"], short["alone"], short["close"]) == (
        "gopher",
        2,
        2,
        2,
        1,
    )
    assert rows["exact_duplicate"]["documents"] == rows["exact_duplicate"]["alone"] == 2
    assert rows["exact_duplicate"]["close"] is None, "no threshold, no distance"
    assert rows["invalid_json"]["stage"] == "read"


def test_a_histogram_holds_every_document_and_colours_those_that_the_rule_drops(built, found):
    shown = {one.rule.measure: one for one in found.histograms}
    words = shown["n_words"]
    assert words.rule.limits == {"en": (10, 100000), "zh": (4, 150000)}, "each language has its own threshold"
    for lang, (low, high) in words.rule.limits.items():
        counts, beyond = words.counts[lang]
        wanted = ask(
            built,
            f"select count(*), count(*) filter (where n_words < {low} or n_words > {high}) "
            f"from measures.words join documents using (id) where lang = '{lang}'",
        )
        assert [(sum(counts), sum(beyond))] == wanted
    assert sum(words.counts["en"][1]) == 2


def record(table: dict) -> dict:
    """What build.json holds of a stage s with a minimum of a and a maximum of a, by the config's table."""
    own = {lang: values for lang, values in table.items() if isinstance(values, dict)}
    rules = []
    for key, side in (("min_a", "low"), ("max_a", "high")):
        limits = {"": table.get(key)} | {lang: values.get(key) for lang, values in own.items()}
        rules.append(Rule("s", f"{side}_a", "a", side, f"s.{key}", limits, "true").as_dict())
    return {"config": {"stages": ["s"]}, "relations": {"stages.s": {"rules": rules}}}


@pytest.mark.parametrize(
    "what, table, languages, expected",
    [
        ("both sides", {"min_a": 1, "max_a": 2}, ["en"], [("a", {"en": (1, 2)})]),
        ("a language's own", {"min_a": 1, "zh": {"min_a": 3}}, ["zh"], [("a", {"zh": (3, None)})]),
        ("of two", {"min_a": 1, "zh": {"min_a": 3}}, ["en", "zh"], [("a", {"en": (1, None), "zh": (3, None)})]),
        ("off in one language", {"min_a": 1, "zh": {}}, ["en", "zh"], [("a", {"en": (1, None)})]),
        ("off in all that are shown", {"min_a": 1, "zh": {}}, ["zh"], []),
    ],
)  # fmt: skip
def test_the_rules_that_have_a_threshold(what, table, languages, expected):
    found = rules(record(table), languages)
    assert [(rule.measure, rule.limits) for rule in found] == expected, what


def test_shares_before_and_after(built, found):
    (table,) = section(found, "languages").tables
    rows = {row[0]: dict(zip(table.head, row, strict=True)) for row in table.rows}
    for lang, documents, kept in ask(
        built, "select lang, count(*), count(*) filter (where verdict = 'keep') from documents group by lang"
    ):
        assert (rows[lang]["documents"], rows[lang]["kept"]) == (documents, kept)
        assert rows[lang]["share kept"] == percent(kept, documents)


def test_personal_data_is_counted_by_kind_and_a_kind_without_any_is_zero(found):
    kinds, languages = section(found, "pii").tables
    assert kinds.rows[0] == ("email", 1, 1)
    assert ("phone", 0, 0) in kinds.rows
    assert ("zh", 1, 1, "100.0 %", 1) in languages.rows


def test_clusters_by_what_makes_them(found):
    clusters, *_ = section(found, "duplicates").tables
    assert ("exact", 2, 4, 2, 2) in clusters.rows


@pytest.mark.parametrize(
    "part, whole, said",
    [
        (0, 5, "0.0 %"),
        (5, 5, "100.0 %"),
        (1, 3, "33.3 %"),
        (1, 9999, "< 0.1 %"),
        (9999, 10000, "> 99.9 %"),
        (0, 0, ""),
    ],
)
def test_a_share_is_never_rounded_to_none_or_all(part, whole, said):
    assert percent(part, whole) == said


# Known problems, and what was not run


def test_the_problems_of_this_build(found):
    assert problems(found) == [
        "Unicode script fallback: the config asks for it",
        "Not in the build: ppl (perplexity was not judged), decontaminate (nothing keeps evaluation data out).",
        "2 of 29 lines (6.9 %) could not be read as documents.",
        "The language of 2 documents (7.4 %) was not determined; kept of them: 0.",
        "The split train holds 20 documents: too few to measure a share on.",
        "The split val holds 1 document: too few to measure a share on.",
    ]


@pytest.mark.parametrize(
    "what, splits, notices, expected",
    [
        ("on target", {"train": 9900, "val": 100}, [], []),
        (
            "empty",
            {"train": 9900},
            [],
            ["The split val holds no document; stratify or add data rather than try other salts."],
        ),
        ("empty, and the build says so", {"train": 9900}, ["the split val is empty: 9,900 documents"], []),
        (
            "far off",
            {"train": 9800, "val": 200},
            [],
            [
                "The split val holds 2.0 % of the documents, the target was 1.0 %: that is more than three standard "
                "errors off."
            ],
        ),
    ],
)
def test_a_split_is_judged_against_its_target(found, what, splits, notices, expected):
    rows = [{"split": name, "documents": n, "groups": n, "chars": n} for name, n in splits.items()]
    facts = replace(found, rows=found.rows | {"splits": rows}, record=found.record | {"notices": notices})
    said = [one for one in problems(facts) if one.startswith("The split val")]
    assert said == expected, what


def test_a_language_and_a_source_that_were_lost_are_told(corpus):
    corpus.source("good", [prose(n) for n in range(120)])
    corpus.source("bad", [f"短{n}" for n in range(110)])
    corpus.run(
        'stages = ["lang", "gopher"]\nkeep_rejected_text = false\n'
        '[lang]\nmodel = "script"\nmin_score = 0.1\nkeep = ["en", "zh", "hi"]\n[gopher]\nmin_n_words = 10'
    )
    found = facts(corpus.version)
    said = problems(found)
    assert "Only 0.0 % of the documents in zh were kept, 52.2 % of all." in said
    assert "hi is to be kept, but no document of it is in the build." in said
    assert "nothing is kept of 1 source: bad (110 documents, most lost by gopher)" in said
    assert not [one for one in said if "none was kept" in one]  # it is told once
    assert "The texts of dropped documents were not kept, so no one can read what was lost." in said
    assert "Its text was not kept." in reporting.page(found)


def test_what_was_not_run_stays_blank(found, markdown):
    (table,) = section(found, "blank").tables
    rows = dict(table.rows)
    assert rows["training"] == rows["packing"] == rows["evaluation of a model"] == ""
    assert rows["stage decontaminate"] == "nothing keeps evaluation data out"
    assert "| training |  |" in markdown


def test_a_build_of_nothing_has_a_report(corpus):
    corpus.source("s", [b""])
    corpus.run('stages = ["gopher", "near_dedup", "pii"]\n[lang]\nmodel = "script"')
    _, html = reporting.report(corpus.version)
    assert "nothing was kept: " in html.read_text("utf-8")
    assert "nan" not in re.sub(r"<[^>]*>", "", html.read_text("utf-8")).lower().split()


# The page


class Elements(HTMLParser):
    """Every element with its attributes; fails where a tag is closed that is not open."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "link", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"{tag} is closed at {self.getpos()}"


def test_every_tag_is_closed_and_every_chart_is_xml(page):
    elements = Elements(page)
    assert elements.open == []
    drawn = re.findall(r"<svg.*?</svg>", page, re.S)
    assert len(drawn) > 15
    for svg in drawn:
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img" and root.get("aria-label")


def test_the_page_reaches_nothing_outside_and_runs_nothing(page):
    for tag, attrs in Elements(page).found:
        assert tag not in ("script", "link", "img", "iframe", "object", "embed", "form", "base"), tag
        for name, value in attrs.items():
            assert not name.startswith("on"), name
            if name in ("src", "href", "xlink:href", "action"):
                assert value.startswith("#"), value
    assert "url(http" not in page and "@import" not in page and "@font-face" not in page


def test_a_hostile_text_is_shown_and_does_nothing(page):
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in page
    assert '<span class="x">U+202E</span>gnp.exe<span class="x">U+202C</span>' in page
    assert '<span class="x">U+001B</span>[31mred<span class="x">U+0000</span>' in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]", page)
    assert "{{ 7*7 }}" in page


def test_joiners_that_scripts_need_stay():
    persian, hindi = "می\u200cخواهم", "क्\u200dष"
    assert str(reporting.visible(persian)) == persian
    assert str(reporting.visible(hindi)) == hindi
    assert str(reporting.visible("a\tb\nc")) == "a\tb\nc"


def test_a_text_of_a_million_letters_is_cut(page):
    assert len(page) < 1_500_000
    assert "x" * 600 in page and "x" * 601 not in page
    assert "and 999,400 more characters" in page


def test_each_sample_has_the_line_that_tells_its_story(built, page):
    (id,) = re.findall(r"corpus-sql why corpus/t/v1 (s:25)<", page)
    done = CliRunner().invoke(app, ["why", str(built.version), id])
    assert done.exit_code == 0 and "lang_undetermined" in done.output


def test_colours_and_letters_are_the_pages_own(page):
    assert "#0102" not in page, "a colour that stands for a variable was left in"
    assert "DejaVu" not in page
    used = set(re.findall(r"var\(--([a-z0-9]+)\)", page))
    light, dark = re.findall(r":root \{(.*?)\}", page, re.S)
    assert used <= set(re.findall(r"--([a-z0-9]+):", light))
    assert set(re.findall(r"--([a-z0-9]+):", light)) - set(re.findall(r"--([a-z0-9]+):", dark)) == {"sans", "mono"}


def luminance(code: str) -> float:
    """Relative luminance of WCAG 2.2."""
    parts = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_and_bars_stand_out_from_their_ground(page, scheme):
    found = dict(
        re.findall(r"--([a-z0-9]+): (#[0-9a-f]{6})", re.findall(r":root \{(.*?)\}", page, re.S)[scheme == "dark"])
    )

    def contrast(a: str, b: str) -> float:
        high, low = sorted((luminance(found[a]), luminance(found[b])), reverse=True)
        return (high + 0.05) / (low + 0.05)

    for name in ("fg", "muted", "link", "bad"):  # WCAG 2.2: 4.5 for text
        for ground in ("bg", "panel"):
            assert contrast(name, ground) >= 4.5, (name, ground, contrast(name, ground))
    for name in ("c0", "bad", "limit"):  # and 3 for what a chart is read by
        assert contrast(name, "bg") >= 3, (name, contrast(name, "bg"))


# The command


def without_resources(text: str) -> str:
    text = re.sub(r'<section id="resources">.*?</section>', "", text, flags=re.S)
    return re.sub(r"## Resource use\n.*?(?=\n## )", "", text, flags=re.S)


def test_the_same_build_gives_the_same_report_but_for_resource_use(corpus):
    corpus.source("s", [prose(n) for n in range(6)] + [prose(0), "short"])
    reports = []
    for options in ({"threads": 1}, {"threads": 2}):
        corpus.run('stages = ["exact_dedup"]\n[lang]\nmodel = "script"', cache=False, replace=True, **options)
        reports.append([path.read_bytes() for path in reporting.report(corpus.version)])
        assert [path.read_bytes() for path in reporting.report(corpus.version)] == reports[-1]
        shutil.rmtree(corpus.version)
    for one, other in zip(*reports, strict=True):
        assert without_resources(one.decode()) == without_resources(other.decode())


def test_the_build_is_only_read(built, page):
    done = subprocess.run(
        ["sha256sum", "--check", "--quiet", "_audit/SHA256SUMS"], cwd=built.version, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_command_names_what_it_wrote(corpus):
    corpus.source("s", [prose(1)])
    corpus.run('stages = []\n[lang]\nmodel = "script"')
    done = CliRunner().invoke(app, ["report", str(corpus.version)])
    folder = corpus.version.parent / "reports" / "v1"
    assert done.stdout == f"{folder}/COMPOSITION.md\n{folder}/report.html\n"
    text = (folder / "COMPOSITION.md").read_text("utf-8")
    assert text.startswith(
        "# t v1: composition\n\n1 of 1 document was kept: 336 characters in 1 shard.\n\n## Kept: 100.0 %\n\n"
    )


def test_markdown_tables_have_a_head_and_whole_rows(markdown):
    widths: list[int] = []
    for line in [*markdown.splitlines(), ""]:
        if line.startswith("|"):
            widths.append(len(re.findall(r"(?<!\\)\|", line)))
        elif widths:
            assert len(set(widths)) == 1 and len(widths) > 2, (widths, line)
            widths = []


def test_a_folder_that_is_no_build(tmp_path):
    with pytest.raises(ConfigError) as raised:
        reporting.report(tmp_path)
    assert str(raised.value) == (
        f"{tmp_path}: this is no build: it has no _MANIFEST.json and _audit/\n"
        "    Give a version folder, corpus/<dataset>/<version>, or the config that it was built from."
    )
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_all_but_the_charts_is_written(built, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(sys, "argv", ["corpus-sql", "report", str(built.version)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    folder = files.reports(built.version)
    assert (ended.value.code, said.out) == (0, f"{folder / 'COMPOSITION.md'}\n{folder / 'report.html'}\n")
    assert said.err == (
        "without charts, since matplotlib is not installed: "
        f"{sys.executable} -m pip install -e '{reporting.__file__.removesuffix('/corpus_sql/reporting.py')}[report]'\n"
    )
    page = (folder / "report.html").read_text("utf-8")
    assert "Without charts: matplotlib was not installed." in page
    assert "<svg" not in page and "<figure" not in page


def test_every_query_is_a_model_file():
    """SQL longer than a line stands in sql/, where a user can read and run it."""
    package = Path(reporting.__file__).parent
    for path in [*package.glob("report*.py"), package / "card.py", package / "charts.py"]:
        assert not re.search(r"\bselect\b.*\bfrom\b", path.read_text("utf-8"), re.S | re.I), path.name
