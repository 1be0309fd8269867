-- scrubbed: the text of a document with placeholders for personal data and secrets, and where they stand for something.
--
-- Only the documents that reach the stage pii.
--
-- column: id VARCHAR | the document
-- column: text VARCHAR | the text with placeholders; null when nothing was replaced
-- column: spans STRUCT(kind VARCHAR, start_char INTEGER, end_char INTEGER)[] | what was replaced, in code points of the text before
select
    d.id as id,
    redactions.text as text,
    redactions.spans as spans
from {{ input_of("pii") }} as d
join relations.redactions as redactions using (id)
