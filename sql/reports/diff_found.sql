-- diff_found: every change with its cause.
select
    coalesce(b.id, a.id) as id,
    a.id as id_before,
    coalesce(b.source_id, a.source_id) as source_id,
    coalesce(b.lang, a.lang) as lang,
    changes.change as change,
    changes.stage as stage,
    changes.was as was,
    changes.now as now,
    spelled.cause as cause,
    spelled.key as key,
    spelled.old as old,
    spelled.new as new,
    reasons.via as via,
    spelled.detail as detail
from changes
join lines using (pair)
left join reasons on reasons.q = changes.q
join spelled on spelled.cs = coalesce(reasons.cs, cast([] as integer[]))
