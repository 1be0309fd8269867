-- verify_endings: Where a document ended is the same in documents, decisions, rejected and quarantine.
with
    last_said as (
        select
            id,
            arg_max({'verdict': verdict, 'stage': stage, 'reason': reason}, seq) as said
        from decisions
        group by id
    )
select
    coalesce(documents.id, last_said.id) as id,
    documents.verdict,
    said.verdict as decided
from documents
full join (from last_said where said.verdict <> 'quarantine' or said.stage <> 'read') as last_said using (id)
where
    documents.verdict is distinct from said.verdict
    or documents.reason is distinct from said.reason
    or documents.stage is distinct from (case when said.verdict <> 'keep' then said.stage end)
union all
select coalesce(documents.id, rejected.id) as id, documents.verdict, 'reject' as decided
from (from documents where verdict = 'reject') as documents
full join rejected using (id)
where
    documents.id is null
    or rejected.id is null
    or (documents.stage, documents.reason, documents.source_id, documents.lang, documents.url)
        is distinct from (rejected.stage, rejected.reason, rejected.source_id, rejected.lang, rejected.url)
union all
select coalesce(quarantine.id, last_said.id) as id, quarantine.reason as verdict, said.reason as decided
from quarantine
full join (from last_said where said.verdict = 'quarantine' and said.stage = 'read') as last_said using (id)
where quarantine.reason is distinct from said.reason
