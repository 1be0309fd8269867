-- cross_split: near-duplicate pairs, and how many of them lie across two splits.
--
-- Looked at are the verified pairs that connect the clusters: of the documents that enter the near-duplicate stage, and
-- under group_hash of all. Near duplicates are dropped, so pairs of two kept documents are rare; the pairs of dropped
-- ones say what the method would do with relatives that no stage finds.
--
-- column: near_pairs BIGINT | verified pairs
-- column: across BIGINT | of them, those across two splits, a dropped document having the split of its text or group
-- column: across_kept BIGINT | of those, the ones of two kept documents
select
    count(*) as near_pairs,
    count(*) filter (where first.split <> second.split) as across,
    count(*) filter (where first.split <> second.split and first.kept and second.kept) as across_kept
from relations.edges as edges
join outputs.near_splits as first on first.id = edges.a
join outputs.near_splits as second on second.id = edges.b
where edges.kind = 'near'
