"""corpus-sql: a pretraining corpus that explains itself."""

from corpus_sql import kernel_cache as _kernel_cache

__version__ = "0.1.0"

_kernel_cache.choose()
