"""How fast is a build, against the least that DuckDB itself needs for the same files?

    python tests/bench/bench.py ARTIFACTS [--threads 2] [--memory 2GB] [--protected FILE] [--stages a,b] [--repeat N]

ARTIFACTS is a folder with corpus/LEDGER.jsonl and corpus/raw/. Nothing is written to it: a project in a temporary
folder links to it.

Floor: DuckDB alone reads the same files (read_json with the four columns of a raw document), takes the SHA-256 of each
text, sorts by id and writes one zstd Parquet file. Nobody can build a corpus from these files with DuckDB for less.
Build: `corpus-sql run --no-cache` with an empty work folder. Compiled kernels are warm: a run with a few documents goes
before. Both run in processes of their own, so that peak memory is that of one run. Of several runs the fastest counts.

Printed: wall and CPU seconds, peak memory, documents a second, MB of text a second, the ratio to the floor, and the
seconds of each step as run.json tells them. Numbers of a machine that does something else at the same time say little.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

FLOOR = """
import duckdb, sys
files, out, threads, memory = sys.argv[1].split(","), sys.argv[2], sys.argv[3], sys.argv[4]
connection = duckdb.connect(config={"threads": threads, "memory_limit": memory})
connection.execute(f"set temp_directory = '{out}.spill'")
connection.execute('''
    copy (
        select
            concat(filename, ':', lpad(cast(row_number() over (partition by filename) as varchar), 12, '0')) as id,
            "text", url, fetched_at, license_spdx, sha256("text") as sha256, length("text") as n_chars
        from read_json(
            ?, format = 'newline_delimited', filename = true, maximum_object_size = 67108864, ignore_errors = true,
            columns = {'url': 'VARCHAR', 'fetched_at': 'VARCHAR', 'license_spdx': 'VARCHAR', 'text': 'VARCHAR'}
        )
        order by id
    ) to ''' + "'" + out + "' (format parquet, compression zstd)", [files])
"""


@dataclass
class Cost:
    """What one process took. wall, cpu: seconds; memory: bytes at the peak."""

    wall: float
    cpu: float
    memory: int


def timed(command: list[str], **options: object) -> Cost:
    """Run a process to its end; raises when it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command[:4])} failed:\n{said[-2000:]}")
    return Cost(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def sources(artifacts: Path) -> dict[str, list[Path]]:
    """Return source id -> raw files, by the ledger."""
    rows = [
        json.loads(line) for line in (artifacts / "corpus" / "LEDGER.jsonl").read_text("utf-8").splitlines() if line
    ]
    return {row["source_id"]: [artifacts / "corpus" / "raw" / one["path"] for one in row["files"]] for row in rows}


def project(folder: Path, artifacts: Path, names: list[str], stages: list[str], protected: Path | None) -> Path:
    """Write a project over the artifacts; return its config."""
    (folder / "artifacts" / "corpus").mkdir(parents=True)
    for name in ("LEDGER.jsonl", "raw"):
        (folder / "artifacts" / "corpus" / name).symlink_to(artifacts / "corpus" / name)
    if protected is None:
        stages = [stage for stage in stages if stage != "decontaminate"]
    config = folder / "corpus.toml"
    config.write_text(
        f'dataset = "bench"\nversion = "v1"\nsources = {json.dumps(names)}\nstages = {json.dumps(stages)}\n'
        '[lang]\nkeep = ["zh", "en", "hi"]\n'
        + (f"[decontaminate]\nprotected = {json.dumps([str(protected.absolute())])}\n" if protected else "")
    )
    return config


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifacts", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--protected", type=Path, help="JSON Lines with id and text; without it no decontamination")
    parser.add_argument("--stages", default="lang,gopher,repetition,ppl,exact_dedup,near_dedup,decontaminate,pii")
    parser.add_argument("--repeat", type=int, default=1)
    chosen = parser.parse_args()
    artifacts = chosen.artifacts.absolute()
    files = sources(artifacts)
    stages = [stage for stage in chosen.stages.split(",") if stage]

    floors, builds, runs = [], [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        smallest = min(files, key=lambda name: sum(path.stat().st_size for path in files[name]))
        warm = project(folder / "warm", artifacts, [smallest], stages, chosen.protected)
        common = ["--threads", str(chosen.threads), "--memory", chosen.memory]
        timed([sys.executable, "-m", "corpus_sql", "run", str(warm), *common])
        for turn in range(chosen.repeat):
            paths = ",".join(str(path) for own in files.values() for path in own)
            out = folder / f"floor-{turn}.parquet"
            floors.append(timed([sys.executable, "-c", FLOOR, paths, str(out), str(chosen.threads), chosen.memory]))
            config = project(folder / f"run-{turn}", artifacts, list(files), stages, chosen.protected)
            builds.append(timed([sys.executable, "-m", "corpus_sql", "run", str(config), "--no-cache", *common]))
            version = config.parent / "artifacts" / "corpus" / "bench" / "v1"
            runs.append(json.loads((version / "_audit" / "run.json").read_text()))
        n_docs, n_bytes, n_kept = counts(version)
    floor = min(floors, key=lambda cost: cost.wall)
    best = min(range(chosen.repeat), key=lambda turn: builds[turn].wall)
    report(floor, builds[best], runs[best]["seconds"], n_docs, n_bytes, n_kept)


def counts(version: Path) -> tuple[int, int, int]:
    """Return the documents, the UTF-8 bytes of their texts (those kept after the scrub), and the documents kept."""
    from corpus_sql.explain import open_build

    with open_build(version) as connection:
        kept = connection.execute("select count(*) from shards").fetchone()[0]
        texts = "(select text from shards union all select text from rejected)"
        n_docs, n_bytes = connection.execute(f"select count(*), coalesce(sum(strlen(text)), 0) from {texts}").fetchone()
    return n_docs, n_bytes, kept


def report(floor: Cost, build: Cost, seconds: dict[str, float], n_docs: int, n_bytes: int, n_kept: int) -> None:
    print(f"{n_docs:,} documents, {n_bytes / 1e6:.1f} MB of text, {n_kept:,} kept\n")
    print(f"{'':8} {'wall s':>8} {'CPU s':>8} {'peak MB':>8} {'docs/s':>9} {'MB/s':>8}")
    for name, cost in (("floor", floor), ("build", build)):
        rates = f"{n_docs / cost.wall:>9,.0f} {n_bytes / 1e6 / cost.wall:>8.2f}"
        print(f"{name:8} {cost.wall:>8.2f} {cost.cpu:>8.2f} {cost.memory / 1e6:>8.0f} {rates}")
    print(
        f"{'ratio':8} {build.wall / floor.wall:>8.1f} {build.cpu / floor.cpu:>8.1f} "
        f"{build.memory / floor.memory:>8.1f}\n"
    )
    for name, spent in sorted(seconds.items(), key=lambda item: -item[1]):
        if spent >= 0.02:
            print(f"{spent:>8.2f} s  {name}")
    print(f"{build.wall - sum(seconds.values()):>8.2f} s  (start, gate, plan, hashes, end)")


if __name__ == "__main__":
    main()
