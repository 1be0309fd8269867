-- documents: every parsed document: where its line lies, whom it belongs to, where it ended.
--
-- column: id VARCHAR | <source_id>:<k>
-- column: source_id VARCHAR | the ledger's source id
-- column: k BIGINT | the line's place in the source's raw files, from 0
-- column: url VARCHAR | where the document came from
-- column: fetched_at VARCHAR | when it was fetched
-- column: license_spdx VARCHAR | its licence
-- column: source_record_id VARCHAR | the upstream's own name for it, null when unknown
-- column: parent_ids VARCHAR[] | what it was made from, null when unknown
-- column: group_id VARCHAR | the group as given, null when unknown
-- column: relation_group VARCHAR | the group as computed over all relations
-- column: file VARCHAR | the raw file, relative to corpus/raw
-- column: line BIGINT | the line in it, from 1
-- column: byte_offset BIGINT | where that line begins in the decompressed stream
-- column: n_chars INTEGER | code points of the normalised text, before the scrub
-- column: content_hash64 BIGINT | first 8 bytes of the SHA-256 of the matching-normalised text, as a signed bit view
-- column: lang VARCHAR | ISO 639-1, or und
-- column: row_index BIGINT | place among the documents that entered the near-duplicate stage, null if it did not
-- column: minhash_cluster BIGINT | smallest row index of its cluster
-- column: verdict VARCHAR | keep or reject
-- column: stage VARCHAR | the stage that dropped it
-- column: reason VARCHAR | why
-- column: survivor VARCHAR | of a removed copy, the id that is in the corpus in its stead; null where there is none
-- column: shard VARCHAR | the shard that holds it
-- column: shard_row BIGINT | its row there, from 0
-- column: split VARCHAR | its split
-- column: extra VARCHAR | the raw document's other fields, as JSON text; null in a dropped one where keep_rejected_text is false
select
    documents.id as id,
    documents.source_id as source_id,
    documents.k as k,
    documents.url as url,
    documents.fetched_at as fetched_at,
    documents.license_spdx as license_spdx,
    documents.source_record_id as source_record_id,
    documents.parent_ids as parent_ids,
    documents.group_id as group_id,
    facts.relation_group as relation_group,
    documents.file as file,
    documents.line as line,
    documents.byte_offset as byte_offset,
    documents.n_chars as n_chars,
    facts.content_hash64 as content_hash64,
    facts.lang as lang,
    facts.row_index as row_index,
    facts.minhash_cluster as minhash_cluster,
    outcomes.verdict as verdict,
    outcomes.stage as stage,
    outcomes.reason as reason,
    outcomes.survivor as survivor,
    outcomes.shard as shard,
    outcomes.shard_row as shard_row,
    outcomes.split as split,
    case when {{ config.keep_rejected_text }} or outcomes.verdict = 'keep' then documents.extra end as extra
from read.documents as documents
join outputs.facts as facts using (id)
join outputs.outcomes as outcomes using (id)
