-- ends: where each parsed document ended, one row per document.
--
-- column: id VARCHAR | the document
-- column: verdict VARCHAR | keep or reject
-- column: stage VARCHAR | the stage that dropped it, null when it was kept
-- column: reason VARCHAR | why it was dropped, null when it was kept
select
    documents.id as id,
    coalesce(decisions.verdict, 'keep') as verdict,
    decisions.stage as stage,
    decisions.reason as reason
from read.documents as documents
left join outputs.decisions as decisions
    on decisions.id = documents.id and decisions.verdict <> 'keep'
