{#- A hit is one rule that fired: what it says, of which metric, with value and threshold, and whom it points at. -#}
{%- macro num(value) -%}
{{ "cast(null as double)" if value is none else "cast(" ~ value ~ " as double)" }}
{%- endmacro -%}

{%- macro text(value) -%}
{{ "cast(null as varchar)" if value is none else value }}
{%- endmacro -%}

{%- macro reject(reason, condition, metric=none, value=none, threshold=none, witness=none) -%}
case when {{ condition }} then {'verdict': 'reject', 'reason': '{{ reason }}', 'metric': {{ text("'" ~ metric ~ "'" if metric else none) }}, 'value': {{ num(value if value is not none else metric) }}, 'threshold': {{ num(threshold) }}, 'witness': {{ text(witness) }}} end
{%- endmacro -%}

{%- macro low(measure) -%}
{{ reject("low_" ~ measure, measure ~ " < " ~ limit("min_" ~ measure), metric=measure, threshold=limit("min_" ~ measure)) }}
{%- endmacro -%}

{%- macro high(measure) -%}
{{ reject("high_" ~ measure, measure ~ " > " ~ limit("max_" ~ measure), metric=measure, threshold=limit("max_" ~ measure)) }}
{%- endmacro -%}

{%- macro hits(rules) -%}
list_filter(
        cast([
{%- for rule in rules %}
            {{ rule }}{{ "," if not loop.last }}
{%- endfor %}
        ] as {{ hit_type }}[]),
        lambda h: h is not null
    )
{%- endmacro -%}

{#- A 64-bit hash is stored as a signed bit view; this is the unsigned remainder. -#}
{%- macro umod(hash, n) -%}
((({{ hash }} % {{ n }}) + {{ n }} + case when {{ hash }} < 0 then {{ 2 ** 64 % n }} else 0 end) % {{ n }})
{%- endmacro -%}
