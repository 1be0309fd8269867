-- diff_unlike: the targets that enter their stage in one build only, or with another text, and what to ask of each.
with
    entered as (
        select
            targets.q as q,
            targets.pair as pair,
            lines.a as a,
            lines.b as b,
            coalesce(lines.a.seq >= first.seq, false) as entered_a,
            coalesce(lines.b.seq >= second.seq, false) as entered_b
        from targets
        join lines using (pair)
        left join before.stage_order as first on first.stage = targets.stage
        left join after.stage_order as second on second.stage = targets.stage
    )
select
    q,
    case
        when a is null or b is null then 'line'
        when a.verdict = 'quarantine' and a.seq = 0 or b.verdict = 'quarantine' and b.seq = 0 then 'judged'
        when entered_a <> entered_b then 'judged'
        else 'text'
    end as kind,
    pair,
    case
        when a is null or b is null then null
        when a.verdict = 'quarantine' and a.seq = 0 or b.verdict = 'quarantine' and b.seq = 0 then 'read'
        when entered_a and not entered_b then b.stage
        when entered_b and not entered_a then a.stage
    end as stage,
    case
        when a is null then 'b'
        when b is null then 'a'
        when a.verdict = 'quarantine' and a.seq = 0 then 'a'
        when b.verdict = 'quarantine' and b.seq = 0 then 'b'
        when entered_a and not entered_b then 'b'
        when entered_b and not entered_a then 'a'
    end as side
from entered
where a is null
    or b is null
    or entered_a <> entered_b
    or (raw_differs(a, b) and (a.verdict <> 'quarantine' or b.verdict <> 'quarantine'))
