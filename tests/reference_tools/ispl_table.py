"""Compare MCMAS with cplc over models in ISPL: ``python -m tests.reference_tools.ispl_table DIRECTORY``.

For every ``.ispl`` file below the directory: reachable states and seconds of both, how many verdicts agree, and every
disagreement with its formula. Both get a minute for each file.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.reference_tools.mcmas import ask_partially

from cplc.checking.results import Result
from cplc.compilation import count_reachable, load
from cplc.diagnostics.core import Diagnostic

_SECONDS = 60
_ROW = "{:52} {:>12} {:>12} {:>8} {:>8}  {}\n"


def main(directory: str) -> None:
    """Write a line per file and per differing verdict."""
    sys.stdout.write(_ROW.format("file", "states", "MCMAS", "seconds", "MCMAS", "verdicts"))
    for path in sorted(Path(directory).rglob("*.ispl")):
        for line in _compared(path, path.relative_to(directory)):
            sys.stdout.write(line)
        sys.stdout.flush()


def _compared(path: Path, name: Path) -> Iterator[str]:
    reading = load(str(path))
    if isinstance(reading, Diagnostic) or not reading.ok:
        errors = [reading] if isinstance(reading, Diagnostic) else [one for one in reading.diagnostics if one.is_error]
        yield f"{name}: {len(errors)} errors, the first: {errors[0].message}\n"
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        their_states, theirs, their_time = ask_partially(text, "-o", "3", "-atlk", "1", seconds=_SECONDS)
    except subprocess.TimeoutExpired:
        their_states, theirs, their_time = None, (), float(_SECONDS)
    begun = time.monotonic()
    results = []
    for result in reading.verify(reading.questions()):
        results.append(result)
        if time.monotonic() - begun > _SECONDS:
            break
    taken = time.monotonic() - begun
    judged = [result for result in results if result.question.name.startswith("formula")]
    pairs = list(zip(judged, theirs, strict=False))
    different = [(result, verdict) for result, verdict in pairs if _holds(result) != verdict]
    states = count_reachable(reading.system)
    agreement = f"{len(pairs) - len(different)} of {len(pairs)} agree, {len(judged)} asked"
    yield _ROW.format(str(name)[-52:], states, str(their_states), f"{taken:.2f}", f"{their_time:.2f}", agreement)
    for result, verdict in different:
        yield f"    {result.question.name}: {result.question.text}: {result.answer}, MCMAS says {verdict}\n"


def _holds(result: Result) -> bool | None:
    return None if result.answer == "unknown" else result.answer != "fails"


if __name__ == "__main__":
    main(sys.argv[1])
