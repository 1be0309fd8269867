-- reconciliation: what entered each stage and what became of it, each number counted by its own query.
--
-- column: seq INTEGER | the stage's place in the build, 0 for reading
-- column: stage VARCHAR | the stage
-- column: source_id VARCHAR | the source, null for all together
-- column: entered BIGINT | lines or documents that entered
-- column: kept BIGINT | that went on
-- column: rejected BIGINT | that were dropped
-- column: quarantined BIGINT | that could not be judged
-- column: blank BIGINT | lines without a document, in the reading stage
with
    counted as (
        select 0 as seq, 'read' as stage, source_id, 'entered' as what, sum(lines) as n from read.files group by source_id
        union all
        select 0 as seq, 'read' as stage, source_id, 'kept' as what, count(*) as n from read.documents group by source_id
        union all
        select 0 as seq, 'read' as stage, source_id, 'quarantined' as what, count(*) as n from read.quarantine group by source_id
        union all
        select 0 as seq, 'read' as stage, source_id, 'blank' as what, sum(blank) as n from read.files group by source_id
{%- for stage in stages %}
        union all
        select {{ loop.index }} as seq, '{{ stage }}' as stage, source_id, 'entered' as what, count(*) as n
        from {{ input_of(stage) }} as entered join read.documents using (id) group by source_id
        union all
        select {{ loop.index }} as seq, '{{ stage }}' as stage, source_id, case verdict when 'keep' then 'kept' when 'reject' then 'rejected' else 'quarantined' end as what, count(*) as n
        from stages.{{ stage }} join read.documents using (id) group by source_id, verdict
{%- endfor %}
    )
select
    seq,
    stage,
    source_id,
    coalesce(sum(n) filter (where what = 'entered'), 0) as entered,
    coalesce(sum(n) filter (where what = 'kept'), 0) as kept,
    coalesce(sum(n) filter (where what = 'rejected'), 0) as rejected,
    coalesce(sum(n) filter (where what = 'quarantined'), 0) as quarantined,
    coalesce(sum(n) filter (where what = 'blank'), 0) as blank
from counted
group by seq, stage, source_id
union all
select
    seq,
    stage,
    cast(null as varchar) as source_id,
    coalesce(sum(n) filter (where what = 'entered'), 0) as entered,
    coalesce(sum(n) filter (where what = 'kept'), 0) as kept,
    coalesce(sum(n) filter (where what = 'rejected'), 0) as rejected,
    coalesce(sum(n) filter (where what = 'quarantined'), 0) as quarantined,
    coalesce(sum(n) filter (where what = 'blank'), 0) as blank
from counted
group by seq, stage
