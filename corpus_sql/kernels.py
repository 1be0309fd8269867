"""numba's compiler, once the folder for what it compiles is chosen; every kernel takes it from here."""

from corpus_sql import kernel_cache

kernel_cache.folder()  # before numba is imported, which asks then

from numba import njit, uint64  # noqa: E402

__all__ = ["njit", "uint64"]
