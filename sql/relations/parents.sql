-- parents: each parent that a document names, and the document it is.
--
-- A parent is named by its source_record_id in the same source, or by its whole id, <source>:<k>. One that is in no raw
-- file of the build is dangling: it is recorded here, and documents that name the same one are relatives all the same.
--
-- column: id VARCHAR | the document
-- column: named VARCHAR | the parent as its raw line names it
-- column: parent VARCHAR | that document's id, null when there is none
-- column: status VARCHAR | document, quarantined (a line that could not be read) or dangling (in no raw file)
-- column: missing VARCHAR | one name for the parent in all sources where it is no document, else null
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
    ),
    found as (
        select
            links.id as id,
            links.source_id as source_id,
            links.named as named,
            coalesce(records.id, documents.id) as parent,
            quarantine.id as quarantined_id
        from links
        left join records on records.source_id = links.source_id and records.source_record_id = links.named
        left join read.documents as documents on documents.id = links.named
        left join read.quarantine as quarantine on quarantine.id = links.named
    )
select
    id,
    named,
    parent,
    case when parent is not null then 'document' when quarantined_id is not null then 'quarantined' else 'dangling' end as status,
    case when parent is null then case when contains(named, ':') then named else source_id || ':' || named end end as missing
from found
where named <> ''
