-- diff_fresh: the questions of `wanted` that nobody asked before, numbered on.
select
    (select count(*) from questions) + row_number() over (order by kind, pair, stage, side) as q,
    kind,
    pair,
    stage,
    side
from (
    select distinct kind, pair, stage, side
    from wanted
    where not exists (
        from questions as old
        where old.kind = wanted.kind
            and old.pair = wanted.pair
            and old.stage is not distinct from wanted.stage
            and old.side is not distinct from wanted.side
    )
)
