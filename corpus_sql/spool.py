"""Put rows with long texts into the order of their ids without holding them.

An engine's ORDER BY carries the whole row through its sort: 1.2 GB of texts did not sort within 512 MB. Here the order
is worked out over ids and lengths alone; the rows stream by once, each into its stretch of the order in one file, and
come back stretch by stretch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_sql import limits
from corpus_sql.engine_duckdb import DuckDB

STRETCH_BYTES = 16 << 20  # about what is held at once
DOCUMENTS = "select id, place, size from outputs.facts"
QUARANTINE = "select id, row_number() over (order by id) - 1 as place, octet_length(raw) as size from read.quarantine"


def in_id_order(engine: DuckDB, sql: str, keys: str, file: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a query that has a column `id`, in byte order of it; the file is used meanwhile.

    keys: a query of (id, place, size), place being 0, 1, 2, … in id order, size about the bytes of the row.
    """
    sizes = [batch.column(0).to_numpy() for batch in engine.rows(f"select size from ({keys}) as keys order by place")]
    ends = np.cumsum(np.concatenate(sizes)) if sizes else np.zeros(0, np.int64)
    of_place = (ends - 1) // STRETCH_BYTES if len(ends) else ends  # place -> its stretch
    placed = f"select keys.place as place, model.* from (\n{sql}\n) as model join ({keys}) as keys using (id)"
    rows = engine.rows(placed, streaming=True)
    try:
        yield from _sorted(rows, of_place, file)
    finally:
        file.unlink(missing_ok=True)


def _sorted(rows: Iterable[pa.RecordBatch], of_place: np.ndarray, file: Path) -> Iterator[pa.RecordBatch]:
    pieces: dict[int, list[tuple[int, int]]] = {}  # stretch -> (offset, length) of its pieces
    schema = None
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "wb") as out:
        for batch in rows:
            schema = batch.schema
            places = batch.column(0).to_numpy()
            order = np.argsort(places, kind="stable")
            batch = batch.take(pa.array(order))
            stretches = of_place[places[order]]
            cuts = [0, *(np.flatnonzero(np.diff(stretches)) + 1).tolist(), len(stretches)]
            for start, end in zip(cuts[:-1], cuts[1:], strict=True):
                if end > start:
                    at = out.tell()
                    with limits.writing(file.parent, ", or point [paths] work elsewhere"):
                        size = out.write(batch.slice(start, end - start).serialize())
                    pieces.setdefault(int(stretches[start]), []).append((at, size))
    with open(file, "rb") as back:
        for stretch in sorted(pieces):
            found = []
            for at, size in pieces[stretch]:
                back.seek(at)
                found.append(pa.ipc.read_record_batch(pa.py_buffer(back.read(size)), schema))
            table = pa.Table.from_batches(found)
            order = np.argsort(table.column(0).to_numpy(), kind="stable")
            yield from table.take(pa.array(order)).combine_chunks().drop_columns(["place"]).to_batches()
