-- diff_paired: a row for each pair of lines, a as it was and b as it is now, null on the side that has no such line.
--
-- In the sources whose raw files are the same a line is its id; of the others, `matches` says which is which, and how.
select
    row_number() over () as pair,
    a,
    b,
    how
from (
    select
        case when a.id is not null then a end as a,
        case when b.id is not null then b end as b,
        case when a.id is not null and b.id is not null then 'file' end as how
    from (from lines_a where source_id in (select source_id from same_sources)) as a
    full join (from lines_b where source_id in (select source_id from same_sources)) as b on a.id = b.id
    union all
    select
        case when was.id is not null then was end as a,
        case when now.id is not null then now end as b,
        matches.how as how
    from matches
    left join (select * exclude (lines_in_source) from all_a) as was on was.id = matches.a
    left join (select * exclude (lines_in_source) from all_b) as now on now.id = matches.b
) as everything
