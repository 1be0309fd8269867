-- verify_stages_counted: The reconciliation has one row for each stage and source, and one for each stage.
with
    stages as (select distinct seq, stage from decisions),
    wanted as (
        select stages.seq, stages.stage, sources.source_id
        from stages
        cross join (select distinct source_id from files where status = 'read') as sources
        union all
        select seq, stage, null as source_id from stages
    ),
    stated as (select seq, stage, source_id, count(*) as n from reconciliation group by seq, stage, source_id)
select
    coalesce(wanted.stage, stated.stage) as stage,
    coalesce(wanted.source_id, stated.source_id) as source_id,
    coalesce(stated.n, 0) as times
from wanted
full join stated
    on stated.seq = wanted.seq and stated.stage = wanted.stage and stated.source_id is not distinct from wanted.source_id
where stated.n > 1 or (stated.n is null and wanted.source_id is null)
order by all
