-- earlier_touched: for each leader, the first earlier document that it is a near duplicate of.
--
-- Compared are the text of the document and the final text of the earlier one, in order of the earlier names, until
-- the exact Jaccard similarity reaches the threshold.
--
-- stream: against_verify jaccard_threshold={{ config.near_dedup.jaccard_threshold }} shingle={{ config.near_dedup.shingle }} max_bucket={{ config.near_dedup.get("max_bucket") | tojson }}
-- column: row_index BIGINT | the document's place in id order
-- column: place BIGINT | the earlier document's place in order of the names
-- column: jaccard DOUBLE | similarity of their sets of shingles
with
    documents as (
        select 2 * bands.row_index as number, bands.buckets as buckets, documents."text" as "text"
        from near_dedup.bands as bands
        join read.documents as documents on documents.id = bands.id
        union all
        select 2 * bands.place + 1 as number, bands.buckets as buckets, earlier."text" as "text"
        from near_dedup.earlier_bands as bands
        join read.earlier as earlier on earlier.name = bands.name
    )
select
    candidates.root as component,
    candidates.row_index as number,
    documents.buckets as buckets,
    documents."text" as "text"
from near_dedup.earlier_candidates as candidates
join documents on documents.number = candidates.row_index
order by candidates.root, candidates.row_index
