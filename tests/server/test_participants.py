"""Questions about participants, and values of parameters, in an editor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import LanguageClient, client_capabilities
from tests.server.conftest import SERVER, Editor

MARKET = """\
cpl 2
protocol Market(n: 1..6 = 2) {
  role Seller
  role Buyer[n]
  for b in Buyer {
    commitment goods = C(Seller, b, pay, ship)
    Seller -> b : offer              means create goods
    b -> Seller : pay   after offer
    b -> Seller : pass  after offer  means release goods
    Seller -> b : ship  after pay
    choice pay | pass
  }
  agent Ann plays Seller {
    for b in Buyer { believes b: pay[b] 0.5 | pass[b] 0.5 }
    goal exists b in Buyer: pay[b]
  }
  analyze Ann: conformance >= 1, achievement > 0.8
  check sound
}
"""


@pytest_lsp.fixture(config=SERVER)  # type: ignore[untyped-decorator]
async def asking(lsp_client: LanguageClient, tmp_path: Path) -> AsyncIterator[None]:
    @lsp_client.feature(lsp.WORKSPACE_INLAY_HINT_REFRESH)  # type: ignore[untyped-decorator]
    def refreshed(params: None) -> None:
        """As editors do."""

    await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=client_capabilities("neovim"),
            root_uri=tmp_path.as_uri(),
            initialization_options={"panel": True, "asksParameters": True, "parameters": {"Market": {"n": 3}}},
        )
    )
    yield
    await lsp_client.shutdown_session()


async def _ask(client: LanguageClient, command: str, *arguments: Any) -> Any:
    reply = client.workspace_execute_command_async(lsp.ExecuteCommandParams(command, arguments=list(arguments)))
    return await asyncio.wait_for(reply, 60)


async def _titles(editor: Editor, uri: str) -> list[str]:
    params = lsp.CodeLensParams(lsp.TextDocumentIdentifier(uri))
    lenses = await editor.client.text_document_code_lens_async(params)
    return [one.command.title for one in lenses or () if one.command]


@pytest.mark.asyncio
async def test_analysis_has_a_code_lens(editor: Editor) -> None:
    uri = await editor.open("market.cpl", MARKET)
    assert editor.codes(uri) == []
    assert await _titles(editor, uri) == ["Verify all", "Verify", "sound: Verify"]
    question_names = await _ask(editor.client, "cplc.asked", uri)
    assert [(one["name"], one["kind"]) for one in question_names] == [("analyze Ann", "analysis"), ("sound", "check")]
    verified = await _ask(editor.client, "cplc.verify", uri, "Market", "analyze Ann")
    assert verified["end"] is None
    verdicts = [(one["name"], one["asked"], one["verdict"], one["as_expected"]) for one in verified["results"]]
    assert verdicts == [
        ("Ann.conformance+achievement", "analyze Ann", "fails", False),
    ]
    titles = await _titles(editor, uri)
    assert titles[1].startswith("✗ fails, not as expected · ")
    assert titles[2] == "Show figures"
    shown = await _ask(editor.client, "cplc.showRun", uri, "Market", "analyze Ann")
    assert "Ann plays Seller" in shown["text"]
    assert shown["text"].count("guaranteed  ") == 1
    hover = await editor.client.text_document_hover_async(lsp.HoverParams(**editor.at(uri, "Ann", 2)))
    assert "not as expected" in str(hover)
    everything = await _ask(editor.client, "cplc.verify", uri, "Market", None)
    usual = ["live", "deadlock_free", "no_debt_forgotten"]
    assert [one["asked"] for one in everything["results"]] == ["sound", *usual, "analyze Ann"]


@pytest.mark.asyncio
async def test_figures_are_a_page_that_trusts_only_itself(asking: LanguageClient, tmp_path: Path) -> None:
    editor = Editor(asking, tmp_path)
    uri = await editor.open("market.cpl", MARKET)
    await _ask(asking, "cplc.verify", uri, "Market", "analyze Ann")
    page = (await _ask(asking, "cplc.showRun", uri, "Market", "analyze Ann"))["page"]
    assert page.count("Ann plays Seller") == 1
    assert "<svg" in page
    assert "<style>" not in page
    assert " style=" not in page


@pytest.mark.asyncio
async def test_parameters_have_other_values_than_their_defaults(asking: LanguageClient, tmp_path: Path) -> None:
    editor = Editor(asking, tmp_path)
    uri = await editor.open("market.cpl", MARKET)

    async def size() -> str:
        hover = await asking.text_document_hover_async(lsp.HoverParams(**editor.at(uri, "n]")))
        return str(hover)

    assert "n = 3 (given)" in await _titles(editor, uri)
    assert "value `3`" in await size()
    for wrong, why in (({"n": 9}, "cannot be 9"), ({"m": 1}, "no parameter `m`"), ({"n": "x"}, "a whole number")):
        with pytest.raises(Exception, match=why):
            await _ask(asking, "cplc.setParameters", uri, "Market", wrong)
    with pytest.raises(Exception, match="no protocol `Shop`"):
        await _ask(asking, "cplc.setParameters", uri, "Shop", {"n": 1})
    (now,) = await _ask(asking, "cplc.setParameters", uri, "Market", {"n": 1})
    assert (now["name"], now["type"], now["default"], now["given"]) == ("n", "1..6", "2", "1")
    assert "value `1`" in await size()
    verified = await _ask(asking, "cplc.verify", uri, "Market", "analyze Ann")
    assert "0.5" in verified["results"][0]["text"]
    assert "Show figures" in await _titles(editor, uri)
    await _ask(asking, "cplc.setParameters", uri, "Market", {})
    assert "n = 2" in await _titles(editor, uri)
    assert "Show figures" not in await _titles(editor, uri)
    await _ask(asking, "cplc.setParameters", uri, "Market", None)
    assert "n = 3 (given)" in await _titles(editor, uri)
    asking.workspace_did_change_configuration(
        lsp.DidChangeConfigurationParams({"cplc": {"parameters": {"Market": {"n": 5}}}})
    )
    assert "value `5`" in await size()


@pytest.mark.asyncio
async def test_a_value_that_does_not_fit_any_more_is_a_mistake_at_the_protocol(
    asking: LanguageClient, tmp_path: Path
) -> None:
    editor = Editor(asking, tmp_path)
    uri = await editor.open("market.cpl", MARKET)
    await editor.change(uri, MARKET.replace("1..6", "1..2"))
    (diagnostic,) = asking.diagnostics[uri]
    assert (diagnostic.code, editor.marked(uri, diagnostic.range)) == ("value-out-of-range", "Market")
    verified = await _ask(asking, "cplc.verify", uri, "Market", "sound")
    assert "cannot be 3" in verified["end"]
    (now,) = await _ask(asking, "cplc.setParameters", uri, None, {})
    assert now["given"] is None
    await editor.change(uri, MARKET.replace("1..6", "1..2") + "\n")
    assert editor.codes(uri) == []


@pytest.mark.asyncio
async def test_settings_of_the_project_count_as_soon_as_they_change(editor: Editor) -> None:
    text = "protocol P { role A role B A -> B : m  fact f = m }\n"
    uri = await editor.open("p.cpl", text)
    assert editor.codes(uri) == ["unused"]
    settings = editor.folder / "cplc.toml"
    settings.write_text('ignore = ["unused"]\n', encoding="utf-8")
    event = lsp.FileEvent(settings.as_uri(), lsp.FileChangeType.Created)
    editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
    while editor.codes(uri):
        await editor.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    settings.write_text('ignor = ["unused"]\n', encoding="utf-8")
    editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
    while not editor.client.diagnostics.get(settings.as_uri()):
        await editor.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    (diagnostic,) = editor.client.diagnostics[settings.as_uri()]
    assert diagnostic.code == "bad-settings"


@pytest.mark.asyncio
async def test_parameters_of_the_settings_count_in_the_editor(editor: Editor) -> None:
    settings = editor.folder / "cplc.toml"
    settings.write_text("[[overrides]]\nfiles = ['team.cpl']\nparameters = { n = 9 }\n", encoding="utf-8")
    text = "cpl 2\nprotocol Team(n: 1..4 = 1) {\n  role A\n  role B[n]\n  for b in B { A -> b : m }\n}\n"
    assert editor.codes(await editor.open("team.cpl", text)) == ["value-out-of-range"]
    assert editor.codes(await editor.open("other.cpl", text)) == []
    settings.unlink()
