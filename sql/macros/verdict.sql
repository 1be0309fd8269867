{#- The only place that says keep: the first hit decides, a document without a hit is kept. -#}
select
    id,
    coalesce(hits[1].verdict, 'keep') as verdict,
    hits
from (
{{ stage_sql }}
) as judged
