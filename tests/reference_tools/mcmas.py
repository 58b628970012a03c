"""Runs MCMAS on a file and reads what it says.

``CPLC_MCMAS`` names the program, and ``CPLC_MCMAS_PLUS`` that of MCMAS+, which knows commitments.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from tests.reference_tools.said import Said

MCMAS = os.environ.get("CPLC_MCMAS", "")
MCMAS_PLUS = os.environ.get("CPLC_MCMAS_PLUS", "")


def ask(text: str, *, seconds: float = 120) -> Said:
    """Return what MCMAS says of the file; `subprocess.TimeoutExpired` if it takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "exported.ispl")
        path.write_text(text, encoding="ascii")
        done = subprocess.run(
            [MCMAS, "-o", "3", path.name], cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
        )
    found = re.findall(r"Formula number \d+: .* is (TRUE|FALSE) in the model", done.stdout)
    count = re.search(r"number of reachable states = ([\d.e+]+)", done.stdout)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert count, done.stdout[-2000:]
    return Said(round(float(count.group(1))), tuple(verdict == "TRUE" for verdict in found))


def asked(
    text: str, *options: str, seconds: float = 60, program: str = MCMAS
) -> tuple[int | None, tuple[bool, ...], float]:
    """Return the states and verdicts of a model that may be more than MCMAS can do, and how long it took.

    Where it gives up, or crashes, the verdicts that it did not come to are missing.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.ispl")
        path.write_text(text, encoding="utf-8")
        begun = time.monotonic()
        done = subprocess.run(
            [program, *options, path.name], cwd=folder, capture_output=True, timeout=seconds, check=False
        )
        taken = time.monotonic() - begun
    said = done.stdout.decode("utf-8", "replace")
    found = re.findall(r"Formula number \d+: .* is (TRUE|FALSE) in the model", said)
    count = re.search(r"number of reachable states = ([\d.e+]+)", said)
    verdicts = tuple(verdict == "TRUE" for verdict in found)
    return round(float(count[1])) if count else None, verdicts, taken
