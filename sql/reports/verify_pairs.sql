-- verify_pairs: Copies, records, groups and parents are in pairs once, as the documents name them, and a near pair has a similarity.
with
    named_groups as (
        select
            id,
            case
                when contains(group_id, ':') and split_part(group_id, ':', 1) in (select source_id from files) then group_id
                else source_id || ':' || group_id
            end as group_name
        from documents
        where group_id <> ''
    ),
    found as (
        select min(id) over (partition by content_hash64) as a, id as b, 'exact' as kind from documents
        union all
        select min(id) over (partition by source_id, source_record_id) as a, id as b, 'record' as kind
        from documents
        where source_record_id <> ''
        union all
        select min(id) over (partition by group_name) as a, id as b, 'group' as kind from named_groups
        union all
        (
            select parent as a, id as b, 'parent' as kind from parents where parent is not null
            union
            select
                min(parents.id) over (
                    partition by case when contains(named, ':') then named else source_id || ':' || named end
                ) as a,
                parents.id as b,
                'parent' as kind
            from parents
            join documents on documents.id = parents.id
            where parent is null
        )
    ),
    stated as (
        select
            a,
            b,
            kind,
            count(*) as n,
            min(jaccard) as jaccard
        from pairs
        group by a, b, kind
    )
select
    coalesce(stated.a, found.a) as a,
    coalesce(stated.b, found.b) as b,
    coalesce(stated.kind, found.kind) as kind,
    coalesce(stated.n, 0) as times
from stated
full join (from found where a <> b) as found
    on found.a = stated.a and found.b = stated.b and found.kind = stated.kind
where
    coalesce(stated.n, 0) <> 1
    or (found.a is null and stated.kind <> 'near')
    or (stated.kind = 'near' and (stated.a >= stated.b or coalesce(stated.jaccard not between 0 and 1, true)))
    or (stated.kind <> 'near' and stated.jaccard is not null)
order by all
