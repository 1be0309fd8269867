-- all_pairs: near-duplicate pairs that connect all parsed documents, so that dropping one never parts its relatives.
--
-- column: a VARCHAR | a document, the one with the smaller row_index
-- column: b VARCHAR | its near duplicate
-- column: jaccard DOUBLE | similarity of the two sets of shingles; 1 for documents with the same set
{%- import "near.sql" as near %}
{{ near.pairs("near_dedup.all_edges", "relations.numbered", "place") }}
