-- sample_by_reason: $n lines of each reason, or of $rule alone, in the order that $seed gives them.
select
    id,
    source_id,
    lang,
    n_chars,
    verdict,
    stage,
    reason,
    n_dropped / least(n_dropped, $n) as weight
from (
    select
        *,
        row_number() over (partition by stage, reason order by sha256($seed || ':' || id)) as place,
        count(*) over (partition by stage, reason) as n_dropped
    from dropped
) as ordered
where place <= $n and ($rule is null or reason = $rule)
order by stage, reason, place
