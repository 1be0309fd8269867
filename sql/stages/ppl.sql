-- ppl: documents that are too surprising to a language model of their language.
--
-- Judges measures.perplexity, which is null as long as there is no model: null fails no threshold, so this stage keeps
-- everything that enters, with or without max_perplexity in the config.
--
-- config: max_perplexity | perplexity; absent: off
select
    d.id as id,
    {{ hits([
        high("perplexity"),
    ]) }} as hits
from {{ input }} as d
join measures.perplexity using (id)
join relations.languages using (id)
