-- entering: the documents that enter the near-duplicate stage, numbered in id order.
--
-- number: id
-- column: id VARCHAR | the document
-- column: row_index BIGINT | its place, from 0, in byte order of the id
select d.id as id
from {{ input }} as d
