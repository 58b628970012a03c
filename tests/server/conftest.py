"""A server in a process of its own, and an editor that talks to it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

SERVER = ClientServerConfig(server_command=[sys.executable, "-m", "cplc", "lsp"])


class Editor:
    """Requests of tests to the server, with words as places: ``at("goods", 2)`` is in the second `goods`."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.texts: dict[str, str] = {}
        self._versions: dict[str, int] = {}

    def uri(self, name: str) -> str:
        return name if ":" in name else (self.folder / name).as_uri()

    async def open(self, name: str, text: str) -> str:
        """Open a text, and wait until the server has said what is wrong with it."""
        uri = self.uri(name)
        self.texts[uri], self._versions[uri] = text, 1
        item = lsp.TextDocumentItem(uri, "cpl", 1, text)
        await self._told_after(uri, lambda: self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item)))
        return uri

    async def change(self, uri: str, text: str) -> None:
        """Replace a text, and wait until the server has said what is wrong with it."""
        self.texts[uri] = text
        self._versions[uri] += 1
        which = lsp.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        changes = [lsp.TextDocumentContentChangeWholeDocument(text)]
        change = lsp.DidChangeTextDocumentParams(which, changes)
        await self._told_after(uri, lambda: self.client.text_document_did_change(change))

    async def _told_after(self, uri: str, act: Callable[[], None]) -> None:
        self.client.diagnostics.pop(uri, None)
        act()
        while uri not in self.client.diagnostics:
            await asyncio.wait_for(self.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS), 20)

    async def published(self, uri: str, code: str) -> None:
        """Wait until a diagnostic with this code is published."""
        while code not in self.codes(uri):
            await asyncio.wait_for(self.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS), 20)

    def codes(self, uri: str) -> list[Any]:
        return [one.code for one in self.client.diagnostics[uri]]

    def place(self, uri: str, word: str, number: int = 1, *, after: bool = False) -> lsp.Position:
        """Return the position of a word, the first or another one, or just behind it; the texts here are ASCII."""
        text = self.texts[uri]
        offset = -1
        for _ in range(number):
            offset = text.index(word, offset + 1)
        offset += len(word) if after else 0
        return lsp.Position(text.count("\n", 0, offset), offset - (text.rfind("\n", 0, offset) + 1))

    def at(self, uri: str, word: str, number: int = 1, *, after: bool = False) -> dict[str, Any]:
        return {
            "text_document": lsp.TextDocumentIdentifier(uri),
            "position": self.place(uri, word, number, after=after),
        }

    def marked(self, uri: str, range_: lsp.Range) -> str:
        """Return the text of a range, which lies in one line."""
        assert range_.start.line == range_.end.line
        return self.texts[uri].split("\n")[range_.start.line][range_.start.character : range_.end.character]

    async def applied(self, edit: lsp.WorkspaceEdit | None) -> dict[str, str]:
        """Return the texts after an edit."""
        assert edit is not None
        assert edit.changes is not None
        return {uri: applied(self.texts[uri], edits) for uri, edits in edit.changes.items()}


def applied(text: str, edits: Any) -> str:
    """Return a text after edits, which do not overlap."""
    lines = [0]
    for line in text.split("\n"):
        lines.append(lines[-1] + len(line) + 1)

    def offset(position: lsp.Position) -> int:
        return lines[position.line] + position.character

    for edit in sorted(edits, key=lambda edit: offset(edit.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


@pytest_lsp.fixture(config=SERVER)  # type: ignore[untyped-decorator]
async def client(request: pytest.FixtureRequest, lsp_client: LanguageClient, tmp_path: Path) -> AsyncIterator[None]:
    folder = tmp_path.as_uri()

    @lsp_client.feature(lsp.CLIENT_REGISTER_CAPABILITY)  # type: ignore[untyped-decorator]
    def registered(params: lsp.RegistrationParams) -> None:
        """As editors do."""

    @lsp_client.feature(lsp.WORKSPACE_CODE_LENS_REFRESH)  # type: ignore[untyped-decorator]
    def refreshed(params: None) -> None:
        """As editors do."""

    await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=client_capabilities(getattr(request, "param", "visual_studio_code")),
            root_uri=folder,
            workspace_folders=[lsp.WorkspaceFolder(folder, "here")],
        )
    )
    yield
    await lsp_client.shutdown_session()


@pytest.fixture
def editor(client: LanguageClient, tmp_path: Path) -> Editor:
    return Editor(client, tmp_path)
