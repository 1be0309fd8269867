-- report_hits: the rule that decided on some documents, with its value, threshold and witness.
select id, reason, metric, value, threshold, witness
from decisions
where verdict <> 'keep' and list_contains($ids, id)
order by id
