"""Processes that `cplc` starts import nothing from the folder in which it is run, which may be somebody else's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_PROTOCOL = "protocol P { role A role B A -> B : m property p: EF m }"
_HANGS = 120


def _with_decoys(folder: Path) -> Path:
    """Put modules into the folder that say that they were imported."""
    for name in ("textx", "lark", "numpy", "jinja2", "oxidd", "pickle", "psutil", "cplc"):
        (folder / f"{name}.py").write_text(
            f"open({str(folder / 'imported')!r}, 'a').write({name!r} + ' ')\n", encoding="utf-8"
        )
    (folder / "p.cpl").write_text(_PROTOCOL, encoding="utf-8")
    return folder / "imported"


def _started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "cplc", *arguments],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(_ROOT / "src")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_workers_of_a_sweep_import_nothing_from_the_working_directory(tmp_path: Path) -> None:
    imported = _with_decoys(tmp_path)
    with _started(tmp_path, "sweep", "p.cpl") as run:
        output, _ = run.communicate(timeout=_HANGS)
    assert not imported.exists(), imported.read_text(encoding="utf-8")
    assert run.returncode == 0, output


def test_watched_run_imports_nothing_from_the_working_directory(tmp_path: Path) -> None:
    imported = _with_decoys(tmp_path)
    with _started(tmp_path, "check", "p.cpl", "--watch") as run:
        assert run.stdout is not None
        lines = iter(run.stdout.readline, "")
        shown = next((line for line in lines if "watching p.cpl" in line), None)
        run.terminate()
        run.communicate(timeout=_HANGS)
    assert not imported.exists(), imported.read_text(encoding="utf-8")
    assert shown is not None


@pytest.mark.asyncio
async def test_verification_for_an_editor_imports_nothing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cplc.server.documents import Documents
    from cplc.server.session import answers, job

    imported = _with_decoys(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(_ROOT / "src"))
    documents = Documents()
    try:
        uri = (tmp_path / "p.cpl").as_uri()
        documents.open(uri, _PROTOCOL, 1)
        compiled = await documents.compiled(uri)
        assert compiled is not None
        monkeypatch.chdir(tmp_path)
        messages = [one async for one in answers(job(compiled, {}, "P", None, panel=False))]
    finally:
        documents.shutdown()
    assert not imported.exists(), imported.read_text(encoding="utf-8")
    assert messages[-1] == {"end": None}
