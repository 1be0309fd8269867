-- gopher: the Gopher quality rules (Rae et al. 2021, arXiv:2112.11446, appendix A).
--
-- The paper keeps an English document of 50 to 100,000 words, of 3 to 10 characters a word on average, with at most
-- one '#' in ten words and at most one ellipsis in ten words, with at most 90 % of the lines beginning with a bullet
-- and at most 30 % ending with an ellipsis, with a letter in at least 80 % of the words, and with at least two of the
-- words the, be, to, of, and, that, have, with. A value equal to a threshold is kept. How each is counted, where the
-- paper leaves it open: measures.words.
--
-- The mean length is off for Han, kana, Hangul and scripts without spaces; stop words are judged only in a language
-- whose table in the config lists them. The other languages' values and the evidence: docs/language-profiles.md.
--
-- config: min_n_words | words
-- config: max_n_words | words
-- config: min_mean_word_length | characters a word
-- config: max_mean_word_length | characters a word
-- config: max_hash_ratio | '#' a word
-- config: max_ellipsis_ratio | ellipses a word
-- config: max_bullet_line_ratio | lines beginning with a bullet, of all lines
-- config: max_ellipsis_line_ratio | lines ending with an ellipsis, of all lines
-- config: min_alpha_word_ratio | words with a letter, of all words
-- config: stop_words | the language's stop words, a list; read by measures.words
-- config: min_n_stop_words | different stop words present
-- reason: no_words | the text holds not one word, so that no ratio exists
select
    d.id as id,
    {{ hits([
        reject("no_words", "n_words = 0", metric="n_words"),
        low("n_words"),
        high("n_words"),
        low("mean_word_length"),
        high("mean_word_length"),
        high("hash_ratio"),
        high("ellipsis_ratio"),
        high("bullet_line_ratio"),
        high("ellipsis_line_ratio"),
        low("alpha_word_ratio"),
        low("n_stop_words"),
    ]) }} as hits
from {{ input }} as d
join measures.words using (id)
join relations.languages using (id)
