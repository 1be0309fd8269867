-- report_lengths: documents by length in characters, as read and as kept, eight steps to a power of ten.
select
    floor(8 * log10(greatest(n_chars, 1))) / 8 as low,
    count(*) as documents,
    count(*) filter (where verdict = 'keep') as kept
from documents
group by low
order by low
