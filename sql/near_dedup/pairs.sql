-- pairs: the near-duplicate pairs that connect each cluster, by id.
--
-- column: a VARCHAR | a document, the one with the smaller row_index
-- column: b VARCHAR | its near duplicate
-- column: jaccard DOUBLE | similarity of the two sets of shingles; 1 for documents with the same set
select
    first.id as a,
    second.id as b,
    edges.jaccard as jaccard
from near_dedup.edges as edges
join near_dedup.entering as first on first.row_index = edges.a
join near_dedup.entering as second on second.row_index = edges.b
