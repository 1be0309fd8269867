"""Where compiled kernels are kept between runs.

numba asks only whether a kernel's own file has changed, not whether a kernel it calls from another file has. So the
folder is named by the content of all files that hold kernels: a changed one starts an empty folder.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path


def choose() -> None:
    """Set NUMBA_CACHE_DIR, which numba reads when it is imported, unless the user has set it."""
    if "NUMBA_CACHE_DIR" not in os.environ:
        os.environ["NUMBA_CACHE_DIR"] = str(_writable() / f"kernels-{_sources()[:16]}")


def is_empty() -> bool:
    """Return whether nothing has been compiled yet, so that the first use will take a while."""
    folder = Path(os.environ.get("NUMBA_CACHE_DIR", ""))
    return not folder.is_dir() or not any(folder.rglob("*.nbi"))


def _sources() -> str:
    package = Path(__file__).parent
    udfs = package / "_builtin" / "udfs"
    digest = hashlib.sha256()
    for folder in (package, udfs if udfs.is_dir() else package.parent / "udfs"):
        for path in sorted(folder.glob("*.py")):
            content = path.read_bytes()
            if b"njit" in content:
                digest.update(content)
    return digest.hexdigest()


def _writable() -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for folder in (home / "corpus-sql", Path(tempfile.gettempdir()) / f"corpus-sql-{os.getuid()}"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="corpus-sql-"))
