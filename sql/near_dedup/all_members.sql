-- all_members: as near_dedup.members, over all parsed documents; needed under group_hash, for the groups alone.
--
-- column: id VARCHAR | the document
-- column: row_index BIGINT | its place in id order among all
-- column: leader BIGINT | the smallest row_index with the same set of shingles
{%- import "near.sql" as near %}
{{ near.members("relations.numbered", "place") }}
