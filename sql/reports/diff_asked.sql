-- diff_asked: the first questions, one for each change.
select
    cast(null as bigint) as q,
    case
        when change in ('added', 'removed') then 'line'
        when change = 'verdict' then 'judged'
        when change = 'text' and stage = 'pii' then 'scrub'
        else change
    end as kind,
    pair,
    case when change = 'verdict' then stage end as stage,
    side
from changes
