-- report_funnel: what entered each stage and what became of it, all sources together.
select seq, stage, entered, kept, rejected, quarantined, blank
from reconciliation
where source_id is null
order by seq
