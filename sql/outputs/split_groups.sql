-- split_groups: each group that has a kept document, with what its split is drawn from.
--
-- config: salt | text that is hashed before the group's name
--
-- column: relation_group VARCHAR | the group
-- column: source_id VARCHAR | source of its smallest kept id
-- column: lang VARCHAR | language of its smallest kept id
-- column: bucket INTEGER | 0 to 999, by the hash of its name
with
    firsts as (
        select groups.relation_group as relation_group, min(kept.id) as first_id
        from outputs.kept as kept
        join relations.groups as groups on groups.id = kept.id
        group by groups.relation_group
    )
select
    firsts.relation_group as relation_group,
    documents.source_id as source_id,
    languages.lang as lang,
    content_split_bucket(firsts.relation_group, {{ sql_list([config.split.salt]) }}) as bucket
from firsts
join read.documents as documents on documents.id = firsts.first_id
join relations.languages as languages on languages.id = firsts.first_id
