-- sample_strata: kept documents by source, language and length band; a band begins at each of $bands, in code points.
select
    source_id,
    lang,
    len(list_filter($bands, lambda begin: begin <= n_chars)) as band,
    count(*) as documents
from documents
where verdict = 'keep'
group by all
order by all
