-- scrubbed: the text of a document with placeholders for personal data and secrets, and where they stand for something.
--
-- Computed only for the documents that reach the stage pii.
--
-- column: id VARCHAR | the document
-- column: text VARCHAR | the text with placeholders; null when nothing was replaced
-- column: spans STRUCT(kind VARCHAR, start_char INTEGER, end_char INTEGER)[] | what was replaced, in code points of the text before
with
    scrubbed as (
        select
            id,
            pii_scrub(text, '{{ config.pii.kinds | join(",") }}') as result
        from {{ input_of("pii") }} as d
        join read.documents using (id)
    )
select
    id,
    result.text as text,
    result.spans as spans
from scrubbed
