-- buckets: one row per bucket and document; a document is a candidate with all that share a bucket with it.
--
-- column: bucket BIGINT | the bucket
-- column: row_index BIGINT | a leader in it
{%- import "near.sql" as near %}
{{ near.buckets("near_dedup.bands") }}
