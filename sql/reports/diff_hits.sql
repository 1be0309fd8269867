-- diff_hits: the rules that fired in one build alone, with what the other build knows of the same document.
with
    fired as (
        select
            asked.q as q,
            asked.side as of,
            first.hits as hits_a,
            second.hits as hits_b
        from asked
        left join before.decisions as first on first.id = asked.a.id and first.stage = asked.stage
        left join after.decisions as second on second.id = asked.b.id and second.stage = asked.stage
    ),
    apart as (
        select
            q,
            unnest(case of when 'a' then hits_a else hits_b end) as hit,
            list_transform(case of when 'a' then hits_b else hits_a end, lambda hit: hit.reason) as also
        from fired
    )
select
    asked.q as q,
    asked.pair as pair,
    asked.stage as stage,
    asked.side as side,
    apart.hit as hit,
    case asked.side when 'a' then asked.a.id else asked.b.id end as id,
    case asked.side when 'a' then asked.b.id else asked.a.id end as id_other,
    case asked.side when 'a' then asked.a.lang else asked.b.lang end as lang,
    case asked.side when 'a' then asked.b.lang else asked.a.lang end as lang_other,
    not raw_differs(asked.a, asked.b) as same_text
from asked
join apart using (q)
where not coalesce(list_contains(apart.also, apart.hit.reason), false)
