-- minhash: how many tokens and shingles every document has.
--
-- A shingle is {{ config.near_dedup.shingle }} tokens; a document with fewer has one, all of them; without tokens, none.
--
-- column: id VARCHAR | the document
-- column: n_tokens INTEGER | its tokens
-- column: n_shingles INTEGER | its distinct shingles
select
    id,
    n_tokens,
    n_shingles
from near_dedup.signatures
