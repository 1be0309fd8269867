"""The dataset card of a build and its Croissant metadata: what a person, the Hub or a loader reads first.

Both say what the build folder says and nothing else, so they are the same for the same build.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2

from corpus_sql import first_look, inputs
from corpus_sql.report_queries import Tables

# The Hub's classes of size: upper limits, exclusive.
_SIZES = (
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
    (10**8, "10M<n<100M"),
    (10**9, "100M<n<1B"),
    (10**10, "1B<n<10B"),
    (10**11, "10B<n<100B"),
    (10**12, "100B<n<1T"),
)
# Licences the Hub has a name for (its documentation, "Licenses"); everything else is `other` there.
_HUB = frozenset(
    """
    apache-2.0 mit bigscience-openrail-m afl-3.0 artistic-2.0 bsl-1.0 bsd-2-clause bsd-3-clause bsd-3-clause-clear
    cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0
    cc-by-nd-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cdla-sharing-1.0
    cdla-permissive-1.0 cdla-permissive-2.0 wtfpl ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 isc lppl-1.3c
    ms-pl mpl-2.0 ofl-1.1 osl-3.0 postgresql ncsa unlicense zlib
    """.split()
)
_HUB_NAMES = {"odc-by-1.0": "odc-by", "odbl-1.0": "odbl", "pddl-1.0": "pddl"}
# `GPL-3.0-or-later` and `GPL-3.0-only` are one licence there; so are all versions of the GFDL.
_HUB_FAMILIES = ("agpl-3.0", "gpl-2.0", "gpl-3.0", "lgpl-2.1", "lgpl-3.0", "gfdl")

_COLUMNS = {
    "id": ("Text", "source and position of the raw line: <source_id>:<k>"),
    "text": ("Text", "the text, in NFC, with placeholders where personal data stood"),
    "source_id": ("Text", "the source"),
    "url": ("Text", "where the document came from"),
    "license_spdx": ("Text", "its licence, an SPDX expression"),
    "lang": ("Text", "its language, ISO 639-1, or und where it was not determined"),
    "n_chars": ("Integer", "code points of the text"),
    "sha256": ("Text", "SHA-256 of the text in UTF-8, 32 bytes"),
    "minhash_cluster": ("Integer", "the smallest row index of its cluster of near duplicates"),
    "pii_redactions": ("Integer", "placeholders put in"),
    "split": ("Text", "the split it belongs to"),
}


def card(folder: Path) -> str:
    """Return README.md of a version folder, from its manifest and tables."""
    folder = Path(folder)
    manifest, record = _read(folder)
    with Tables(folder) as tables:
        licences, languages = _kept(tables, "licences"), _kept(tables, "languages")
        facts = {
            "manifest": manifest,
            "first": _first(record),
            "chain": record["hash_chain"],
            "stages": record["config"]["stages"],
            "scrubbed": "pii" in record["config"]["stages"],
            "splits": tables.ask("report_splits"),
            "languages": languages,
            "licences": licences,
            "sources": _with_rows(tables.ask("report_sources"), inputs.rows(folder)),
            "protected": bool(inputs.protected(folder)),
            "funnel": [row for row in tables.ask("report_funnel") if row["seq"]],
        }
    front = _front(manifest, [row["license_spdx"] for row in licences], [row["lang"] for row in languages])
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["n"] = lambda value: f"{value:,}"
    environment.filters["cell"] = cell
    return environment.get_template("card.md.jinja").render(front=front, **facts)


def _with_rows(sources: list[dict[str, Any]], ledger: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Each source with what its ledger row says of where it is from."""
    return [{**row, **inputs.told(ledger[row["source_id"]])} for row in sources]


def cell(value: Any) -> str:
    """A value as one cell of a Markdown table: no line end, no bar, no tag; null is an empty cell."""
    if value is None:
        return ""
    text = str(value).replace("\\", "\\\\").replace("|", "\\|").replace("&", "&amp;").replace("<", "&lt;")
    return " ".join(text.split())


def _front(manifest: dict[str, Any], licences: list[str], languages: list[str]) -> str:
    """The YAML that the Hub reads; every value is a JSON string where a plain one could mean something else."""
    known = sorted({name for one in licences if (name := hub_license(one)) != "other"})
    others = [one for one in licences if hub_license(one) == "other"]
    lines = [f"pretty_name: {json.dumps(manifest['dataset'] + ' ' + manifest['version'], ensure_ascii=False)}"]
    if licences:
        lines += ["license:", *(f"- {name}" for name in [*known, *(["other"] if others else [])])]
    if others:
        lines.append(f"license_name: {json.dumps(_slug(others[0]) if len(others) == 1 else 'several')}")
        if len(others) == 1 and " " not in others[0] and not others[0].startswith("LicenseRef-"):
            lines.append(f"license_link: https://spdx.org/licenses/{others[0]}.html")
    if found := [lang for lang in languages if lang != "und"]:
        lines += ["language:", *(f"- {json.dumps(lang)}" for lang in found)]
    n = manifest["n_docs"]
    size = next((name for limit, name in _SIZES if n < limit), "n>1T")
    lines += ["size_categories:", f"- {size}", "task_categories:", "- text-generation"]
    lines += ["configs:", "- config_name: default", "  data_files:", "  - split: full", '    path: "shard-*.parquet"']
    return "\n".join(lines)


def hub_license(spdx: str) -> str:
    """Return the Hub's name of an SPDX licence; `other` where it has none, as for every expression of several."""
    low = spdx.lower()
    if low in _HUB:
        return low
    if low in _HUB_NAMES:
        return _HUB_NAMES[low]
    bare = low.removesuffix("-or-later").removesuffix("-only")
    for family in _HUB_FAMILIES:
        if bare == family or (family == "gfdl" and bare.startswith("gfdl-") and " " not in bare):
            return family
    return "other"


def _slug(spdx: str) -> str:
    return "-".join("".join(c if c.isalnum() or c in ".-" else " " for c in spdx.lower()).split())


def croissant(folder: Path) -> dict[str, Any]:
    """Return the Croissant metadata (version 1.0 of its specification) of a version folder.

    Each shard is a file with its SHA-256 and size; one record set reads their columns through one file set. No date of
    publication: nothing here may differ between two equal builds.
    """
    folder = Path(folder)
    manifest, record = _read(folder)
    with Tables(folder) as tables:
        licences = [row["license_spdx"] for row in _kept(tables, "licences")]
        languages = [row["lang"] for row in _kept(tables, "languages") if row["lang"] != "und"]
    name, first = f"{manifest['dataset']}-{manifest['version']}", _first(record)
    chain = record["hash_chain"]
    files = [
        {
            "@type": "cr:FileObject",
            "@id": shard["name"],
            "name": shard["name"],
            "contentUrl": shard["name"],
            "contentSize": f"{(folder / shard['name']).stat().st_size} B",
            "encodingFormat": "application/x-parquet",
            "sha256": shard["sha256"],
        }
        for shard in manifest["shards"]
    ]
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"documents/{column}",
            "name": column,
            "description": meaning,
            "dataType": f"sc:{kind}",
            "source": {"fileSet": {"@id": "shards"}, "extract": {"column": column}},
        }
        for column, (kind, meaning) in _COLUMNS.items()
    ]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": name,
        "description": f"{manifest['n_docs']:,} documents for pretraining in {manifest['n_shards']:,} Parquet shards. "
        "The column `split` says which split a document belongs to." + (f" This is {first}." if first else ""),
        "version": manifest["version"],
        **({"license": [_license_url(one) for one in licences]} if licences else {}),
        **({"inLanguage": languages} if languages else {}),
        "citeAs": f"{manifest['dataset']} {manifest['version']}, corpus_build_hash {chain['corpus_build_hash']}, "
        f"filtered_build_hash {chain['filtered_build_hash']}",
        "isBasedOn": [_source(row) for row in inputs.rows(folder).values()],
        "distribution": [
            *files,
            {
                "@type": "cr:FileSet",
                "@id": "shards",
                "name": "shards",
                "encodingFormat": "application/x-parquet",
                "includes": "shard-*.parquet",
            },
        ],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "documents", "name": "documents", "field": fields}],
    }


def _source(row: dict[str, Any]) -> dict[str, Any]:
    """A source as schema.org's CreativeWork: revision as its version, the date of the fetch, the upstream files."""
    return {
        "@type": "sc:CreativeWork",
        "name": row["source_id"],
        "url": row["url"],
        "license": _license_url(row["license_spdx"]),
        **({"version": row["revision"]} if row["revision"] else {}),
        "dateModified": row["retrieved"],
        **({"isBasedOn": [one["url"] for one in row["upstream"]]} if row.get("upstream") else {}),
    }


def _first(record: dict[str, Any]) -> str:
    """What a first look is, empty for every other build."""
    first = first_look.lines_of(record)
    return first_look.said(first) if first else ""


def _kept(tables: Tables, of: str) -> list[dict[str, Any]]:
    """The languages or licences that have kept documents, the most frequent first."""
    return sorted((row for row in tables.ask(f"report_{of}") if row["kept"]), key=lambda row: -row["kept"])


def _license_url(spdx: str) -> str:
    single = " " not in spdx and not spdx.startswith("LicenseRef-")
    return f"https://spdx.org/licenses/{spdx}.html" if single else spdx


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    manifest = json.loads((folder / "_MANIFEST.json").read_text("utf-8"))
    return manifest, json.loads((folder / "_audit" / "build.json").read_text("utf-8"))


# What the specification asks for; loaders resolve the short names by it.
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
