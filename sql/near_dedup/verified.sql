-- verified: the candidate pairs whose exact Jaccard similarity reaches the threshold, as far as they connect anything.
--
-- Every pair that holds lies inside one component of these pairs; a pair that would close a circle is left out. After
-- its pairs, each component of candidates has one row without a pair that counts the work.
--
-- config: jaccard_threshold | similarity of the shingle sets from which on a pair is a near duplicate
-- config: shingle | tokens in one shingle
-- config: max_bucket | a larger bucket is compared with its first member only; absent: no limit
--
-- stream: minhash_verify jaccard_threshold={{ config.near_dedup.jaccard_threshold }} shingle={{ config.near_dedup.shingle }} max_bucket={{ config.near_dedup.get("max_bucket") | tojson }}
-- column: component BIGINT | the smallest row_index of the component of candidates
-- column: a BIGINT | the smaller row_index of the pair; null in the row that counts
-- column: b BIGINT | the larger
-- column: jaccard DOUBLE | similarity of the two sets of shingles
-- column: compared BIGINT | comparisons made in the component; null in the row of a pair
-- column: capped BIGINT | buckets in which max_bucket left documents uncompared; null in the row of a pair
{%- import "near.sql" as near %}
{{ near.verified("near_dedup.candidates", "near_dedup.bands") }}
