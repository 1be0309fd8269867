-- report_clusters: how many clusters of each size there are, by what makes them.
-- exact: the same content hash, over all parsed documents; near: the same cluster, over those that entered the
-- near-duplicate stage; related: connected by any relation.
with members as (
    select 'exact' as kind, cast(content_hash64 as varchar) as cluster, id
    from documents
    union all
    select 'near' as kind, cast(minhash_cluster as varchar) as cluster, id
    from documents
    where row_index is not null
    union all
    select 'related' as kind, relation_group as cluster, id
    from documents
    where relation_group is not null
)
select kind, size, count(*) as clusters
from (select kind, cluster, count(*) as size from members group by kind, cluster) as sizes
where size > 1
group by kind, size
order by kind, size
