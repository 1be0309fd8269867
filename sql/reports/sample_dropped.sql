-- sample_dropped: every line that was dropped, quarantined ones included.
select
    id,
    source_id,
    lang,
    n_chars,
    verdict,
    stage,
    reason
from documents
where verdict <> 'keep'
union all
select
    id,
    source_id,
    null,
    null,
    'quarantine',
    'read',
    reason
from quarantine
