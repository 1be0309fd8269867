-- shards_hold_the_kept: The shards hold exactly the documents whose last verdict is keep.
select
    coalesce(shards.id, documents.id) as id,
    documents.verdict
from shards
full join (from documents where verdict = 'keep') as documents using (id)
where shards.id is null or documents.id is null or documents.shard is null
