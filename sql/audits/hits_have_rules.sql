-- hits_have_rules: Each hit is of a rule that low(), high() or reject() made; a struct written by hand is none, use reject().
with
    fired as (
        select stage, unnest(hits) as hit, id
        from decisions
        where seq > 0
    )
select
    fired.stage,
    fired.hit.reason as reason,
    count(*) as hits,
    min(fired.id) as for_example
from fired
left join (select distinct stage, reason from rules) as known
    on known.stage = fired.stage and known.reason = fired.hit.reason
where fired.hit.reason is not null and known.reason is null
group by all
