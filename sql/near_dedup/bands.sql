-- bands: the LSH buckets of each leader, one per band.
--
-- column: id VARCHAR | the document
-- column: row_index BIGINT | its place in id order
-- column: buckets BIGINT[] | one 64-bit hash per band, of the band's number and its minima
select
    members.id as id,
    members.row_index as row_index,
    minhash_bands(minhash.signature, {{ config.near_dedup.bands }}) as buckets
from near_dedup.members as members
join measures.minhash as minhash on minhash.id = members.id
where members.row_index = members.leader
