"""verify finds what was done to a build, and passes what is sound.

Two corpora are built once; what is to be spoilt is a copy.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Corpus, raw_line
from verify_cases import CASES, ORCHARD, PART0, S0, S2, S3, Copy, both, made

from corpus_sql import verify_files, verify_sources, verifying
from corpus_sql.errors import ConfigError
from corpus_sql.findings import Say
from corpus_sql.opened import Opened
from corpus_sql.verify_raw import _unlike, match_form, replaced
from corpus_sql.verify_sources import by_content, by_group, by_strata, tail


@pytest.fixture(scope="module")
def by_texts(tmp_path_factory) -> Corpus:
    return made(tmp_path_factory.mktemp("content"), "[split]\nval_permille = 300\n")


@pytest.fixture(scope="module")
def by_groups(tmp_path_factory) -> Corpus:
    return made(tmp_path_factory.mktemp("group"), '[split]\nmethod = "group_hash"\n')


@pytest.fixture
def spoilt(by_texts, tmp_path) -> Copy:
    return Copy(by_texts, tmp_path / "copy")


@pytest.fixture
def spoilt_groups(by_groups, tmp_path) -> Copy:
    return Copy(by_groups, tmp_path / "copy")


# sound builds


def test_a_sound_build_has_no_error_and_says_what_was_not_checked(by_texts):
    found = verifying.verify(by_texts.version)
    assert found.errors == []
    assert list(found.lines()) == [
        f"ok           files     sums           {found.checks[0].says}",
        "ok           files     manifest       7 documents, 3 shards",
        f"ok           files     forms          {found.checks[2].says}",
        f"ok           files     config         {found.checks[3].says}",
        f"ok           files     record         {found.checks[4].says}",
        "ok           files     shards         3 shards, 11 columns",
        f"ok           files     columns        {found.checks[6].says}",
        "ok           files     ids            7 in the shards, 11 documents",
        "ok           files     texts          7 texts, 632 characters",
        "ok           files     placeholders   2 placeholders",
        "ok           files     records        57 decisions",
        "ok           files     judgements     languages, gopher, exact_dedup, decontaminate, pii; "
        "not near_dedup: not all it reads is in the build",
        "ok           files     counts         13 lines, 5 stages",
        "ok           files     hash chain     7 unique hashes kept",
        "ok           sources   sources        2 sources",
        "ok           sources   ledger         2 rows, 1 input",
        "ok           sources   raw            12 lines in 3 files",
        "ok           sources   splits         7 documents, content_hash",
        "notice       sources   groups         7 groups",
        "  notice: groups with documents on both sides of the split: 1",
        '      content_hash looks at texts alone; [split] method = "group_hash" keeps relatives together.',
        "ok           sources   shares         train 3, val 4 texts",
        "ok           sources   duplicates     exact and near",
        "ok           sources   contamination  1 item; all 7 documents",
        "ok           sources   personal data  key, email, card, ip, phone; all 7 documents",
        "not checked  files     rebuild        measures, pairs, card and most of build.json are not computed again; "
        "--rebuild does that",
        "not checked  training  reads          not packed",
        "",
        "0 errors, 1 notice; not checked: files rebuild, training reads",
    ]


def test_a_build_by_groups_is_sound_and_an_empty_split_is_a_notice(by_groups):
    found = verifying.verify(by_groups.version)
    assert [(one.severity, one.check, one.what, one.fix) for one in found.findings] == [
        (
            "notice",
            "shares",
            "the split test is empty, 5 % of 5 groups were asked for",
            "Stratify, or take more data; a salt chosen by its result is no random split.",
        ),
    ]


def test_a_build_that_was_moved_away_from_raw_and_ledger_says_so_and_passes(spoilt, tmp_path):
    moved = tmp_path / "far" / "away" / "v1"
    shutil.copytree(spoilt.build, moved)
    found = verifying.verify(moved)
    assert found.errors == []
    says = {one.name: one.says for one in found.checks}
    assert says["contamination"] == "1 item; all 7 documents", "looked for with the items that the build keeps"
    assert [(one.name, one.says) for one in found.checks if one.outcome == "not checked"] == [
        ("sources", f"the ledger is not here: it would be {tmp_path / 'far' / 'LEDGER.jsonl'}"),
        ("raw", f"raw is not here: it would be {tmp_path / 'far' / 'raw'}"),
        ("rebuild", verifying.NOT_REBUILT),
        ("reads", "not packed"),
    ]


def test_stages_that_did_not_run_and_texts_that_were_not_kept_are_not_missed(corpus):
    """A byte order mark, frames, a line of 6 MB, carriage returns, U+2028: every line is found again by its offset."""
    long, separated = b"\xef\xbb\xbf" + raw_line("的" * 2_000_000), raw_line("été\u2028x", title="again")
    corpus.source("a", [long, raw_line("a\r\nb") + b"\r", b"{}", b"\t", separated, separated], parts=2, frames=2)
    corpus.run('keep_rejected_text = false\nstages = ["exact_dedup"]')
    found = verifying.verify(corpus.version)
    assert found.verdict == (
        "0 errors, 0 notices; not checked: sources contamination, sources personal data, files rebuild, training reads"
    )
    assert {one.name: one.says for one in found.checks if one.layer == "sources"} == {
        "sources": "1 source",
        "ledger": "1 row, 0 inputs",
        "raw": "5 lines in 2 files",
        "splits": "3 documents, content_hash",
        "groups": "3 groups",
        "shares": "train 2, val 1 texts",
        "duplicates": "near duplicates were not looked for",
        "contamination": "the stage decontaminate is not in the build",
        "personal data": "the stage pii is not in the build",
    }


def test_lines_that_standard_json_does_not_read_are_sound(corpus):
    document = raw_line("A text.").decode()[:-1]
    deep = "[" * 1_023 + "]" * 1_023  # 1,024 levels with the line, the most that the reader accepts
    lines = [
        f'{document}, "n": {"7" * 5_000}}}',
        f'{document}, "n": {deep}}}',
        f'{document}, "n": {deep[20:-20]}, "m": -{"7" * 5_000}}}',
        f'{document}, "n": [1.0, 1e999, -0, 1E5, {{"a": 10}}]}}',
    ]
    corpus.source("a", [one.encode() for one in lines])
    corpus.run("stages = []")
    found = verifying.verify(corpus.version)
    assert found.errors == []
    assert [one.says for one in found.checks if one.name == "raw"] == ["4 lines in 1 file"]
    assert Opened(corpus.version).one("select count(*) from documents where verdict = 'keep'") == 4


@pytest.mark.parametrize(
    "number, other",
    [
        pytest.param("7" * 5_000, "7" * 4_999 + "8", id="the last of 5,000 digits"),
        pytest.param("[" * 1_020 + "1" + "]" * 1_020, "[" * 1_020 + "2" + "]" * 1_020, id="below 1,020 arrays"),
        pytest.param("1.0", "1", id="a number written otherwise"),
        pytest.param("1", '"1"', id="a string for a number"),
    ],
)
def test_what_extra_holds_is_compared_to_the_letter(number, other):
    line = raw_line("A text.").decode()[:-1] + f', "n": {number}}}'
    fields = ("https://example.org/a", "2026-01-02T03:04:05Z", "CC0-1.0", None, None, None)
    content = int.from_bytes(hashlib.sha256(b"A text.").digest()[:8], "big", signed=True)
    final = hashlib.sha256(b"A text.").digest()

    def found(extra: str, fields: tuple = fields) -> list[str]:
        wanted = (1, 0, "a:0", len("A text."), content, *fields, extra, final, None, None, None, None)
        return list(_unlike(line.encode(), wanted))

    assert found(f'{{"n":{number}}}') == []
    assert found(f'{{"n":{other}}}') == ["other fields than `extra` holds"]
    assert found(f'{{"n":{number}}}', ("https://example.org/b", *fields[1:])) == ["another url"]


def test_floods_of_marks_and_of_blank_lines_are_verified_in_linear_time(corpus):
    marks = "\u0f74\u0f72\u0f71" * 333_333  # put in order one by one this took an hour
    corpus.source("a", ["x" + marks, "\n" * 1_000_000 + "y"])
    corpus.run("stages = []")
    start = time.monotonic()
    assert verifying.verify(corpus.version).errors == []
    assert time.monotonic() - start < 30


def test_an_empty_corpus_is_sound(corpus):
    corpus.source("a", [b"  "])
    corpus.run('stages = ["exact_dedup", "near_dedup", "pii"]')
    assert verifying.verify(corpus.version).errors == []


# bytes


def test_a_flipped_byte_anywhere_in_any_file_is_found(spoilt):
    names = sorted(p.relative_to(spoilt.build).as_posix() for p in spoilt.build.rglob("*") if p.is_file())
    for name in names:
        whole = (spoilt.build / name).read_bytes()
        for at in {0, len(whole) // 2, len(whole) - 1}:
            spoilt.flip(name, at)
            assert sums(spoilt), f"{name}, byte {at}"
            (spoilt.build / name).write_bytes(whole)
    assert sums(spoilt) == []


def test_every_flipped_byte_of_the_list_of_hashes_is_found(spoilt):
    whole = (spoilt.build / "_audit" / "SHA256SUMS").read_bytes()
    line = len(whole.split(b"\n")[0]) + 1
    places = [(at, bit) for bit in (1, 0x20) for at in range(line)]
    for at, bit in [*places, *((at, 2) for at in range(line, len(whole), 197))]:
        spoilt.flip("_audit/SHA256SUMS", at, bit)
        assert sums(spoilt), f"byte {at}, bit {bit:#x}"
        (spoilt.build / "_audit" / "SHA256SUMS").write_bytes(whole)


def sums(copy: Copy) -> list[str]:
    say = Say("files", "sums")
    verify_files.sums(Opened(copy.build), say)
    return [one.what for one in say.found]


def linked(file: Path, other: Path) -> None:
    """Move a file elsewhere and leave a link in its place."""
    file.rename(other)
    file.symlink_to(other)


def the_list(copy: Copy, change: Callable[[str], str]) -> None:
    path = copy.build / "_audit" / "SHA256SUMS"
    path.write_text(change(path.read_text()))


@pytest.mark.parametrize(
    "change, found",
    [
        pytest.param(
            lambda c: c.flip(S0),
            ["'shard-00000-of-00003.parquet' has other bytes than those that were hashed"],
            id="a byte of a shard",
        ),
        pytest.param(
            lambda c: (c.build / "README.md").unlink(),
            ["'README.md' is missing"],
            id="a file removed",
        ),
        pytest.param(
            lambda c: (c.build / S3).write_bytes(b""),
            [f"'{S3}' is no file of this build: _audit/SHA256SUMS does not list it"],
            id="a file added",
        ),
        pytest.param(
            lambda c: (c.build / "_audit" / "notes").mkdir(),
            ["'_audit/notes' is no file of this build: _audit/SHA256SUMS does not list it"],
            id="an empty folder added",
        ),
        pytest.param(
            lambda c: linked(c.build / "README.md", c.folder / "elsewhere"),
            ["'README.md' is no regular file"],
            id="a file turned into a link",
        ),
        pytest.param(
            lambda c: (c.build / "_audit" / "SHA256SUMS").unlink(),
            ["_audit/SHA256SUMS cannot be read: No such file or directory"],
            id="the list itself removed",
        ),
        pytest.param(
            lambda c: the_list(c, lambda text: text + text.splitlines(keepends=True)[-1]),
            [f"_audit/SHA256SUMS, line {{last}}: '{S2}' is not after the line before, in byte order"],
            id="a line of the list twice",
        ),
        pytest.param(
            lambda c: the_list(c, lambda text: text.upper().replace("README.MD", "README.md", 1)),
            None,
            id="hashes in capitals",
        ),
        pytest.param(
            lambda c: the_list(c, lambda text: text[:-1]),
            ["_audit/SHA256SUMS: the last line has no line end"],
            id="no line end",
        ),
        pytest.param(
            lambda c: the_list(c, lambda text: text + "\n"),
            ["_audit/SHA256SUMS, line {last}: it is not a SHA-256, two spaces and a path"],
            id="an empty line at the end",
        ),
    ],
)
def test_the_list_of_hashes_and_the_folder_are_the_same(spoilt, change, found):
    lines = len((spoilt.build / "_audit" / "SHA256SUMS").read_text().splitlines())
    change(spoilt)
    said = sums(spoilt)
    assert said == [one.format(last=lines + 1) for one in found] if found is not None else len(said) >= lines


def test_what_reads_a_damaged_file_is_left_out_and_the_rest_is_checked(spoilt):
    spoilt.flip("_audit/pii.parquet")
    found = verifying.verify(spoilt.build)
    assert [one.what for one in found.errors] == ["'_audit/pii.parquet' has other bytes than those that were hashed"]
    looked_at = ("config", "texts", "placeholders", "raw")
    assert {one.name: one.outcome for one in found.checks if one.name in looked_at} == {
        "config": "ok",
        "texts": "ok",
        "placeholders": "not checked",
        "raw": "not checked",
    }
    assert found.verdict.endswith("\nThis build is not to be handed over.")


def test_a_damaged_file_that_the_list_agrees_with_stops_the_checks_that_read_it(spoilt):
    (spoilt.build / "_audit" / "pii.parquet").write_bytes(b"PAR1 no such thing PAR1")
    spoilt.sums()
    failed = {check for check, what in spoilt.errors() if what.startswith("cannot be checked: ")}
    assert {"placeholders", "raw"} <= failed


# what is changed together with the list of hashes


@pytest.mark.parametrize("name", CASES)
def test_what_was_changed_is_found_by_the_checks_that_it_concerns(spoilt, name):
    change, expected = CASES[name]
    change(spoilt)
    assert [(check, re.sub("[0-9a-f]{64}", "<sha256>", what)) for check, what in spoilt.errors()] == expected


def test_a_group_across_splits_is_an_error(spoilt_groups):
    both(spoilt_groups, S2, "split", "b:1", "test")
    assert spoilt_groups.errors() == [
        ("splits", "documents in the wrong split: b:1 is in test, the rule says train"),
        (
            "groups",
            "No group crosses a split. It is not so: "
            "relation_group='a:lake', splits=['test', 'train'], ids=['a:10', 'a:9', 'b:1']",
        ),
    ]


def test_protected_files_that_changed_since_are_a_notice(spoilt):
    (spoilt.folder / "eval" / "exam.jsonl").write_text(json.dumps({"id": "exam-2", "text": ORCHARD}) + "\n")
    assert spoilt.errors() == []
    assert spoilt.notices()[1:3] == [
        ("contamination", CHANGED + "eval/exam.jsonl differs from line 1 on"),
        ("contamination", "documents that share an n-gram with what lies there now: a:1 (exam:exam-2)"),
    ]


CHANGED = "the protected files have changed since the build, which was checked against the copies that it keeps: "
ON_DISK: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "the same": (lambda file: file.touch(), []),
    "another folder": (lambda file: file.parent.rename(file.parent.with_name("moved")), []),
    "one more line": (
        lambda file: file.write_text(file.read_text() + '{"id": "x", "text": "moon"}\n'),
        ["eval/exam.jsonl differs from line 2 on"],
    ),
    "another file": (
        lambda file: (file.parent / "b.jsonl").write_text('{"id": "x", "text": "moon"}\n'),
        ["eval/b.jsonl was not there"],
    ),
    "another name": (
        lambda file: file.rename(file.with_name("b.jsonl")),
        ["eval/b.jsonl was not there; exam is not there any more"],
    ),
    "a hidden file, which no pattern names": (lambda file: (file.parent / ".b.jsonl").write_text("?"), []),
    "no item": (lambda file: file.write_text("[1]\n"), ["they cannot be read as items any more"]),
    "no text": (lambda file: file.write_bytes(b"\xff\n"), ["they cannot be read as items any more"]),
}


@pytest.mark.parametrize(("change", "said"), ON_DISK.values(), ids=ON_DISK)
def test_a_build_is_checked_against_the_items_that_it_keeps(spoilt, change: Callable[[Path], object], said: list[str]):
    change(spoilt.folder / "eval" / "exam.jsonl")
    found = verifying.verify(spoilt.build)
    assert found.errors == []
    assert [one.what for one in found.findings if one.check == "contamination"] == [CHANGED + one for one in said]
    (check,) = [one for one in found.checks if one.name == "contamination"]
    assert check.says == "1 item; all 7 documents"


def test_kept_items_that_are_not_those_of_the_build_are_an_error(spoilt):
    (kept,) = (spoilt.build / "_audit/inputs/protected").rglob("*.jsonl")
    kept.write_text(json.dumps({"id": "exam-2", "text": ORCHARD}) + "\n")
    assert [one.says for one in verifying.verify(spoilt.build).checks if one.name == "contamination"] == [
        "it reads damaged files: _audit/inputs/protected/0/exam.jsonl"
    ]
    spoilt.sums()
    assert [what for check, what in spoilt.errors() if check == "contamination"] == [
        "the protected files in _audit/inputs/protected are not those that the build was made with",
        "documents that share an n-gram with a protected item: a:1 (exam:exam-2)",
    ]


def test_a_superseded_file_may_be_gone(spoilt):
    row, other = spoilt.ledger.read_text().splitlines()
    row = json.loads(row)
    row["superseded"] = row["files"][:1]
    del row["files"][:1]
    spoilt.ledger.write_text(json.dumps(row) + "\n" + other + "\n")
    (spoilt.raw / PART0).unlink()
    assert spoilt.errors() == []
    only = "{}: only when this was built: {}; only in the ledger now: {}".format
    assert spoilt.notices()[:3] == [
        ("ledger", f"a: {only('files', PART0, 'none')}"),
        ("ledger", f"a: {only('superseded', 'none', PART0)}"),
        ("raw", "superseded files that are not in raw any more, their documents were not checked: 1"),
    ]


def test_what_is_too_much_to_look_at_again_is_sampled_by_the_hash_of_the_ids(by_texts):
    """Seven texts of 632 characters and a budget of 300: the first by the SHA-256 of their ids that fit."""
    opened, looked_at = Opened(by_texts.version), []
    said = verify_sources.over_sample(opened, 300, lambda id, text: looked_at.append(id))
    lengths = dict(opened.rows("select id, n_chars from shards"))
    wanted, so_far = set(), 0
    for id in sorted(lengths, key=lambda id: hashlib.sha256(id.encode()).hexdigest()):
        so_far += lengths[id]
        if so_far <= 300:
            wanted.add(id)
    assert 0 < len(wanted) < 7
    assert (set(looked_at), said) == (wanted, f"{len(wanted)} of 7 documents, by the hash of their ids")


# rules computed anew


@pytest.mark.parametrize(
    "digest, split",
    [
        pytest.param((0).to_bytes(8, "big"), "val", id="0 of 1000"),
        pytest.param((9).to_bytes(8, "big"), "val", id="9 of 1000"),
        pytest.param((10).to_bytes(8, "big"), "train", id="10 of 1000"),
        pytest.param((2**64 - 1).to_bytes(8, "big"), "train", id="2**64 - 1 is 615 of 1000, never negative"),
    ],
)
def test_content_hash_takes_the_first_eight_bytes_modulo_1000(digest, split):
    assert by_content(digest + bytes(24), {"val_permille": 10}) == split


def test_group_hash_takes_the_bucket_of_salt_and_group():
    table = {"salt": "example-split-v1", "train": 900, "validation": 50, "test": 50}
    found = {"train": 0, "validation": 0, "test": 0}
    for k in range(2000):
        found[by_group(f"s:{k}", table)] += 1
    assert sum(found.values()) == 2000
    assert all(tail(n, 2000, table[split] / 1000) > 0.0005 for split, n in found.items())


def test_strata_share_out_their_own_groups():
    """Of twenty groups in one language and two in another, at 900 / 50 / 50: 18, 1, 1, and both of the two in train."""
    table = {"salt": "s", "train": 900, "validation": 50, "test": 50, "stratify": ["lang"]}
    rows = [(f"a:{k}", None, f"a:{k}", None, "a", "en") for k in range(20)]
    rows += [(f"b:{k}", None, f"b:{k}", None, "b", "zh") for k in range(2)]
    found = by_strata(rows, table)
    counts = Counter((group[0], split) for group, split in found.items())
    assert counts == {("a", "train"): 18, ("a", "validation"): 1, ("a", "test"): 1, ("b", "train"): 2}


@pytest.mark.parametrize(
    "k, n, p, probability",
    [
        pytest.param(0, 10, 0.5, 1 / 1024, id="no head in ten"),
        pytest.param(10, 10, 0.5, 1 / 1024, id="ten heads in ten"),
        pytest.param(8, 10, 0.5, (45 + 10 + 1) / 1024, id="eight heads or more in ten"),
        pytest.param(5, 10, 0.5, (252 + 210 + 120 + 45 + 10 + 1) / 1024, id="the mean itself"),
        pytest.param(0, 3, 0.01, 0.99**3, id="none of three at one in a hundred"),
        pytest.param(0, 5, 0, 1.0, id="nothing asked for, nothing there"),
        pytest.param(1, 5, 0, 0.0, id="nothing asked for, one there"),
    ],
)
def test_the_tail_of_the_binomial_is_exact(k, n, p, probability):
    assert tail(k, n, p) == pytest.approx(probability, rel=1e-12)


def test_a_share_far_off_its_target_is_a_notice(corpus):
    """Of 60 texts 1 % should be val; a config that asks for 50 % after the fact finds that chance does not do that."""
    corpus.source("a", [f"The note number {k} of the collection." for k in range(60)])
    corpus.run("stages = []\n[split]\nval_permille = 10")
    opened = Opened(corpus.version)
    opened.config["split"]["val_permille"] = 500
    say = Say("sources", "shares")
    verify_sources.shares(opened, say)
    n = opened.one("select count(*) from shards where split = 'val'")
    assert n > 0
    assert [one.what for one in say.found] == [
        f"the split val has {n} of 60 texts ({100 * n / 60:.2f} %), 50 % were asked for: "
        "chance alone does that less than once in a thousand builds"
    ]


@pytest.mark.parametrize(
    "text, normalised",
    [
        pytest.param("a\r\nb\rc", "a\nb\nc", id="line ends"),
        pytest.param(
            "\n \n  a  \n\nb\t\n\n", "  a\n\nb", id="trailing white space and outer blank lines; indentation stays"
        ),
        pytest.param("\n \r\n", "", id="nothing but blank lines"),
        pytest.param("Ａ 1", "Ａ 1", id="width, case and digits stay"),
    ],
)
def test_the_matching_normalisation(text, normalised):
    assert match_form(text) == normalised


def test_placeholders_are_put_in_by_code_points():
    spans = [{"kind": "email", "from": 3, "to": 8}, {"kind": "ip", "from": 9, "to": 16}]
    assert replaced("邮箱：a@b.c，10.2.3.4。", spans) == "邮箱：<EMAIL>，<IP>4。"


# the command


def test_the_command_exits_0_with_notices_1_with_errors_and_2_for_no_build(spoilt, tmp_path):
    from typer.testing import CliRunner

    from corpus_sql.cli import app

    run = CliRunner().invoke
    sound = run(app, ["verify", str(spoilt.build)])
    assert (sound.exit_code, sound.stdout.splitlines()[-1]) == (
        0,
        "0 errors, 1 notice; not checked: files rebuild, training reads",
    )
    spoilt.flip("README.md")
    damaged = run(app, ["verify", str(spoilt.build), "--json"])
    assert damaged.exit_code == 1
    found = json.loads(damaged.stdout)
    assert (found["errors"], found["findings"][0]) == (
        1,
        {
            "layer": "files",
            "check": "sums",
            "severity": "error",
            "what": "'README.md' has other bytes than those that were hashed",
            "fix": "Copy the folder anew, or build the version again.",
        },
    )
    with pytest.raises(ConfigError) as raised:
        verifying.verify(tmp_path)
    assert str(raised.value) == (
        f"{tmp_path}: this is no build: it has no _MANIFEST.json and _audit/\n"
        "    Give a version folder, corpus/<dataset>/<version>, or the config that it was built from."
    )
