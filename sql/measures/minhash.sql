-- minhash: the MinHash signature of every document's shingles, and what tells that two sets of shingles are equal.
--
-- A shingle is {{ config.near_dedup.shingle }} tokens; a document with fewer has one, all of them; without tokens, none.
-- The signature is that of datasketch.MinHash(num_perm, seed=1) in its 32-bit scheme, half a kilobyte a document.
--
-- column: id VARCHAR | the document
-- column: n_tokens INTEGER | its tokens
-- column: n_shingles INTEGER | its distinct shingles
-- column: set_hash_a BIGINT | first half of a 128-bit fingerprint of the set of shingles
-- column: set_hash_b BIGINT | second half
-- column: signature INTEGER[] | num_perm minima, 32-bit bit views; empty without tokens
select
    id,
    made.n_tokens as n_tokens,
    made.n_shingles as n_shingles,
    made.set_hash_a as set_hash_a,
    made.set_hash_b as set_hash_b,
    made.signature as signature
from (
    select
        id,
        minhash_signature("text", {{ config.near_dedup.num_perm }}, {{ config.near_dedup.shingle }}) as made
    from read.documents
) as signed
