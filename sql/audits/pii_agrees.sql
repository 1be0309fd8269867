-- pii_agrees: As many places were scrubbed in a kept document as it has redactions.
select shards.id, shards.pii_redactions, count(pii.id) as places
from shards
left join pii using (id)
group by all
having shards.pii_redactions <> count(pii.id)
