-- numbered: every parsed document, numbered in id order, so that groups can be found over whole numbers.
--
-- number: id
-- column: id VARCHAR | the document
-- column: place BIGINT | its place in id order, from 0
select id
from read.documents
