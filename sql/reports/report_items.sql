-- report_items: the protected items that most dropped documents share an n-gram with, and how much of them.
select
    item,
    count(*) as documents,
    n_ngrams,
    max(n_shared) as most,
    max(share) as largest_share
from contamination
join documents using (id)
where documents.reason = 'contaminated'
group by item, n_ngrams
order by documents desc, item
limit 20
