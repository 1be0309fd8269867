"""The dataset card of a build: what a person or the Hub reads first."""

from __future__ import annotations

from typing import Any

from corpus_sql.config import Config
from corpus_sql.engine_duckdb import DuckDB

_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
)


def card(config: Config, manifest: dict[str, Any], engine: DuckDB) -> str:
    """Return README.md of a version folder; it depends on nothing but the build."""
    languages = engine.values(
        "select lang, count(*), sum(n_chars) from outputs.kept join relations.languages using (id) join outputs.finals using (id) group by lang order by 2 desc, 1"
    )
    licenses = engine.values(
        "select license_spdx, count(*) from outputs.kept join read.documents using (id) group by license_spdx order by 2 desc, 1"
    )
    sources = engine.values(
        "select source_id, count(*), count(kept.id) from read.documents left join outputs.kept as kept using (id) group by source_id order by source_id"
    )
    splits = engine.values(
        "select split, count(*) from outputs.kept join "
        + (
            "outputs.splits_by_content"
            if config.values["split"]["method"] == "content_hash"
            else "outputs.splits_by_group"
        )
        + " using (id) group by split order by split"
    )
    n = manifest["n_docs"]
    size = next((name for limit, name in _SIZES if n < limit), "n>100M")
    front = ["---", "license: " + (_license(licenses[0][0]) if len(licenses) == 1 else "other")]
    if len(licenses) > 1:
        front.append("license_name: several")
    if found := [lang for lang, *_ in languages if lang != "und"]:
        front += ["language:", *(f"- {lang!r}" if lang == "no" else f"- {lang}" for lang in found)]
    front += [
        "size_categories:",
        f"- {size}",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: full",
        '    path: "shard-*.parquet"',
        "---",
    ]
    drops = {
        **manifest["filters"],
        **{k: v for k, v in manifest["dedup"].items() if k.endswith(("dropped", "decontaminated"))},
    }
    lines = [
        *front,
        "",
        f"# {config.dataset} {config.version}",
        "",
        f"{n:,} documents in {manifest['n_shards']:,} shards, made by corpus-sql.",
        "All splits share the shards; the column `split` says which a document belongs to:",
        "",
        "```python",
        "from datasets import load_dataset",
        'train = load_dataset("parquet", data_files="shard-*.parquet", split="train").filter(lambda row: row["split"] == "train")',
        "```",
        "",
        *_table(("split", "documents"), splits),
        *_table(("language", "documents", "characters"), languages),
        *_table(("licence", "documents"), licenses),
        *_table(("source", "documents read", "kept"), sources),
        *_table(("dropped by", "documents"), sorted(drops.items())),
        *_table(("placeholder", "put in"), sorted(manifest["pii"].items())),
        "`_audit/` says of every line of every raw file what became of it and why. It may hold texts that were rejected",
        "for good reason, personal data among them: it is not for publication.",
        "",
    ]
    return "\n".join(lines)


def _table(head: tuple[str, ...], rows: list[tuple]) -> list[str]:
    if not rows:
        return []
    body = ["| " + " | ".join(f"{v:,}" if isinstance(v, int) else str(v) for v in row) + " |" for row in rows]
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *body, ""]


def _license(spdx: str) -> str:
    """The Hub spells SPDX identifiers in lower case."""
    return spdx.lower()
