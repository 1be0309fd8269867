-- edges: the near-duplicate pairs that connect each cluster, by row_index.
--
-- column: a BIGINT | the smaller row_index
-- column: b BIGINT | the larger
-- column: jaccard DOUBLE | similarity of the two sets of shingles; 1 for documents with the same set
{%- import "near.sql" as near %}
{{ near.edges("near_dedup.members", "near_dedup.verified") }}
