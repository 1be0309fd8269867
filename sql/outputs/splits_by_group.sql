-- splits_by_group: the bucket of the group's name decides, so that related documents stay on one side.
--
-- column: id VARCHAR | the document
-- column: split VARCHAR | train, validation or test
with
    buckets as (
        select
            kept.id as id,
            content_split_bucket(groups.relation_group, {{ sql_list([config.split.salt]) }}) as bucket
        from outputs.kept as kept
        join relations.groups as groups using (id)
    )
select
    id,
    case
        when bucket < {{ config.split.train }} then 'train'
        when bucket < {{ config.split.train + config.split.validation }} then 'validation'
        else 'test'
    end as split
from buckets
