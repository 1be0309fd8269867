-- splits_of_groups: the split of each group's documents, where strata or an earlier build have a say in it.
--
-- column: id VARCHAR | the document
-- column: split VARCHAR | train, validation or test
{%- set against = config.split.get("against") %}
select
    kept.id as id,
{%- if against %}
    coalesce(held.split, drawn.split) as split
{%- else %}
    drawn.split as split
{%- endif %}
from outputs.kept as kept
join relations.groups as groups on groups.id = kept.id
join outputs.split_drawn as drawn on drawn.relation_group = groups.relation_group
{%- if against %}
left join outputs.split_held as held on held.relation_group = groups.relation_group
{%- endif %}
