-- there: the clusters that are there already, since a member is a near duplicate of an earlier document.
--
-- column: root BIGINT | the smallest row_index of the cluster
-- column: place BIGINT | the smallest earlier document that any member touches, by its place
-- column: name VARCHAR | that document, <dataset>/<version>:<id>
select
    smallest.root as root,
    smallest.place as place,
    members.name as name
from (
    select clusters.root as root, min(touched.place) as place
    from near_dedup.earlier_touched as touched
    join near_dedup.clusters as clusters on clusters.row_index = touched.row_index
    group by clusters.root
) as smallest
join near_dedup.earlier_members as members on members.place = smallest.place
