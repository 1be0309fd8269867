-- groups: the group of each document: all that is connected by any relation, dropped documents included.
--
-- column: id VARCHAR | the document
-- column: relation_group VARCHAR | the smallest given group in it, else its smallest id
with
    members as (
        select
            numbered.id as id,
            coalesce(components.root, numbered.place) as root,
            given_groups.group_name as group_name
        from relations.numbered as numbered
        left join relations.components as components on components.row_index = numbered.place
        left join relations.given_groups as given_groups on given_groups.id = numbered.id
    )
select
    id,
    coalesce(min(group_name) over (partition by root), min(id) over (partition by root)) as relation_group
from members
