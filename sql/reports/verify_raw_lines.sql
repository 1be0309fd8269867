-- verify_raw_lines: what a build says of each line of one raw file, in the order of the lines.
select
    documents.line,
    documents.byte_offset,
    documents.id,
    documents.n_chars,
    documents.content_hash64,
    documents.url,
    documents.fetched_at,
    documents.license_spdx,
    documents.source_record_id,
    documents.parent_ids,
    documents.group_id,
    documents.extra,
    coalesce(shards.sha256, unhex(sha256(rejected.text))) as final_sha256,
    spans.spans as spans,
    null as reason,
    null as detail,
    null as raw
from documents
left join shards using (id)
left join rejected using (id)
left join (
    select id, list({'kind': kind, 'from': start_char, 'to': end_char} order by start_char) as spans
    from pii
    group by id
) as spans using (id)
where documents.file = $1
union all
select line, byte_offset, id, null, null, null, null, null, null, null, null, null, null, null, reason, detail, raw
from quarantine
where file = $1
order by 1
