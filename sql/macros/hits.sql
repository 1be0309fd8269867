{#- A hit is one rule that fired: what it says, of which metric, with value and threshold, and whom it points at. -#}
{%- macro num(value) -%}
{{ "cast(null as double)" if value is none else "cast(" ~ value ~ " as double)" }}
{%- endmacro -%}

{%- macro text(value) -%}
{{ "cast(null as varchar)" if value is none else value }}
{%- endmacro -%}

{#- NaN and infinity are no measures: such a value rejects nobody, and a hit without a reason tells the engine of it,
which counts it and takes it out. A NaN is greater than all numbers, so its absolute value is below none. -#}
{%- macro is_finite(value) -%}
coalesce(abs({{ num(value) }}) <= cast(1.7976931348623157e308 as double), true)
{%- endmacro -%}

{#- bound: the value of the config that decides, where the threshold is an expression; else the threshold itself. -#}
{%- macro reject(reason, condition, metric=none, value=none, threshold=none, witness=none, bound=none) -%}
{%- set value = value if value is not none else metric -%}
{%- set fires = condition if value is none else "(" ~ condition ~ ") and " ~ is_finite(value) -%}
{{ rule(reason, fires, metric, bound if bound is not none else threshold) }}case when {{ fires }} then {'verdict': 'reject', 'reason': '{{ reason }}', 'metric': {{ text("'" ~ metric ~ "'" if metric else none) }}, 'value': {{ num(value) }}, 'threshold': {{ num(threshold) }}, 'witness': {{ text(witness) }}}
{%- if value is not none %} when not {{ is_finite(value) }} then {'verdict': 'keep', 'reason': cast(null as varchar), 'metric': {{ text("'" ~ metric ~ "'" if metric else none) }}, 'value': {{ num(value) }}, 'threshold': cast(null as double), 'witness': cast(null as varchar)}{% endif %} end
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
