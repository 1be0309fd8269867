"""The JSON Schemas that ship: each accepts what the product writes, and nothing that is one step off."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from jsonschema import Draft202012Validator

from corpus_sql import manifest
from corpus_sql.shards import Shard
from corpus_sql.validation import findings

SCHEMAS = Path(__file__).parents[1] / "schemas"


def schema(name: str) -> dict:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))


def complaints(name: str, document: dict) -> list[str]:
    return sorted(error.message for error in Draft202012Validator(schema(name)).iter_errors(document))


MANIFEST = {
    "dataset": "novels",
    "version": "2026-11",
    "n_docs": 5,
    "n_shards": 2,
    "shards": [
        {"name": "shard-00000-of-00002.parquet", "sha256": "0" * 64, "rows": 3},
        {"name": "shard-00001-of-00002.parquet", "sha256": "1" * 64, "rows": 2},
    ],
    "filters": {"lang": 4, "gopher": 3, "repetition": 0, "ppl": 0, "recipes": 1},
    "dedup": {
        "exact_dropped": 1, "near_dropped": 2, "decontaminated": 0,
        "jaccard_threshold": 0.8, "num_perm": 128, "bands": 16, "ngram": 13,
    },
    "pii": {"emails": 2, "phones": 0, "cards": 0, "ips": 0, "keys": 0, "aadhaar": 1},
    "ledger_ref": "corpus/LEDGER.jsonl",
    "config_sha256": "a" * 64,
    "quarantined": {"invalid_json": 2},
    "blank": 0,
}  # fmt: skip


def test_a_manifest():
    assert complaints("corpus-manifest", MANIFEST) == []


def test_a_manifest_of_a_build_that_kept_nothing():
    empty = MANIFEST | {"n_docs": 0, "n_shards": 0, "shards": [], "quarantined": {}}
    assert complaints("corpus-manifest", empty) == []


@pytest.mark.parametrize("key", list(MANIFEST))
def test_every_key_of_a_manifest_is_required(key):
    without = {other: value for other, value in MANIFEST.items() if other != key}
    assert complaints("corpus-manifest", without) == [f"'{key}' is a required property"]


@pytest.mark.parametrize("table", ["filters", "dedup", "pii"])
def test_every_key_of_the_contract_is_required_in_a_manifests_tables(table):
    for key in MANIFEST[table]:
        if key not in ("recipes", "aadhaar"):
            document = copy.deepcopy(MANIFEST)
            del document[table][key]
            assert complaints("corpus-manifest", document) == [f"'{key}' is a required property"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"created": "2026-11-30"}, "Additional properties are not allowed ('created' was unexpected)"),
        ({"blank": None}, "None is not of type 'integer'"),
        ({"blank": -1}, "-1 is less than the minimum of 0"),
        ({"n_docs": 1.5}, "1.5 is not of type 'integer'"),
        ({"config_sha256": "A" * 64}, f"'{'A' * 64}' does not match '^[0-9a-f]{{64}}$'"),
        ({"ledger_ref": "/data/corpus/LEDGER.jsonl"}, "'corpus/LEDGER.jsonl' was expected"),
        ({"dataset": "../novels"}, "'../novels' does not match '^[A-Za-z0-9][A-Za-z0-9._-]*$'"),
        ({"quarantined": {"Invalid JSON": 1}}, "'Invalid JSON' does not match '^[a-z][a-z0-9_]*$'"),
    ],
)
def test_what_is_no_manifest(changes, message):
    assert complaints("corpus-manifest", MANIFEST | changes) == [message]


def test_the_manifest_that_a_build_writes():
    config = SimpleNamespace(
        dataset="novels",
        version="v1",
        stages=("lang", "recipes", "near_dedup", "pii"),
        sha256="b" * 64,
        values={
            "near_dedup": {"jaccard_threshold": 0.8, "num_perm": 128, "bands": 16},
            "decontaminate": {"ngram": 13},
            "pii": {"kinds": ["email", "phone", "pan"]},
        },
    )
    shards = [Shard(name="shard-00000-of-00001.parquet", sha256="c" * 64, rows=7)]
    written = manifest.manifest(
        config, shards, rejected={"recipes": 2}, quarantined={"empty_text": 1}, blank=3, pii={"pan": 1, "email": 2}
    )
    assert complaints("corpus-manifest", json.loads(manifest.dumps(written))) == []


@pytest.mark.parametrize("name", ["corpus-config", "corpus-ledger", "corpus-manifest"])
def test_schemas_are_draft_2020_12_and_say_what_each_key_is(name):
    one = schema(name)
    Draft202012Validator.check_schema(one)
    assert one["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert one["$id"] == f"{name}.schema.json"
    assert one["title"] and one["description"]


# --- sentences: whatever a schema forbids, the product says in its own words -----------------------------------------


def parts(schema: dict, place: str = "") -> Iterator[tuple[str, dict]]:
    """Every subschema that a value can break, with its place."""
    yield place, schema
    for key in ("properties", "patternProperties", "$defs"):
        for name, one in schema.get(key, {}).items():
            yield from parts(one, f"{place}/{name}")
    for key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(schema.get(key), dict):
            yield from parts(schema[key], f"{place}/{key}")


NO_TEXT = ("", " \n", "A b\0", "9" * 65, "é", "\0")
BREAKING = {  # keyword: values that break it, some of them for each way it is used
    "type": lambda rule: [one for one in ("x", 1.5, True, None, ["x"], {"x": 1}) if not is_of(rule, one)],
    "pattern": lambda rule: [one for one in NO_TEXT if not re.search(rule.replace("$", r"\Z"), one)],
    "enum": lambda rule: ["no such value", rule[0] + "x"],
    "const": lambda rule: ["no such value"],
    "not": lambda rule: [rule["const"]],
    "minimum": lambda rule: [rule - 1],
    "exclusiveMinimum": lambda rule: [rule],
    "maximum": lambda rule: [rule + 1],
    "minLength": lambda rule: [""],
    "maxLength": lambda rule: ["a" * (rule + 1)],
    "minItems": lambda rule: [[]],
    "uniqueItems": lambda rule: [["source_id", "source_id"], ["email", "email"]],
    "required": lambda rule: [{}],
    "additionalProperties": lambda rule: [{"no_such_key": 1}] if rule is False else [],
    "propertyNames": lambda rule: [{"": 1}],
}
OUR_WORDS = (
    r"is .+, (not|less than|more than|which is not known).*|is (empty|missing|not .+)|names .+ twice"
    r"|has \d+ characters, more than \d+"
)
NOT_JUDGED = {
    *("$schema", "$id", "$comment", "$ref", "$defs", "title", "description", "default", "examples", "format"),
    *("properties", "patternProperties", "items"),
}
KINDS = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}


def is_of(kinds: str | list[str], value: object) -> bool:
    return any(
        value is None
        if kind == "null"
        else isinstance(value, KINDS[kind]) and (type(value) is not bool or kind[0] == "b")
        for kind in ([kinds] if isinstance(kinds, str) else kinds)
    )


@pytest.mark.parametrize(
    "name", ["corpus-config", "corpus-ledger", "corpus-manifest", "raw-document", "oscar-metadata"]
)
def test_whatever_a_schema_forbids_is_said_in_a_sentence(name):
    whole = schema(name)
    broken = 0
    for place, part in parts(whole):
        assert set(part) <= NOT_JUDGED | set(BREAKING), place
        assert "pattern" not in part or "$comment" in part, f"{place}: what the pattern asks for is not said"
        alone = {**part, "$defs": whole.get("$defs", {})}
        for keyword in set(part) & set(BREAKING):
            for value in BREAKING[keyword](part[keyword]):
                raw = {error.message for error in Draft202012Validator(alone).iter_errors(value)}
                found = findings(alone, value)
                assert found, (place, keyword, value)
                for one in found:
                    assert one.what not in raw
                    assert re.fullmatch(OUR_WORDS, one.what), (place, keyword, one.what)
                    assert not re.search(r"\^|\[0-9|regex|schema|propert", one.what), (place, keyword, one.what)
                    broken += 1
    assert broken > 10


@pytest.mark.parametrize(
    ("name", "place", "value", "said"),
    [
        ("corpus-manifest", ["config_sha256"], "A" * 64, f'is "{"A" * 55}...", not 64 lower-case hex digits'),
        (
            "corpus-manifest", ["shards", 0, "name"], "a.parquet",
            'is "a.parquet", not of the form shard-<iiiii>-of-<nnnnn>.parquet',
        ),
        ("corpus-manifest", ["dedup", "jaccard_threshold"], float("nan"), "is NaN, not a number"),
        ("corpus-manifest", ["dedup", "jaccard_threshold"], 0, "is 0, not greater than 0"),
        ("corpus-manifest", ["blank"], -1, "is -1, less than 0"),
        ("corpus-manifest", ["ledger_ref"], "LEDGER.jsonl", 'is "LEDGER.jsonl", not "corpus/LEDGER.jsonl"'),
        (
            "corpus-manifest", ["pii", "E-mail"], 1,
            'is not the name of a kind: lower-case letters, digits and "_", beginning with a letter',
        ),
        ("corpus-manifest", ["n_docs"], 1.0, "is 1.0, not a whole number"),
    ],
)  # fmt: skip
def test_sentences_of_a_manifest(name, place, value, said):
    document = copy.deepcopy(MANIFEST)
    at = document
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    assert [(list(one.path), one.what) for one in findings(schema(name), document)] == [(place, said)]


def test_a_finding_repeats_no_more_of_a_value_than_a_line():
    long = "x" * 100_000
    found = findings(schema("corpus-ledger"), {"source_id": long, "data_classes": 1, long: 2})
    said = {"".join(map(str, one.path))[:20]: one.what + one.fix for one in found}
    assert max(map(len, said.values())) < 300
    assert said["data_classes"] == "is not a known keyDid you mean data_class?"


def test_a_range_that_no_schema_uses_has_a_sentence_too():
    for rule, value, what in (
        ({"maxLength": 2}, "abc", "has 3 characters, more than 2"),
        ({"exclusiveMaximum": 2}, 2, "is 2, not less than 2"),
        ({"minItems": 2}, [1], "has 1 member, fewer than 2"),
        ({"pattern": "^a+$"}, "b", 'is "b", not of the form ^a+$'),
        ({"multipleOf": 2}, 3, "is 3, which is not allowed here"),
    ):
        assert [one.what for one in findings(rule, value)] == [what]
