-- repetition: how much of every document is repeated, by lines, paragraphs and n-grams of words.
--
-- Words, lines and characters are those of measures.words. A repeat is what stood before: of three equal lines two are
-- repeats. Lines are compared without trailing white space, case and indentation count; blank lines are no lines. A
-- paragraph is a run of lines without a blank one between. A sentence ends at its mark (corpus_sql/text_counts.py) or
-- with its line; it is compared by its words.
--
-- Top n-gram: the most frequent n words in a row, the longest of equally frequent ones; occurrences times characters,
-- at most the characters of all words; 0 where none occurs twice. Duplicate n-grams: the characters of the words that
-- lie in an n-gram that stood before, each word once. n-grams run across line ends. Every denominator in characters is
-- all characters of the text, punctuation included; ratios are null where the denominator is 0.
--
-- column: id VARCHAR | document
-- column: n_words BIGINT | words
-- column: n_character_words BIGINT | of them, words of one letter of a script without spaces
-- column: n_lines BIGINT | lines
-- column: n_visible_chars BIGINT | characters
-- column: n_paragraphs BIGINT | paragraphs
-- column: n_dup_lines BIGINT | lines that stood before
-- column: n_dup_line_chars BIGINT | their characters
-- column: n_dup_paragraphs BIGINT | paragraphs that stood before
-- column: n_dup_paragraph_chars BIGINT | their characters
-- column: n_dup_sentence_chars BIGINT | characters of the words of sentences that stood before
-- column: n_top_2gram_chars BIGINT | characters of the top 2-gram
-- column: n_top_3gram_chars BIGINT | characters of the top 3-gram
-- column: n_top_4gram_chars BIGINT | characters of the top 4-gram
-- column: n_dup_5gram_chars BIGINT | characters of repeated 5-grams
-- column: n_dup_6gram_chars BIGINT | characters of repeated 6-grams
-- column: n_dup_7gram_chars BIGINT | characters of repeated 7-grams
-- column: n_dup_8gram_chars BIGINT | characters of repeated 8-grams
-- column: n_dup_9gram_chars BIGINT | characters of repeated 9-grams
-- column: n_dup_10gram_chars BIGINT | characters of repeated 10-grams
-- column: dup_line_ratio DOUBLE | n_dup_lines / n_lines
-- column: dup_line_char_ratio DOUBLE | n_dup_line_chars / n_visible_chars
-- column: dup_paragraph_ratio DOUBLE | n_dup_paragraphs / n_paragraphs
-- column: dup_paragraph_char_ratio DOUBLE | n_dup_paragraph_chars / n_visible_chars
-- column: dup_sentence_char_ratio DOUBLE | n_dup_sentence_chars / n_visible_chars
-- column: top_2gram_char_ratio DOUBLE | n_top_2gram_chars / n_visible_chars
-- column: top_3gram_char_ratio DOUBLE | n_top_3gram_chars / n_visible_chars
-- column: top_4gram_char_ratio DOUBLE | n_top_4gram_chars / n_visible_chars
-- column: dup_5gram_char_ratio DOUBLE | n_dup_5gram_chars / n_visible_chars
-- column: dup_6gram_char_ratio DOUBLE | n_dup_6gram_chars / n_visible_chars
-- column: dup_7gram_char_ratio DOUBLE | n_dup_7gram_chars / n_visible_chars
-- column: dup_8gram_char_ratio DOUBLE | n_dup_8gram_chars / n_visible_chars
-- column: dup_9gram_char_ratio DOUBLE | n_dup_9gram_chars / n_visible_chars
-- column: dup_10gram_char_ratio DOUBLE | n_dup_10gram_chars / n_visible_chars
select
    id,
    n.n_words as n_words,
    n.n_character_words as n_character_words,
    n.n_lines as n_lines,
    n.n_visible_chars as n_visible_chars,
    n.n_paragraphs as n_paragraphs,
    n.n_dup_lines as n_dup_lines,
    n.n_dup_line_chars as n_dup_line_chars,
    n.n_dup_paragraphs as n_dup_paragraphs,
    n.n_dup_paragraph_chars as n_dup_paragraph_chars,
    n.n_dup_sentence_chars as n_dup_sentence_chars,
    n.n_top_2gram_chars as n_top_2gram_chars,
    n.n_top_3gram_chars as n_top_3gram_chars,
    n.n_top_4gram_chars as n_top_4gram_chars,
    n.n_dup_5gram_chars as n_dup_5gram_chars,
    n.n_dup_6gram_chars as n_dup_6gram_chars,
    n.n_dup_7gram_chars as n_dup_7gram_chars,
    n.n_dup_8gram_chars as n_dup_8gram_chars,
    n.n_dup_9gram_chars as n_dup_9gram_chars,
    n.n_dup_10gram_chars as n_dup_10gram_chars,
    n.n_dup_lines / nullif(n.n_lines, 0) as dup_line_ratio,
    n.n_dup_line_chars / nullif(n.n_visible_chars, 0) as dup_line_char_ratio,
    n.n_dup_paragraphs / nullif(n.n_paragraphs, 0) as dup_paragraph_ratio,
    n.n_dup_paragraph_chars / nullif(n.n_visible_chars, 0) as dup_paragraph_char_ratio,
    n.n_dup_sentence_chars / nullif(n.n_visible_chars, 0) as dup_sentence_char_ratio,
    n.n_top_2gram_chars / nullif(n.n_visible_chars, 0) as top_2gram_char_ratio,
    n.n_top_3gram_chars / nullif(n.n_visible_chars, 0) as top_3gram_char_ratio,
    n.n_top_4gram_chars / nullif(n.n_visible_chars, 0) as top_4gram_char_ratio,
    n.n_dup_5gram_chars / nullif(n.n_visible_chars, 0) as dup_5gram_char_ratio,
    n.n_dup_6gram_chars / nullif(n.n_visible_chars, 0) as dup_6gram_char_ratio,
    n.n_dup_7gram_chars / nullif(n.n_visible_chars, 0) as dup_7gram_char_ratio,
    n.n_dup_8gram_chars / nullif(n.n_visible_chars, 0) as dup_8gram_char_ratio,
    n.n_dup_9gram_chars / nullif(n.n_visible_chars, 0) as dup_9gram_char_ratio,
    n.n_dup_10gram_chars / nullif(n.n_visible_chars, 0) as dup_10gram_char_ratio
from (
    select
        id,
        repetition_measure(text) as n
    from read.documents
) as counted
