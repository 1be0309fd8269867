"""corpus-sql: a pretraining corpus that explains itself."""

__version__ = "0.1.0"
