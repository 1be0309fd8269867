-- decisions: what each stage said of each document that reached it, keeps included.
--
-- Stage `read` has a row for every line but blank ones, quarantined lines included. The first hit decides; its fields
-- stand beside the verdict, and `hits` holds all rules that fired.
--
-- column: seq INTEGER | the stage's place in the build, 0 for reading
-- column: stage VARCHAR | the stage
-- column: id VARCHAR | the document or line
-- column: verdict VARCHAR | keep, reject or quarantine
-- column: reason VARCHAR | why, null for a keep
-- column: metric VARCHAR | the measure that decided
-- column: value DOUBLE | its value, null when it was not measured
-- column: threshold DOUBLE | what it was compared with
-- column: witness VARCHAR | the id, protected item or label that the rejection points at
-- column: hits STRUCT(verdict VARCHAR, reason VARCHAR, metric VARCHAR, value DOUBLE, threshold DOUBLE, witness VARCHAR)[] | every rule that fired
with
    reached as (
        select
            0 as seq,
            'read' as stage,
            id,
            'keep' as verdict,
            cast([] as {{ hit_type }}[]) as hits
        from read.documents
        union all
        select
            0 as seq,
            'read' as stage,
            id,
            'quarantine' as verdict,
            cast([{'verdict': 'quarantine', 'reason': reason, 'metric': cast(null as varchar), 'value': cast(null as double), 'threshold': cast(null as double), 'witness': cast(null as varchar)}] as {{ hit_type }}[]) as hits
        from read.quarantine
{%- for stage in stages %}
        union all
        select
            {{ loop.index }} as seq,
            '{{ stage }}' as stage,
            id,
            verdict,
            hits
        from stages.{{ stage }}
{%- endfor %}
    )
select
    seq,
    stage,
    id,
    verdict,
    hits[1].reason as reason,
    hits[1].metric as metric,
    hits[1].value as value,
    hits[1].threshold as threshold,
    hits[1].witness as witness,
    hits
from reached
