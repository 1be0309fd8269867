-- pii: puts placeholders in the place of personal data and secrets; rejects nobody.
--
-- The texts are in outputs.scrubbed; what was replaced, by kind and place, is in outputs.pii.
--
-- column: id VARCHAR | the document
-- column: hits STRUCT(verdict VARCHAR, reason VARCHAR, metric VARCHAR, value DOUBLE, threshold DOUBLE, witness VARCHAR)[] | always empty
--
-- config: kinds | what is replaced: email, phone, card, ip, key, aadhaar, pan, cn_id, cn_uscc, gstin, iban, us_ssn
select
    d.id,
    {{ hits([]) }} as hits
from {{ input }} as d
