-- report_licences: documents and characters under each licence, as read and as kept.
select
    read.license_spdx,
    read.documents,
    read.chars,
    coalesce(kept.documents, 0) as kept,
    coalesce(kept.chars, 0) as chars_kept
from (
    select license_spdx, count(*) as documents, sum(n_chars)::bigint as chars
    from documents
    group by license_spdx
) as read
left join (
    select license_spdx, count(*) as documents, sum(n_chars)::bigint as chars
    from shards
    group by license_spdx
) as kept using (license_spdx)
order by read.documents desc, read.license_spdx
