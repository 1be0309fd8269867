-- report_tokens: tokens of the kept documents by split, counted by the tokeniser of shingles and decontamination.
-- Documents that were not measured have none and are counted apart.
select
    shards.split,
    count(*) as documents,
    count(minhash.n_tokens) as measured,
    sum(minhash.n_tokens)::bigint as tokens,
    min(minhash.n_tokens) as least,
    quantile_disc(minhash.n_tokens, 0.5) as median,
    max(minhash.n_tokens) as most
from shards
left join measures.minhash as minhash using (id)
group by shards.split
order by shards.split
