-- diff_steps: how each question that others rest on reads on the way to an answer.
select
    questions.q as q,
    case
        when kind = 'judged' and side = 'a' then a.id || ': ' || concat_ws(' ', questions.stage, a.reason)
        when kind = 'judged' then b.id || ': ' || concat_ws(' ', questions.stage, b.reason)
        when kind = 'line' then coalesce(b.id, a.id) || case when a is null then ': added' else ': removed' end
        when kind in ('text', 'scrub') then b.id || ': text'
    end as step
from questions
join lines using (pair)
where questions.q in (select next from links)
