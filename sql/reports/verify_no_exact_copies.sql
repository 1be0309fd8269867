-- verify_no_exact_copies: Of equal texts one is kept.
select
    list(id order by id)[:3] as ids
from documents
where verdict = 'keep'
group by content_hash64
having count(*) > 1
order by ids
