-- report_source_stages: how many documents of each source each stage dropped.
select source_id, seq, stage, rejected + quarantined as dropped
from reconciliation
where source_id is not null
order by source_id, seq
