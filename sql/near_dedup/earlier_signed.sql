-- earlier_signed: the MinHash signatures of what earlier builds keep, by the settings of this one.
--
-- Signed is the final text, with its placeholders: what lies in the shards is what is there already.
--
-- column: name VARCHAR | <dataset>/<version>:<id>
-- column: n_shingles INTEGER | its distinct shingles
-- column: set_hash_a BIGINT | first half of a 128-bit fingerprint of the set of shingles
-- column: set_hash_b BIGINT | second half
-- column: signature INTEGER[] | num_perm minima, 32-bit bit views; empty without tokens
select
    name,
    made.n_shingles as n_shingles,
    made.set_hash_a as set_hash_a,
    made.set_hash_b as set_hash_b,
    made.signature as signature
from (
    select
        name,
        minhash_signature("text", {{ config.near_dedup.num_perm }}, {{ config.near_dedup.shingle }}) as made
    from read.earlier
) as signed
