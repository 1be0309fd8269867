-- verify_parents: Each parent that a document names is in parents once, as the document, the quarantined line or nothing that it is.
with
    named as (
        select id, named
        from (select id, unnest(parent_ids) as named from documents) as links
        where named <> ''
    ),
    counted as (select id, named, count(*) as n from named group by id, named),
    stated as (
        select
            parents.id,
            parents.named,
            count(*) as n,
            count(*) filter (
                where status not in ('document', 'circle', 'quarantined', 'dangling')
                or (status in ('document', 'circle')) <> (documents.id is not null)
                or (parent is not null) <> (documents.id is not null)
                or (status = 'quarantined') <> (documents.id is null and quarantine.id is not null)
            ) as wrong
        from parents
        left join documents on documents.id = parents.parent
        left join quarantine on quarantine.id = parents.named
        group by parents.id, parents.named
    )
select
    coalesce(stated.id, counted.id) as id,
    coalesce(stated.named, counted.named) as named,
    coalesce(counted.n, 0) as named_times,
    coalesce(stated.n, 0) as listed_times
from stated
full join counted on counted.id = stated.id and counted.named = stated.named
where coalesce(stated.n, 0) <> coalesce(counted.n, 0) or stated.wrong > 0
order by all
