-- report_jaccard: verified pairs of near duplicates by Jaccard similarity, in steps of 0.01.
select least(floor(jaccard * 100 + 1e-9), 99) / 100 as low, count(*) as pairs
from pairs
where kind = 'near' and jaccard is not null
group by low
order by low
