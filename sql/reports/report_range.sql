-- report_range: where the values of one measure lie, by language.
select
    documents.lang,
    count(*) as documents,
    count(*) filter (where isfinite(measured.value)) as measured,
    min(measured.value) filter (where isfinite(measured.value)) as least,
    quantile_disc(measured.value, 0.5) filter (where isfinite(measured.value)) as median,
    quantile_disc(measured.value, 0.995) filter (where isfinite(measured.value)) as high,
    max(measured.value) filter (where isfinite(measured.value)) as most
from documents
left join (select id, {{ measure }}::double as value from {{ table }}) as measured using (id)
where list_contains($languages, documents.lang)
group by documents.lang
order by documents desc, documents.lang
