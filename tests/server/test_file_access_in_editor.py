"""Imports of an open protocol neither block the server nor disclose files outside of the project."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from tests.server.conftest import Editor

from cplc.server.compiled_document import uri_of
from cplc.server.documents import Documents, workspace_files

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes and devices are others there")

_PROTOCOL = "protocol P { role A role B A -> B : m }"
_SECRET = "PASSWORD=hunter2"


def _importing(target: str) -> str:
    return f'import "{target}"\n{_PROTOCOL}\n'


@pytest.mark.asyncio
async def test_imported_device_or_pipe_does_not_block_other_documents(editor: Editor) -> None:
    os.mkfifo(editor.folder / "pipe.cpl")
    (editor.folder / "zero.cpl").symlink_to("/dev/zero")
    for target in ("/dev/zero", "zero.cpl", "pipe.cpl"):
        uri = await editor.open(f"imports-{Path(target).name}-{len(target)}.cpl", _importing(target))
        assert editor.codes(uri) == ["unreadable-file" if target == "pipe.cpl" else "outside-project"]
    other = await editor.open("other.cpl", _PROTOCOL)
    assert editor.codes(other) == []
    which = lsp.TextDocumentIdentifier(editor.uri("pipe.cpl"))
    ask = editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(which))
    assert not await asyncio.wait_for(ask, 60)


@pytest.mark.asyncio
async def test_file_outside_of_the_project_is_neither_shown_nor_linked(
    editor: Editor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.cpl").write_text(_SECRET, encoding="utf-8")
    (editor.folder / "link.cpl").symlink_to(outside / "secret.cpl")
    for number, target in enumerate((str(outside / "secret.cpl"), "link.cpl")):
        text = _importing(target)
        uri = await editor.open(f"number{number}.cpl", text)
        (diagnostic,) = editor.client.diagnostics[uri]
        assert diagnostic.code == "outside-project"
        assert "hunter2" not in str(diagnostic)
        which = lsp.TextDocumentIdentifier(uri)
        assert not await editor.client.text_document_document_link_async(lsp.DocumentLinkParams(which))
        place = lsp.DefinitionParams(which, lsp.Position(0, 9))
        assert not await editor.client.text_document_definition_async(place)


def test_workspace_has_no_files_from_outside(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.cpl").write_text(_SECRET, encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "cplc.toml").touch()
    (project / "main.cpl").write_text(_PROTOCOL, encoding="utf-8")
    (project / "again.cpl").symlink_to("main.cpl")
    (project / "link.cpl").symlink_to(tmp_path / "outside" / "secret.cpl")
    assert workspace_files([str(project)]) == [str(project / "main.cpl")]


@pytest.mark.asyncio
@pytest.mark.parametrize("is_workspace", [True, False])
async def test_search_beside_a_file_reads_nothing_from_outside(tmp_path: Path, is_workspace: bool) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "other.cpl").write_text(_PROTOCOL, encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "main.cpl").write_text(_PROTOCOL, encoding="utf-8")
    (project / "link.cpl").symlink_to(tmp_path / "outside" / "other.cpl")
    documents = Documents()
    try:
        documents.folders = (str(project),) if is_workspace else ()
        documents.open(uri_of(str(project / "main.cpl")), _PROTOCOL, 1)
        beside = await documents.protocol(uri_of(str(project / "main.cpl")))
        compiled_documents = await documents.everything(lambda _: True, beside=beside)
        assert [one.document.path for one in compiled_documents] == [str(project / "main.cpl")]
    finally:
        documents.shutdown()


@pytest.mark.asyncio
async def test_outside_file_is_not_imported_though_it_is_open(
    editor: Editor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "other.cpl"
    await editor.open(outside.as_uri(), _PROTOCOL)
    uri = await editor.open("main.cpl", _importing(str(outside)))
    assert editor.codes(uri) == ["outside-project"]


@pytest.mark.asyncio
async def test_paths_are_completed_inside_the_project_only(
    editor: Editor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.cpl").touch()
    (editor.folder / "folder").mkdir()
    (editor.folder / "folder" / "inside.cpl").touch()
    labels = []
    for number, folder in enumerate((str(outside), "folder")):
        uri = await editor.open(f"number{number}.cpl", _importing(f"{folder}/"))
        place = lsp.Position(0, len(f'import "{folder}/'))
        params = lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), place)
        completions = await editor.client.text_document_completion_async(params)
        items = completions.items if isinstance(completions, lsp.CompletionList) else completions or []
        labels.append([item.label for item in items])
    assert labels == [[], ["inside.cpl"]]
