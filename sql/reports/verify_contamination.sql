-- verify_contamination: Each document has one row in contamination for every protected item measured in it, and the first of them decided.
with
    listed as (
        select
            id,
            count(*) as n_rows,
            count(distinct item) as items,
            arg_min(item, {'start_char': start_char, 'item': item}) as first_item,
            count(*) filter (
                where n_shared not between 1 and n_ngrams
                or share is distinct from cast(n_shared as double) / n_ngrams
                or start_char not between 0 and end_char - 1
                or item_start_char not between 0 and item_end_char - 1
            ) as wrong
        from contamination
        group by id
    ),
    decided as (
        select id, witness from decisions where reason = 'contaminated'
    )
select
    coalesce(measure.id, listed.id, decided.id) as id,
    measure.n_items as measured,
    listed.n_rows as listed,
    measure.item,
    listed.first_item,
    decided.witness
from measures.decontaminate as measure
full join listed using (id)
full join decided on decided.id = coalesce(measure.id, listed.id)
left join documents on documents.id = listed.id
where
    coalesce(measure.n_items, 0) <> coalesce(listed.n_rows, 0)
    or listed.n_rows <> listed.items
    or measure.item is distinct from listed.first_item
    or (decided.id is not null and decided.witness is distinct from listed.first_item)
    or (listed.id is not null and documents.id is null)
    or listed.wrong > 0
order by id
