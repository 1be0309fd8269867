-- report_range: where the values of one measure lie, by language.
select
    labelled.lang,
    count(*) as documents,
    count(*) filter (where isfinite(measured.value)) as measured,
    min(measured.value) filter (where isfinite(measured.value)) as least,
    quantile_disc(measured.value, 0.5) filter (where isfinite(measured.value)) as median,
    quantile_disc(measured.value, 0.995) filter (where isfinite(measured.value)) as high,
    max(measured.value) filter (where isfinite(measured.value)) as most
from (select id, {{ label }} as lang from {{ labels }}) as labelled
left join (select id, {{ measure }}::double as value from {{ table }}) as measured using (id)
where list_contains($languages, labelled.lang)
group by labelled.lang
order by documents desc, labelled.lang
