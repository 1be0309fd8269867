-- pairs: the relations that connect each group of documents.
--
-- column: a VARCHAR | a document
-- column: b VARCHAR | another
-- column: kind VARCHAR | exact, near, parent, group or record
-- column: jaccard DOUBLE | of the shingle sets, for near pairs
select
    a,
    b,
    kind,
    jaccard
from relations.edges
