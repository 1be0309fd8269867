-- split_held: the groups that hold a document of an earlier build, and the split that they keep.
--
-- A document is one of an earlier build's if it has the same text (content_hash64), or the same upstream record in the
-- same source; a dropped one counts as well. Where a group holds documents of several splits, train comes before
-- validation, and validation before test: what a model may have been trained or chosen on is not held out afterwards.
--
-- config: against | version folders of earlier builds, split by group_hash
--
-- column: relation_group VARCHAR | the group
-- column: split VARCHAR | train, validation or test
-- column: n_splits INTEGER | the splits that its documents had; more than one is a conflict
with
    texts as (
        select distinct content_hash64, split
        from read.earlier
        where for_split
    ),
    records as (
        select distinct source_id, source_record_id, split
        from read.earlier
        where for_split and source_record_id <> ''
    ),
    held as (
        select groups.relation_group as relation_group, texts.split as split
        from texts
        join measures.content as content on content.content_hash64 = texts.content_hash64
        join relations.groups as groups on groups.id = content.id
        union
        select groups.relation_group as relation_group, records.split as split
        from records
        join read.documents as documents
            on documents.source_id = records.source_id and documents.source_record_id = records.source_record_id
        join relations.groups as groups on groups.id = documents.id
    )
select
    relation_group,
    case
        when count(*) filter (where split = 'train') > 0 then 'train'
        when count(*) filter (where split = 'validation') > 0 then 'validation'
        else 'test'
    end as split,
    count(*) as n_splits
from held
group by relation_group
