-- near_dedup: of each cluster of near duplicates one document stays.
--
-- Two documents are near duplicates if LSH proposes the pair and the exact Jaccard similarity of their shingle sets
-- reaches the threshold; a cluster is what such pairs connect. The value of a hit is the exact similarity of the
-- document and its witness. It lies below the threshold where a chain alone connects the two: in a long cluster the
-- first and the last may have little in common. The pairs on the way, each at the threshold or above, are in the table
-- pairs; a document's strongest is the largest of its own there.
--
-- What an earlier build keeps is there already: of a cluster with a near duplicate among it none stays. The witness is
-- then <dataset>/<version>:<id>, the smallest that any member of the cluster is a near duplicate of, and the value the
-- similarity to it.
--
-- config: num_perm | MinHash values in a signature
-- config: bands | LSH bands; num_perm / bands values have to agree in one of them
-- config: jaccard_threshold | similarity from which on two documents are near duplicates
-- config: shingle | tokens in one shingle
-- config: keep | the member that stays: "first", "longest" or "source_priority"
-- config: max_bucket | larger buckets are compared with their first member only; absent: no limit
-- config: against | version folders of earlier builds whose kept documents count as there already; absent: none
-- reason: near_duplicate | the document is in the cluster of the witness, which stays
{%- set against = config.near_dedup.get("against") %}
with
    judged as (
        select
            kept.id as id,
            kept.kept_id as kept_id,
            own.leader as leader,
            case
                when own.leader = staying.leader then cast(1 as double)
                else coalesce(direct.jaccard, chained.jaccard)
            end as jaccard
        from near_dedup.kept as kept
        left join near_dedup.members as own on own.row_index = kept.row_index
        left join near_dedup.members as staying on staying.row_index = kept.kept_index
        left join near_dedup.edges as direct
            on direct.a = least(own.leader, staying.leader)
            and direct.b = greatest(own.leader, staying.leader)
        left join near_dedup.chained as chained on chained.row_index = own.leader
    )
{%- if against %},
    known as (
        select
            judged.id as id,
            judged.kept_id as kept_id,
            there.name as name,
            case
                when there.name is null then judged.jaccard
                when touched.place = there.place then touched.jaccard
                else chained.jaccard
            end as jaccard
        from judged
        join near_dedup.clusters as clusters on clusters.id = judged.id
        left join near_dedup.there as there on there.root = clusters.root
        left join near_dedup.earlier_touched as touched on touched.row_index = judged.leader
        left join near_dedup.earlier_chained as chained on chained.row_index = judged.leader
    )
select
    d.id as id,
    {{ hits([reject("near_duplicate", "known.name is not null or d.id <> known.kept_id", metric="jaccard", value="known.jaccard", threshold=config.near_dedup.jaccard_threshold, witness="coalesce(known.name, known.kept_id)")]) }} as hits
from {{ input }} as d
join known on known.id = d.id
{%- else %}
select
    d.id as id,
    {{ hits([reject("near_duplicate", "d.id <> judged.kept_id", metric="jaccard", value="judged.jaccard", threshold=config.near_dedup.jaccard_threshold, witness="judged.kept_id")]) }} as hits
from {{ input }} as d
join judged on judged.id = d.id
{%- endif %}
