-- outcomes: where each parsed document ended, and where it lies in the shards.
--
-- column: id VARCHAR | the document
-- column: verdict VARCHAR | keep or reject
-- column: stage VARCHAR | the stage that dropped it, null when it was kept
-- column: reason VARCHAR | why it was dropped, null when it was kept
-- column: survivor VARCHAR | of a removed copy, what is in the corpus in its stead; null where there is none
-- column: shard VARCHAR | the shard that holds it
-- column: shard_row BIGINT | its row there, from 0
-- column: split VARCHAR | its split
with
    count_of_shards as (
        select greatest((count(*) + {{ config.shard_rows }} - 1) // {{ config.shard_rows }}, 1) as n_shards
        from outputs.kept
    ),
    numbers as (
        select
            id,
            cast(place // {{ config.shard_rows }} as varchar) as shard,
            cast(n_shards as varchar) as of_shards,
            place % {{ config.shard_rows }} as shard_row
        from outputs.kept
        cross join count_of_shards
    ),
    placed as (
        select
            id,
            'shard-' || lpad(shard, cast(greatest(5, length(shard)) as integer), '0') || '-of-'
                || lpad(of_shards, cast(greatest(5, length(of_shards)) as integer), '0') || '.parquet' as shard,
            shard_row
        from numbers
    )
select
    ends.id as id,
    ends.verdict as verdict,
    ends.stage as stage,
    ends.reason as reason,
    survivors.survivor as survivor,
    placed.shard as shard,
    placed.shard_row as shard_row,
    splits.split as split
from outputs.ends as ends
left join placed using (id)
left join outputs.survivors as survivors using (id)
left join {{ splits }} as splits using (id)
