-- text_nonempty: No text in the shards is empty, and its length is the one stated.
select id, n_chars
from shards
where n_chars < 1 or n_chars <> length(text)
