"""Runs NuSMV on an exported file and reads what it says.

``CPLC_NUSMV`` names NuSMV 2.6, ``CPLC_NUSMV_ARCTL`` the older one that was extended with ARCTL.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from tests.reference_tools.said import Said

NUSMV = os.environ.get("CPLC_NUSMV", "")
NUSMV_ARCTL = os.environ.get("CPLC_NUSMV_ARCTL", "")

_NAMED = re.compile(r"^(?:CTL|LTL)SPEC NAME (\w+) :=", re.MULTILINE)


def ask(text: str, *, seconds: float = 120) -> Said:
    """Return what NuSMV 2.6 says of the file; `subprocess.TimeoutExpired` if it takes too long."""
    names = _NAMED.findall(text)
    commands = ["set on_failure_script_quits 1", "go", "print_reachable_states"]
    commands += [f"check_property -P {name}" for name in names]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "script").write_text("\n".join([*commands, "quit"]) + "\n", encoding="ascii")
        Path(folder, "exported.smv").write_text(text, encoding="ascii")
        said = _run([NUSMV, "-dcx", "-dynamic", "-int", "-source", "script", "exported.smv"], folder, seconds)
    count = re.search(r"^reachable states: ([\d.e+]+) ", said, re.MULTILINE)
    verdicts = re.findall(r"^-- specification .*?\bis (true|false)$", said, re.MULTILINE | re.DOTALL)
    assert count, said[-2000:]
    assert len(verdicts) == len(names), said[-2000:]
    return Said(round(float(count[1])), tuple(verdict == "true" for verdict in verdicts))


def ask_arctl(text: str, *, seconds: float = 120) -> Said:
    """Return what the extended NuSMV says of the file; it is not asked to count."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "exported.smv").write_text(text, encoding="ascii")
        said = _run([NUSMV_ARCTL, "-dcx", "-dynamic", "exported.smv"], folder, seconds)
    verdicts = re.findall(r"^-- specification .*?\bis (true|false)$", said, re.MULTILINE | re.DOTALL)
    assert len(verdicts) == len(re.findall(r"^SPEC$", text, re.MULTILINE)), said[-2000:]
    return Said(None, tuple(verdict == "true" for verdict in verdicts))


def _run(command: list[str], folder: str, seconds: float) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL
    )
    return done.stdout + done.stderr
