-- survivors_kept: What stands for a removed copy is in the corpus, and it is its witness or what stands for that.
-- A document of an earlier build is <dataset>/<version>:<id>; no id of this one has a slash.
with
    copies as (
        select documents.id, documents.survivor, decisions.witness
        from documents
        join decisions using (id, stage)
        where documents.reason in ('exact_duplicate', 'near_duplicate')
    )
select copies.id, copies.witness, copies.survivor
from copies
left join documents as witnesses on witnesses.id = copies.witness
left join documents as stands on stands.id = copies.survivor
where
    (stands.verdict is distinct from 'keep' and not contains(copies.survivor, '/'))
    or copies.survivor is distinct from case
        when witnesses.id is null then copies.witness
        when witnesses.verdict = 'keep' then witnesses.id
        else witnesses.survivor
    end
union all
select id, null as witness, survivor
from documents
where survivor is not null and reason is distinct from 'exact_duplicate' and reason is distinct from 'near_duplicate'
order by id
