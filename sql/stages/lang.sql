-- lang: keep the languages the corpus is for.
--
-- The language is that of relations.languages: und where the model is less sure than min_score, where the text has no
-- letters, or where the label has no two letters. keep = ["*"] keeps every language; und follows `undetermined` always.
-- A hit tells the model's score, and as witness its label; the threshold is named only where the score is below it.
--
-- config: keep | list of two-letter languages, or ["*"]
-- config: min_score | below this score the language is und
-- config: undetermined | what happens to und: reject or keep
-- config: model | path of a fastText model, relative to the config; script: no model, the script of the letters
-- config: model_sha256 | SHA-256 the model file must have
-- reason: lang_undetermined | the language is und
-- reason: lang_not_kept | the language is none of `keep`
{%- set keep = config.lang.get("keep") or ["*"] %}
{%- set min_score = "cast(" ~ config.lang.min_score ~ " as double)" %}
{%- set undetermined = "lang = 'und'" if config.lang.undetermined == "reject" else "false" %}
{%- set not_kept = "false" if "*" in keep else "lang <> 'und' and lang not in (" ~ sql_list(keep) ~ ")" %}
{%- set threshold = "case when score < " ~ min_score ~ " then " ~ min_score ~ " end" %}
select
    d.id as id,
    {{ hits([
        reject("lang_undetermined", undetermined, metric="lang_score", value="score", threshold=threshold, witness="label", bound=config.lang.min_score),
        reject("lang_not_kept", not_kept, metric="lang_score", value="score", witness="label"),
    ]) }} as hits
from {{ input }} as d
inner join measures.language using (id)
inner join relations.languages using (id)
