-- candidates: the connected components of all candidate pairs, before any pair is verified.
--
-- stream: minhash_components
-- column: row_index BIGINT | a leader that shares a bucket with another
-- column: root BIGINT | the smallest row_index in its component
select
    shared.first_in as a,
    buckets.row_index as b
from near_dedup.buckets as buckets
join (
    select
        bucket,
        min(row_index) as first_in
    from near_dedup.buckets
    group by bucket
    having count(*) > 1
) as shared on shared.bucket = buckets.bucket
order by shared.first_in, buckets.row_index
