-- verify_groups_named: A group bears the smallest id in it, or a given group's name.
with
    named as (
        select
            relation_group,
            min(id) as smallest,
            count(*) filter (where group_id <> '') as given,
            bool_or(ends_with(relation_group, group_id)) as is_given
        from documents
        group by relation_group
    )
select relation_group, smallest
from named
where relation_group is null or (given = 0 and relation_group <> smallest) or (given > 0 and not is_given)
order by all
