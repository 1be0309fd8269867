-- not_scrubbed: stands for the scrubbed texts in a build without the stage pii; it has no rows.
--
-- column: id VARCHAR | the document
-- column: text VARCHAR | its text with placeholders
-- column: spans STRUCT(kind VARCHAR, start_char INTEGER, end_char INTEGER)[] | what was replaced
select
    id,
    cast(null as varchar) as text,
    cast(null as STRUCT(kind VARCHAR, start_char INTEGER, end_char INTEGER)[]) as spans
from read.documents
where false
