-- diff_causes: the changes by their cause, the most frequent first.
select
    change,
    stage,
    cause,
    key,
    old,
    new,
    count(*) as documents,
    count(*) filter (where change = 'verdict' and now = 'keep') as newly_kept,
    count(*) filter (where change = 'verdict' and was = 'keep') as newly_dropped
from found
group by change, stage, cause, key, old, new
order by documents desc, change, stage, cause, key, old, new
