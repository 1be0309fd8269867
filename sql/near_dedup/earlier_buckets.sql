-- earlier_buckets: the buckets that hold documents of both sides, and who is in them.
--
-- Both sides are numbered together: a document that enters is twice its row_index, an earlier one twice its place and 1.
--
-- column: bucket BIGINT | the bucket
-- column: number BIGINT | a document in it; even if it enters, odd if it is an earlier one
with
    earlier as (
        select unnest(buckets) as bucket, 2 * place + 1 as number
        from near_dedup.earlier_bands
    ),
    entering as (
        select bucket, 2 * row_index as number
        from near_dedup.buckets
    ),
    shared as (
        select distinct entering.bucket as bucket
        from entering
        join (select distinct bucket from earlier) as held on held.bucket = entering.bucket
    )
select earlier.bucket as bucket, earlier.number as number
from earlier
join shared on shared.bucket = earlier.bucket
union all
select entering.bucket as bucket, entering.number as number
from entering
join shared on shared.bucket = entering.bucket
