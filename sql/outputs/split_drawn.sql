-- split_drawn: the split that each group draws.
--
-- Without strata the bucket decides. With stratify, the groups of a stratum are put in order of their buckets, then
-- names, and cut at the shares: of n groups the first train * n / 1000, rounded up, are train, and so on. Each stratum of
-- at least 1000 / permille groups has some in that split, 20 at 50 permille; a smaller one goes to train before
-- validation, and to validation before test. The price: a group's place depends on the others, so that more groups can
-- move it. [split] against holds those of an earlier build where they were.
--
-- config: stratify | source_id, lang or both
--
-- column: relation_group VARCHAR | the group
-- column: split VARCHAR | train, validation or test
{%- set strata = config.split.get("stratify") %}
{%- if strata %}
with
    ranked as (
        select
            relation_group,
            row_number() over (partition by {{ strata | join(", ") }} order by bucket, relation_group) - 1 as place,
            count(*) over (partition by {{ strata | join(", ") }}) as size
        from outputs.split_groups
    )
select
    relation_group,
    case
        when place * 1000 < {{ config.split.train }} * size then 'train'
        when place * 1000 < {{ config.split.train + config.split.validation }} * size then 'validation'
        else 'test'
    end as split
from ranked
{%- else %}
select
    relation_group,
    case
        when bucket < {{ config.split.train }} then 'train'
        when bucket < {{ config.split.train + config.split.validation }} then 'validation'
        else 'test'
    end as split
from outputs.split_groups
{%- endif %}
