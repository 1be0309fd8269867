-- all_buckets: as near_dedup.buckets, over all parsed documents.
--
-- column: bucket BIGINT | the bucket
-- column: row_index BIGINT | a leader in it
{%- import "near.sql" as near %}
{{ near.buckets("near_dedup.all_bands") }}
