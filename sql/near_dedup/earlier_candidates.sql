-- earlier_candidates: what such buckets connect, before any pair is verified.
--
-- stream: minhash_components
-- column: row_index BIGINT | a document, by its number
-- column: root BIGINT | the smallest number of its component
select
    firsts.number as a,
    buckets.number as b
from near_dedup.earlier_buckets as buckets
join (
    select bucket, min(number) as number
    from near_dedup.earlier_buckets
    group by bucket
) as firsts on firsts.bucket = buckets.bucket
order by firsts.number, buckets.number
