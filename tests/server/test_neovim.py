"""Neovim itself as the judge, where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_TEXT = """\
protocol Sale {
  role Seller
  role Buyer
  Buyer -> Seller : pay
  Seller -> Buyer : ship  after payed
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_neovim_understands_the_server(tmp_path: Path) -> None:
    file = tmp_path / "sale.cpl"
    file.write_text(_TEXT, encoding="utf-8")
    command = [shutil.which("nvim") or "nvim", "--headless", "-u", "NONE", "-n", "-S"]
    settings = {"CPLC_FILE": str(file), "CPLC_COMMAND": f"{sys.executable} -m cplc lsp", "HOME": str(tmp_path)}
    run = subprocess.run(
        [*command, str(Path(__file__).with_name("nvim.lua"))],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    output = run.stderr.replace("\r", "")
    assert "5:33 unknown-name Nothing here is called `payed`\ndid you mean `pay`?" in output
    assert "role Seller" in output
    assert "definition 2" in output
    assert "Buyer -> Merchant : pay" in output
