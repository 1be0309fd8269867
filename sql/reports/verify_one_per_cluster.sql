-- verify_one_per_cluster: Of a cluster of near duplicates one is kept, and of two near duplicates at most one.
select list(id order by id)[:3] as ids
from shards
group by minhash_cluster
having count(*) > 1
union all
select [a, b] as ids
from pairs
join documents as first on first.id = a
join documents as second on second.id = b
where kind = 'near' and first.verdict = 'keep' and second.verdict = 'keep'
