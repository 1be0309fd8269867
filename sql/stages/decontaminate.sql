-- decontaminate: documents that share an n-gram with a protected evaluation item go.
--
-- Case, width, accents as marks and punctuation do not matter (see the tokens); line ends do not end an n-gram. There is
-- no exception for common phrases. An item with fewer tokens than an n-gram is looked for whole from min_tokens on;
-- shorter ones are not looked for, they would hit by chance.
--
-- How much is shared, and where, is in the table contamination; so are the n-grams, which are words of the protected
-- sets: nothing of _audit/ is for publication.
--
-- config: ngram | tokens in an n-gram
-- config: protected | globs of JSON Lines files with the fields id and text
-- config: min_tokens | an item with fewer tokens than an n-gram is looked for whole if it has so many
-- reason: contaminated | the document shares an n-gram with the protected item that is the witness, <file stem>:<id>
select
    d.id as id,
    {{ hits([reject("contaminated", "decontaminate.item is not null", witness="decontaminate.item")]) }} as hits
from {{ input }} as d
join measures.decontaminate as decontaminate on decontaminate.id = d.id
