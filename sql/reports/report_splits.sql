-- report_splits: documents, groups and characters of each split.
-- A group is a connected component of all known relations; groups with no kept document are in no split.
select
    shards.split,
    count(*) as documents,
    count(distinct documents.relation_group) as groups,
    sum(shards.n_chars)::bigint as chars
from shards
join documents using (id)
group by shards.split
order by shards.split
