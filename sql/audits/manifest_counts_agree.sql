-- manifest_counts_agree: The counts of the manifest are those of the shards, the decisions and the PII table.
with
    counted as (
        select 'n_docs' as key, count(*) as n from shards
        union all
        select 'filters.' || stage, count(*) from decisions where verdict = 'reject' group by all
        union all
        select 'dedup.' || case stage when 'exact_dedup' then 'exact_dropped' when 'near_dedup' then 'near_dropped' else 'decontaminated' end, count(*)
        from decisions
        where verdict = 'reject' and stage in ('exact_dedup', 'near_dedup', 'decontaminate')
        group by all
        union all
        select 'quarantined.' || reason, count(*) from decisions where verdict = 'quarantine' group by all
        union all
        select 'blank', coalesce(sum(blank), 0) from files
        union all
        select 'pii', coalesce(sum(pii_redactions), 0) from shards
    ),
    stated as (
        select key, n from manifest_counts where not starts_with(key, 'pii.')
        union all
        select 'pii', coalesce(sum(n), 0) from manifest_counts where starts_with(key, 'pii.')
    )
select key, stated.n as stated, counted.n as counted
from stated
left join counted using (key)
where stated.n <> coalesce(counted.n, 0) and key <> 'n_shards'
