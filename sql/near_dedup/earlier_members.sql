-- earlier_members: earlier documents, of those with the same set of shingles the one with the smallest name.
--
-- number: name
-- column: name VARCHAR | <dataset>/<version>:<id>
-- column: place BIGINT | its place in order of the names, from 0
select min(name) as name
from near_dedup.earlier_signed
where n_shingles > 0
group by set_hash_a, set_hash_b, n_shingles
