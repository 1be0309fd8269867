-- words: words, lines and marks of every document, and the ratios that the Gopher quality rules judge.
--
-- A word is a run of characters other than white space; each letter of a script without spaces between words (Han,
-- kana, Thai, Lao, Khmer, Myanmar, Tibetan, ...) is a word of its own, with the marks that follow it, and punctuation
-- beside it is none. A line is one that is not blank; \n, \r\n and a bare \r end it. A character is a code point other
-- than white space. Ratios are null where there is no word or no line.
--
-- The stop words are those of the language that the model named (key stop_words of its table in the config), whatever
-- its confidence; a language without a list has no count. Case, vowel points that may be left out, width and spellings of
-- one letter do not part two words (corpus_sql/word_fold.py).
--
-- column: id VARCHAR | document
-- column: n_words BIGINT | words
-- column: n_character_words BIGINT | of them, words of one letter of a script without spaces
-- column: n_hangul_words BIGINT | of them, words with a Hangul letter
-- column: n_alpha_words BIGINT | of them, words with a letter (Unicode category L)
-- column: n_spaced_chars BIGINT | characters of the words that are neither character words nor Hangul words
-- column: n_hashes BIGINT | characters '#'
-- column: n_ellipses BIGINT | runs of at least three full stops, runs of U+2026 or U+22EF
-- column: n_stop_words BIGINT | different stop words present, folded and without outer punctuation; null without a list
-- column: n_lines BIGINT | lines
-- column: n_bullet_lines BIGINT | of them, lines whose first character is a bullet, a hyphen or an asterisk
-- column: n_ellipsis_lines BIGINT | of them, lines that end with an ellipsis
-- column: mean_word_length DOUBLE | characters a word, over all but character words and Hangul words; null where these are most
-- column: hash_ratio DOUBLE | n_hashes / n_words
-- column: ellipsis_ratio DOUBLE | n_ellipses / n_words
-- column: bullet_line_ratio DOUBLE | n_bullet_lines / n_lines
-- column: ellipsis_line_ratio DOUBLE | n_ellipsis_lines / n_lines
-- column: alpha_word_ratio DOUBLE | n_alpha_words / n_words
select
    id,
    n.n_words as n_words,
    n.n_character_words as n_character_words,
    n.n_hangul_words as n_hangul_words,
    n.n_alpha_words as n_alpha_words,
    n.n_spaced_chars as n_spaced_chars,
    n.n_hashes as n_hashes,
    n.n_ellipses as n_ellipses,
    n.n_stop_words as n_stop_words,
    n.n_lines as n_lines,
    n.n_bullet_lines as n_bullet_lines,
    n.n_ellipsis_lines as n_ellipsis_lines,
    case
        when 2 * (n.n_character_words + n.n_hangul_words) <= n.n_words
            then n.n_spaced_chars / nullif(n.n_words - n.n_character_words - n.n_hangul_words, 0)
    end as mean_word_length,
    n.n_hashes / nullif(n.n_words, 0) as hash_ratio,
    n.n_ellipses / nullif(n.n_words, 0) as ellipsis_ratio,
    n.n_bullet_lines / nullif(n.n_lines, 0) as bullet_line_ratio,
    n.n_ellipsis_lines / nullif(n.n_lines, 0) as ellipsis_line_ratio,
    n.n_alpha_words / nullif(n.n_words, 0) as alpha_word_ratio
from (
    select
        id,
        words_measure(text, stop_words) as n
    from (
        select
            d.id as id,
            d.text as text,
            {{ by_lang("gopher", "stop_words") }} as stop_words
        from read.documents as d
        join (
            select
                id,
                model_lang as lang
            from measures.language
        ) as detected using (id)
    ) as listed
) as counted
