-- report_reasons: each reason, the documents it decided, and how firmly.
-- `fired` counts the documents in which the rule fired at all, `alone` those it dropped with no other rule of its stage
-- firing, `close` those it dropped with a value within 10 % of the threshold.
with
    decided as (
        select
            seq,
            stage,
            verdict,
            reason,
            min(metric) as metric,
            count(*) as documents,
            count(*) filter (where coalesce(len(hits), 1) <= 1) as alone,
            count(*) filter (where abs(value - threshold) <= 0.1 * abs(threshold)) as close,
            count(value - threshold) as compared
        from decisions
        where verdict <> 'keep'
        group by seq, stage, verdict, reason
    ),
    fired as (
        select seq, hit.reason, count(distinct id) as fired
        from (select seq, id, unnest(hits) as hit from decisions)
        group by seq, hit.reason
    )
select
    decided.seq,
    decided.stage,
    decided.verdict,
    decided.reason,
    decided.metric,
    decided.documents,
    coalesce(fired.fired, decided.documents) as fired,
    decided.alone,
    case when decided.compared > 0 then decided.close end as close
from decided
left join fired using (seq, reason)
order by decided.seq, decided.documents desc, decided.reason
