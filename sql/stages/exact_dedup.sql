-- exact_dedup: of documents with the same text, the first in id order stays.
--
-- The same text is the same after the matching normalisation: unified line ends, no trailing white space, no outer
-- blank lines; case, digits and indentation count. What an earlier build keeps is there already: then none stays, and
-- the witness is <dataset>/<version>:<id>, the smallest of those with that text.
--
-- config: against | version folders of earlier builds whose kept documents count as there already; absent: none
-- reason: exact_duplicate | the text is that of the witness, which stays
{%- set against = config.exact_dedup.get("against") %}
with
    copies as (
        select
            d.id as id,
{%- if against %}
            c.match_sha256 as match_sha256,
{%- endif %}
            min(d.id) over (partition by c.match_sha256) as first_id
        from {{ input }} as d
        join measures.content as c on c.id = d.id
    )
{%- if against %},
    there as (
        select match_sha256, min(name) as name
        from read.earlier
        where for_exact
        group by match_sha256
    )
select
    copies.id as id,
    {{ hits([reject("exact_duplicate", "there.name is not null or copies.id <> copies.first_id", witness="coalesce(there.name, copies.first_id)")]) }} as hits
from copies
left join there on there.match_sha256 = copies.match_sha256
{%- else %}
select
    id,
    {{ hits([reject("exact_duplicate", "id <> first_id", witness="first_id")]) }} as hits
from copies
{%- endif %}
