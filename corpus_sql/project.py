"""A project: the folder a config file lies in, laid over the one that ships with the package.

The only place that looks for files of the project. A file of the user's at the same relative path replaces the built-in
one, whole; a file at a new path is added.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType

from corpus_sql import config as config_module
from corpus_sql.errors import ConfigError, ModelError, Problem
from corpus_sql.functions import StreamUdf, Udf
from corpus_sql.model import FOLDERS, Model, parse
from corpus_sql.purity import source_problems, watched

BUILT_IN, YOURS = "built-in", "yours"


def builtin() -> Path:
    """Return the folder that holds the shipped sql/, udfs/, schemas/ and configs/."""
    package = Path(__file__).parent
    packed = package / "_builtin"
    return packed if packed.is_dir() else package.parent


def load_udf_file(path: Path) -> ModuleType:
    """Load a UDF file by its path under a private module name; nothing named `udfs` becomes importable.

    A file that has changed since is loaded again, so that a session that goes on runs what stands there.
    """
    return _load(path, path.stat().st_mtime_ns)


@cache
def _load(path: Path, _changed: int) -> ModuleType:
    name = f"corpus_sql._udfs.{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with watched(str(path), path):
            spec.loader.exec_module(module)
    except ModelError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        raise ModelError(
            Problem(str(path), f"cannot be loaded: {type(error).__name__}: {error}", "Mend or remove the file.")
        ) from error
    return module


@dataclass(frozen=True)
class Project:
    """What one build is made from: the config, the SQL models and the UDFs, each with its layer."""

    config: config_module.Config
    models: dict[str, Model]
    udfs: dict[str, Udf | StreamUdf]
    layers: dict[str, str]  # "sql/stages/gopher.sql" -> built-in or yours
    macros: dict[str, str]  # name of a file in sql/macros -> text
    replaced: tuple[str, ...]  # relative paths at which the user's file replaces the built-in one

    @cached_property
    def udf_sources(self) -> dict[str, str]:
        """SHA-256 of each UDF's code: its file and the modules of this package that it imports, followed through."""
        return {name: code_hash(Path(one.file)) for name, one in self.udfs.items()}


def open_project(config_path: Path) -> Project:
    """Read a config and all models and UDFs it is built with.

    Raises ConfigError or ModelError with every problem found.
    """
    config_path = Path(config_path)
    if not config_path.is_file():
        raise ConfigError(
            Problem(
                str(config_path),
                "there is no such config file" if not config_path.is_dir() else "this is a folder, not a config file",
                "Give the path of a TOML config; `corpus-sql init DIR` writes one to start from.",
            )
        )
    root = config_path.resolve().parent
    files, layers, replaced = _overlay(root, builtin())
    models, problems = {}, []
    for relative, path in files.items():
        if relative.startswith("sql/") and not relative.startswith("sql/macros/"):
            try:
                model = parse(relative, path, layers[relative])
                models[model.name] = model
            except ModelError as error:
                problems += error.problems
    if problems:
        raise ModelError(problems)
    stage_keys = {model.stem: set(model.config_keys) for model in models.values() if model.folder == "stages"}
    config = config_module.load(config_path, stage_keys=stage_keys, default=builtin() / "configs" / "default.toml")
    return Project(
        config=config,
        models=models,
        udfs=_udfs({relative: path for relative, path in files.items() if relative.startswith("udfs/")}, layers),
        layers=layers,
        macros={Path(r).name: p.read_text("utf-8") for r, p in files.items() if r.startswith("sql/macros/")},
        replaced=replaced,
    )


def _overlay(user: Path, shipped: Path) -> tuple[dict[str, Path], dict[str, str], tuple[str, ...]]:
    """Return relative path -> file, relative path -> layer, and the paths where the user's file replaced one."""
    files, layers, replaced = {}, {}, []
    for layer, root in ((BUILT_IN, shipped), (YOURS, user)):
        if layer == YOURS and user == shipped.resolve():
            continue  # a config in the root of the checkout is not laid over itself
        for pattern in [f"sql/{folder}/*.sql" for folder in ("macros", *FOLDERS)] + ["udfs/*.py"]:
            for path in sorted(root.glob(pattern)):
                relative = path.relative_to(root).as_posix()
                if layer == YOURS and relative in files:
                    replaced.append(relative)
                files[relative], layers[relative] = path, layer
    return dict(sorted(files.items())), layers, tuple(sorted(replaced))


def _udfs(files: dict[str, Path], layers: dict[str, str]) -> dict[str, Udf | StreamUdf]:
    found: dict[str, Udf | StreamUdf] = {}
    problems: list[Problem] = []
    for relative, path in files.items():
        if layers[relative] == YOURS and (bad := source_problems(relative, path.read_bytes())):
            problems += bad
            continue
        for value in vars(load_udf_file(path)).values():
            one = getattr(value, "udf", None)
            if not isinstance(one, (Udf, StreamUdf)) or one.file != str(path):
                continue
            if not one.name.startswith(path.stem + "_"):
                problems.append(
                    Problem(
                        relative,
                        f"the UDF {one.name} does not begin with the name of its file",
                        f"Call it {path.stem}_{one.name}.",
                    )
                )
            elif one.name in found:
                problems.append(
                    Problem(
                        relative,
                        f"the UDF {one.name} is defined in {Path(found[one.name].file).name} as well",
                        "Rename one of the two.",
                    )
                )
            found[one.name] = one
    if problems:
        raise ModelError(problems)
    return found


def code_hash(file: Path) -> str:
    """Return the SHA-256 over a Python file and the modules of this package that it imports, followed through."""
    return _code_hash(file, file.stat().st_mtime_ns)


@cache
def _code_hash(file: Path, _changed: int) -> str:
    package = Path(__file__).parent
    digest, waiting, seen = hashlib.sha256(), [file], set()
    while waiting:
        path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        source = path.read_bytes()
        digest.update(source)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "corpus_sql":
                names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name.split(".")[0] == "corpus_sql"]
            else:
                continue
            for name in names:
                helper = package.joinpath(*name.split(".")[1:]).with_suffix(".py")
                if helper.is_file() and helper.name not in ("functions.py", "errors.py"):
                    waiting.append(helper)
    return digest.hexdigest()
