"""Run MCMAS on a file and parse its output.

``CPLC_MCMAS`` names the program, and ``CPLC_MCMAS_PLUS`` MCMAS+, which supports commitments.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from tests.reference_tools.tool_answer import ToolAnswer

MCMAS = os.environ.get("CPLC_MCMAS", "")
MCMAS_PLUS = os.environ.get("CPLC_MCMAS_PLUS", "")


def ask(text: str, *, seconds: float = 120) -> ToolAnswer:
    """Return the answer of MCMAS; raise `subprocess.TimeoutExpired` after the time limit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "exported.ispl")
        path.write_text(text, encoding="ascii")
        done = subprocess.run(
            [MCMAS, "-o", "3", path.name], cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
        )
    verdicts = re.findall(r"Formula number \d+: .* is (TRUE|FALSE) in the model", done.stdout)
    count = re.search(r"number of reachable states = ([\d.e+]+)", done.stdout)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert count, done.stdout[-2000:]
    return ToolAnswer(round(float(count.group(1))), tuple(verdict == "TRUE" for verdict in verdicts))


def ask_partially(
    text: str, *options: str, seconds: float = 60, program: str = MCMAS
) -> tuple[int | None, tuple[bool, ...], float]:
    """Return the number of states, the verdicts and the seconds; verdicts may be missing after a crash."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.ispl")
        path.write_text(text, encoding="utf-8")
        begun = time.monotonic()
        done = subprocess.run(
            [program, *options, path.name], cwd=folder, capture_output=True, timeout=seconds, check=False
        )
        taken = time.monotonic() - begun
    output = done.stdout.decode("utf-8", "replace")
    printed_verdicts = re.findall(r"Formula number \d+: .* is (TRUE|FALSE) in the model", output)
    count = re.search(r"number of reachable states = ([\d.e+]+)", output)
    verdicts = tuple(verdict == "TRUE" for verdict in printed_verdicts)
    return round(float(count[1])) if count else None, verdicts, taken
