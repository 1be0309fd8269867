-- verify_rows_named: Rejected texts, placeholders, expansions and files are told once, of documents and sources that there are.
select 'rejected' as place, id as named, count(*) as times
from rejected
group by id
having count(*) > 1
union all
select 'pii' as place, pii.id as named, count(*) as times
from pii
left join (select id from decisions where stage = 'pii') as reached using (id)
where reached.id is null
group by pii.id
union all
select 'pii' as place, id || ' at ' || start_char as named, count(*) as times
from pii
group by id, start_char
having count(*) > 1
union all
select 'expansions' as place, expansions.child as named, count(*) as times
from expansions
left join documents as children on children.id = expansions.child
left join documents as parents on parents.id = expansions.parent
group by expansions.child, children.id, parents.id, children.parent_ids
having count(*) > 1 or children.id is null or parents.id is null
union all
select 'files' as place, file as named, count(*) as times
from files
group by file
having count(*) > 1
order by place, named
