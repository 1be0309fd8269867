-- scanned: the protected evaluation items that every document shares an n-gram of tokens with, and where.
--
-- column: id VARCHAR | the document
-- column: hits STRUCT(item VARCHAR, n_shared INTEGER, n_ngrams INTEGER, ngram VARCHAR, start_char INTEGER, end_char INTEGER, item_start_char INTEGER, item_end_char INTEGER)[] | one for each item, in order of their first n-gram in the text; null where nothing is shared
select
    id,
    ngrams_contaminated(
        "text", {{ file("decontaminate.protected") }}, {{ config.decontaminate.ngram }}, {{ config.decontaminate.min_tokens }}
    ) as hits
from read.documents
