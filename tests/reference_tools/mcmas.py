"""Runs MCMAS on an exported file and reads what it says. ``CPLC_MCMAS`` names the program."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

MCMAS = os.environ.get("CPLC_MCMAS", "")


@dataclass(frozen=True)
class Said:
    states: int
    verdicts: tuple[bool, ...]
    """Of the formulas, in the order of the file."""


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
