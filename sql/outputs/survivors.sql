-- survivors: what is in the corpus in the stead of each copy that was dropped.
--
-- The witness of a copy went on past the stage that dropped the copy, and may be dropped by a later one: as a copy of
-- another, which is followed, or for another reason, and then nothing is in its stead. An exact copy points at the first
-- in id order, that at the one its near duplicates have in common, and so on: each step leads to a later stage that
-- drops copies, of which there are two, and there is room for one more.
--
-- column: id VARCHAR | a document dropped as a copy of another
-- column: witness VARCHAR | the last witness that its own lead to
-- column: survivor VARCHAR | the same where it is a kept document, or <dataset>/<version>:<id> of an earlier build; else null
with
    copies as (
        select id, witness
        from outputs.decisions
        where verdict = 'reject' and reason in ('exact_duplicate', 'near_duplicate')
    ),
    lasts as (
        select
            copies.id as id,
            coalesce(third.witness, second.witness, copies.witness) as witness
        from copies
        left join copies as second on second.id = copies.witness
        left join copies as third on third.id = second.witness
    )
select
    lasts.id as id,
    lasts.witness as witness,
    case when kept.id is not null or ends.id is null then lasts.witness end as survivor
from lasts
left join outputs.kept as kept on kept.id = lasts.witness
left join outputs.ends as ends on ends.id = lasts.witness
