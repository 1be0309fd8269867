-- kept: the documents of the shards, numbered in the order of the shards.
--
-- number: id
-- column: id VARCHAR | the document
-- column: place BIGINT | its row over all shards, from 0
select id
from {{ input_of("") }} as entered
