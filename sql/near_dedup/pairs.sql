-- pairs: the near-duplicate pairs that connect each cluster, by id.
--
-- column: a VARCHAR | a document, the one with the smaller row_index
-- column: b VARCHAR | its near duplicate
-- column: jaccard DOUBLE | similarity of the two sets of shingles; 1 for documents with the same set
{%- import "near.sql" as near %}
{{ near.pairs("near_dedup.edges", "near_dedup.entering", "row_index") }}
