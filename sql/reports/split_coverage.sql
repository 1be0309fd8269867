-- split_coverage: Groups, documents and characters of each split, in all, by source, by language and by both.
-- source_id or lang is null where it is left open.
select
    shards.split,
    shards.source_id,
    shards.lang,
    count(distinct documents.relation_group) as groups,
    count(*) as documents,
    sum(shards.n_chars)::bigint as characters
from shards
join documents using (id)
group by grouping sets ((shards.split), (shards.split, shards.source_id), (shards.split, shards.lang), (shards.split, shards.source_id, shards.lang))
order by shards.source_id nulls first, shards.lang nulls first, shards.split
