-- chained: how similar two documents are that a chain alone connects: one that goes, and the one that stays.
--
-- Pairs on the way were verified, this one was not: it may lie below the threshold. Both are told by their leaders.
--
-- stream: minhash_similarity shingle={{ config.near_dedup.shingle }}
-- column: row_index BIGINT | the leader of a document that goes
-- column: jaccard DOUBLE | similarity of its set of shingles to that of the document that stays
with
    leaders as (
        select distinct
            own.leader as row_index,
            staying.leader as witness
        from near_dedup.components as components
        join near_dedup.kept as kept on kept.row_index = components.row_index
        join near_dedup.members as own on own.row_index = kept.row_index
        join near_dedup.members as staying on staying.row_index = kept.kept_index
        where own.leader <> staying.leader
    ),
    apart as (
        select leaders.row_index as row_index, leaders.witness as witness
        from leaders
        left join near_dedup.edges as edges
            on edges.a = least(leaders.row_index, leaders.witness)
            and edges.b = greatest(leaders.row_index, leaders.witness)
        where edges.jaccard is null
    ),
    compared as (
        select witness, row_index, row_index as place from apart
        union
        select witness, -1 as row_index, witness as place from apart
    )
select
    compared.witness as witness,
    compared.row_index as row_index,
    documents."text" as "text"
from compared
join near_dedup.entering as entering on entering.row_index = compared.place
join read.documents as documents on documents.id = entering.id
order by compared.witness, compared.row_index
