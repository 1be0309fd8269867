"""python -m corpus_sql."""

from corpus_sql.cli import main

main()
