-- members: documents with the same set of shingles, told by one leader; only leaders are looked at further.
--
-- This keeps a text that stands in the corpus 50,000 times at 50,000 rows. A document without tokens is not here.
--
-- column: id VARCHAR | the document
-- column: row_index BIGINT | its place in id order
-- column: leader BIGINT | the smallest row_index with the same set of shingles
{%- import "near.sql" as near %}
{{ near.members("near_dedup.entering", "row_index") }}
