-- strongest: for each document with a near duplicate, the most similar one it was paired with.
--
-- column: row_index BIGINT | the document
-- column: jaccard DOUBLE | the largest similarity among its pairs
select
    ends.row_index as row_index,
    max(ends.jaccard) as jaccard
from (
    select
        a as row_index,
        jaccard
    from near_dedup.edges
    union all
    select
        b as row_index,
        jaccard
    from near_dedup.edges
) as ends
group by ends.row_index
