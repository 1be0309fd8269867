-- all_verified: as near_dedup.verified, over all parsed documents.
--
-- stream: minhash_verify jaccard_threshold={{ config.near_dedup.jaccard_threshold }} shingle={{ config.near_dedup.shingle }} max_bucket={{ config.near_dedup.get("max_bucket") | tojson }}
-- column: component BIGINT | the smallest row_index of the component of candidates
-- column: a BIGINT | the smaller row_index of the pair; null in the row that counts
-- column: b BIGINT | the larger
-- column: jaccard DOUBLE | similarity of the two sets of shingles
-- column: compared BIGINT | comparisons made in the component; null in the row of a pair
-- column: capped BIGINT | buckets in which max_bucket left documents uncompared; null in the row of a pair
{%- import "near.sql" as near %}
{{ near.verified("near_dedup.all_candidates", "near_dedup.all_bands") }}
