-- members: documents with the same set of shingles, told by one leader; only leaders are looked at further.
--
-- This keeps a text that stands in the corpus 50,000 times at 50,000 rows. A document without tokens is not here.
--
-- column: id VARCHAR | the document
-- column: row_index BIGINT | its place in id order
-- column: leader BIGINT | the smallest row_index with the same set of shingles
select
    entering.id as id,
    entering.row_index as row_index,
    min(entering.row_index) over (
        partition by minhash.set_hash_a, minhash.set_hash_b, minhash.n_shingles
    ) as leader
from near_dedup.entering as entering
join measures.minhash as minhash on minhash.id = entering.id
where minhash.n_shingles > 0
