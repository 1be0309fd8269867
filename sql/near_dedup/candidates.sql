-- candidates: the connected components of all candidate pairs, before any pair is verified.
--
-- stream: minhash_components
-- column: row_index BIGINT | a leader that shares a bucket with another
-- column: root BIGINT | the smallest row_index in its component
{%- import "near.sql" as near %}
{{ near.candidates("near_dedup.buckets") }}
