-- verify_places: The n-th kept document in id order is the n-th row of the shards, where the audit table says it is.
select
    placed.id,
    placed.shard,
    placed.shard_row
from (
    select id, shard, shard_row, row_number() over (order by id) - 1 as place
    from documents
    where verdict = 'keep'
) as placed
left join shard_list on shard_list.name = placed.shard
where shard_list.first_row + placed.shard_row is distinct from placed.place or placed.shard_row >= shard_list."rows"
order by placed.id
