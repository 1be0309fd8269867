-- verify_tables_sorted: The rows of every table stand in byte order of their ids.
with
    rows_in_order as (
        select 'documents' as place, id, row_number() over () as n from documents
        union all
        select 'decisions' as place, id, row_number() over () as n from decisions
        union all
        select 'rejected' as place, id, row_number() over () as n from rejected
        union all
        select 'quarantine' as place, id, row_number() over () as n from quarantine
        union all
        select 'pii' as place, id, row_number() over () as n from pii
        union all
        select 'files' as place, file as id, row_number() over () as n from files
    )
select place, id, before
from (
    select place, id, lag(id) over (partition by place order by n) as before
    from rows_in_order
) as pairs
where before > id
order by place, id
