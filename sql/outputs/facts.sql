-- facts: what the relations and measures say of each parsed document, in one narrow row.
--
-- Rows with texts are joined to few tables only: an engine keeps one side of every join in memory.
--
-- column: id VARCHAR | the document
-- column: place BIGINT | its place among all documents in id order
-- column: size BIGINT | about the bytes of its row, for who puts rows in order piece by piece
-- column: content_hash64 BIGINT | first 8 bytes of the SHA-256 of the matching-normalised text, as a signed bit view
-- column: lang VARCHAR | ISO 639-1, or und
-- column: relation_group VARCHAR | the group as computed over all relations
-- column: row_index BIGINT | place among the documents that entered the near-duplicate stage, null if it did not
-- column: minhash_cluster BIGINT | smallest row index of its cluster
select
    content.id as id,
    numbered.place as place,
    4 * documents.n_chars + coalesce(length(documents.extra), 0) as size,
    content.content_hash64 as content_hash64,
    languages.lang as lang,
    groups.relation_group as relation_group,
    clusters.row_index as row_index,
    clusters.root as minhash_cluster
from measures.content as content
join relations.numbered as numbered using (id)
join read.documents as documents using (id)
join relations.languages as languages using (id)
join relations.groups as groups using (id)
left join {{ if_stage("near_dedup", "near_dedup.clusters", "outputs.own_clusters") }} as clusters using (id)
