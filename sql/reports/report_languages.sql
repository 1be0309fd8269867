-- report_languages: documents and characters of each language, as read and as kept.
select
    read.lang,
    read.documents,
    read.chars,
    coalesce(kept.documents, 0) as kept,
    coalesce(kept.chars, 0) as chars_kept
from (select lang, count(*) as documents, sum(n_chars)::bigint as chars from documents group by lang) as read
left join (select lang, count(*) as documents, sum(n_chars)::bigint as chars from shards group by lang) as kept using (lang)
order by read.documents desc, read.lang
