-- report_crossing: related pairs that were both kept, and how many of them lie in two splits.
select
    pairs.kind,
    count(*) as pairs,
    count(*) filter (where a.verdict = 'keep' and b.verdict = 'keep') as both_kept,
    count(*) filter (where a.split <> b.split) as crossing
from pairs
left join documents as a on a.id = pairs.a
left join documents as b on b.id = pairs.b
group by pairs.kind
order by pairs.kind
