-- report_survivors: how many copies were removed, and of how many none is in the corpus, by what they were copies as.
select
    reason,
    count(*) as copies,
    count(*) - count(survivor) as without
from documents
where reason in ('exact_duplicate', 'near_duplicate')
group by reason
order by reason
