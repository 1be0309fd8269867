-- report_histogram: documents of some languages by the value of one measure, in steps from $low, $n of them.
-- Values outside the steps are counted in the first or last; with $log the steps are in log10(1 + value). `beyond`
-- counts those that the rule of their language drops: below its minimum or above its maximum, both strict.
with
    limits as (
        select unnest($languages) as lang, unnest($minima) as minimum, unnest($maxima) as maximum
    ),
    measured as (
        select
            labelled.lang,
            own.value,
            case when $log then log10(1 + greatest(own.value, 0)) else own.value end as x,
            coalesce(own.value < limits.minimum, false) or coalesce(own.value > limits.maximum, false) as beyond
        from (select id, {{ label }} as lang from {{ labels }}) as labelled
        join (select id, {{ measure }}::double as value from {{ table }}) as own using (id)
        join limits using (lang)
        where isfinite(own.value)
    )
select
    lang,
    greatest(0, least($n - 1, floor((x - $low) / $step)))::integer as bin,
    count(*) as documents,
    count(*) filter (where beyond) as beyond
from measured
group by lang, bin
order by lang, bin
