-- diff_totals: kept documents, characters of their final texts and shingle tokens, per source and language.
--
-- Shingle tokens are those of the tokeniser of shingles and decontamination (measures.minhash), counted before the
-- scrub; null where a build has no such measure.
with
    counted as (
        select source_id, lang, 'before' as build, shards.n_chars as n_chars, n_tokens
        from before.shards as shards
        left join before.shingle_tokens using (id)
        union all
        select source_id, lang, 'after' as build, shards.n_chars as n_chars, n_tokens
        from after.shards as shards
        left join after.shingle_tokens using (id)
    )
select
    source_id,
    lang,
    count(*) filter (where build = 'before') as documents_before,
    count(*) filter (where build = 'after') as documents_after,
    coalesce(sum(n_chars) filter (where build = 'before'), 0) :: bigint as characters_before,
    coalesce(sum(n_chars) filter (where build = 'after'), 0) :: bigint as characters_after,
    case when exists (from before.shingle_tokens)
        then coalesce(sum(n_tokens) filter (where build = 'before'), 0) :: bigint
    end as shingle_tokens_before,
    case when exists (from after.shingle_tokens)
        then coalesce(sum(n_tokens) filter (where build = 'after'), 0) :: bigint
    end as shingle_tokens_after
from counted
group by source_id, lang
order by source_id, lang
