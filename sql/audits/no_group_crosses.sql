-- no_group_crosses: Under group_hash no group lies in two splits.
-- `val` is a split of content_hash alone, which draws documents, not groups.
select relation_group, count(distinct split) as splits
from documents
where split is not null and not exists (from documents where split = 'val')
group by relation_group
having count(distinct split) > 1
order by relation_group
