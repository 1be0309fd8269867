-- signatures: the MinHash signature of every document's shingles, and what tells that two sets of shingles are equal.
--
-- Half a kilobyte a document, so it is no measure: the build folder holds only the counts, as measures.minhash.
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
