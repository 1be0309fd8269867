-- shards: the rows of the shards, in the shards' columns.
--
-- column: id VARCHAR | <source_id>:<k>
-- column: text VARCHAR | the final text
-- column: source_id VARCHAR | the ledger's source id
-- column: url VARCHAR | from the raw document
-- column: license_spdx VARCHAR | from the raw document
-- column: lang VARCHAR | ISO 639-1, or und
-- column: n_chars INTEGER | code points of text
-- column: sha256 BLOB | SHA-256 of the UTF-8 bytes of text
-- column: minhash_cluster BIGINT | smallest row index of the near-duplicate cluster
-- column: pii_redactions INTEGER | placeholders that the scrub put in
-- column: split VARCHAR | the split
select
    documents.id as id,
    coalesce(scrubbed.text, documents.text) as text,
    documents.source_id as source_id,
    documents.url as url,
    documents.license_spdx as license_spdx,
    facts.lang as lang,
    finals.n_chars as n_chars,
    finals.sha256 as sha256,
    facts.minhash_cluster as minhash_cluster,
    finals.pii_redactions as pii_redactions,
    outcomes.split as split
from read.documents as documents
join outputs.finals as finals using (id)
join outputs.facts as facts using (id)
join outputs.outcomes as outcomes using (id)
left join {{ if_stage("pii", "outputs.scrubbed", "outputs.not_scrubbed") }} as scrubbed
    on scrubbed.id = documents.id and scrubbed.text is not null
