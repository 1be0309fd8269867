-- own_clusters: stands for near_dedup.clusters in a build without that stage: each kept document is its own cluster.
--
-- column: id VARCHAR | the document
-- column: row_index BIGINT | its place among the kept documents in id order
-- column: root BIGINT | the same
select
    id,
    place as row_index,
    place as root
from outputs.kept
