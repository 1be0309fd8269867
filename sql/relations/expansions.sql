-- expansions: the children that import cut out of a parent, each with its place in the parent's text.
--
-- A child names one parent, by its whole id and in its own source, and has a span.
--
-- column: parent VARCHAR | the document that was split
-- column: child VARCHAR | a piece of it
-- column: start_char INTEGER | the child's first code point in the parent's text
-- column: end_char INTEGER | behind its last
-- column: same_text BOOLEAN | whether the child's text is what stands there
select
    parents.id as parent,
    children.id as child,
    spans.span.start_char as start_char,
    spans.span.end_char as end_char,
    substr(parents."text", spans.span.start_char + 1, spans.span.end_char - spans.span.start_char) = children."text" as same_text
from relations.spans as spans
join read.documents as children on children.id = spans.id
join relations.parents as named on named.id = spans.id and named.named = named.parent
join read.documents as parents on parents.id = named.parent and parents.source_id = children.source_id
where spans.span is not null and array_length(children.parent_ids) = 1 and parents.id <> children.id
