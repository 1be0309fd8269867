-- circles: documents that are their own ancestors, by the parents that they and others name.
--
-- stream: relations_circles
-- column: place BIGINT | the document's place in id order
-- column: circle BIGINT | the smallest place among those that are ancestors of each other
select
    children.place as child,
    parents.place as parent
from relations.parents as links
join relations.numbered as children on children.id = links.id
join relations.numbered as parents on parents.id = links.parent
order by children.place, parents.place
