-- ids_unique: No id stands twice, neither in the shards nor among documents and quarantined lines.
select 'shards' as place, id from shards group by id having count(*) > 1
union all
select 'lines' as place, id
from (select id from documents union all select id from quarantine) as lines
group by id
having count(*) > 1
