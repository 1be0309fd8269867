-- decontaminate: the protected evaluation item that every document shares an n-gram of tokens with.
--
-- All parsed documents are looked at, those too that an earlier stage drops. What they share, and where, is in the table
-- contamination.
--
-- column: id VARCHAR | the document
-- column: item VARCHAR | the item of the first shared n-gram, of several the smallest name; null where nothing is shared
-- column: n_items INTEGER | items that it shares an n-gram with
select
    id,
    hits[1].item as item,
    coalesce(array_length(hits), 0) as n_items
from decontaminate.scanned
