-- verify_hits: The first hit decided, a keep has none, and a value lies on the side of the threshold that its reason names.
select id, stage, reason, value, threshold
from decisions
where
    verdict is distinct from coalesce(hits[1].verdict, 'keep')
    or (reason, metric, value, threshold, witness)
        is distinct from (hits[1].reason, hits[1].metric, hits[1].value, hits[1].threshold, hits[1].witness)
    or len(list_filter(hits, lambda h: starts_with(h.reason, 'low_') and h.value >= h.threshold)) > 0
    or len(list_filter(hits, lambda h: starts_with(h.reason, 'high_') and h.value <= h.threshold)) > 0
order by id, seq
