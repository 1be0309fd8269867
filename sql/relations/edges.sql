-- edges: every known relation between two documents, those of removed documents too.
--
-- Documents that share something (a text, an upstream record, a given group, a parent that is itself no document of the
-- build) are each tied to the smallest id among them. relations.parents and relations.given_groups say how a parent and
-- a group are named.
--
-- column: a VARCHAR | the smaller id, or the parent
-- column: b VARCHAR | the other
-- column: kind VARCHAR | exact, near, parent, group or record
-- column: jaccard DOUBLE | of the shingle sets, for near pairs
with
    equal_texts as (
        select min(id) over (partition by match_sha256) as a, id as b
        from measures.content
    ),
    equal_records as (
        select min(id) over (partition by source_id, source_record_id) as a, id as b
        from read.documents
        where source_record_id <> ''
    ),
    equal_groups as (
        select min(id) over (partition by group_name) as a, id as b
        from relations.given_groups
    ),
    parents as (
        select distinct parent as a, id as b
        from relations.parents
        where parent is not null
        union
        select min(id) over (partition by missing) as a, id as b
        from relations.parents
        where missing is not null
    )
select a, b, 'exact' as kind, cast(null as double) as jaccard from equal_texts where a <> b
union all
select a, b, 'record' as kind, cast(null as double) as jaccard from equal_records where a <> b
union all
select a, b, 'group' as kind, cast(null as double) as jaccard from equal_groups where a <> b
union all
select a, b, 'parent' as kind, cast(null as double) as jaccard from parents where a <> b
union all
select a, b, 'near' as kind, jaccard from {{ near_pairs }}
