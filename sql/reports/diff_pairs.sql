-- diff_pairs: the pairs of lines, with the pairs of the documents that name their near-duplicate clusters.
select
    paired.*,
    coalesce(roots_a.pair, case when paired.a.root = paired.a.id then paired.pair end) as root_a,
    coalesce(roots_b.pair, case when paired.b.root = paired.b.id then paired.pair end) as root_b
from paired
left join roots_a on roots_a.id = paired.a.root
left join roots_b on roots_b.id = paired.b.root
