-- buckets: one row per bucket and document; a document is a candidate with all that share a bucket with it.
--
-- column: bucket BIGINT | the bucket
-- column: row_index BIGINT | a leader in it
select
    unnest(bands.buckets) as bucket,
    bands.row_index as row_index
from near_dedup.bands as bands
