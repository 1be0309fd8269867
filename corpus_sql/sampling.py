"""`corpus-sql sample`: documents of a build to be read by a person, drawn by a seed, their ids saved.

Four kinds, each good for one thing, which `USES` says. No random numbers of the engine: what is drawn hangs on the seed
and the ids, or, for the reservoir, on Python's `random.Random(seed).random()`, whose sequence does not change between
Python versions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
from rich.cells import cell_len, set_cell_size

from corpus_sql import build_format, damaged, judging
from corpus_sql.errors import ConfigError, Problem
from corpus_sql.explain import open_build
from corpus_sql.files import must_be_writable, reports, write
from corpus_sql.model import identifier
from corpus_sql.pii_shown import without_pii
from corpus_sql.report_queries import query
from corpus_sql.shown import dumps
from corpus_sql.validation import did_you_mean, shown

USES = {
    "stratified": "It stands for the kept documents by source, language and length; weigh each by its weight.",
    "near-threshold": "It shows where a rule errs and its threshold could be; it does not show how common anything is.",
    "reservoir": "It stands for all documents that were read, rejected ones too; small sources may be missing from it.",
    "by-reason": "It shows what each rule drops; the numbers drawn are not the numbers dropped.",
}
BANDS = (200, 1_000, 5_000, 20_000)  # code points: where the length bands of a stratified sample begin


@dataclass(frozen=True)
class Sample:
    """What was drawn. rows: dicts in the order of the sample, `text` last (null where the build holds none)."""

    kind: str
    head: dict[str, Any]
    rows: list[dict[str, Any]] = field(repr=False)
    note: str = ""
    file: Path | None = None

    def jsonl(self) -> Iterator[str]:
        """One JSON object a document, with its text."""
        for row in self.rows:
            yield dumps(row)


def sample(build: Path, kind: str, *, n: int = 20, seed: int = 0, rule: str | None = None) -> Sample:
    """Draw a sample of a build and save its ids.

    kind: stratified, near-threshold (of `rule`, n documents on each side), reservoir, or by-reason (n documents of each
    reason, or of `rule` alone). The ids go to reports/<version>/samples/ beside the version folder, without texts; the
    same call writes the same bytes. Raises ConfigError for an unknown kind or rule.
    """
    folder = Path(build).resolve()
    if kind not in USES:
        raise ConfigError(Problem("--kind", f"there is no kind {shown(kind)}", did_you_mean(kind, USES)))
    if n < 1:
        raise ConfigError(Problem("--n", f"{n} is no number of documents to draw"))
    if rule is not None and kind not in ("near-threshold", "by-reason"):
        raise ConfigError(Problem("--rule", f"a {kind} sample has no rule"))
    build_format.check(folder)
    must_be_writable(reports(folder) / "samples")
    with open_build(folder) as connection:
        record = damaged.read_object(folder, "_audit/build.json")
        if kind == "stratified":
            rows, more, note = _stratified(connection, n, str(seed))
        elif kind == "reservoir":
            rows, more, note = _reservoir(connection, n, seed, list(record["relations"]["read.documents"]["files"]))
        elif kind == "by-reason":
            rows, more, note = _by_reason(connection, n, str(seed), rule)
        else:
            rows, more, note = _near_threshold(folder, record, n, str(seed), rule)
        texts = _texts(connection, [row["id"] for row in rows])
    head = {
        "sample": kind,
        "dataset": record["dataset"],
        "version": record["version"],
        "filtered_build_hash": record["hash_chain"]["filtered_build_hash"],
        "seed": seed,
        "n": n,
        **({"rule": rule} if rule else {}),
        **more,
        "use": USES[kind],
    }
    name = "-".join([kind, *([rule] if rule else []), f"n{n}", f"seed{seed}"])
    file = reports(folder) / "samples" / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    write(file, "".join(dumps(one) + "\n" for one in (head, *rows)))
    return Sample(kind, head, [{**row, "text": texts.get(row["id"])} for row in rows], note, file)


def _dicts(found: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _stratified(connection: duckdb.DuckDBPyConnection, n: int, seed: str) -> tuple[list[dict], dict, str]:
    """Draw from the kept documents by source, language and length band, in proportion to the strata.

    Where n reaches, every stratum has one first. weight: kept documents of the stratum for each one drawn from it.
    """
    bands = {"bands": list(BANDS)}
    strata = connection.execute(query("sample_strata"), bands).fetchall()
    shares = allocate([size for *_, size in strata], n)
    connection.execute(
        "create temp table wanted (source_id varchar, lang varchar, band integer, size bigint, share bigint)"
    )
    for (source_id, lang, number, size), share in zip(strata, shares, strict=True):
        if share:
            connection.execute("insert into wanted values (?, ?, ?, ?, ?)", [source_id, lang, number, size, share])
    rows = _dicts(connection.execute(query("sample_stratified"), {"seed": seed, **bands}))
    for row in rows:
        row["band"] = band_name(row["band"])
    total, reached = (
        sum(size for *_, size in strata),
        sum(size for (*_, size), share in zip(strata, shares, strict=True) if share),
    )
    n_reached = sum(1 for share in shares if share)
    note = (
        f"{n_reached:,} of {len(strata):,} strata, which hold {100 * reached / total:.1f} % of the kept documents"
        if total
        else "no document was kept"
    )
    return (
        rows,
        {"population": total, "strata": len(strata), "strata_reached": n_reached, "documents_reached": reached},
        note,
    )


def allocate(sizes: list[int], n: int) -> list[int]:
    """Share n among strata by largest remainders, none above its size, one each first where n reaches.

    Ties go to the earlier stratum.
    """
    n = min(n, sum(sizes))
    first = [1] * len(sizes) if n >= len(sizes) else [0] * len(sizes)
    left, rest = n - sum(first), [size - one for size, one in zip(sizes, first, strict=True)]
    if left <= 0:
        return first
    whole = [left * size // sum(rest) for size in rest]
    order = sorted(range(len(sizes)), key=lambda i: (-(left * rest[i] % sum(rest)), i))
    for i in order[: left - sum(whole)]:
        whole[i] += 1
    return [one + more for one, more in zip(first, whole, strict=True)]


def band_name(number: int) -> str:
    """The length band as code points, such as 200-999."""
    low = BANDS[number - 1] if number else 0
    return f"{low}-{BANDS[number] - 1}" if number < len(BANDS) else f"{low}-"


def _reservoir(
    connection: duckdb.DuckDBPyConnection, n: int, seed: int, files: list[str]
) -> tuple[list[dict], dict, str]:
    """Draw n of all parsed documents, each equally likely, by Algorithm R (Vitter 1985) over them in raw order.

    That is the order of the files as they were read (source after source), and of the lines in each.
    """
    rng, drawn, seen = random.Random(seed), [], 0
    for file in files:
        cursor = connection.cursor().execute("select id from documents where file = ? order by line", [file])
        while batch := cursor.fetchmany(8192):
            for (id,) in batch:
                if seen < n:
                    drawn.append((id, seen))
                elif (at := int(rng.random() * (seen + 1))) < n:
                    drawn[at] = (id, seen)
                seen += 1
    place = dict(drawn)
    rows = _by_id(connection, [id for id, _ in drawn])
    for row in rows:
        row["place"] = place[row["id"]]
    return (
        sorted(rows, key=lambda row: row["place"]),
        {"population": seen},
        f"{len(rows):,} of {seen:,} documents that were read",
    )


def _by_reason(
    connection: duckdb.DuckDBPyConnection, n: int, seed: str, rule: str | None
) -> tuple[list[dict], dict, str]:
    """Draw n documents of each reason by which one was dropped; the weight is how many were dropped for each drawn.

    Quarantined lines are among them, with the bytes of the line as their text.
    """
    connection.execute(f"create temp view dropped as {query('sample_dropped')}")
    counts = connection.execute("select stage, reason, count(*) from dropped group by all order by all").fetchall()
    reasons = sorted({reason for _, reason, _ in counts})
    if rule is not None and rule not in reasons:
        raise ConfigError(
            Problem("--rule", f"nothing was dropped for {shown(rule)}", did_you_mean(rule, reasons) if reasons else "")
        )
    rows = _dicts(connection.execute(query("sample_by_reason"), {"n": n, "seed": seed, "rule": rule}))
    counted = {f"{stage} {reason}": count for stage, reason, count in counts if rule in (None, reason)}
    return rows, {"dropped": counted}, f"{len(counted):,} reasons, {sum(counted.values()):,} lines dropped"


def _near_threshold(
    folder: Path, record: dict[str, Any], n: int, seed: str, rule: str | None
) -> tuple[list[dict], dict, str]:
    """Draw the n documents nearest to a rule's threshold on each side, among those that reached its stage.

    distance: |value - threshold| as a share of the threshold, since languages differ in theirs; of a threshold of 0
    the difference itself. Equal distances come in the order of the seed. A value equal to the threshold is kept.
    """
    known = {one.reason: one for one in judging.rules(folder) if one.key}
    known = {reason: one for reason, one in known.items() if judging.can_judge(folder, one.stage)}
    if rule is None:
        raise ConfigError(
            Problem(
                "--rule", "a near-threshold sample needs a rule", f"The rules with a threshold are {', '.join(known)}."
            )
        )
    if rule not in known:
        raise ConfigError(
            Problem(
                "--rule",
                f"{shown(rule)} is no rule of this build with documents on both sides of a threshold",
                did_you_mean(rule, known),
            )
        )
    one = known[rule]
    with judging.open_for_judging(folder) as connection:
        connection.execute(f"create temp view as_fired as {judging.as_if_fired(folder, one)}")
        connection.execute(f"create temp view judged as select id, hits from {identifier('stages', one.stage)}")
        values = {"threshold": one.bound, "rule": rule, "seed": seed, "n": n}
        rows = _dicts(connection.execute(query("sample_near_threshold"), values))
    sides = {side: next((row["of_side"] for row in rows if row["side"] == side), 0) for side in ("hit", "passed")}
    for row in rows:
        del row["of_side"]
    return (
        rows,
        {"measure": one.metric, "stage": one.stage, "sides": sides},
        f"{one.metric}: {rule} hits {sides['hit']:,} documents that came to {one.stage}, {sides['passed']:,} pass it",
    )


def _by_id(connection: duckdb.DuckDBPyConnection, ids: list[str]) -> list[dict[str, Any]]:
    columns = "id, source_id, lang, n_chars, verdict, stage, reason"
    sql = f"select {columns} from documents where id in (select unnest(?::varchar[]))"
    return _dicts(connection.execute(sql, [ids]))


def _texts(connection: duckdb.DuckDBPyConnection, ids: list[str]) -> dict[str, str | None]:
    """The final text of a kept document, the text of a rejected one as it was then, the bytes of a quarantined line."""
    chosen = "where id in (select unnest(?::varchar[]))"
    found = dict(
        connection.execute(
            f"select id, text from shards {chosen} union all select id, text from rejected {chosen}", [ids, ids]
        ).fetchall()
    )
    for id, raw in connection.execute(f"select id, raw from quarantine {chosen}", [ids]).fetchall():
        found[id] = None if raw is None else bytes(raw).decode("utf-8", "backslashreplace")
    return found


def lines(found: Sample) -> Iterator[str]:
    """The sample as a table, each text cut to one line; then what it may be used for and where its ids are."""
    from corpus_sql.shown import table

    extra = {
        "stratified": ("band", "weight"),
        "near-threshold": ("side", "value", "threshold"),
        "reservoir": ("place",),
        "by-reason": ("weight",),
    }[found.kind]
    left = ["id", "lang", "ended"]
    named = [name for name in extra if name in ("side", "band")]
    head = (*left, *named, "text", "characters", *(name for name in extra if name not in named))
    rows = []
    for row in found.rows:
        ended = row["verdict"] if row["verdict"] == "keep" else f"{row['stage']} {row['reason']}"
        text = "not in the build" if row["text"] is None else _one_line(row["text"])
        rows.append(
            (
                row["id"],
                row["lang"],
                ended,
                *(row[name] for name in named),
                text,
                row["n_chars"],
                *(row[name] for name in extra if name not in named),
            )
        )
    if rows:
        yield from table(head, rows, left=len(left) + len(named) + 1)
        yield ""
    yield found.note
    yield f"{USES[found.kind]}"
    yield f"ids: {found.file}"


def _one_line(text: str, limit: int = 60) -> str:
    """The beginning of a text without personal data; what a terminal would act on is escaped."""
    whole = " ".join(without_pii(text[: 4 * limit], cut=len(text) > 4 * limit).split())
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in whole)
    short = set_cell_size(shown, limit).rstrip() if cell_len(shown) > limit else shown
    return short + ("…" if len(short) < len(shown) or len(text) > 4 * limit else "")
