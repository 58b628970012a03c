"""Verdicts of the command line, for comparison with the playground."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.*pl"))


def verdicts(*arguments: str) -> list[list[str]]:
    """Return the name and the verdict of each result."""
    command = [sys.executable, "-m", "cplc", "verify", "--no-cache", "--format", "json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    results = json.loads(done.stdout)["results"]
    assert results, done.stderr
    return [[one["name"], one["verdict"]] for one in results]
