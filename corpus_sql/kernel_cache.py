"""Where compiled kernels, and the tables they look things up in, are kept between runs.

numba asks only whether a kernel's own file has changed, not whether a kernel it calls from another file has. So the
folder is named by the content of all files that hold kernels: a changed one starts an empty folder.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def folder() -> Path:
    """Return the folder: NUMBA_CACHE_DIR, which numba reads when it is imported, and which is set here if need be.

    Not when the package is imported: to read all sources takes 10 ms, and a program has its signals to see to.
    """
    if "NUMBA_CACHE_DIR" not in os.environ:
        os.environ["NUMBA_CACHE_DIR"] = str(_writable() / f"kernels-{_sources()[:16]}")
    return Path(os.environ["NUMBA_CACHE_DIR"])


def is_empty() -> bool:
    """Return whether nothing has been compiled yet, so that the first use will take a while."""
    return not folder().is_dir() or not any(folder().rglob("*.nbi"))


def kept(source: str, make: Callable[[], Sequence[np.ndarray]]) -> list[np.ndarray]:
    """Return the tables that `make` computes from Python's Unicode data, from the folder where an earlier run put them.

    source: the file that `make` stands in. Its content and the Unicode version name the file, so that neither an edit
    nor another Python finds old tables. A file that cannot be read or written is done without.
    """
    from zipfile import BadZipFile  # as tempfile, 15 ms that most starts do not need

    import numpy as np  # here, for the command line says its help without it

    content = hashlib.sha256(Path(source).read_bytes()).hexdigest()[:16]
    path = folder() / f"{Path(source).stem}-{unicodedata.unidata_version}-{content}.npz"
    unreadable = (OSError, EOFError, ValueError, KeyError, BadZipFile)
    with suppress(*unreadable), np.load(path, allow_pickle=False) as found:
        return [found[f"arr_{i}"] for i in range(len(found.files))]
    made = list(make())
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        import tempfile

        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            np.savez(file, *made)
        os.replace(file.name, path)
    return made


def _sources() -> str:
    package = Path(__file__).parent
    udfs = package / "_builtin" / "udfs"
    digest = hashlib.sha256()
    for place in (package, udfs if udfs.is_dir() else package.parent / "udfs"):
        for path in sorted(place.glob("*.py")):
            content = path.read_bytes()
            if b"njit" in content:
                digest.update(content)
    return digest.hexdigest()


def _writable() -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "corpus-sql"
    if _usable(home):
        return home
    import tempfile

    shared = Path(tempfile.gettempdir()) / f"corpus-sql-{os.getuid()}"
    return shared if _usable(shared) else Path(tempfile.mkdtemp(prefix="corpus-sql-"))


def _usable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
