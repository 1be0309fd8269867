-- verify_documents_match_shards: What the shards say of a document is what the audit table says of it.
select
    shards.id,
    list_filter(
        [
            case when shards.source_id is distinct from documents.source_id then 'source_id' end,
            case when shards.url is distinct from documents.url then 'url' end,
            case when shards.license_spdx is distinct from documents.license_spdx then 'license_spdx' end,
            case when shards.lang is distinct from documents.lang then 'lang' end,
            case when shards.minhash_cluster is distinct from documents.minhash_cluster then 'minhash_cluster' end,
            case when shards.split is distinct from documents.split then 'split' end,
        ],
        lambda name: name is not null
    ) as differ
from shards
join documents using (id)
where len(differ) > 0
order by shards.id
