"""Pictures of the report, the editor's panel, drawings and the playground, on a phone and on a desk.

What differs is left in `build/pictures`; `--update-golden` takes the new pictures as expected.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import Any, Final

import pytest
from tests.pictures.box_font import box_font

from cplc.compilation import CplCompilation
from cplc.drawing.graph import graph_svg
from cplc.drawing.protocol_diagrams import message_graph
from cplc.drawing.state_diagrams import local_state_graph
from cplc.report.html import file_part, fragment, page, panel
from cplc.report.outcome import Outcome, standing
from cplc.source import Source

_ROOT: Final = Path(__file__).parents[2]
_GOLDEN: Final = Path(__file__).with_name("golden")
_TAKEN: Final = _ROOT / "build" / "pictures"
_SCRIPT: Final = _ROOT / "playground" / "tests" / "pictures.mjs"
_CHROMIUM: Final = os.environ.get("CHROMIUM", "/usr/bin/chromium")
_WIDTHS: Final = (390, 1280)
_TOLERANCE: Final = 0.005
"""Share of the pixels that may differ: controls and smoothed edges are not the same in every version of a browser."""
_SHOP: Final = """protocol Shop {
  role Buyer
  role Seller
  commitment goods = C(Seller, Buyer, pay, ship)
  Seller -> Buyer : offer   means create goods
  Buyer -> Seller : pay     after offer
  Buyer -> Seller : cancel  after offer  means release goods
  Seller -> Buyer : ship    after pay
  Seller -> Buyer : fail    after pay    means violate goods
  Seller -> Buyer : refund  after fail   means compensate goods  restart
  choice ship | fail
  choice pay | cancel
  property paid "a buyer that pays gets the goods": AG (pay -> AF ship)   expect fails
  property reachable "goods can be shipped": EF ship
  property mended: AG (fail -> AF refund)
}
"""
_PAGES: Final = ("report", "panel", "messages", "role")
_PLAYGROUND: Final = ("playground-verdicts", "playground-draw")


def _pages(folder: Path) -> list[dict[str, object]]:
    """Write the pages, with no times in them."""
    compilation = CplCompilation(Source("shop.cpl", _SHOP))
    results = [replace(one, seconds=0.0) for one in compilation.verify(compilation.declared_questions())]
    judged = [(one, standing(one)) for one in results]
    system = compilation.system
    role = local_state_graph(system, system.agents[1], "Shop: Seller")
    texts = {
        "report.html": page("shop.cpl", [file_part(Outcome("verify", "shop.cpl", "0", results=judged))]),
        "panel.html": panel("paid", [fragment(1, *judged[0])], "nonce"),
        "messages.html": _around(graph_svg(message_graph(system, "Shop: what messages wait for"))),
        "role.html": _around(graph_svg(role)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    heights = {"report": 2400, "panel": 1600, "messages": 900, "role": 900}
    widths = {"messages": [1280], "role": [1280]}
    return [
        {"name": name, "file": str(folder / f"{name}.html"), "widths": widths.get(name, _WIDTHS), "height": height}
        for name, height in heights.items()
    ]


def _around(svg: str) -> str:
    return f"<!doctype html><meta charset=utf-8><body style='margin:0'>{svg}</body>"


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return for each picture what differs from the expected one; None if there is none."""
    if which("node") is None or which(_CHROMIUM) is None:
        pytest.skip("there is no node or no Chromium")
    if not (_ROOT / "playground" / "node_modules" / "playwright-core").is_dir():
        pytest.skip("playwright-core is not installed: `npm ci` in playground/")
    _TAKEN.mkdir(parents=True, exist_ok=True)
    given = {
        "pages": _pages(tmp_path_factory.mktemp("pages")),
        "font": base64.b64encode(box_font()).decode(),
        "golden": str(_GOLDEN),
        "taken": str(_TAKEN),
        "playground": os.environ.get("CPLC_PLAYGROUND") and str(Path(os.environ["CPLC_PLAYGROUND"]).resolve()),
    }
    command = ["node", str(_SCRIPT), json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return {one["name"]: one for one in map(json.loads, done.stdout.splitlines())}


def _names() -> list[str]:
    wide_only = ("messages", "role")
    return [f"{name}-{width}" for name in (*_PAGES, *_PLAYGROUND) for width in _WIDTHS[name in wide_only :]]


@pytest.mark.parametrize("name", _names())
def test_picture_is_as_expected(taken: dict[str, Any], name: str, update_golden: bool) -> None:
    if name.startswith("playground") and name not in taken:
        pytest.skip("CPLC_PLAYGROUND names no folder with the playground")
    if update_golden:
        _GOLDEN.mkdir(exist_ok=True)
        shutil.copy(_TAKEN / f"{name}.png", _GOLDEN)
        return
    assert taken[name]["share"] is not None, "there is no expected picture; --update-golden takes this one"
    assert taken[name]["share"] <= _TOLERANCE, f"see {_TAKEN / name}.png"


@pytest.mark.parametrize("name", _names())
def test_nothing_is_wider_than_the_page(taken: dict[str, Any], name: str) -> None:
    if name.startswith("playground") and name not in taken:
        pytest.skip("CPLC_PLAYGROUND names no folder with the playground")
    assert taken[name]["overflow"] == 0
