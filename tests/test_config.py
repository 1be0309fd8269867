"""The config: what it accepts, what it fills in, and the sentence for every mistake."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from corpus_sql.config import Config, load
from corpus_sql.errors import ConfigError
from corpus_sql.toml_lines import key_lines

ROOT = Path(__file__).parents[1]
DEFAULT = ROOT / "configs" / "default.toml"
SCHEMA = json.loads((ROOT / "schemas" / "corpus-config.schema.json").read_text("utf-8"))

# the built-in stages, and one of a user's own project with the keys that its header declares
STAGES = {stage: set() for stage in ("lang", "repetition", "ppl", "exact_dedup", "near_dedup", "decontaminate", "pii")}
STAGES |= {"gopher": {"min_n_words", "max_n_words"}, "recipes": {"max_n_spoons", "marker"}}


def _whole_text() -> str:
    """The built-in layer: default.toml, and the language profiles where they stand in a file of their own."""
    return "\n".join(path.read_text("utf-8") for path in (DEFAULT, DEFAULT.with_name("profiles.toml")) if path.exists())


SMALL = """\
dataset = "demo"
version = "v1"
sources = ["selfwritten-zh", "selfwritten-en"]
stages = []
"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Load a config text from a file that is called corpus.toml in every message."""
    monkeypatch.chdir(tmp_path)

    def from_text(text: str | bytes, default: Path = DEFAULT) -> Config:
        Path("corpus.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(Path("corpus.toml"), stage_keys=STAGES, default=default)

    return from_text


@pytest.fixture
def complaint(read):
    """Return the whole message for a config that is wrong."""

    def of(text: str | bytes, **more) -> str:
        with pytest.raises(ConfigError) as caught:
            read(text, **more)
        assert caught.value.exit_code == 2
        return str(caught.value)

    return of


# what a config means


def test_a_config_of_the_required_keys_gets_the_defaults(read, tmp_path):
    required = '[lang]\nkeep = ["*"]\n[decontaminate]\nprotected = ["eval.jsonl"]\n'
    config = read(SMALL.replace("stages = []\n", "") + required)

    assert (config.dataset, config.version) == ("demo", "v1")
    assert config.sources == ("selfwritten-zh", "selfwritten-en")
    assert config.stages == ("lang", "gopher", "repetition", "ppl", "exact_dedup", "near_dedup", "decontaminate", "pii")
    assert (config.shard_rows, config.max_line_bytes, config.keep_rejected_text) == (50000, 33554432, True)
    assert config.values["near_dedup"] == {
        "num_perm": 128, "bands": 16, "jaccard_threshold": 0.8, "shingle": 5, "keep": "first"
    }  # fmt: skip
    assert config.values["decontaminate"] == {"ngram": 13, "min_tokens": 8, "protected": ["eval.jsonl"]}
    assert config.values["shard_rows"] == 50000
    assert config.artifacts == tmp_path / "artifacts"
    assert config.work == tmp_path / "artifacts" / ".work"
    assert config.corpus == tmp_path / "artifacts" / "corpus"


def test_the_hash_is_of_the_files_bytes(read):
    text = SMALL + "# 注释\r\n"
    config = read(text)
    assert config.content == text.encode()
    assert config.sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_paths_start_at_the_config_file_and_may_be_absolute(read, tmp_path):
    config = read(SMALL + f'[paths]\nartifacts = "../data"\nwork = "{tmp_path.as_posix()}/w"\n')
    assert config.artifacts == tmp_path.parent / "data"
    assert config.work == tmp_path / "w"
    assert config.resolve("models/zh.lm") == tmp_path / "models" / "zh.lm"


def test_an_empty_list_of_stages_is_legal(read):
    assert read(SMALL).stages == ()


def test_a_stage_that_is_not_listed_may_have_a_table(read):
    assert read(SMALL + "[near_dedup]\nbands = 32\n").values["near_dedup"]["bands"] == 32


def test_a_stage_of_the_users_own_takes_the_keys_of_its_header(read):
    config = read(SMALL.replace("[]", '["recipes"]') + '[recipes]\nmax_n_spoons = 3\nmarker = "chef"\n')
    assert config.limits("recipes") == {"": {"max_n_spoons": 3, "marker": "chef"}}


def test_a_stage_without_keys_has_no_limits(read):
    assert read(SMALL).limits("exact_dedup") == {"": {}}


LAYERS = """\
stages = []
shard_rows = 1
max_line_bytes = 1
keep_rejected_text = true
[paths]
artifacts = "a"
work = "w"
cache_max = "1MB"
[split]
method = "content_hash"
train = 1000
validation = 0
test = 0
[near_dedup]
num_perm = 16
bands = 4
[gopher]
min_n_words = 50
max_n_words = 1000
[gopher.zh]
min_n_words = 20
max_n_words = 800
"""


@pytest.mark.parametrize(
    ("yours", "for_zh", "for_others"),
    [
        ("", {"min_n_words": 20, "max_n_words": 800}, {"min_n_words": 50, "max_n_words": 1000}),
        # your [gopher] beats the built-in [gopher.zh], key by key
        ("[gopher]\nmin_n_words = 5", {"min_n_words": 5, "max_n_words": 800}, {"min_n_words": 5, "max_n_words": 1000}),
        # your [gopher.zh] beats your [gopher]
        (
            "[gopher]\nmin_n_words = 5\n[gopher.zh]\nmin_n_words = 2",
            {"min_n_words": 2, "max_n_words": 800},
            {"min_n_words": 5, "max_n_words": 1000},
        ),
        # false switches a rule off: the key is gone
        ("[gopher]\nmax_n_words = false", {"min_n_words": 20}, {"min_n_words": 50}),
        ("[gopher.zh]\nmax_n_words = false", {"min_n_words": 20}, {"min_n_words": 50, "max_n_words": 1000}),
        # and a language may switch it on again
        (
            "[gopher]\nmax_n_words = false\n[gopher.zh]\nmax_n_words = 9e2",
            {"min_n_words": 20, "max_n_words": 900.0},
            {"min_n_words": 50},
        ),
    ],
)
def test_a_language_beats_the_general_table_and_you_beat_the_built_in_one(read, tmp_path, yours, for_zh, for_others):
    built_in = tmp_path / "shipped" / "configs" / "default.toml"
    built_in.parent.mkdir(parents=True)
    (tmp_path / "shipped" / "schemas").symlink_to(ROOT / "schemas")
    built_in.write_text(LAYERS)

    limits = read(SMALL + yours, default=built_in).limits("gopher")

    assert limits == {"": for_others, "zh": for_zh}


def test_a_language_that_only_you_name_starts_from_the_general_table(read):
    config = read(SMALL + "[gopher.hi]\nmin_n_words = 7\n[gopher.und]\nmin_n_words = 9\n[gopher]\nmin_n_words = 8\n")
    limits = config.limits("gopher")
    assert [limits[lang]["min_n_words"] for lang in ("", "hi", "und")] == [8, 7, 9]
    assert limits["hi"]["max_n_words"] == limits[""]["max_n_words"]
    assert config.values["gopher"]["hi"] == limits["hi"]


def test_protected_files_are_sorted_and_each_is_named_once(read, tmp_path):
    for name in ("eval/b.jsonl", "eval/a.jsonl", "eval/deep/c.jsonl", "eval/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    config = read(SMALL + '[decontaminate]\nprotected = ["eval/**/*.jsonl", "eval/a.jsonl"]\n')
    assert config.matching("decontaminate", "protected") == [
        tmp_path / "eval" / name for name in ("a.jsonl", "b.jsonl", "deep/c.jsonl")
    ]


def test_protected_files_are_found_in_a_folder_with_brackets(read, tmp_path, monkeypatch):
    (tmp_path / "[1]").mkdir()
    monkeypatch.chdir(tmp_path / "[1]")
    Path("gold.jsonl").write_text("{}")
    config = read(SMALL + '[decontaminate]\nprotected = ["*.jsonl"]\n')
    assert config.matching("decontaminate", "protected") == [Path("gold.jsonl").absolute()]


def test_a_protected_pattern_without_a_file_is_an_error(read, tmp_path):
    (tmp_path / "eval.jsonl").mkdir()
    config = read(SMALL + '[decontaminate]\nprotected = [\n  "eval.jsonl",\n  "no/*.jsonl",\n]\n')
    with pytest.raises(ConfigError) as caught:
        config.matching("decontaminate", "protected")
    assert str(caught.value) == (
        'corpus.toml:6: [decontaminate] protected: "eval.jsonl" matches no file\n'
        "    Relative patterns start at the folder of the config file.\n"
        'corpus.toml:6: [decontaminate] protected: "no/*.jsonl" matches no file\n'
        "    Relative patterns start at the folder of the config file."
    )


# what is wrong with a config

ONE_MISTAKE = {
    # keys and tables
    "a misspelt key": (
        "[gopher]\nmin_n_word = 3",
        "corpus.toml:6: [gopher] min_n_word: is not a known key\n    Did you mean min_n_words?",
    ),
    "a misspelt key of a language": (
        "[gopher.zh]\nmax_n_word = 3",
        "corpus.toml:6: [gopher.zh] max_n_word: is not a known key\n    Did you mean max_n_words?",
    ),
    "a misspelt key of a stage of one's own": (
        "[recipes]\nmax_n_spoon = 3",
        "corpus.toml:6: [recipes] max_n_spoon: is not a known key\n    Did you mean max_n_spoons?",
    ),
    "a misspelt key at the top": (
        "shardrows = 3",
        "corpus.toml:5: shardrows: is not a known key\n    Did you mean shard_rows?",
    ),
    "a key that lost its table": (
        "num_perm = 64",
        "corpus.toml:5: num_perm: is not a known key\n    Does it belong into [near_dedup]?",
    ),
    "a misspelt table": (
        "[near-dedup]\nbands = 8",
        "corpus.toml:5: [near-dedup]: there is no stage and no table of this name\n    Did you mean near_dedup?",
    ),
    "a key of a later release": (
        '[split]\nquotas = ["lang"]',
        "corpus.toml:6: [split] quotas: is not a known key\n"
        "    Known are: against, method, salt, stratify, test, train, val_permille, validation.",
    ),
    "strata for a split by texts": (
        '[split]\nstratify = ["lang"]',
        "corpus.toml:6: [split] stratify: is for groups, but method is content_hash\n"
        '    Write method = "group_hash", or leave stratify out.',
    ),
    "a language by its English name": (
        "[gopher.english]\nmin_n_words = 3",
        "corpus.toml:5: [gopher.english]: is not a language: two letters of ISO 639-1, or und",
    ),
    "a language with a region": (
        "[gopher.zh-CN]\nmin_n_words = 3",
        "corpus.toml:5: [gopher.zh-CN]: is not a language: two letters of ISO 639-1, or und\n"
        "    Did you mean [gopher.zh]?",
    ),
    "two letters that are no language": (
        "[gopher.zx]\nmin_n_words = 3",
        "corpus.toml:5: [gopher.zx]: is not a language: two letters of ISO 639-1, or und",
    ),
    "a language's own score, which the stage would not read": (
        "[lang.zh]\nmin_score = 0.8",
        "corpus.toml:5: [lang.zh]: is a table, but [lang] is the same for all languages",
    ),
    "a language where all are treated alike": (
        "[near_dedup.zh]\nbands = 8",
        "corpus.toml:5: [near_dedup.zh]: is a table, but [near_dedup] is the same for all languages",
    ),
    # types and ranges
    "a number as text": ('shard_rows = "50"', 'corpus.toml:5: shard_rows: is "50", not a whole number'),
    "a fraction for a whole number": ("shard_rows = 50.0", "corpus.toml:5: shard_rows: is 50.0, not a whole number"),
    "true for a number": ("shard_rows = true", "corpus.toml:5: shard_rows: is true, not a whole number"),
    "a number for a switch": (
        "keep_rejected_text = 1",
        "corpus.toml:5: keep_rejected_text: is 1, not true or false",
    ),
    "a date for a number": (
        "max_line_bytes = 2026-10-09",
        "corpus.toml:5: max_line_bytes: is 2026-10-09, not a whole number",
    ),
    "no rows in a shard": ("shard_rows = 0", "corpus.toml:5: shard_rows: is 0, less than 1"),
    "a number that fits no column": (
        "shard_rows = 9223372036854775808",
        "corpus.toml:5: shard_rows: is a whole number that does not fit into 64 bits",
    ),
    "a value for a table": ("gopher = 5", "corpus.toml:5: gopher: is 5, not a table"),
    "a threshold that is no number": (
        "[gopher]\nmin_n_words = nan",
        "corpus.toml:6: [gopher] min_n_words: is nan, not a finite number",
    ),
    "a threshold without end": (
        "[gopher.zh]\nmax_n_words = inf",
        "corpus.toml:6: [gopher.zh] max_n_words: is inf, not a finite number",
    ),
    "fewer words than none": (
        "[gopher]\nmin_n_words = -5",
        "corpus.toml:6: [gopher] min_n_words: is -5, less than 0",
    ),
    "fewer words than none, in a language": (
        "[gopher.zh]\nmax_n_words = -5",
        "corpus.toml:6: [gopher.zh] max_n_words: is -5, less than 0",
    ),
    "a count of one's own below 0": (
        "[recipes]\nmax_n_spoons = -1",
        "corpus.toml:6: [recipes] max_n_spoons: is -1, less than 0",
    ),
    "percent for a share": (
        "[gopher]\nmin_alpha_word_ratio = 80",
        "corpus.toml:6: [gopher] min_alpha_word_ratio: is 80, more than 1",
    ),
    "a share below 0": (
        "[repetition]\nmax_dup_line_ratio = -0.1",
        "corpus.toml:6: [repetition] max_dup_line_ratio: is -0.1, less than 0",
    ),
    "a length below 0": (
        "[gopher]\nmin_mean_word_length = -3",
        "corpus.toml:6: [gopher] min_mean_word_length: is -3, less than 0",
    ),
    "a stop word of two words": (
        '[gopher.en]\nstop_words = ["of the"]',
        'corpus.toml:6: [gopher.en] stop_words: is "of the", not one word',
    ),
    "stop words that are no list": (
        '[gopher.en]\nstop_words = "the"',
        'corpus.toml:6: [gopher.en] stop_words: is "the", not a list',
    ),
    "a language in three letters": (
        '[lang]\nkeep = ["eng"]',
        'corpus.toml:6: [lang] keep: "eng" is not a language: two letters of ISO 639-1\n    Did you mean en?',
    ),
    "a language by a code of libraries": (
        '[lang]\nkeep = ["chi"]',
        'corpus.toml:6: [lang] keep: "chi" is not a language: two letters of ISO 639-1\n    Did you mean zh?',
    ),
    "a country for its language": (
        '[lang]\nkeep = ["jp"]',
        'corpus.toml:6: [lang] keep: "jp" is not a language: two letters of ISO 639-1\n    Did you mean ja?',
    ),
    "a language without two letters": (
        '[lang]\nkeep = ["ceb"]',
        'corpus.toml:6: [lang] keep: "ceb" is not a language: two letters of ISO 639-1',
    ),
    "the table of a language in three letters": (
        "[gopher.deu]\nmin_n_words = 3",
        "corpus.toml:5: [gopher.deu]: is not a language: two letters of ISO 639-1, or und\n"
        "    Did you mean [gopher.de]?",
    ),
    "a key of a megabyte": (
        f"[split]\n{'k' * 1_000_000} = 3",
        f"corpus.toml:6: [split] {'k' * 57}...: is not a known key\n"
        "    Known are: against, method, salt, stratify, test, train, val_permille, validation.",
    ),
    "a rule that is switched on": (
        "[gopher]\nmin_n_words = true",
        "corpus.toml:6: [gopher] min_n_words: is true, not a number, or false to switch the rule off",
    ),
    "a minimum above the maximum": (
        "[gopher]\nmax_n_words = 3\nmin_n_words = 4",
        "corpus.toml:7: [gopher] min_n_words: min_n_words = 4 is more than max_n_words = 3\n"
        "    No document would pass.",
    ),
    "a minimum above the built-in maximum": (
        "[gopher.hi]\nmin_n_words = 100001",
        "corpus.toml:6: [gopher.hi] min_n_words: min_n_words = 100001 is more than max_n_words = 100000 for hi\n"
        "    No document would pass.",
    ),
    # names
    "a data set that is a path": (
        SMALL.replace('"demo"', '"../demo"'),
        'corpus.toml:1: dataset: is "../demo", not a name of letters, digits, ".", "_" and "-", '
        "beginning with a letter or digit",
    ),
    "a version that ends with a line end": (
        SMALL.replace('"v1"', '"v1\\n"'),
        'corpus.toml:2: version: is "v1\\n", not a name of letters, digits, ".", "_" and "-", '
        "beginning with a letter or digit",
    ),
    "a version that is hidden": (
        SMALL.replace('"v1"', '".v1"'),
        'corpus.toml:2: version: is ".v1", not a name of letters, digits, ".", "_" and "-", '
        "beginning with a letter or digit",
    ),
    "a data set in the place of the raw files": (
        SMALL.replace('"demo"', '"raw"'),
        'corpus.toml:1: dataset: "raw" is taken: corpus/ holds raw/ and LEDGER.jsonl',
    ),
    "a version in the place of the reports": (
        SMALL.replace('"v1"', '"reports"'),
        'corpus.toml:2: version: "reports" is taken: corpus/<dataset>/reports/ holds the reports',
    ),
    "a source in capitals": (
        SMALL.replace('"selfwritten-en"', '"Wiki"'),
        'corpus.toml:3: sources: is "Wiki", not a source id: lower-case letters, digits, ".", "_" and "-", '
        "beginning with a letter or digit",
    ),
    "a source named twice": (
        SMALL.replace('"selfwritten-en"', '"selfwritten-zh"'),
        'corpus.toml:3: sources: names "selfwritten-zh" twice\n    Name it once.',
    ),
    "no sources": ('dataset = "d"\nversion = "v"\nsources = []\nstages = []', "corpus.toml:3: sources: is empty"),
    # stages
    "an unknown stage": (
        SMALL.replace("[]", '["goper"]'),
        'corpus.toml:4: stages: there is no stage "goper"\n    Did you mean gopher?',
    ),
    "a stage twice": (
        SMALL.replace("[]", '["gopher", "pii", "gopher"]'),
        'corpus.toml:4: stages: names "gopher" twice\n    Name it once.',
    ),
    # languages
    "the stage lang without languages": (
        SMALL.replace("[]", '["lang"]') + "[lang]\nmin_score = 0.5",
        "corpus.toml:5: [lang] keep: is missing; the stage lang is listed in stages\n"
        '    Name the languages, such as keep = ["zh", "en"], or ["*"] for all.',
    ),
    "no language": ("[lang]\nkeep = []", "corpus.toml:6: [lang] keep: is empty"),
    "und as a language": (
        '[lang]\nkeep = ["zh", "und"]',
        'corpus.toml:6: [lang] keep: "und" is not a language\n    Write undetermined = "keep" to keep those documents.',
    ),
    "all languages and one": (
        '[lang]\nkeep = ["*", "zh"]',
        'corpus.toml:6: [lang] keep: "*" keeps all languages and stands alone\n    Write keep = ["*"].',
    ),
    "a language of three letters": (
        '[lang]\nkeep = ["zho"]',
        'corpus.toml:6: [lang] keep: "zho" is not a language: two letters of ISO 639-1\n    Did you mean zh?',
    ),
    "a language with a script": (
        '[lang]\nkeep = ["zh_Hans"]',
        'corpus.toml:6: [lang] keep: "zh_Hans" is not a language: two letters of ISO 639-1\n    Did you mean zh?',
    ),
    "a score above 1": ("[lang]\nmin_score = 65", "corpus.toml:6: [lang] min_score: is 65, more than 1"),
    "a third way with und": (
        '[lang]\nundetermined = "drop"',
        'corpus.toml:6: [lang] undetermined: is "drop", which is not known\n    Known are: keep, reject.',
    ),
    # near duplicates, decontamination, personal data, split, paths
    "values that fill no band": (
        "[near_dedup]\nbands = 20",
        "corpus.toml:6: [near_dedup] bands: num_perm = 128 is not a multiple of bands = 20\n"
        "    Each band takes num_perm / bands values.",
    ),
    "a similarity of nothing": (
        "[near_dedup]\njaccard_threshold = 0",
        "corpus.toml:6: [near_dedup] jaccard_threshold: is 0, not greater than 0",
    ),
    "a similarity in per cent": (
        "[near_dedup]\njaccard_threshold = 80",
        "corpus.toml:6: [near_dedup] jaccard_threshold: is 80, more than 1",
    ),
    "an unknown policy": (
        '[near_dedup]\nkeep = "longst"',
        'corpus.toml:6: [near_dedup] keep: is "longst", which is not known\n    Did you mean longest?',
    ),
    "decontamination without a protected set": (
        SMALL.replace("[]", '["decontaminate"]'),
        "corpus.toml: [decontaminate] protected: is missing; the stage decontaminate is listed in stages\n"
        '    Name the evaluation sets, such as protected = ["eval/*.jsonl"], or take decontaminate out of stages.',
    ),
    "an unknown kind of personal data": (
        '[pii]\nkinds = ["emails"]',
        'corpus.toml:6: [pii] kinds: is "emails", which is not known\n    Did you mean email?',
    ),
    "splits that leave documents over": (
        '[split]\nmethod = "group_hash"\ntrain = 800',
        "corpus.toml:7: [split] train: train + validation + test = 900, not 1000",
    ),
    "more than all for validation": (
        "[split]\nval_permille = 1001",
        "corpus.toml:6: [split] val_permille: is 1001, more than 1000",
    ),
    "a path that no system has": (
        '[paths]\nartifacts = "a\\u0000b"',
        'corpus.toml:6: [paths] artifacts: is "a\\u0000b", not a path',
    ),
    "an empty path": ('[paths]\nartifacts = ""', 'corpus.toml:6: [paths] artifacts: is "", not a path'),
    "a work folder that holds the artifacts": (
        '[paths]\nwork = "."',
        "corpus.toml:6: [paths] work: may be deleted at any time, so it can neither hold artifacts nor lie in its "
        "corpus/\n"
        "    Give it a folder of its own, such as artifacts/.work.",
    ),
    "a work folder among the data sets": (
        '[paths]\nwork = "artifacts/corpus/work"',
        "corpus.toml:6: [paths] work: may be deleted at any time, so it can neither hold artifacts nor lie in its "
        "corpus/\n"
        "    Give it a folder of its own, such as artifacts/.work.",
    ),
    # TOML
    "a broken line": ("shard_rows = ", "corpus.toml:5:14: is not TOML: Invalid value"),
    "a number of more digits than Python reads": (
        "shard_rows = 1" + 5000 * "0",
        "corpus.toml: is not TOML: Exceeds the limit (4300 digits) for integer string conversion",
    ),
    "brackets in brackets": ("stages_ = " + 5000 * "[" + 5000 * "]", "corpus.toml: is nested too deeply"),
    "a key written twice": ('a = 1\na = 2\nb = ""', "corpus.toml:6:6: is not TOML: Cannot overwrite a value"),
}


@pytest.mark.parametrize(("text", "message"), ONE_MISTAKE.values(), ids=ONE_MISTAKE)
def test_one_mistake(complaint, text, message):
    assert complaint(text if text.startswith("dataset") else SMALL + text + "\n") == message


def test_all_mistakes_are_named_at_once_in_the_order_of_the_file(complaint):
    text = """\
version = 1
stages = ["lang", "ngrams"]
sources = ["A"]

[near_dedup]   # 近似重复
num_perm = 100
witness = "v0"

[gopher.zh]
min_n_words = 10
max_n_words = 5
"""
    assert complaint(text) == (
        'corpus.toml:1: version: is 1, not a name of letters, digits, ".", "_" and "-", '
        "beginning with a letter or digit\n"
        'corpus.toml:2: stages: there is no stage "ngrams"\n'
        "    Known are: decontaminate, exact_dedup, gopher, lang, near_dedup, pii, ppl, recipes, repetition.\n"
        'corpus.toml:3: sources: is "A", not a source id: lower-case letters, digits, ".", "_" and "-", '
        "beginning with a letter or digit\n"
        "corpus.toml:6: [near_dedup] num_perm: num_perm = 100 is not a multiple of bands = 16\n"
        "    Each band takes num_perm / bands values.\n"
        "corpus.toml:7: [near_dedup] witness: is not a known key\n"
        "    Known are: against, bands, jaccard_threshold, keep, max_bucket, num_perm, shingle.\n"
        "corpus.toml:10: [gopher.zh] min_n_words: min_n_words = 10 is more than max_n_words = 5 for zh\n"
        "    No document would pass.\n"
        "corpus.toml: dataset: is missing\n"
        "corpus.toml: [lang] keep: is missing; the stage lang is listed in stages\n"
        '    Name the languages, such as keep = ["zh", "en"], or ["*"] for all.'
    )


VALUES = ["true", "-1", "0x" + "f" * 5000, "1e400", '"zh"', "[]", '["a", ["b"], {c = 1}]', "{}", "{zh = {min_x = 1}}"]


@pytest.mark.parametrize("value", VALUES, ids=[value[:12] for value in VALUES])
@pytest.mark.parametrize("table", ["", *SCHEMA["properties"], "recipes", "other"])
def test_no_value_in_any_place_ends_in_a_traceback(read, table, value):
    """The value stands in the place of a table, of a key known or not, and of a language's key."""
    keys = SCHEMA["properties"].get(table, {}).get("properties", {}) if table else SCHEMA["properties"]
    keys = [*keys, "min_n_words", "zh", "other"]
    bodies = [f"{table} = {value}"] if table else []
    bodies += [f"[{table}]\n{key} = {value}" if table else f"{key} = {value}" for key in keys]
    bodies += [f"[{table}.zh]\nmin_n_words = {value}"] if table else []
    seen = 0
    for body in bodies:
        try:
            read(body)
        except ConfigError as error:
            assert all(str(problem).startswith("corpus.toml") for problem in error.problems)
            seen += 1
    assert seen == len(bodies)  # each lacks dataset, version and sources, at least


def test_a_missing_config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        load(Path("corpus.toml"), stage_keys=STAGES, default=DEFAULT)
    assert str(caught.value) == (
        "corpus.toml: there is no such config file\n"
        "    Give the path of a TOML config; `corpus-sql init DIR` writes one to start from."
    )


def test_a_folder_for_a_config(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, stage_keys=STAGES, default=DEFAULT)
    assert str(caught.value) == f"{tmp_path}: is a folder, not a config file\n    Give the path of a TOML file."


def test_a_config_that_is_not_utf8(complaint):
    text = SMALL.encode() + "# 语料".encode("gbk")
    assert complaint(text) == "corpus.toml:5: byte 93 (0xd3) is not UTF-8\n    Save the file as UTF-8."


def test_a_config_with_a_byte_order_mark(complaint):
    assert complaint("\ufeff" + SMALL) == (
        "corpus.toml:1: the file begins with a byte order mark\n"
        "    TOML begins without one: save the file as UTF-8 without BOM."
    )


def test_a_linked_config_belongs_to_the_folder_of_its_file(read, tmp_path):
    """As the project does, whose sql/ and udfs/ lie there."""
    read(SMALL)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link.toml").symlink_to(tmp_path / "corpus.toml")
    config = load(Path("elsewhere/link.toml"), stage_keys=STAGES, default=DEFAULT)
    assert config.path == Path("elsewhere/link.toml")
    assert config.artifacts == tmp_path / "artifacts"


@pytest.mark.parametrize("name", ["split", "sources"])
def test_a_stage_cannot_be_called_like_a_key_of_the_config(read, name):
    read(SMALL)
    with pytest.raises(ConfigError) as caught:
        load(Path("corpus.toml"), stage_keys=STAGES | {name: set()}, default=DEFAULT)
    assert str(caught.value) == (
        f"sql/stages/{name}.sql: the config has a key of this name\n    Call the stage otherwise."
    )


# TOML values that hold what looks like a key, a table, a comment or an end
TRICKY = [
    "1",
    '"a = 1"',
    "'# no comment'",
    r'"\"]"',
    "[1, 2]",
    "[\n  [1], # ]\n  ['[x]'],\n]",
    '{ a = 1, "b]" = "}" }',
    '"""\n[table]\nkey = 1\n"""',
    "'''\nkey = '1'\n'''",
    '"""a\\\n  b"""',
    r'"""quote ""\""" """',
    '"""two quotes at the end"""""',
    "2026-10-09 12:00:00",
]


BEFORE = ["", "[t.{}]", "  # c = 1", "[[r{}]]"]


@given(st.lists(st.tuples(st.sampled_from(BEFORE), st.sampled_from(TRICKY)), max_size=12))
def test_lines_of_keys_whatever_stands_between_them(entries):
    text, table, expected = "", (), {}
    for i, (before, value) in enumerate(entries):
        line = text.count("\n") + 1
        header = before.format(i)
        text += header + "\n"
        if header.startswith("["):
            table = tuple(header.strip("[]").split("."))
            expected[table] = line
        text += f"k{i} = {value} # end\n"
        expected[*table, f"k{i}"] = line + 1
    tomllib.loads(text)
    assert key_lines(text) == expected


def test_lines_of_keys_in_every_form_that_toml_has():
    text = '''\
# comment with [brackets] and = signs
a = """two
[no.table]
lines = 1""""
"b c".d = [ 1, # ]
  { x = "]" },
]
[t . "q.r"]  # 表
e = 'single # quote'
  f=1
[[rows]]
g = { h = 1 }
'''
    tomllib.loads(text)
    assert key_lines(text) == {
        ("a",): 2, ("b c",): 5, ("b c", "d"): 5, ("t", "q.r"): 8, ("t", "q.r", "e"): 9, ("t", "q.r", "f"): 10,
        ("rows",): 11, ("rows", "g"): 12,
    }  # fmt: skip


# default.toml and the schema say the same


def test_default_toml_holds_every_default_of_the_schema():
    default = tomllib.loads(DEFAULT.read_text("utf-8"))
    for key, rule in SCHEMA["properties"].items():
        if "default" in rule:
            assert default[key] == rule["default"], key
        for inner, inner_rule in rule.get("properties", {}).items():
            if "default" in inner_rule:
                assert default[key][inner] == inner_rule["default"], f"[{key}] {inner}"


def test_default_toml_names_every_key_and_table_of_the_schema():
    """Keys without a default stand there as comments."""
    text = _whole_text()
    for key, rule in SCHEMA["properties"].items():
        is_table = rule.get("type") == "object" or rule.get("$ref") == "#/$defs/stage"
        assert f"\n[{key}]" in text if is_table else f"\n{key} = " in text or f"\n# {key} = " in text, key
        for inner in rule.get("properties", ()):
            assert f"\n{inner} = " in text or f"\n# {inner} = " in text, f"[{key}] {inner}"


def test_the_built_in_limits_contradict_neither_themselves_nor_each_other(read):
    """All built-in stages in one build, with their keys declared by what is built in."""
    config = read(SMALL.replace("[]", '["gopher", "repetition", "ppl"]'))
    for stage in config.stages:
        for lang, limits in config.limits(stage).items():
            lows = [key for key in limits if key.startswith("min_")]
            crossed = [low for low in lows if limits[low] > limits.get("max_" + low[4:], limits[low])]
            assert crossed == [], f"[{stage}.{lang}]"


def test_a_profile_does_not_change_a_default_that_default_toml_shows():
    profiles = DEFAULT.with_name("profiles.toml")
    if not profiles.exists():
        pytest.skip("there are no language profiles beside default.toml: nothing can differ")
    shown = tomllib.loads(DEFAULT.read_text("utf-8"))
    for table, keys in tomllib.loads(profiles.read_text("utf-8")).items():
        for key, value in keys.items():
            assert shown[table].get(key, value) == value, f"[{table}] {key}"


def test_default_toml_is_valid_but_for_the_required_keys():
    default = tomllib.loads(DEFAULT.read_text("utf-8"))
    errors = [error.message for error in Draft202012Validator(SCHEMA).iter_errors(default)]
    assert sorted(errors) == [f"'{key}' is a required property" for key in ("dataset", "sources", "version")]
