-- files: every file in the folders of the build's sources.
--
-- column: file VARCHAR | path relative to corpus/raw
-- column: source_id VARCHAR | the ledger's source id
-- column: sha256 VARCHAR | of the file, null where it was not read
-- column: bytes BIGINT | size of the file
-- column: lines BIGINT | lines in it, null where it was not read
-- column: documents BIGINT | lines that became documents
-- column: quarantined BIGINT | lines that were quarantined
-- column: blank BIGINT | blank lines
-- column: bom BIGINT | byte order marks dropped from its start, 0 or 1
-- column: status VARCHAR | read, ignored or superseded
select
    file,
    source_id,
    sha256,
    bytes,
    lines,
    documents,
    quarantined,
    blank,
    bom,
    'read' as status
from read.files
union all
select
    file,
    source_id,
    cast(null as varchar) as sha256,
    bytes,
    cast(null as bigint) as lines,
    cast(null as bigint) as documents,
    cast(null as bigint) as quarantined,
    cast(null as bigint) as blank,
    cast(null as bigint) as bom,
    status
from read.unread_files
