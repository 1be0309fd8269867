-- diff_witnesses: near duplicates whose witness is in both builds alike without being their pair: what lies between?
with
    pointing as (
        select q, pair, id, hit.witness as witness
        from hits
        where hit.reason = 'near_duplicate'
            and not exists (from unlike where unlike.q = hits.q)
            and (
                side = 'a' and not exists (
                    from before.pairs as pairs
                    where pairs.kind = 'near'
                        and pairs.a = least(hits.id, hits.hit.witness)
                        and pairs.b = greatest(hits.id, hits.hit.witness)
                )
                or side = 'b' and not exists (
                    from after.pairs as pairs
                    where pairs.kind = 'near'
                        and pairs.a = least(hits.id, hits.hit.witness)
                        and pairs.b = greatest(hits.id, hits.hit.witness)
                )
            )
    )
select distinct
    pointing.q as q,
    'members' as kind,
    unnest([lines.root_a, lines.root_b]) as pair,
    'near_dedup' as stage,
    unnest(['a', 'b']) as side
from pointing
join lines using (pair)
