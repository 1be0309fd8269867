-- all_bands: as near_dedup.bands, over all parsed documents.
--
-- column: id VARCHAR | the document
-- column: row_index BIGINT | its place in id order among all
-- column: buckets BIGINT[] | one 64-bit hash per band, of the band's number and its minima
{%- import "near.sql" as near %}
{{ near.bands("near_dedup.all_members", config.near_dedup.bands) }}
