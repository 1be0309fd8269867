-- parents: each parent that a document names; one in no raw file is dangling and stays on record.
--
-- column: id VARCHAR | the document
-- column: named VARCHAR | the parent as its raw line names it
-- column: parent VARCHAR | that document's id, null when there is none
-- column: status VARCHAR | document, quarantined (a line that could not be read) or dangling (in no raw file)
select
    id,
    named,
    parent,
    status
from relations.parents
