-- decontaminate: the protected evaluation items that every document shares an n-gram of tokens with.
--
-- column: id VARCHAR | the document
-- column: item VARCHAR | the item of the first shared n-gram, of several the smallest id; null where nothing is shared
-- column: ngram VARCHAR | that n-gram: its tokens, joined by spaces; null where keep_rejected_text is false
-- column: items VARCHAR[] | all items, in byte order
select
    id,
    found.item as item,
    case when {{ config.keep_rejected_text }} then found.ngram end as ngram,
    found.items as items
from (
    select
        id,
        ngrams_contaminated(
            "text", '{{ protected_key }}', {{ config.decontaminate.ngram }}, {{ config.decontaminate.min_tokens }}
        ) as found
    from read.documents
) as scanned
