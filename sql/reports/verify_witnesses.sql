-- verify_witnesses: The document that stands for a removed copy went on, has the same text or lies in the same cluster, at the similarity told.
select
    copies.id,
    decisions.reason,
    decisions.witness
from decisions
join documents as copies using (id)
join documents as witnesses on witnesses.id = decisions.witness
left join (select id, stage, verdict from decisions) as there
    on there.id = decisions.witness and there.stage = decisions.stage
left join (from pairs where kind = 'near') as near
    on near.a = least(decisions.id, decisions.witness) and near.b = greatest(decisions.id, decisions.witness)
where
    (decisions.reason = 'exact_duplicate' and copies.content_hash64 <> witnesses.content_hash64)
    or (decisions.reason = 'near_duplicate' and copies.minhash_cluster is distinct from witnesses.minhash_cluster)
    or (decisions.reason in ('exact_duplicate', 'near_duplicate') and there.verdict is distinct from 'keep')
    or (decisions.reason = 'near_duplicate' and near.jaccard <> decisions.value)
order by copies.id
