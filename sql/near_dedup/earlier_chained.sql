-- earlier_chained: how similar the members of a cluster are to the earlier document that it is there already by.
--
-- Of the members that were not compared with it, as far as they have sets of their own; that similarity may lie below
-- the threshold.
--
-- stream: minhash_similarity shingle={{ config.near_dedup.shingle }}
-- column: row_index BIGINT | the leader of a member
-- column: jaccard DOUBLE | similarity of its set of shingles to that of the earlier document
with
    apart as (
        select distinct members.leader as row_index, there.place as witness, there.name as name
        from near_dedup.there as there
        join near_dedup.clusters as clusters on clusters.root = there.root
        join near_dedup.members as members on members.row_index = clusters.row_index
        left join near_dedup.earlier_touched as touched
            on touched.row_index = members.leader and touched.place = there.place
        where touched.jaccard is null
    ),
    compared as (
        select apart.witness as witness, apart.row_index as row_index, documents."text" as "text"
        from apart
        join near_dedup.entering as entering on entering.row_index = apart.row_index
        join read.documents as documents on documents.id = entering.id
        union all
        select names.witness as witness, -1 as row_index, earlier."text" as "text"
        from (select distinct witness, name from apart) as names
        join read.earlier as earlier on earlier.name = names.name
    )
select
    witness,
    row_index,
    "text"
from compared
order by witness, row_index
