"""Answers to an editor that shows runs itself: a page for its panel, and a list of questions."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import LanguageClient, client_capabilities
from tests.server.conftest import SERVER, Editor

_SHOP = """\
protocol Shop(n: 1..3 = 2) {
  role Seller
  role Buyer[n]
  for b in Buyer {
    b -> Seller : pay
    Seller -> b : ship after pay
  }
  property served "whoever pays <gets> the goods": forall b in Buyer: AG (pay[b] -> AF ship[b])
  check sound
}
"""


@pytest_lsp.fixture(config=SERVER)  # type: ignore[untyped-decorator]
async def drawing(lsp_client: LanguageClient, tmp_path: Path) -> AsyncIterator[None]:
    await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=client_capabilities("neovim"),
            root_uri=tmp_path.as_uri(),
            initialization_options={"panel": True},
        )
    )
    yield
    await lsp_client.shutdown_session()


class _Page(HTMLParser):
    """Collects what a page would load or run, and its steps."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.outside: list[str] = []
        self.nonces: list[str | None] = []
        self.policy = ""
        self.places: list[tuple[str, ...]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.outside += [name for name in given if name in ("src", "srcset", "href", "style") or name.startswith("on")]
        if tag in ("style", "script"):
            self.nonces.append(given.get("nonce"))
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        if "data-line" in given:
            self.places.append((given["data-file"] or "", given["data-line"] or ""))


async def _ask(client: LanguageClient, command: str, *arguments: Any) -> Any:
    return await client.workspace_execute_command_async(lsp.ExecuteCommandParams(command, arguments=list(arguments)))


@pytest.mark.asyncio
async def test_a_run_is_a_page_that_trusts_only_itself(drawing: LanguageClient, tmp_path: Path) -> None:
    editor = Editor(drawing, tmp_path)
    uri = await editor.open("shop.cpl", _SHOP)
    verified = await _ask(drawing, "cplc.verify", uri, "Shop", "served")
    assert "panel" not in str(verified)
    shown = [(await _ask(drawing, "cplc.showRun", uri, "Shop", "served"))["page"] for _ in range(2)]
    page = _Page(shown[0])
    assert page.outside == []
    (nonce,) = set(page.nonces)
    assert page.policy == f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'"
    assert nonce is not None
    assert nonce not in shown[1]
    path = str(tmp_path / "shop.cpl")
    assert page.places[0] == (path, "8")
    assert {(path, "5")} < set(page.places)
    assert "whoever pays &lt;gets&gt; the goods" in shown[0]
    assert "<gets>" not in shown[0]


@pytest.mark.asyncio
async def test_each_agent_sees_its_own_part_of_the_run(drawing: LanguageClient, tmp_path: Path) -> None:
    editor = Editor(drawing, tmp_path)
    uri = await editor.open("shop.cpl", _SHOP)
    await _ask(drawing, "cplc.verify", uri, "Shop", "served")
    page = (await _ask(drawing, "cplc.showRun", uri, "Shop", "served"))["page"]
    sights = page[page.index('<details class="sights"') :]
    headings = re.findall(r'<th scope="row(group)?"[^>]*>([^<]*)</th>', sights)
    agents = [name for group, name in headings if group]
    assert agents[0] == "Seller"
    assert len(agents) == 2, "the other buyer sees nothing"
    assert ("", "pay[1] received") in headings or ("", "pay[2] received") in headings


@pytest.mark.asyncio
async def test_questions_listed_with_positions(drawing: LanguageClient, tmp_path: Path) -> None:
    editor = Editor(drawing, tmp_path)
    uri = await editor.open("shop.cpl", _SHOP)
    listed = await _ask(drawing, "cplc.asked", uri)
    assert [(one["protocol"], one["name"], one["kind"], one["range"]["start"]["line"]) for one in listed] == [
        ("Shop", "served", "property", 7),
        ("Shop", "sound", "check", 8),
    ]
    (tmp_path / "closed.cpl").write_text(_SHOP.replace("served", "kept"), encoding="utf-8")
    listed = await _ask(drawing, "cplc.asked", (tmp_path / "closed.cpl").as_uri())
    assert [one["name"] for one in listed] == ["kept", "sound"]
    assert await _ask(drawing, "cplc.asked", (tmp_path / "missing.cpl").as_uri()) in (None, [])
