-- components: the connected components of all relations, over the documents' numbers.
--
-- stream: minhash_components
-- column: row_index BIGINT | a document's place in id order
-- column: root BIGINT | the smallest place in its component
select
    first.place as a,
    second.place as b
from relations.edges as edges
join relations.numbered as first on first.id = edges.a
join relations.numbered as second on second.id = edges.b
order by first.place, second.place
