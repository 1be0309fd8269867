"""What is written beside the shards: _MANIFEST.json, the hash chain, build.json."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corpus_sql.config import Config
from corpus_sql.shards import Shard

FILTERS = ("lang", "gopher", "repetition", "ppl")
DEDUP = {"exact_dedup": "exact_dropped", "near_dedup": "near_dropped", "decontaminate": "decontaminated"}
PII = {
    "email": "emails",
    "phone": "phones",
    "card": "cards",
    "ip": "ips",
    "key": "keys",
    "aadhaar": "aadhaar",
    "pan": "pan",
    "cn_id": "cn_id",
    "cn_uscc": "cn_uscc",
    "gstin": "gstin",
    "iban": "iban",
    "us_ssn": "us_ssn",
}


def manifest(
    config: Config,
    shards: list[Shard],
    *,
    rejected: Mapping[str, int],
    quarantined: Mapping[str, int],
    blank: int,
    pii: Mapping[str, int],
) -> dict[str, Any]:
    """Return the manifest: the contract's keys in the contract's order, then `quarantined` and `blank`.

    rejected: stage -> documents it dropped; quarantined: reason -> lines; pii: kind -> placeholders put in.
    """
    own = [stage for stage in config.stages if stage not in (*FILTERS, *DEDUP, "pii")]
    near, decontaminate = config.values["near_dedup"], config.values["decontaminate"]
    sought = config.values["pii"]["kinds"] if "pii" in config.stages else ()
    kinds = [kind for kind in PII if kind in ("email", "phone", "card", "ip", "key") or kind in sought]
    return {
        "dataset": config.dataset,
        "version": config.version,
        "n_docs": sum(shard.rows for shard in shards),
        "n_shards": len(shards),
        "shards": [{"name": shard.name, "sha256": shard.sha256, "rows": shard.rows} for shard in shards],
        "filters": {stage: rejected.get(stage, 0) for stage in (*FILTERS, *own)},
        "dedup": {
            **{key: rejected.get(stage, 0) for stage, key in DEDUP.items()},
            "jaccard_threshold": near["jaccard_threshold"],
            "num_perm": near["num_perm"],
            "bands": near["bands"],
            "ngram": decontaminate["ngram"],
        },
        "pii": {PII[kind]: pii.get(kind, 0) for kind in kinds},
        "ledger_ref": "corpus/LEDGER.jsonl",
        "config_sha256": config.sha256,
        "quarantined": dict(sorted(quarantined.items())),
        "blank": blank,
    }


def dumps(value: Any) -> str:
    """Spell JSON as every file of a build does: one entry a line, characters as they are, a final line end."""
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def build_hash(batches: Iterable[pa.RecordBatch], file: Path | None = None) -> str:
    """Return the BLAKE2b-256 over ascending unique content hashes, 8 bytes big-endian each, as hex.

    batches hold one int64 column, the signed bit view of each hash, already unique and in unsigned order; the bytes
    that are hashed also go to `file`.
    """
    digest = hashlib.blake2b(digest_size=32)
    out = open(file, "wb") if file else None
    try:
        for batch in batches:
            content = batch.column(0).to_numpy(zero_copy_only=False).view(np.uint64).astype(">u8").tobytes()
            digest.update(content)
            if out:
                out.write(content)
    finally:
        if out:
            out.close()
    return digest.hexdigest()
