-- components: the connected components of the near-duplicate pairs.
--
-- stream: minhash_components
-- column: row_index BIGINT | a document with a near duplicate
-- column: root BIGINT | the smallest row_index of its cluster
select
    a,
    b
from near_dedup.edges
order by a, b
