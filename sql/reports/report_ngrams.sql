-- report_ngrams: the n-grams of protected items that dropped most documents: each document's first.
select
    ngram,
    min(item) as item,
    count(distinct id) as documents
from (
    select id, item, ngram
    from contamination
    qualify row_number() over (partition by id order by start_char, item) = 1
) as firsts
join documents using (id)
where documents.reason = 'contaminated' and ngram is not null
group by ngram
order by documents desc, ngram
limit 20
