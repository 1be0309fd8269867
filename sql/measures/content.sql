-- content: what exact duplicates share: the hash of the text after the matching normalisation.
--
-- column: id VARCHAR | the document
-- column: match_sha256 BLOB | SHA-256 of the text with unified line ends, without trailing white space and outer blank lines
-- column: content_hash64 BIGINT | its first 8 bytes, big-endian, as a signed bit view
select
    id,
    hashes.sha256 as match_sha256,
    hashes.hash64 as content_hash64
from (
    select
        id,
        content_hash("text") as hashes
    from read.documents
) as hashed
