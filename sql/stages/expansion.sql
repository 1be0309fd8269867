-- expansion: a document that import split into children is dropped, since its text is in them.
--
-- Parent and children are lines of the raw files and stay tied to each other in one group. For the corpus that text has
-- to be there once: list this stage, best as the first, where a source was imported with --split-paragraphs.
--
-- reason: expanded | its paragraphs are documents of their own; the witness is the first of them
with
    ranked as (
        select
            parent,
            child,
            row_number() over (partition by parent order by start_char, child) as place,
            count(*) over (partition by parent) as n_children
        from relations.expansions
    ),
    firsts as (
        select parent, child, n_children
        from ranked
        where place = 1
    )
select
    d.id as id,
    {{ hits([reject("expanded", "firsts.child is not null", metric="n_children", value="firsts.n_children", witness="firsts.child")]) }} as hits
from {{ input }} as d
left join firsts on firsts.parent = d.id
