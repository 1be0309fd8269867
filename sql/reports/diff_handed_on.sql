-- diff_handed_on: answers that a question gets from those it rests on, each with the shortest way it came.
with
    ways as (
        select
            links.q as q,
            answers.c as c,
            case
                when steps.step is null or asking.kind = 'reason' then answers.via
                else list_prepend(steps.step, answers.via)
            end as way
        from links
        join questions as asking on asking.q = links.q
        join answers on answers.q = links.next
        join steps on steps.q = links.next
        where not exists (from answers as old where old.q = links.q and old.c = answers.c)
    )
select
    q,
    c,
    min(row(len(way), way))[2] as via
from ways
group by q, c
