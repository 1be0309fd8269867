-- quarantine: the lines that could not be read as a document.
--
-- column: id VARCHAR | <source_id>:<k>
-- column: source_id VARCHAR | the ledger's source id
-- column: k BIGINT | the line's place in the source's raw files, from 0
-- column: file VARCHAR | the raw file, relative to corpus/raw
-- column: line BIGINT | the line in it, from 1
-- column: byte_offset BIGINT | where that line begins in the decompressed stream
-- column: reason VARCHAR | what is wrong with it
-- column: detail VARCHAR | the particulars, with the line's length in bytes and SHA-256; that hash alone where keep_rejected_text is false
-- column: raw BLOB | its first 64 KiB; null where keep_rejected_text is false
select
    id,
    source_id,
    k,
    file,
    line,
    byte_offset,
    reason,
    case when {{ config.keep_rejected_text }} then detail else right(detail, 72) end as detail,
    case when {{ config.keep_rejected_text }} then raw end as raw
from read.quarantine
