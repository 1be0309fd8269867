-- clusters: the cluster of every document that enters the stage; most are alone in theirs.
--
-- column: id VARCHAR | the document
-- column: row_index BIGINT | its place in id order among those that enter
-- column: root BIGINT | the smallest row_index of its cluster, whichever member is kept
select
    entering.id as id,
    entering.row_index as row_index,
    coalesce(components.root, entering.row_index) as root
from near_dedup.entering as entering
left join near_dedup.components as components on components.row_index = entering.row_index
