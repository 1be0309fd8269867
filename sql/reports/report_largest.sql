-- report_largest: the five largest clusters of near duplicates, each by its first member.
select
    min(id) as first_id,
    count(*) as size,
    count(distinct source_id) as sources,
    count(*) filter (where verdict = 'keep') as kept
from documents
where row_index is not null
group by minhash_cluster
having count(*) > 1
order by size desc, first_id
limit 5
