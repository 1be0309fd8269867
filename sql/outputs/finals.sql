-- finals: what is computed from the final text of each kept document.
--
-- column: id VARCHAR | the document
-- column: n_chars INTEGER | code points of the final text
-- column: sha256 BLOB | SHA-256 of its UTF-8 bytes
-- column: hash64 BIGINT | the first 8 bytes of it, big-endian, as a signed bit view
-- column: pii_redactions INTEGER | placeholders that the scrub put in
with
    hashed as (
        select
            kept.id as id,
            length(coalesce(scrubbed.text, documents.text)) as n_chars,
            content_sha256(coalesce(scrubbed.text, documents.text)) as digest,
            coalesce(array_length(scrubbed.spans), 0) as pii_redactions
        from outputs.kept as kept
        join read.documents as documents using (id)
        left join {{ if_stage("pii", "outputs.scrubbed", "outputs.not_scrubbed") }} as scrubbed using (id)
    )
select
    id,
    n_chars,
    digest.sha256 as sha256,
    digest.hash64 as hash64,
    pii_redactions
from hashed
