-- diff_reasons: lines dropped in both builds, but by another stage or for another reason.
select
    a.stage || ' ' || a.reason as was,
    b.stage || ' ' || b.reason as now,
    count(*) as documents
from lines
where a.verdict <> 'keep' and a.verdict = b.verdict and (a.stage <> b.stage or a.reason <> b.reason)
group by all
order by documents desc, was, now
