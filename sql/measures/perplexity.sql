-- perplexity: how surprising a document is to a language model of its language.
--
-- No perplexity model comes with the package and none can be named in a config yet, so the value is null for every
-- document: not measured, which is not zero.
--
-- column: id VARCHAR | document
-- column: perplexity DOUBLE | per-word perplexity; null where no model measured it
select
    id,
    cast(null as double) as perplexity
from read.documents
