-- near_splits: where the two ends of near-duplicate pairs lie, or would lie had they been kept.
--
-- A dropped document has the split that the method gives it: by the hash of its text, or with its group.
--
-- column: id VARCHAR | a document with a near duplicate
-- column: split VARCHAR | its split; null for one whose whole group was dropped
-- column: kept BOOLEAN | whether it is in the shards
with
    ends as (
        select a as id from relations.edges where kind = 'near'
        union
        select b as id from relations.edges where kind = 'near'
    ),
{%- if config.split.method == "group_hash" %}
    placed as (
        select groups.relation_group as relation_group, min(splits.split) as split
        from {{ splits }} as splits
        join relations.groups as groups on groups.id = splits.id
        group by groups.relation_group
    )
select
    ends.id as id,
    coalesce(splits.split, placed.split) as split,
    splits.split is not null as kept
from ends
join relations.groups as groups on groups.id = ends.id
left join placed on placed.relation_group = groups.relation_group
{%- else %}
    hashed as (
        select ends.id as id, content_sha256(documents."text") as digest
        from ends
        join read.documents as documents on documents.id = ends.id
    )
select
    ends.id as id,
    coalesce(
        splits.split,
        case when {{ umod("ends.digest.hash64", 1000) }} < {{ config.split.val_permille }} then 'val' else 'train' end
    ) as split,
    splits.split is not null as kept
from hashed as ends
{%- endif %}
left join {{ splits }} as splits on splits.id = ends.id
