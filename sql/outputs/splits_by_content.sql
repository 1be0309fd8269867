-- splits_by_content: val when the hash of the final text, modulo 1000, is below val_permille; else train.
--
-- column: id VARCHAR | the document
-- column: split VARCHAR | train or val
select
    id,
    case when {{ umod("hash64", 1000) }} < {{ config.split.val_permille }} then 'val' else 'train' end as split
from outputs.finals
