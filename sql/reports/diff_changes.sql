-- diff_changes: what changed of every line, one row for each kind of change.
--
-- `lines` has a row for each pair of lines: a as it was, b as it is now, null where the line is in one build only;
-- root_a and root_b are the pairs of the documents that name their near-duplicate clusters. `side` is the build in which
-- something dropped the line.
with
    documents as (
        select *
        from lines
        where a is not null and b is not null and a.verdict <> 'quarantine' and b.verdict <> 'quarantine'
    )
select
    pair,
    'added' as change,
    'read' as stage,
    cast(null as varchar) as was,
    case b.verdict when 'keep' then 'keep' else b.verdict || ' ' || b.reason end as now,
    'b' as side
from lines
where a is null
union all
select
    pair,
    'removed',
    'read',
    case a.verdict when 'keep' then 'keep' else a.verdict || ' ' || a.reason end,
    null,
    'a'
from lines
where b is null
union all
select
    pair,
    'verdict',
    case when b.verdict = 'keep' or (a.verdict <> 'keep' and a.seq < b.seq) then a.stage else b.stage end,
    case a.verdict when 'keep' then 'keep' else a.verdict || ' ' || a.reason end,
    case b.verdict when 'keep' then 'keep' else b.verdict || ' ' || b.reason end,
    case when b.verdict = 'keep' or (a.verdict <> 'keep' and a.seq < b.seq) then 'a' else 'b' end
from lines
where a is not null and b is not null and a.verdict <> b.verdict
union all
select
    pair,
    'reason',
    case when a.seq < b.seq then a.stage else b.stage end,
    a.verdict || ' ' || a.reason,
    b.verdict || ' ' || b.reason,
    null
from lines
where a.verdict <> 'keep' and a.verdict = b.verdict and (a.stage <> b.stage or a.reason <> b.reason)
union all
select
    pair,
    'text',
    case when a.content is distinct from b.content or a.raw_chars <> b.raw_chars then 'read' else 'pii' end,
    coalesce(lower(hex(a.sha256)), printf('content %016x', cast(a.content as hugeint) & 18446744073709551615)),
    coalesce(lower(hex(b.sha256)), printf('content %016x', cast(b.content as hugeint) & 18446744073709551615)),
    null
from documents
where a.content <> b.content or a.raw_chars <> b.raw_chars or a.sha256 <> b.sha256
union all
select
    pair,
    'split',
    'split',
    a.split,
    b.split,
    null
from documents
where a.split <> b.split
union all
select
    pair,
    'cluster',
    'near_dedup',
    a.root,
    b.root,
    null
from documents
where a.row_index is not null and b.row_index is not null and root_a <> root_b
