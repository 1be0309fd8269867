-- exact_dedup: of documents with the same text, the first in id order stays.
--
-- The same text is the same after the matching normalisation: unified line ends, no trailing white space, no outer
-- blank lines; case, digits and indentation count.
--
-- reason: exact_duplicate | the text is that of the witness, which stays
with
    copies as (
        select
            d.id as id,
            min(d.id) over (partition by c.match_sha256) as first_id
        from {{ input }} as d
        join measures.content as c on c.id = d.id
    )
select
    id,
    {{ hits([reject("exact_duplicate", "id <> first_id", witness="first_id")]) }} as hits
from copies
