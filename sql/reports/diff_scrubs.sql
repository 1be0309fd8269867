-- diff_scrubs: the kinds of personal data that the scrub found in one build only, of each document in question.
with
    spans as (
        select q, kind, start_char, end_char, 1 as n
        from facts_of
        join before.pii on pii.id = facts_of.a.id
        union all
        select q, kind, start_char, end_char, -1 as n
        from facts_of
        join after.pii on pii.id = facts_of.b.id
    ),
    other as (
        select q, kind
        from spans
        group by q, kind, start_char, end_char
        having sum(n) <> 0
    )
select
    facts_of.q as q,
    coalesce((select list(distinct kind order by kind) from other where other.q = facts_of.q), []) as kinds,
    facts_of.a.file as file_a,
    facts_of.b.file as file_b
from facts_of
