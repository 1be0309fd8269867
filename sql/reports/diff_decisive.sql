-- diff_decisive: of lines dropped in both builds by another rule, which stage has to be asked on which side.
--
-- Of two stages it is the one that came first: it fired in its build alone. Of two rules of one stage it is each one
-- that did not fire in the other build; where both fired in both, their order has changed.
with
    fell as (
        select
            facts_of.q as q,
            facts_of.pair as pair,
            facts_of.a as a,
            facts_of.b as b,
            list_transform(first.hits, lambda hit: hit.reason) as reasons_a,
            list_transform(second.hits, lambda hit: hit.reason) as reasons_b
        from facts_of
        left join before.decisions as first on first.id = facts_of.a.id and first.stage = facts_of.a.stage
        left join after.decisions as second on second.id = facts_of.b.id and second.stage = facts_of.b.stage
    ),
    new as (
        select
            *,
            not coalesce(list_contains(reasons_b, a.reason), false) as gone,
            not coalesce(list_contains(reasons_a, b.reason), false) as came
        from fell
    )
select q, 'judged' as kind, pair, a.stage as stage, 'a' as side
from new
where case when a.stage = b.stage then gone else a.seq < b.seq end
union all
select q, 'judged', pair, b.stage, 'b'
from new
where case when a.stage = b.stage then came or not gone else a.seq >= b.seq end
