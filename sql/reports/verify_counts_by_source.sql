-- verify_counts_by_source: The counts of each stage and source are those of its decisions and of the files.
with
    sources as (
        select id, source_id from documents
        union all
        select id, source_id from quarantine
    ),
    counted as (
        select
            seq,
            stage,
            source_id,
            count(*) filter (where verdict = 'keep') as kept,
            count(*) filter (where verdict = 'reject') as rejected,
            count(*) filter (where verdict = 'quarantine') as quarantined
        from decisions
        join sources using (id)
        group by seq, stage, source_id
    ),
    blanks as (
        select source_id, coalesce(sum(blank), 0) as blank
        from files
        where status = 'read'
        group by source_id
    ),
    stated as (from reconciliation where source_id is not null)
select
    coalesce(stated.stage, counted.stage) as stage,
    coalesce(stated.source_id, counted.source_id) as source_id,
    [stated.kept, stated.rejected, stated.quarantined, stated.blank] as stated,
    [counted.kept, counted.rejected, counted.quarantined, case when seq = 0 then blanks.blank end] as counted
from stated
full join counted using (seq, stage, source_id)
left join blanks using (source_id)
where
    coalesce(stated.kept, 0) <> coalesce(counted.kept, 0)
    or coalesce(stated.rejected, 0) <> coalesce(counted.rejected, 0)
    or coalesce(stated.quarantined, 0) <> coalesce(counted.quarantined, 0)
    or coalesce(stated.blank, 0) <> coalesce(case when seq = 0 then blanks.blank end, 0)
union all
select stage, null as source_id, any_value([entered, kept, rejected, quarantined, blank]) as stated, [sum(s[1]), sum(s[2]), sum(s[3]), sum(s[4]), sum(s[5])] as counted
from (
    select totals.seq, totals.stage, totals.entered, totals.kept, totals.rejected, totals.quarantined, totals.blank,
        [own.entered, own.kept, own.rejected, own.quarantined, own.blank] as s
    from reconciliation as totals
    left join stated as own using (seq, stage)
    where totals.source_id is null
) as both_ways
group by seq, stage, entered, kept, rejected, quarantined, blank
having list_transform(counted, lambda n: coalesce(n, 0)) is distinct from [entered, kept, rejected, quarantined, blank]
