-- chain_unbroken: What one stage kept is what the next one was given.
select
    later.stage,
    later.source_id,
    later.entered,
    earlier.kept as kept_before
from reconciliation as later
join reconciliation as earlier
    on earlier.seq = later.seq - 1 and earlier.source_id is not distinct from later.source_id
where later.entered <> earlier.kept
