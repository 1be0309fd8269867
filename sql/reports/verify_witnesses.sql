-- verify_witnesses: The document that stands for a removed copy went on, and has the same text or lies in the same cluster.
select
    copies.id,
    decisions.reason,
    decisions.witness
from decisions
join documents as copies using (id)
join documents as witnesses on witnesses.id = decisions.witness
left join (select id, stage, verdict from decisions) as there
    on there.id = decisions.witness and there.stage = decisions.stage
where
    (decisions.reason = 'exact_duplicate' and copies.content_hash64 <> witnesses.content_hash64)
    or (decisions.reason = 'near_duplicate' and copies.minhash_cluster is distinct from witnesses.minhash_cluster)
    or (decisions.reason in ('exact_duplicate', 'near_duplicate') and there.verdict is distinct from 'keep')
order by copies.id
