-- spans_tile: The children of a split document are its text from the first character to the last, without gap or overlap.
with
    placed as (
        select
            *,
            lag(end_char, 1, 0) over (partition by parent order by start_char, child) as expected_start,
            lead(child) over (partition by parent order by start_char, child) is null as is_last
        from expansions
    )
select placed.parent, placed.child, placed.start_char, placed.end_char
from placed
join documents on documents.id = placed.parent
where
    not placed.same_text
    or placed.start_char <> placed.expected_start
    or (placed.is_last and placed.end_char <> documents.n_chars)
order by placed.parent, placed.start_char, placed.child
