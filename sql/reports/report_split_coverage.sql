-- report_split_coverage: kept documents of each language and source by split.
select 'language' as kind, lang as name, split, count(*) as documents
from shards
group by lang, split
union all
select 'source' as kind, source_id as name, split, count(*) as documents
from shards
group by source_id, split
order by kind, name, split
