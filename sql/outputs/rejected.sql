-- rejected: the dropped documents with their text as it was when they were dropped.
--
-- column: id VARCHAR | the document
-- column: stage VARCHAR | the stage that dropped it
-- column: reason VARCHAR | why
-- column: source_id VARCHAR | the ledger's source id
-- column: lang VARCHAR | ISO 639-1, or und
-- column: url VARCHAR | where the document came from
-- column: text VARCHAR | its text; null where keep_rejected_text is false
with
    scrubbed as (
        select
            scrubbed.id as id,
            scrubbed.text as text
        from {{ if_stage("pii", "outputs.scrubbed", "outputs.not_scrubbed") }} as scrubbed
        join outputs.outcomes as outcomes using (id)
        where scrubbed.text is not null and outcomes.verdict = 'reject'
    )
select
    documents.id as id,
    outcomes.stage as stage,
    outcomes.reason as reason,
    documents.source_id as source_id,
    facts.lang as lang,
    documents.url as url,
    case when {{ config.keep_rejected_text }} then coalesce(scrubbed.text, documents.text) end as text
from read.documents as documents
join outputs.outcomes as outcomes using (id)
join outputs.facts as facts using (id)
left join scrubbed using (id)
where outcomes.verdict = 'reject'
