-- diff_rules: each rule that fired, and whether the other build's value or the other build's limit would have let it.
--
-- by_value and by_threshold are null where the rule has no limit in the config, or the other build no value.
select
    hits.q as q,
    hits.stage as stage,
    hits.hit.reason as reason,
    hits.side as side,
    limits.key as key,
    hits.lang as lang,
    hits.lang_other as lang_other,
    hits.same_text as same_text,
    case when limits.key is not null and others.q is not null
        then not coalesce(fires(hits.hit, others.value, hits.hit.threshold), false)
    end as by_value,
    case when limits.key is not null
        then not coalesce(fires(hits.hit, hits.hit.value, limits.other), false)
    end as by_threshold,
    case when others.q is not null then others.value is not distinct from hits.hit.value end as same_value,
    coalesce((select list(relation order by relation) from moved where moved.q = hits.q), []) as moved
from hits
left join limits
    on limits.stage = hits.stage
    and limits.side = hits.side
    and limits.reason = hits.hit.reason
    and limits.lang is not distinct from hits.lang
    and limits.lang_other is not distinct from hits.lang_other
    and limits.threshold is not distinct from hits.hit.threshold
    and limits.metric is not distinct from hits.hit.metric
left join others on others.q = hits.q and others.metric = hits.hit.metric
