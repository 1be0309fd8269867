-- earlier_bands: the LSH buckets of each earlier document.
--
-- column: name VARCHAR | <dataset>/<version>:<id>
-- column: place BIGINT | its place in order of the names
-- column: buckets BIGINT[] | one 64-bit hash per band, of the band's number and its minima
select
    members.name as name,
    members.place as place,
    minhash_bands(signed.signature, {{ config.near_dedup.bands }}) as buckets
from near_dedup.earlier_members as members
join near_dedup.earlier_signed as signed on signed.name = members.name
