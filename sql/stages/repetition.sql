-- repetition: the Gopher repetition rules (Rae et al. 2021, arXiv:2112.11446, appendix A, table A1).
--
-- The paper's thresholds are 0.30 of the lines, 0.30 of the paragraphs, 0.20 of the characters in either, 0.20, 0.18
-- and 0.16 of the characters in the most frequent 2-, 3- and 4-gram, and 0.15, 0.14, 0.13, 0.12, 0.11 and 0.10 of the
-- characters in repeated 5- to 10-grams. A value equal to the maximum is kept. How each is counted, where the paper
-- leaves it open: measures.repetition. A text without words has no ratio and no hit here.
--
-- Five Han characters are three words and five Thai letters one, so that n-grams of one-letter words repeat in all
-- prose: these languages have their own values (docs/language-profiles.md). Where their sentences have an end mark, the
-- paper's 0.20 for lines holds for sentences too: a text on one line has no other part to compare. An undetermined
-- document most of whose words are such letters is judged as Chinese: whatever it is, the general values would drop it
-- for its script.
--
-- config: max_dup_line_ratio | lines that stood before, of all lines
-- config: max_dup_paragraph_ratio | paragraphs that stood before, of all paragraphs
-- config: max_dup_line_char_ratio | characters in such lines, of all characters
-- config: max_dup_paragraph_char_ratio | characters in such paragraphs, of all characters
-- config: max_dup_sentence_char_ratio | characters in sentences that stood before, of all characters
-- config: max_top_2gram_char_ratio | characters in the most frequent 2-gram that occurs twice or more
-- config: max_top_3gram_char_ratio | characters in the most frequent 3-gram that occurs twice or more
-- config: max_top_4gram_char_ratio | characters in the most frequent 4-gram that occurs twice or more
-- config: max_dup_5gram_char_ratio | characters in 5-grams that stood before
-- config: max_dup_6gram_char_ratio | characters in 6-grams that stood before
-- config: max_dup_7gram_char_ratio | characters in 7-grams that stood before
-- config: max_dup_8gram_char_ratio | characters in 8-grams that stood before
-- config: max_dup_9gram_char_ratio | characters in 9-grams that stood before
-- config: max_dup_10gram_char_ratio | characters in 10-grams that stood before
select
    d.id as id,
    {{ hits([
        high("dup_line_ratio"),
        high("dup_paragraph_ratio"),
        high("dup_line_char_ratio"),
        high("dup_paragraph_char_ratio"),
        high("dup_sentence_char_ratio"),
        high("top_2gram_char_ratio"),
        high("top_3gram_char_ratio"),
        high("top_4gram_char_ratio"),
        high("dup_5gram_char_ratio"),
        high("dup_6gram_char_ratio"),
        high("dup_7gram_char_ratio"),
        high("dup_8gram_char_ratio"),
        high("dup_9gram_char_ratio"),
        high("dup_10gram_char_ratio"),
    ]) }} as hits
from {{ input }} as d
join measures.repetition using (id)
join (
    select
        l.id as id,
        case when l.lang = 'und' and 2 * r.n_character_words > r.n_words then 'zh' else l.lang end as lang
    from relations.languages as l
    join measures.repetition as r using (id)
) as judged_as using (id)
