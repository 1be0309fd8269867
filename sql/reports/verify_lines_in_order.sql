-- verify_lines_in_order: An id is its source and the line's place in it, and places follow the lines of the files.
with
    places as (
        select id, source_id, k, file, line, byte_offset from documents
        union all
        select id, source_id, k, file, line, byte_offset from quarantine
    ),
    firsts as (
        select
            file,
            sum(lines) over (partition by source_id order by file) - lines as first_k
        from files
        where status = 'read'
    )
select places.id, places.file, places.line
from places
left join firsts using (file)
where
    places.id <> places.source_id || ':' || places.k
    or places.k is distinct from first_k + places.line - 1
    or not starts_with(places.file, places.source_id || '/')
order by places.id
