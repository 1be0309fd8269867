-- verify_clusters: Row indexes ascend with the ids, a cluster bears the smallest of its own, and near duplicates share one.
select
    id,
    row_index,
    minhash_cluster
from (
    select
        id,
        row_index,
        minhash_cluster,
        lag(row_index) over (order by id) as before,
        min(row_index) over (partition by minhash_cluster) as smallest
    from documents
    where row_index is not null
) as numbered
where row_index <= before or minhash_cluster is distinct from smallest
union all
select second.id, second.row_index, second.minhash_cluster
from pairs
join documents as first on first.id = pairs.a
join documents as second on second.id = pairs.b
where
    pairs.kind = 'near'
    and first.row_index is not null
    and second.row_index is not null
    and first.minhash_cluster <> second.minhash_cluster
order by id
