-- contamination: what documents share with protected items, of every parsed document, dropped earlier or not.
--
-- An n-gram is that of the config, or the whole item where it has fewer tokens. Told is the first in the text that the
-- two share; there is no text of it where keep_rejected_text is false.
--
-- column: id VARCHAR | the document
-- column: item VARCHAR | the item, <set>:<id>; the set is the file's stem
-- column: n_shared INTEGER | different n-grams that both have
-- column: n_ngrams INTEGER | different n-grams of the item
-- column: share DOUBLE | n_shared / n_ngrams
-- column: ngram VARCHAR | the first shared one: its tokens, joined by spaces
-- column: start_char INTEGER | its first code point in the document's normalised text, before the scrub
-- column: end_char INTEGER | behind its last
-- column: item_start_char INTEGER | its first code point in the item's text, where it stands there first
-- column: item_end_char INTEGER | behind its last
with
    shared as (
        select
            scanned.id as id,
            unnest(scanned.hits) as hit
        from {{ if_stage("decontaminate", "decontaminate.scanned", "decontaminate.not_scanned") }} as scanned
    )
select
    id,
    hit.item as item,
    hit.n_shared as n_shared,
    hit.n_ngrams as n_ngrams,
    cast(hit.n_shared as double) / nullif(hit.n_ngrams, 0) as share,
    case when {{ config.keep_rejected_text }} then hit.ngram end as ngram,
    hit.start_char as start_char,
    hit.end_char as end_char,
    hit.item_start_char as item_start_char,
    hit.item_end_char as item_end_char
from shared
