-- given_groups: the group that a document's raw line names, made unambiguous.
--
-- column: id VARCHAR | the document
-- column: group_name VARCHAR | <source>:<group>
select
    id,
    case
        when contains(group_id, ':') and split_part(group_id, ':', 1) in ({{ sql_list(config.sources) }}) then group_id
        else source_id || ':' || group_id
    end as group_name
from read.documents
where group_id <> ''
