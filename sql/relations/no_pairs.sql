-- no_pairs: stands for near_dedup.pairs in a build without that stage; it has no rows.
--
-- column: a VARCHAR | a document
-- column: b VARCHAR | another
-- column: jaccard DOUBLE | of their shingle sets
select
    id as a,
    id as b,
    cast(null as double) as jaccard
from read.documents
where false
