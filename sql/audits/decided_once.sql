-- decided_once: No stage says two things of one document, and no document goes on after it was dropped.
select
    id,
    count(*) as decisions,
    count(distinct seq) as stages,
    count(*) filter (where verdict <> 'keep') as drops
from decisions
group by id
having count(*) <> count(distinct seq) or drops > 1 or (drops = 1 and arg_max(verdict, seq) = 'keep')
