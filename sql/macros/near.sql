{#- Near duplicates are looked for twice under group_hash: among the documents that enter the stage, and among all, for
the groups alone. Both are these queries, over other documents. -#}

{%- macro members(documents, place) -%}
select
    entering.id as id,
    entering.{{ place }} as row_index,
    min(entering.{{ place }}) over (
        partition by minhash.set_hash_a, minhash.set_hash_b, minhash.n_shingles
    ) as leader
from {{ documents }} as entering
join measures.minhash as minhash on minhash.id = entering.id
where minhash.n_shingles > 0
{%- endmacro -%}

{%- macro bands(members, count) -%}
select
    members.id as id,
    members.row_index as row_index,
    minhash_bands(minhash.signature, {{ count }}) as buckets
from {{ members }} as members
join measures.minhash as minhash on minhash.id = members.id
where members.row_index = members.leader
{%- endmacro -%}

{%- macro buckets(bands) -%}
select
    unnest(bands.buckets) as bucket,
    bands.row_index as row_index
from {{ bands }} as bands
{%- endmacro -%}

{%- macro candidates(buckets) -%}
select
    shared.first_in as a,
    buckets.row_index as b
from {{ buckets }} as buckets
join (
    select
        bucket,
        min(row_index) as first_in
    from {{ buckets }}
    group by bucket
    having count(*) > 1
) as shared on shared.bucket = buckets.bucket
order by shared.first_in, buckets.row_index
{%- endmacro -%}

{%- macro verified(candidates, bands) -%}
select
    candidates.root as component,
    candidates.row_index as row_index,
    bands.buckets as buckets,
    documents."text" as "text"
from {{ candidates }} as candidates
join {{ bands }} as bands on bands.row_index = candidates.row_index
join read.documents as documents on documents.id = bands.id
order by candidates.root, candidates.row_index
{%- endmacro -%}

{%- macro edges(members, verified) -%}
select
    leader as a,
    row_index as b,
    cast(1 as double) as jaccard
from {{ members }}
where leader < row_index
union all
select
    a,
    b,
    jaccard
from {{ verified }}
where a is not null
{%- endmacro -%}

{%- macro pairs(edges, documents, place) -%}
select
    first.id as a,
    second.id as b,
    edges.jaccard as jaccard
from {{ edges }} as edges
join {{ documents }} as first on first.{{ place }} = edges.a
join {{ documents }} as second on second.{{ place }} = edges.b
{%- endmacro -%}

{#- The place of a value in a list of names, from 0; null for one that is not in it. -#}
{%- macro place_in(value, names) -%}
case {{ value }}
{%- for name in names %} when '{{ name }}' then {{ loop.index0 }}{% endfor %} end
{%- endmacro -%}
