-- sample_stratified: as many kept documents of each stratum as `wanted` says, in the order that $seed gives them.
select
    id,
    source_id,
    lang,
    n_chars,
    verdict,
    stage,
    reason,
    band,
    size / share as weight
from (
    select
        *,
        row_number() over (partition by source_id, lang, band order by sha256($seed || ':' || id)) as place
    from (
        select
            id,
            source_id,
            lang,
            n_chars,
            verdict,
            stage,
            reason,
            len(list_filter($bands, lambda begin: begin <= n_chars)) as band
        from documents
        where verdict = 'keep'
    ) as kept
    join wanted using (source_id, lang, band)
) as ordered
where place <= share
order by source_id, lang, band, place
