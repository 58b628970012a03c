"""Run NuSMV on an exported file and parse its output.

``CPLC_NUSMV`` names NuSMV 2.6, ``CPLC_NUSMV_ARCTL`` NuSMV 2.2 with ARCTL.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from tests.reference_tools.tool_answer import ToolAnswer

NUSMV = os.environ.get("CPLC_NUSMV", "")
NUSMV_ARCTL = os.environ.get("CPLC_NUSMV_ARCTL", "")

_NAMED = re.compile(r"^(?:CTL|LTL)SPEC NAME (\w+) :=", re.MULTILINE)


def ask(text: str, *, seconds: float = 120) -> ToolAnswer:
    """Return the answer of NuSMV 2.6; raise `subprocess.TimeoutExpired` after the time limit."""
    names = _NAMED.findall(text)
    commands = ["set on_failure_script_quits 1", "go", "print_reachable_states"]
    commands += [f"check_property -P {name}" for name in names]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "script").write_text("\n".join([*commands, "quit"]) + "\n", encoding="ascii")
        Path(folder, "exported.smv").write_text(text, encoding="ascii")
        output = _run([NUSMV, "-dcx", "-dynamic", "-int", "-source", "script", "exported.smv"], folder, seconds)
    count = re.search(r"^reachable states: ([\d.e+]+) ", output, re.MULTILINE)
    verdicts = re.findall(r"^-- specification .*?\bis (true|false)$", output, re.MULTILINE | re.DOTALL)
    assert count, output[-2000:]
    assert len(verdicts) == len(names), output[-2000:]
    return ToolAnswer(round(float(count[1])), tuple(verdict == "true" for verdict in verdicts))


def ask_arctl(text: str, *, seconds: float = 120) -> ToolAnswer:
    """Return the answer of NuSMV with ARCTL, without the number of states."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "exported.smv").write_text(text, encoding="ascii")
        output = _run([NUSMV_ARCTL, "-dcx", "-dynamic", "exported.smv"], folder, seconds)
    verdicts = re.findall(r"^-- specification .*?\bis (true|false)$", output, re.MULTILINE | re.DOTALL)
    assert len(verdicts) == len(re.findall(r"^SPEC$", text, re.MULTILINE)), output[-2000:]
    return ToolAnswer(None, tuple(verdict == "true" for verdict in verdicts))


def _run(command: list[str], folder: str, seconds: float) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL
    )
    return done.stdout + done.stderr
