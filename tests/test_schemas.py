"""The JSON Schemas that ship: each accepts what the product writes, and nothing that is one step off."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from jsonschema import Draft202012Validator

from corpus_sql import manifest
from corpus_sql.shards import Shard

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
