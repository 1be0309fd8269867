-- decisions_match: The decisions of each stage are as many as the reconciliation counted.
with
    decided as (
        select
            seq,
            count(*) filter (where verdict = 'keep') as kept,
            count(*) filter (where verdict = 'reject') as rejected,
            count(*) filter (where verdict = 'quarantine') as quarantined
        from decisions
        group by seq
    )
select
    reconciliation.stage,
    decided.*
from reconciliation
left join decided using (seq)
where
    reconciliation.source_id is null
    and (reconciliation.kept, reconciliation.rejected, reconciliation.quarantined)
        is distinct from (coalesce(decided.kept, 0), coalesce(decided.rejected, 0), coalesce(decided.quarantined, 0))
