-- diff_lines: every line of one build that is a document or was quarantined, with all that two builds may differ in.
--
-- Run in the schema of the build; `stage_order` (stage, seq) lies there as well.
with
    raw_files as (
        select
            file,
            sha256,
            row_number() over (partition by source_id, sha256 order by file) as copy
        from files
        where status = 'read'
    )
select
    documents.id as id,
    documents.source_id as source_id,
    documents.k as k,
    documents.file as file,
    raw_files.sha256 as file_sha256,
    raw_files.copy as file_copy,
    documents.line as line,
    nullif(documents.source_record_id, '') as record,
    nullif(documents.url, '') as url,
    documents.content_hash64 as content,
    documents.n_chars as raw_chars,
    cast(null as varchar) as bytes,
    documents.lang as lang,
    documents.relation_group as relation_group,
    documents.row_index as row_index,
    coalesce(roots.id, documents.id) as root,
    documents.verdict as verdict,
    documents.stage as stage,
    documents.reason as reason,
    coalesce(stage_order.seq, 1000000) as seq,
    documents.split as split,
    shards.sha256 as sha256,
    shards.n_chars as n_chars
from documents
left join raw_files on raw_files.file = documents.file
left join (select id, row_index from documents where row_index = minhash_cluster) as roots
    on roots.row_index = documents.minhash_cluster
left join stage_order on stage_order.stage = documents.stage
left join shards on shards.id = documents.id
union all
select
    quarantine.id,
    quarantine.source_id,
    quarantine.k,
    quarantine.file,
    raw_files.sha256,
    raw_files.copy,
    quarantine.line,
    null,
    null,
    null,
    null,
    md5(quarantine.reason || right(quarantine.detail, 72)),
    null,
    null,
    null,
    quarantine.id,
    'quarantine',
    'read',
    quarantine.reason,
    0,
    null,
    null,
    null
from quarantine
left join raw_files on raw_files.file = quarantine.file
