-- report_samples: two dropped texts for each reason, the first by the MD5 of their ids, cut to 600 characters.
select stage, reason, id, lang, text, n_chars
from (
    select
        rejected.stage,
        rejected.reason,
        rejected.id,
        rejected.lang,
        left(rejected.text, 600) as text,
        documents.n_chars,
        row_number() over (partition by rejected.stage, rejected.reason order by md5(rejected.id), rejected.id) as place
    from rejected
    join documents using (id)
) as numbered
where place <= 2
order by stage, reason, place
