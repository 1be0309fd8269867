{#- The only place that says keep: the first hit decides, a document without a hit is kept. -#}
{%- from "hits.sql" import is_finite -%}
select
    id,
    coalesce(list_filter(hits, lambda h: {{ is_finite("h.value") }})[1].verdict, 'keep') as verdict,
    hits
from (
{{ stage_sql }}
) as judged
