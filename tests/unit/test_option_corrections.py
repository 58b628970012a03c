"""Unknown options are answered with the option of this program that was meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.in_process import run_cplc


@pytest.mark.parametrize(
    ("command", "written", "meant"),
    [
        ("verify", "--json", "--format json"),
        ("verify", "--parameter=n=3", "-D"),
        ("verify", "--assume=Mer", "--assuming"),
        ("verify", "--strickt", "--strict"),
        ("verify", "--verbose", "--detail everything"),
        ("simulate", "--sed=3", "--seed"),
    ],
)
def test_unknown_option_names_the_option_that_was_meant(command: str, written: str, meant: str, tmp_path: Path) -> None:
    ran = run_cplc(command, "none.cpl", written, cwd=tmp_path)
    assert ran.code == 2
    assert f"has no option `{written.partition('=')[0]}`; did you mean `{meant}`?" in ran.everything
