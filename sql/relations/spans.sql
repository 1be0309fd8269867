-- spans: the place that a raw line gives itself in its parent's text.
--
-- column: id VARCHAR | the document
-- column: span STRUCT(start_char INTEGER, end_char INTEGER) | first code point, and behind the last; null without a span
select
    id,
    spans_read(extra) as span
from read.documents
where extra is not null
