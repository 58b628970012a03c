"""The built wheel: it installs and runs far from its sources, with all files that it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

import cplc

_ROOT = Path(__file__).parents[1]
_FOLDERS = {
    "grammar": "grammar",
    "stdlib": "stdlib",
    "rules": "docs/rules",
    "checks": "docs/checks",
    "schema": "docs/schema",
}

pytestmark = pytest.mark.slow


def _run(*arguments: str, cwd: Path, path: Path | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with a source distribution, and a wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    _run("-m", "build", "--no-isolation", "--outdir", str(folder), str(_ROOT), cwd=folder)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel and nothing else of ours; its dependencies are those of the tests."""
    target = tmp_path_factory.mktemp("site")
    (wheel,) = built.glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("shipped", "source"), _FOLDERS.items())
def test_wheel_carries_the_folder(installed: Path, shipped: str, source: str) -> None:
    assert _names(_ROOT / source)
    assert _names(installed / "cplc" / "_data" / shipped) == _names(_ROOT / source)


def test_wheel_carries_the_package_and_nothing_else(installed: Path) -> None:
    (info,) = installed.glob("*.dist-info")
    assert {path.name for path in installed.iterdir()} == {"cplc", info.name}
    assert (info / "licenses" / "LICENSE").is_file()
    assert "cplc = cplc.cli.main:main" in (info / "entry_points.txt").read_text(encoding="utf-8")


def test_user_of_the_wheel_sees_its_types(installed: Path, tmp_path: Path) -> None:
    _run("-m", "venv", "--without-pip", str(tmp_path / "venv"), cwd=tmp_path)
    ((_, libraries),) = [
        line.split("=", 1)
        for line in _run("-c", "import sysconfig; print('lib=' + sysconfig.get_path('purelib', vars={'base': 'venv'}))",
                         cwd=tmp_path).splitlines()
    ]  # fmt: skip
    shutil.copytree(installed, tmp_path / libraries, dirs_exist_ok=True)
    (tmp_path / "user.py").write_text(
        "import cplc\n"
        'compilation = cplc.compile("")\n'
        "reveal_type(compilation)\n"
        "reveal_type(cplc.verify(compilation)[0].answer)\n"
        "reveal_type(cplc.Monitor)\n"
        "cplc.compile(1)\n"
        "cplc.nonsense\n",
        encoding="utf-8",
    )
    (python,) = (path for name in ("bin/python", "Scripts/python.exe") if (path := tmp_path / "venv" / name).exists())
    arguments = ["--strict", "--config-file=", f"--python-executable={python}", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *arguments, "user.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    revealed_types = [line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith("user.py")]
    assert len(revealed_types) == 5, done.stdout
    for line, expected in zip(
        revealed_types,
        (
            r'note: Revealed type is "cplc.compilation.cpl.CplCompilation"',
            r"note: Revealed type is .*Literal\['holds'\]",
            r"note: Revealed type is .*cplc.monitoring.monitor.Monitor",
            r'error: Argument 1 to "compile" has incompatible type "int"; expected "str"',
            r'error: Module has no attribute "nonsense"',
        ),
        strict=True,
    ):
        assert re.match(expected, line), done.stdout


def test_source_distribution_carries_the_tests(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"tests/test_wheel.py", "examples/netbill.cpl", "Makefile", "LICENSE", "README.md"} <= names


def test_wheel_verifies_from_another_directory(installed: Path, tmp_path: Path) -> None:
    where = _run("-c", "import cplc; print(cplc.__file__)", cwd=tmp_path, path=installed)
    assert Path(where.strip()).is_relative_to(installed)
    (tmp_path / "m.cpl").write_text((_ROOT / "examples" / "netbill.cpl").read_text(encoding="utf-8"), encoding="utf-8")
    assert "holds" in _run("-m", "cplc", "verify", "m.cpl", cwd=tmp_path, path=installed)
    assert "\nMODULE main\n" in _run("-m", "cplc", "export", "m.cpl", "--to", "smv", cwd=tmp_path, path=installed)
    assert _run("-m", "cplc", "--version", cwd=tmp_path, path=installed) == f"cplc {cplc.__version__}\n"
    assert _run("-m", "cplc", "explain", "syntax", cwd=tmp_path, path=installed).startswith("# syntax\n")
