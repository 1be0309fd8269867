-- diff_totals: kept documents and the characters of their final texts, per source and language, before and after.
--
-- Tokens are null: a build that was not packed has none counted.
with
    counted as (
        select source_id, lang, 'before' as build, n_chars from before.shards
        union all
        select source_id, lang, 'after' as build, n_chars from after.shards
    )
select
    source_id,
    lang,
    count(*) filter (where build = 'before') as documents_before,
    count(*) filter (where build = 'after') as documents_after,
    coalesce(sum(n_chars) filter (where build = 'before'), 0) :: bigint as characters_before,
    coalesce(sum(n_chars) filter (where build = 'after'), 0) :: bigint as characters_after,
    cast(null as bigint) as tokens_before,
    cast(null as bigint) as tokens_after
from counted
group by source_id, lang
order by source_id, lang
