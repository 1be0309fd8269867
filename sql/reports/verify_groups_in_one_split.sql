-- verify_groups_in_one_split: No group crosses a split.
select
    relation_group,
    list(distinct split order by split) as splits,
    list(id order by id)[:3] as ids
from documents
where verdict = 'keep'
group by relation_group
having count(distinct split) > 1
order by relation_group
