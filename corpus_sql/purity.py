"""What a UDF may not touch while it runs: a file that it was not given, the network, another program.

Its result is reused as long as its arguments, its code and its files are the same; what else it depended on would go
unnoticed. Python tells of each file that it opens (sys.addaudithook). It does not tell of what a library in C opens by
itself, such as `pyarrow.csv.read_csv`, nor of environment variables: `source_problems` looks for those in the code.
Writing changes no result and is not looked at, nor is reading again what the function itself has written.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import site
import sys
import sysconfig
import tempfile
import threading
import zoneinfo
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from corpus_sql import kernel_cache
from corpus_sql.errors import ModelError, Problem

DECLARE = (
    'Name it in the table [files] of the config, let the model pass {{ file("NAME") }}, and say which parameter takes '
    'it: @udf(..., files=("PARAMETER",)).'
)
AS_COLUMN = "Let a @udf take the file, and give the streamed function what it finds there as a column."
_OUTSIDE = {
    "socket.connect": "asks the network",
    "socket.getaddrinfo": "asks the network",
    "subprocess.Popen": "runs another program",
    "os.system": "runs another program",
    "os.exec": "runs another program",
    "os.posix_spawn": "runs another program",
    "sqlite3.connect": "opens a database",
}
_current = threading.local()


class _Watch:
    """What one function may open; the first thing that it touched besides."""

    def __init__(self, file: Path, allowed: Iterable[Path]):
        cached = importlib.util.cache_from_source(str(file))
        self.allowed = {os.path.realpath(path) for path in (file, cached, *allowed)}
        self.project = os.path.join(os.path.realpath(file.parents[1]), "")
        self.fault: str | None = None

    def may_open(self, real: str, flags: int) -> bool:
        if flags & (os.O_EXCL | os.O_TRUNC):  # what it held before is gone
            self.allowed.add(real)
        return real in self.allowed or flags & os.O_ACCMODE == os.O_WRONLY or real.startswith(_installed())

    def is_scratch(self, real: str) -> bool:
        """Whether a library's own cache may lie there: it has to do without, always, so its result is the same."""
        return real.startswith(os.path.join(os.path.realpath(tempfile.gettempdir()), "")) and not real.startswith(
            self.project
        )


@contextmanager
def watched(where: str, file: Path, allowed: Iterable[Path] = (), fix: str = DECLARE) -> Iterator[None]:
    """Refuse what a function does, on this thread, that its result would depend on unseen; raises ModelError.

    where: how a problem names it. file: the one that it stands in. allowed: the files that it was given.
    """
    _hook()
    before = getattr(_current, "watch", None)
    watch = _current.watch = _Watch(file, allowed)
    try:
        yield
    except Exception:
        if watch.fault is None:
            raise
    finally:
        _current.watch = before
    if watch.fault is not None:  # also where the function went on without
        raise ModelError(Problem(where, watch.fault, fix))


@cache
def _hook() -> None:
    """Let Python tell of what is opened; once for the process, and it cannot be undone."""
    sys.addaudithook(_heard)


def _heard(event: str, args: tuple) -> None:
    watch = getattr(_current, "watch", None)
    if watch is None or (event != "open" and event not in _OUTSIDE):
        return
    _current.watch = None  # what is done here is not the function's doing
    try:
        refused = _refused(watch, event, args)
    finally:
        _current.watch = watch
    if refused:
        raise PermissionError(refused)


def _refused(watch: _Watch, event: str, args: tuple) -> str | None:
    if event != "open":
        watch.fault = watch.fault or f"{_OUTSIDE[event]}; what it gets there may be another the next time"
        return watch.fault
    path, _, flags = args
    if isinstance(path, int) or watch.may_open(real := os.path.realpath(os.fsdecode(path)), flags):
        return None
    if watch.is_scratch(real):
        return f"{real} is not for a UDF to read"
    watch.fault = watch.fault or f"opens {os.fsdecode(path)}, which it was not given; a change of it would go unnoticed"
    return watch.fault


@cache
def _installed() -> tuple[str, ...]:
    """Folders that hold code and its data, not a project's: their versions are part of what a model is made from."""
    paths = sysconfig.get_paths()
    places = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    places += [os.path.dirname(os.__file__), *site.getsitepackages(), site.getusersitepackages(), *zoneinfo.TZPATH]
    places += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "udfs"), str(kernel_cache.folder())]
    places += [place for place in sys.path if Path(place).name in ("site-packages", "dist-packages")]
    zips = [os.path.realpath(place) for place in sys.path if place.endswith(".zip")]  # where Python looks for modules
    return tuple(os.path.join(os.path.realpath(place), "") for place in places) + (*zips, "/dev/", "/proc/", "/sys/")


def source_problems(relative: str, source: bytes) -> list[Problem]:
    """Return what a UDF file says that its results would depend on unseen: environment variables, modules beside it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []  # Python itself says so, when the file is loaded
    found = []
    for node in ast.walk(tree):
        for name in _imported(node):
            if not _is_installed(name):
                fix = "Put the code into this file, or install it as a package and name that in requires=(...)."
                what = f"imports {name}, which is no installed package; a change of it would go unnoticed"
                found.append(Problem(f"{relative}:{node.lineno}", what, fix))
        if _reads_environment(node):
            fix = "Let the model pass the value: a key of the config, such as {{ config.NAME.KEY }}."
            what = "reads an environment variable; a change of it would go unnoticed"
            found.append(Problem(f"{relative}:{node.lineno}", what, fix))
    return found


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return ["." * node.level + (node.module or "")] if node.level else [node.module.partition(".")[0]]
    return []


def _is_installed(name: str) -> bool:
    if name == "corpus_sql" or name in sys.stdlib_module_names:
        return True
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    if spec is None:
        return True  # Python itself says that it is missing, when the file is loaded
    places = [spec.origin] if spec.origin and spec.has_location else list(spec.submodule_search_locations or [])
    return all(os.path.realpath(place).startswith(_installed()) for place in places)


def _reads_environment(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom) and node.module == "os" and not node.level:
        return any(alias.name in ("environ", "environb", "getenv", "getenvb") for alias in node.names)
    return (
        isinstance(node, ast.Attribute)
        and node.attr in ("environ", "environb", "getenv", "getenvb")
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
    )
