-- report_samples: two dropped texts for each reason, the first by the MD5 of their ids, cut to 600 characters.
-- The ids are picked first, so that no text is held that is not shown.
with picked as (
    select id
    from rejected
    qualify row_number() over (partition by stage, reason order by md5(id), id) <= 2
)
select
    rejected.stage,
    rejected.reason,
    rejected.id,
    rejected.lang,
    left(rejected.text, 600) as text,
    documents.n_chars
from rejected
join picked using (id)
join documents using (id)
order by rejected.stage, rejected.reason, md5(rejected.id), rejected.id
