-- languages: the language of every document, as the build judges it.
--
-- und is a mark for 'not determined' and never a guess: the text has no letters, the model is less sure than
-- [lang] min_score (a score equal to it is enough), or its label stands for no language with two letters.
--
-- column: id VARCHAR | document
-- column: lang VARCHAR | two letters of ISO 639-1, or und
select
    id,
    case
        when score >= cast({{ config.lang.min_score }} as double) then model_lang
        else 'und'
    end as lang
from measures.language
