-- diff_rows: rows of the corpus that are in one build and not, or not the same, in the other; but for their texts, which
-- sha256 stands for.
select
    (select count(*) from (from before.shards except all from after.shards)) as gone,
    (select count(*) from (from after.shards except all from before.shards)) as came,
    (select count(*) from before.shards) as before
