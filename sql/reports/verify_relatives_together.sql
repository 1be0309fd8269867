-- verify_relatives_together: Documents that copy, resemble or name each other, or share an upstream record, are in one group.
with
    related as (
        select a, b, kind from pairs
        union all
        select min(id) over (partition by content_hash64) as a, id as b, 'exact' as kind from documents
        union all
        select min(id) over (partition by source_id, source_record_id) as a, id as b, 'record' as kind
        from documents
        where source_record_id <> ''
        union all
        select min(id) over (partition by source_id, group_id) as a, id as b, 'group' as kind
        from documents
        where group_id <> ''
        union all
        select parents.id as a, children.id as b, 'parent' as kind
        from (select id, source_id, unnest(parent_ids) as named from documents) as children
        join documents as parents on parents.id = children.named
    )
select related.a, related.b, related.kind
from related
join documents as first on first.id = related.a
join documents as second on second.id = related.b
where first.relation_group is distinct from second.relation_group
order by related.a, related.b
