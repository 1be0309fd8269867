-- all_edges: as near_dedup.edges, over all parsed documents.
--
-- column: a BIGINT | the smaller row_index
-- column: b BIGINT | the larger
-- column: jaccard DOUBLE | similarity of the two sets of shingles; 1 for documents with the same set
{%- import "near.sql" as near %}
{{ near.edges("near_dedup.all_members", "near_dedup.all_verified") }}
