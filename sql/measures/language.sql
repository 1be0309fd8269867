-- language: the language of every document, as the language model names it and how sure it is.
--
-- The model reads the whole text, fully vocalised Arabic without its vowels and half-width kana and jamo in full width. Without
-- a model file the script of the letters stands in (see the run's first lines); label is then an ISO 15924 code and score
-- that script's share of the letters. A text without letters is not measured.
--
-- column: id VARCHAR | document
-- column: label VARCHAR | the model's own label, such as zh, yue or ceb; null where not measured
-- column: score DOUBLE | the model's probability of that label, exactly as fastText gives it; null where not measured
-- column: model_lang VARCHAR | two letters of ISO 639-1 that the label stands for, or und; no confidence is asked for
select
    detected.id as id,
    detected.answer.label as label,
    detected.answer.score as score,
    detected.answer.lang as model_lang
from (
    select
        id,
        language_detect("text", {{ file("lang.model") }}) as answer
    from read.documents
) as detected
