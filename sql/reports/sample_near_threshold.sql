-- sample_near_threshold: the $n documents nearest to the threshold of $rule on each side of it.
--
-- `as_fired` has the hits of its stage as if the rule had fired for every document, `judged` those that did fire.
-- $threshold stands in where a hit names none. Equal distances come in the order that $seed gives them.
with
    told as (
        select id, hit.value as value, coalesce(hit.threshold, $threshold) as threshold
        from (select id, list_filter(hits, lambda h: h.reason = $rule)[1] as hit from as_fired) as fired
    ),
    apart as (
        select
            id,
            value,
            threshold,
            abs(value - threshold) / coalesce(nullif(abs(threshold), 0), 1) as distance,
            case
                when list_contains(list_transform(judged.hits, lambda h: h.reason), $rule) then 'hit'
                else 'passed'
            end as side
        from told
        join judged using (id)
        where isfinite(value) and isfinite(threshold)
    ),
    ordered as (
        select
            *,
            row_number() over (partition by side order by distance, sha256($seed || ':' || id)) as place,
            count(*) over (partition by side) as of_side
        from apart
    )
select
    documents.id,
    source_id,
    lang,
    n_chars,
    verdict,
    stage,
    reason,
    side,
    value,
    threshold,
    distance,
    of_side
from ordered
join main.documents as documents on documents.id = ordered.id
where place <= $n
order by side, place
