-- report_pii_languages: documents with a placeholder, of the kept documents of each language.
select lang, count(*) as documents, count(*) filter (where pii_redactions > 0) as scrubbed, sum(pii_redactions)::bigint as placeholders
from shards
group by lang
order by documents desc, lang
