-- diff_hits: the rules that fired, with what the other build knows of the same document.
select
    asked.q as q,
    asked.pair as pair,
    asked.stage as stage,
    asked.side as side,
    unnest(decisions.hits) as hit,
    asked.a.id as id,
    asked.b.id as id_other,
    asked.a.lang as lang,
    asked.b.lang as lang_other,
    not raw_differs(asked.a, asked.b) as same_text
from asked
join before.decisions as decisions on decisions.id = asked.a.id and decisions.stage = asked.stage
where asked.side = 'a'
union all
select
    asked.q,
    asked.pair,
    asked.stage,
    asked.side,
    unnest(decisions.hits),
    asked.b.id,
    asked.a.id,
    asked.b.lang,
    asked.a.lang,
    not raw_differs(asked.a, asked.b)
from asked
join after.decisions as decisions on decisions.id = asked.b.id and decisions.stage = asked.stage
where asked.side = 'b'
