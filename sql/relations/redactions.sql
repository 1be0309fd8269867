-- redactions: the personal data and secrets of every parsed document, and its text with placeholders in their place.
--
-- Made of all documents, whatever a stage says of them, so that another threshold scrubs nothing anew.
--
-- column: id VARCHAR | the document
-- column: text VARCHAR | the text with placeholders; null when nothing was replaced
-- column: spans STRUCT(kind VARCHAR, start_char INTEGER, end_char INTEGER)[] | what was replaced, in code points of the text before
select
    id,
    result.text as text,
    result.spans as spans
from (
    select
        id,
        pii_scrub(text, '{{ config.pii.kinds | join(",") }}') as result
    from read.documents
) as scrubbed
