-- kept: the member that stays, for every document that enters the stage.
--
-- config: keep | "first" in id order, "longest" in code points, or by "source_priority", the order of sources
--
-- column: id VARCHAR | the document
-- column: row_index BIGINT | its place in id order
-- column: kept_id VARCHAR | the member of its cluster that stays; itself if it is alone
-- column: kept_index BIGINT | that member's place
{%- import "near.sql" as near %}
with
    ranked as (
        select
            clusters.root as root,
            clusters.id as id,
            clusters.row_index as row_index,
            row_number() over (
                partition by clusters.root
                order by
                    case when '{{ config.near_dedup.keep }}' = 'longest' then documents.n_chars end desc,
                    case
                        when '{{ config.near_dedup.keep }}' = 'source_priority'
                        then {{ near.place_in("documents.source_id", config.sources) }}
                    end,
                    clusters.row_index
            ) as place
        from near_dedup.clusters as clusters
        join read.documents as documents on documents.id = clusters.id
    )
select
    clusters.id as id,
    clusters.row_index as row_index,
    ranked.id as kept_id,
    ranked.row_index as kept_index
from near_dedup.clusters as clusters
join ranked on ranked.root = clusters.root and ranked.place = 1
