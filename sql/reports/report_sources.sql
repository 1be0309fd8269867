-- report_sources: lines, documents and characters of each source, as read and as kept.
-- Characters as read are those before the scrub, as kept those of the final text.
with
    kept as (
        select source_id, count(*) as documents, sum(n_chars)::bigint as chars
        from shards
        group by source_id
    ),
    parsed as (
        select source_id, sum(n_chars)::bigint as chars, min(license_spdx) as license_spdx
        from documents
        group by source_id
    )
select
    read.source_id,
    parsed.license_spdx,
    read.entered as lines,
    read.blank,
    read.quarantined,
    read.kept as documents,
    coalesce(kept.documents, 0) as kept,
    coalesce(parsed.chars, 0) as chars,
    coalesce(kept.chars, 0) as chars_kept
from reconciliation as read
left join parsed using (source_id)
left join kept using (source_id)
where read.seq = 0 and read.source_id is not null
order by read.source_id
