-- diff_links: who asked which question of `wanted`.
select distinct
    wanted.q as q,
    questions.q as next
from wanted
join questions
    on questions.kind = wanted.kind
    and questions.pair = wanted.pair
    and questions.stage is not distinct from wanted.stage
    and questions.side is not distinct from wanted.side
where wanted.q is not null and wanted.q <> questions.q
