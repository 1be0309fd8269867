-- pairs_within_groups: The two ends of every pair lie in one group.
select pairs.a, pairs.b, pairs.kind
from pairs
left join documents as first on first.id = pairs.a
left join documents as second on second.id = pairs.b
where first.relation_group is distinct from second.relation_group
order by pairs.a, pairs.b, pairs.kind
