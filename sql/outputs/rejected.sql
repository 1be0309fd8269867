-- rejected: the dropped documents with their text as it was when they were dropped.
--
-- column: id VARCHAR | the document
-- column: stage VARCHAR | the stage that dropped it
-- column: reason VARCHAR | why
-- column: source_id VARCHAR | the ledger's source id
-- column: lang VARCHAR | ISO 639-1, or und
-- column: url VARCHAR | where the document came from
-- column: text VARCHAR | its text; null where keep_rejected_text is false
select
    ends.id as id,
    ends.stage as stage,
    ends.reason as reason,
    documents.source_id as source_id,
    languages.lang as lang,
    documents.url as url,
    case when {{ config.keep_rejected_text }} then coalesce(scrubbed.text, documents.text) end as text
from outputs.ends as ends
join read.documents as documents using (id)
join relations.languages as languages using (id)
left join {{ if_stage("pii", "outputs.scrubbed", "outputs.not_scrubbed") }} as scrubbed using (id)
where ends.verdict = 'reject'
