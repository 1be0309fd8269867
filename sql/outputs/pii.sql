-- pii: what the scrub replaced, by kind and place, never the value.
--
-- column: id VARCHAR | the document
-- column: kind VARCHAR | email, phone, card, ip, key, aadhaar, pan, cn_id, cn_uscc, gstin, iban or us_ssn
-- column: start_char INTEGER | first code point, in the text before the scrub
-- column: end_char INTEGER | behind the last code point
with
    spans as (
        select
            scrubbed.id as id,
            unnest(scrubbed.spans) as span
        from {{ if_stage("pii", "outputs.scrubbed", "outputs.not_scrubbed") }} as scrubbed
    )
select
    id,
    span.kind as kind,
    span.start_char as start_char,
    span.end_char as end_char
from spans
