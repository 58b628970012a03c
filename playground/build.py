"""Build the playground: `python playground/build.py FOLDER`. What is fetched comes by pip and npm and is not kept.

The folder is there when it is complete: everything is made beside it first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cplc.report.html import template

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent
_PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
_COMPILED = (".so", ".pyd", ".dylib", ".c", ".pyi")
"""Files that do not run there, and their sources."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the playground.")
    parser.add_argument("folder", type=Path, help="where it is put; what is there is replaced")
    folder: Path = parser.parse_args(arguments).folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    _modules()
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as name:
        work = Path(name)
        made = work / "made"
        made.mkdir()
        _pyodide(made / "pyodide")
        _python(work / "site", made / "python.zip")
        _run("node", _HERE / "scripts" / "image.mjs", made / "pyodide", work / "site", made / "python.image")
        _page(work, made)
        _service_worker(made)
        if folder.exists():
            folder.rename(work / "before")
        made.rename(folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    sys.stdout.write(f"{folder}: {size / 1e6:.1f} MB\n")
    return 0


def _run(*command: str | Path, **options: Any) -> None:
    subprocess.run([str(part) for part in command], check=True, **options)


def _modules() -> None:
    """Install what package-lock.json pins, unless it is there."""
    lock_file = _HERE / "node_modules" / ".package-lock.json"
    if not lock_file.is_file() or lock_file.stat().st_mtime < (_HERE / "package-lock.json").stat().st_mtime:
        _run("npm", "ci", "--silent", "--no-audit", "--no-fund", cwd=_HERE)


def _pyodide(folder: Path) -> None:
    folder.mkdir()
    for name in _PYODIDE:
        shutil.copy(_HERE / "node_modules" / "pyodide" / name, folder / name)


def _python(site: Path, archive: Path) -> None:
    """Put the wheel of this checkout and what it needs into an archive, compiled by the Python that will run it."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    pins = ("--constraint", _ROOT / "constraints.txt")
    _run(*pip, "--target", site, *pins, "--requirement", _HERE / "requirements.txt")
    shutil.rmtree(site / "bin", ignore_errors=True)
    _run(*pip, "--target", site, _ROOT)
    for path in sorted(site.rglob("*")):
        if path.suffix in _COMPILED:
            path.unlink()
    for path in [site / "bin", *sorted(site.rglob("__pycache__"))]:
        shutil.rmtree(path, ignore_errors=True)
    (site / "playground").mkdir()
    for name in ("checker.py", "explorer.py"):
        shutil.copy(_HERE / name, site / "playground")
    _run("node", _HERE / "scripts" / "compile.mjs", site)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as bundle:
        for path in sorted(site.rglob("*")):
            if path.is_file():
                bundle.write(path, path.relative_to(site))


def _page(work: Path, made: Path) -> None:
    """Bundle the page; what it shows is read from where it is written, and nothing is written twice."""
    palette: Any = template("colours.css.j2").module
    given = {
        "out": str(made),
        "light": palette.light(),
        "dark": palette.dark(),
        "report": template("style.css.j2").render() + template("participant.css.j2").render(),
        "tip": str(_module("verdict.html.j2").tip()),
        "script": _text("src/cplc/report/templates/script.js"),
        "ispl": json.loads(_text("vscode-extension/syntaxes/ispl.tmLanguage.json")),
        "rules": {path.stem: path.read_text(encoding="utf-8") for path in sorted((_ROOT / "docs/rules").glob("*.md"))},
        "examples": [_example(path) for path in sorted((_ROOT / "examples").glob("*.*pl"), key=lambda path: path.name)],
        "start": {"tour": [_example(path) for path in sorted((_HERE / "tour").glob("*.cpl"))], "topics": topics()},
    }
    file = work / "given.json"
    file.write_text(json.dumps(given), encoding="utf-8")
    _run("node", _HERE / "scripts" / "bundle.mjs", file)


def topics() -> list[dict[str, Any]]:
    """Return the headings of the page on examples, each with the files of its table."""
    parts = _text("docs/examples.md").split("\n## ")[1:]
    listed = [(part.partition("\n")[0], re.findall(r"(?m)^\| `([^`]+)` \|", part)) for part in parts]
    return [{"title": title, "names": names} for title, names in listed if names]


def _service_worker(made: Path) -> None:
    """Write the service worker, which names every file, and a version that is new if any file is."""
    files = sorted(path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for name in files:
        digest.update(f"{name}\n".encode() + hashlib.sha256((made / name).read_bytes()).digest())
    names = [name for name in ["", *files] if name != "index.html" and not name.endswith(".txt")]
    given = {"out": str(made), "files": names, "version": digest.hexdigest()[:16]}
    _run("node", _HERE / "scripts" / "service_worker.mjs", json.dumps(given))


def _module(name: str) -> Any:
    return template(name).module


def _text(name: str) -> str:
    return (_ROOT / name).read_text(encoding="utf-8")


def _example(path: Path) -> dict[str, str]:
    """Return an example with its first comment, its description."""
    text = path.read_text(encoding="utf-8")
    first = text.partition("\n")[0]
    return {"name": path.name, "title": first.lstrip("/- ").rstrip(". "), "text": text}


if __name__ == "__main__":
    sys.exit(main())
