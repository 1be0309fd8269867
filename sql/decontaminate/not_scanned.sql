-- not_scanned: stands for decontaminate.scanned in a build without that stage; it has no rows.
--
-- column: id VARCHAR | the document
-- column: hits STRUCT(item VARCHAR, n_shared INTEGER, n_ngrams INTEGER, ngram VARCHAR, start_char INTEGER, end_char INTEGER, item_start_char INTEGER, item_end_char INTEGER)[] | the items
select
    id,
    cast(null as STRUCT(item VARCHAR, n_shared INTEGER, n_ngrams INTEGER, ngram VARCHAR, start_char INTEGER, end_char INTEGER, item_start_char INTEGER, item_end_char INTEGER)[]) as hits
from read.documents
where false
