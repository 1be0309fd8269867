-- expansions: which documents were split on import, and into what.
--
-- column: parent VARCHAR | the document that was split
-- column: child VARCHAR | a piece of it
-- column: start_char INTEGER | the child's first code point in the parent's text
-- column: end_char INTEGER | behind its last
-- column: same_text BOOLEAN | whether the child's text is what stands there
select
    parent,
    child,
    start_char,
    end_char,
    same_text
from relations.expansions
