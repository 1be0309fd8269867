"""The wheel: what a user gets who has no checkout. Built from the checkout and from the sdist, installed, run."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Of the environment only what a process needs: no PYTHONPATH that would find the checkout
ENVIRONMENT = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR", "LANG") if key in os.environ}


def run(*command, cwd: Path, **more) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, **more
    )
    assert done.returncode == 0, f"{command} in {cwd}:\n{done.stdout}\n{done.stderr}"
    return done


def build(kind: str, source: Path, target: Path) -> Path:
    """Build with the backend itself, in this environment: nothing is downloaded."""
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", target, cwd=source)
    (built,) = [path for path in target.iterdir() if path.suffix == (".whl" if kind == "wheel" else ".gz")]
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel built from the sdist, as installers without a wheel do."""
    folder = tmp_path_factory.mktemp("built")
    with tarfile.open(build("sdist", ROOT, folder / "sdist")) as archive:
        archive.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    return build("wheel", source, folder / "wheel")


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The bin/ of an environment that has the wheel; its dependencies are the ones of this environment."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).stdout.strip())
    # An entry of a .pth file that is a path is put behind site-packages; .pth files in there (as that of an editable
    # install) are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def test_the_wheel_holds_one_package_and_all_that_ships(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"corpus_sql", wheel.name.split("-py3")[0] + ".dist-info"}
    for folder in ("sql", "udfs", "schemas", "configs"):
        tracked = run("git", "ls-files", folder, cwd=ROOT).stdout.splitlines() if (ROOT / ".git").exists() else []
        assert {f"corpus_sql/_builtin/{name}" for name in tracked if (ROOT / name).exists()} <= set(names)
        assert any(name.startswith(f"corpus_sql/_builtin/{folder}/") for name in names)
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".nbi", ".nbc"))]


def test_the_wheel_is_the_same_from_the_checkout(wheel, tmp_path):
    def content(path: Path) -> dict[str, bytes]:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    assert content(build("wheel", ROOT, tmp_path)) == content(wheel)


def test_nothing_named_sql_or_udfs_is_importable(installed, tmp_path):
    code = (
        "import importlib.util, corpus_sql, pathlib\n"
        "print([name for name in ('sql', 'udfs', 'schemas', 'configs') if importlib.util.find_spec(name)])\n"
        "print(pathlib.Path(corpus_sql.__file__).parent)\n"
    )
    found, package = run(installed / "python", "-c", code, cwd=tmp_path).stdout.splitlines()
    assert found == "[]"
    assert Path(package).is_relative_to(installed.parent)


def test_the_demo_runs_from_the_wheel(installed, tmp_path):
    run(installed / "corpus-sql", "init", "demo", "--demo", cwd=tmp_path)
    run(installed / "corpus-sql", "run", "demo/corpus.toml", cwd=tmp_path, timeout=300)
    build = tmp_path / "demo/artifacts/corpus/demo/v1"
    assert (build / "_MANIFEST.json").is_file()
    asked = run(
        installed / "corpus-sql", "sql", build, "select count(*) as n from shards", "--format", "csv", cwd=tmp_path
    )
    assert asked.stdout.split() == ["n", "44"]


def test_no_source_imports_what_only_a_checkout_has():
    for path in [*(ROOT / "corpus_sql").glob("*.py"), *(ROOT / "udfs").glob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        for line in path.read_text("utf-8").splitlines():
            assert not line.lstrip().startswith(("import udfs", "from udfs", "import sql ", "from sql ")), (
                f"{path}: {line}"
            )


def test_no_package_marker_makes_the_folders_importable():
    assert not [
        path for folder in ("sql", "udfs", "schemas", "configs") for path in (ROOT / folder).rglob("__init__.py")
    ]
