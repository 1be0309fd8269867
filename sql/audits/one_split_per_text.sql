-- one_split_per_text: Equal texts lie in one split.
select sha256, count(*) as documents
from shards
group by sha256
having count(distinct split) > 1
