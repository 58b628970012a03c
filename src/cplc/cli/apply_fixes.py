"""Automatic fixes of ``cplc check --fix``, applied before the remaining diagnostics are reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cplc.cli import output
from cplc.cli.limits import Limits
from cplc.cli.load import Channels, run_to_completion
from cplc.runtime.file_access import MAX_BYTES, read_bytes

if TYPE_CHECKING:
    from cplc.compilation.automatic_fixes import FixedText

_BYTE_ORDER_MARK = "\ufeff"


def fix_file(
    file: str, definitions: Sequence[tuple[str, str]], channels: Channels, protocol: str | None, *, diff: bool
) -> FixedText | str | None:
    """Apply the unambiguous fixes and return them; None if there are none, or the reason of an interruption.

    With ``diff``, print the changes only. Models in ISPL and standard input are not changed.
    """
    from cplc.compilation import CplCompilation, is_ispl, load
    from cplc.compilation.automatic_fixes import fix_text

    def work() -> tuple[str, FixedText] | None:
        loaded = None if is_ispl(file) or file == "-" else load(file, dict(definitions), channels)
        if not isinstance(loaded, CplCompilation):
            return None
        return loaded.source.text, fix_text(replace(loaded, protocol=protocol))

    outcome = run_to_completion(work, Limits(), f"repairing {file}")
    if outcome is None or isinstance(outcome, str):
        return outcome
    before, after = outcome
    if diff:
        output.write_exactly(output.difference(file, before, after.text))
    elif after.count:
        path = Path(file).resolve()
        mark = _BYTE_ORDER_MARK if read_bytes(path, MAX_BYTES).startswith(_BYTE_ORDER_MARK.encode()) else ""
        output.write_file(path, mark + after.text)
    return after
