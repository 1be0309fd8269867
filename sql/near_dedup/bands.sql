-- bands: the LSH buckets of each leader, one per band.
--
-- column: id VARCHAR | the document
-- column: row_index BIGINT | its place in id order
-- column: buckets BIGINT[] | one 64-bit hash per band, of the band's number and its minima
{%- import "near.sql" as near %}
{{ near.bands("near_dedup.members", config.near_dedup.bands) }}
