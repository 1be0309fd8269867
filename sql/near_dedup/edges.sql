-- edges: the near-duplicate pairs that connect each cluster, by row_index.
--
-- column: a BIGINT | the smaller row_index
-- column: b BIGINT | the larger
-- column: jaccard DOUBLE | similarity of the two sets of shingles; 1 for documents with the same set
select
    leader as a,
    row_index as b,
    cast(1 as double) as jaccard
from near_dedup.members
where leader < row_index
union all
select
    a,
    b,
    jaccard
from near_dedup.verified
where a is not null
