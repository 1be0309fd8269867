-- verify_pii_kinds: The manifest counts, for each kind, the places that were scrubbed in the kept documents.
with
    counted as (
        select
            'pii.' || case kind when 'email' then 'emails' when 'phone' then 'phones' when 'card' then 'cards' when 'ip' then 'ips' when 'key' then 'keys' else kind end as key,
            count(*) as n
        from pii
        join documents using (id)
        where documents.verdict = 'keep'
        group by key
    ),
    stated as (from manifest_counts where starts_with(key, 'pii.'))
select
    coalesce(stated.key, counted.key) as key,
    stated.n as stated,
    counted.n as counted
from stated
full join counted using (key)
where coalesce(stated.n, 0) <> coalesce(counted.n, 0)
order by key
