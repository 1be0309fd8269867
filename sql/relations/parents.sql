-- parents: each parent that a document names, and the document it is, if any raw file holds it.
--
-- column: id VARCHAR | the document
-- column: named VARCHAR | the parent as its raw line names it
-- column: parent VARCHAR | that document's id, null when it lies in no raw file
with
    links as (
        select id, source_id, unnest(parent_ids) as named
        from read.documents
        where parent_ids is not null
    ),
    records as (
        select source_id, source_record_id, min(id) as id
        from read.documents
        where source_record_id <> ''
        group by source_id, source_record_id
    )
select
    links.id as id,
    links.named as named,
    coalesce(records.id, documents.id) as parent
from links
left join records on records.source_id = links.source_id and records.source_record_id = links.named
left join read.documents as documents on documents.id = links.named
