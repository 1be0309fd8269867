"""The second layer of a verification: sources, splits, duplicates, contamination, personal data.

What a build computed with kernels and SQL is computed again in plain Python, from the raw files where they lie there.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable
from typing import Any

from corpus_sql import inputs, ledger
from corpus_sql.files import sha256_file
from corpus_sql.findings import Say, Unchecked
from corpus_sql.opened import Opened
from corpus_sql.pii_scrub import find_spans, parse_kinds
from corpus_sql.validation import counted

OUTSIDE = 0.001  # a share that chance alone would put so far off once in a thousand builds is told
PII_CHARS = 200_000_000  # code points that are searched again for personal data; 10 to 60 s


def sources(build: Opened, say: Say) -> str:
    """Each source still may be trained on, and its licence is the one in the ledger."""
    build.bad_rows(say, "audits", "provenance_complete")
    path = build.corpus / ledger.LEDGER
    if not path.is_file():
        raise Unchecked(f"the ledger is not here: it would be {path}")
    rows = ledger.read_ledger(path)
    found = build.rows("select source_id, license_spdx, count(*) from documents group by all order by all")
    for source_id, license_spdx, n in found:
        if (source := rows.get(source_id)) is None:
            say.error(f"{source_id} has no row in the ledger: {n:,} documents of an unknown source")
        elif source.license_spdx != license_spdx:
            say.error(f"{source_id}: {n:,} documents under {license_spdx}, the ledger says {source.license_spdx}")
    for source_id in sorted({source_id for source_id, _, _ in found} & set(rows)):
        for reason, _ in ledger.refusals(rows[source_id]):
            say.error(f"{source_id}: {reason}", "What was built from it is not to be trained on.")
    for source_id, file, sha256, size in build.rows(
        "select source_id, file, sha256, bytes from files where status = 'read' order by file"
    ):
        source = rows.get(source_id)
        listed = {one.path: one for one in (source.files + source.superseded if source else ())}.get(file)
        if source and listed is None:
            say.notice(f"{file}: the ledger does not name it any more")
        elif source and (listed.sha256, listed.bytes) != (sha256, size):
            say.error(f"{file}: read with SHA-256 {sha256}, the ledger lists {listed.sha256}")
    return counted(len({source_id for source_id, _, _ in found}), "source")


def ledger_rows(build: Opened, say: Say) -> str:
    """The ledger in the folder is the one that was hashed; what the ledger in force says otherwise by now is told."""
    digest = sha256_file(build.audit / inputs.LEDGER)
    if digest != (stated := build.record["hash_chain"]["ledger_sha256"]):
        say.error(f"_audit/{inputs.LEDGER} has the SHA-256 {digest}, the hash chain says {stated}")
    for name, stated in build.record["inputs"].items():
        if (digest := sha256_file(build.audit / inputs.INPUTS / name)) != stated:
            say.error(f"_audit/{inputs.INPUTS}/{name} has the SHA-256 {digest}, build.json says {stated}")
    own = inputs.rows(build.folder)
    if sorted(own) != sorted(build.config["sources"]):
        say.error(f"_audit/{inputs.LEDGER} has the rows {', '.join(own)}; the sources are others")
    path = build.corpus / ledger.LEDGER
    if path.is_file():
        in_force = {id: json.loads(one.to_json()) for id, one in ledger.read_ledger(path).items()}
        for source_id in sorted({*own} & {*in_force}):
            for field, old, new in inputs.differences(own[source_id], in_force[source_id]):
                say.notice(f"{source_id}: {_then_and_now(field, old, new)}")
    return f"{counted(len(own), 'row')}, {counted(len(build.record['inputs']), 'input')}"


def _then_and_now(field: str, old: Any, new: Any) -> str:
    was, now = inputs.spelled(old), inputs.spelled(new)
    if isinstance(old, list):
        return f"{field}: only when this was built: {was}; only in the ledger now: {now}"
    return f"{field} was {was} when this was built, the ledger says {now} now"


# splits


def splits(build: Opened, say: Say) -> str:
    """Each kept document is in the split that the rule gives it, computed anew."""
    table = build.config["split"]
    build.bad_rows(say, "audits", "one_split_per_text")
    if table.get("against"):
        raise Unchecked("[split] against: groups keep the split of an earlier build, which is not in this one")
    wrong, count = [], 0
    query = """
        select id, shards.sha256, relation_group, shards.split, shards.source_id, shards.lang
        from shards join documents using (id)
        order by id
    """
    strata = by_strata(build.stream(query, size=8192), table) if table.get("stratify") else {}
    for id, sha256, group, split, *_ in build.stream(query, size=8192):
        if table["method"] == "content_hash":
            wanted = by_content(sha256, table)
        else:
            wanted = strata[group] if strata else by_group(group, table)
        count += 1
        if split != wanted:
            wrong.append(f"{id} is in {split}, the rule says {wanted}")
    say.many("documents in the wrong split", wrong)
    return f"{count:,} documents, {table['method']}"


def by_content(sha256: bytes, table: dict) -> str:
    """The rule of content_hash: the first 8 bytes of the SHA-256 of the final text, modulo 1000."""
    return "val" if int.from_bytes(sha256[:8], "big") % 1000 < table["val_permille"] else "train"


def bucket(group: str, salt: str) -> int:
    """0 to 999: the first 8 bytes of the SHA-256 of salt, a zero byte and the group's name, modulo 1000."""
    return int.from_bytes(hashlib.sha256(f"{salt}\0{group}".encode()).digest()[:8], "big") % 1000


def by_group(group: str, table: dict) -> str:
    """The rule of group_hash: the bucket of the salted group, out of 1000."""
    return _cut(bucket(group, table["salt"]), table)


def by_strata(rows: Iterable[tuple], table: dict) -> dict[str, str]:
    """The rule of stratify: group -> split. rows: (id, _, group, _, source_id, lang), in order of id.

    A group is in the stratum of its smallest id; the groups of one are cut at the shares, by bucket and name.
    """
    strata: dict[tuple, list[tuple[int, str]]] = {}
    seen = set()
    for _, _, group, _, source_id, lang in rows:
        if group not in seen:
            seen.add(group)
            stratum = tuple({"source_id": source_id, "lang": lang}[key] for key in table["stratify"])
            strata.setdefault(stratum, []).append((bucket(group, table["salt"]), group))
    return {
        group: _cut(place * 1000, table, len(members))
        for members in strata.values()
        for place, (_, group) in enumerate(sorted(members, key=lambda one: (one[0], one[1].encode())))
    }


def _cut(place: int, table: dict, scale: int = 1) -> str:
    if place < table["train"] * scale:
        return "train"
    return "validation" if place < (table["train"] + table["validation"]) * scale else "test"


def groups(build: Opened, say: Say) -> str:
    """Relatives are in one group, and under group_hash no group crosses a split."""
    for stem in ("relatives_together", "groups_named", "parents", "pairs"):
        build.bad_rows(say, "reports", f"verify_{stem}")
    alone, _ = unconnected(
        build.rows("select a, b from pairs order by all"),
        build.stream("select relation_group, id from documents order by all", size=8192),
    )
    say.many("documents of a group that no pairs connect to the rest of it", alone)
    n = build.one("select count(distinct relation_group) from documents")
    if build.config["split"]["method"] == "group_hash":
        build.bad_rows(say, "reports", "verify_groups_in_one_split")
    else:
        crossing = build.one(
            """
            select count(*)
            from (
                select relation_group
                from documents
                where verdict = 'keep'
                group by relation_group
                having count(distinct split) > 1
            ) as crossing
            """
        )
        if crossing:
            say.notice(
                f"groups with documents on both sides of the split: {crossing:,}",
                'content_hash looks at texts alone; [split] method = "group_hash" keeps relatives together.',
            )
    return f"{n:,} groups"


def unconnected(pairs: Iterable[tuple[str, str]], placed: Iterable[tuple[Any, str]]) -> tuple[list[str], list[str]]:
    """Return the members that pairs do not connect to the first of their group, and the pairs that close a circle.

    pairs: (a, b). placed: (group, member), those of one group after each other.
    """
    above: dict[str, str] = {}

    def root(one: str) -> str:
        while (up := above.get(one, one)) != one:
            above[one] = one = above.get(up, up)
        return one

    circles = []
    for a, b in pairs:
        first, second = root(a), root(b)
        if first == second:
            circles.append(f"{a} and {b}")
        above[second] = first
    alone, group, first = [], object(), ""
    for named, member in placed:
        if named != group:
            group, first = named, root(member)
        elif root(member) != first:
            alone.append(member)
    return alone, circles


def shares(build: Opened, say: Say) -> str:
    """The share of each split is the one asked for, within what chance does to so many texts or groups."""
    table = build.config["split"]
    remedy = "Stratify, or take more data; a salt chosen by its result is no random split."
    if table["method"] == "content_hash":
        remedy = "Take more data, or a larger val_permille."
        unit, column, wanted = "texts", "sha256", {"val": table["val_permille"]}
    else:
        unit, column, wanted = (
            "groups",
            "relation_group",
            {split: table[split] for split in ("train", "validation", "test")},
        )
    total = build.one(f"select count(distinct {column}) from shards join documents using (id)")
    found = dict(
        build.rows(f"select shards.split, count(distinct {column}) from shards join documents using (id) group by all")
    )
    for split, permille in wanted.items():
        n = found.get(split, 0)
        if permille and not n and total:
            say.notice(f"the split {split} is empty, {permille / 10:g} % of {total:,} {unit} were asked for", remedy)
        elif total and tail(n, total, permille / 1000) < OUTSIDE / 2:
            say.notice(
                f"the split {split} has {n:,} of {total:,} {unit} ({100 * n / total:.2f} %), {permille / 10:g} % were "
                "asked for: chance alone does that less than once in a thousand builds",
                remedy,
            )
    return ", ".join(f"{split} {n:,}" for split, n in sorted(found.items())) + f" {unit}"


def tail(k: int, n: int, p: float) -> float:
    """Return the probability that a binomial variable is at k or further from its mean on the same side.

    Terms are added outward from k until they no longer count; exact to double precision, n to 10**9.
    """
    if p <= 0 or p >= 1:
        return 1.0 if k == n * p else 0.0
    step = -1 if k < n * p else 1
    log = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)
    term = total = math.exp(log)
    while 0 <= k + step <= n and term > total * 1e-17:
        term *= k / (n - k + 1) * (1 - p) / p if step < 0 else (n - k) / (k + 1) * p / (1 - p)
        k += step
        total += term
    return min(total, 1.0)


def duplicates(build: Opened, say: Say) -> str:
    """No two kept documents are copies where the build removed them; those on both sides of the split are counted."""
    stages, said = build.config["stages"], []
    build.bad_rows(say, "reports", "verify_witnesses")
    build.bad_rows(say, "audits", "survivors_kept")
    build.bad_rows(say, "reports", "verify_clusters")
    if "exact_dedup" in stages:
        build.bad_rows(say, "reports", "verify_no_exact_copies")
    else:
        said.append("exact copies were not removed")
    if "near_dedup" in stages:
        alone, circles = unconnected(
            build.rows("select a, b from pairs where kind = 'near' order by all"),
            build.stream(
                "select minhash_cluster, id from documents where row_index is not null order by all", size=8192
            ),
        )
        say.many("near pairs that close a circle, which are not recorded", circles)
        if not build.config["near_dedup"].get("max_bucket"):
            build.bad_rows(say, "reports", "verify_one_per_cluster")
            say.many("documents of a cluster that no near pairs connect to the rest of it", alone)
    else:
        said.append("near duplicates were not looked for")
    query = """
        select pairs.kind, count(*)
        from pairs
        join documents as first on first.id = pairs.a
        join documents as second on second.id = pairs.b
        where pairs.kind in ('exact', 'near') and first.split <> second.split
        group by all
    """
    across = dict(build.rows(query))
    for kind, words in (("exact", "the same text before the scrub"), ("near", "near duplicates")):
        if n := across.get(kind):
            say.notice(f"pairs of documents in different splits with {words}: {n:,}")
    return "; ".join(said) or "exact and near"


# personal data


def personal_data(build: Opened, say: Say) -> str:
    """The scrub finds nothing more in what was kept: it is run on the final texts again."""
    if "pii" not in build.config["stages"]:
        raise Unchecked("the stage pii is not in the build")
    kinds = parse_kinds(",".join(build.config["pii"]["kinds"]))
    found: list[str] = []

    def search(id: str, text: str) -> None:
        if spans := find_spans(text, kinds):
            found.append(f"{id} ({', '.join(dict.fromkeys(kind for kind, _, _ in spans))})")

    covered = over_sample(build, PII_CHARS, search)
    say.many("documents that still hold what the scrub looks for", found)
    return f"{', '.join(kinds)}; {covered}"


def over_sample(build: Opened, budget: int, look: Callable[[str, str], None]) -> str:
    """Look at every kept text, or at as many as the budget of code points allows; return what was covered.

    Those are the first by the SHA-256 of their ids, so the same for everybody.
    """
    total, chars = build.rows("select count(*), coalesce(sum(n_chars), 0) from shards")[0]
    if chars <= budget:
        for id, text in build.stream("select id, text from shards"):
            look(id, text)
        return f"all {total:,} documents"
    chosen = """
        from (select id, sum(n_chars) over (order by sha256(id), id rows unbounded preceding) as so_far from shards)
        where so_far <= ?
    """
    count = 0
    for id, text in build.stream(f"select id, text from shards where id in (select id {chosen})", [budget]):
        look(id, text)
        count += 1
    return f"{count:,} of {total:,} documents, by the hash of their ids"
