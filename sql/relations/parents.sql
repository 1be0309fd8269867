-- parents: each parent that a document names, and the document it is, if any raw file holds it.
--
-- column: id VARCHAR | the document
-- column: named VARCHAR | the parent as its raw line names it
-- column: parent VARCHAR | that document's id, null when it lies in no raw file
with
    named as (
        select id, source_id, unnest(parent_ids) as named
        from read.documents
        where parent_ids is not null
    ),
    records as (
        select source_id, source_record_id, min(id) as id
        from read.documents
        where source_record_id is not null
        group by source_id, source_record_id
    )
select
    named.id as id,
    named.named as named,
    coalesce(records.id, documents.id) as parent
from named
left join records on records.source_id = named.source_id and records.source_record_id = named.named
left join read.documents as documents on documents.id = named.named
