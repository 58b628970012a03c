"""Names over several files: they are one, and renamed in every place or in none."""

from __future__ import annotations

import pytest
from lsprotocol import types as lsp
from tests.server.conftest import Editor
from tests.support.editor_texts import ISPL, SHOP


@pytest.mark.asyncio
async def test_rename_changes_every_place_or_nothing(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)
    edit = await editor.client.text_document_rename_async(lsp.RenameParams(new_name="order", **editor.at(uri, "offer")))
    assert (await editor.applied(edit))[uri] == SHOP.replace("offer", "order")
    for name, reason in (("pay", "declared already"), ("after", "word of the language"), ("2nd", "not a name")):
        with pytest.raises(Exception, match=reason):
            await editor.client.text_document_rename_async(lsp.RenameParams(new_name=name, **editor.at(uri, "offer")))
    with pytest.raises(Exception, match="word of the language"):
        await editor.client.text_document_prepare_rename_async(lsp.PrepareRenameParams(**editor.at(uri, "after")))
    ready = await editor.client.text_document_prepare_rename_async(lsp.PrepareRenameParams(**editor.at(uri, "b in")))
    assert isinstance(ready, lsp.PrepareRenamePlaceholder)
    assert ready.placeholder == "b"
    with pytest.raises(Exception, match="cannot be the name"):
        await editor.client.text_document_rename_async(lsp.RenameParams(new_name="Seller", **editor.at(uri, "b in")))


@pytest.mark.asyncio
async def test_a_name_is_one_name_in_all_files_saved_or_not(editor: Editor) -> None:
    (editor.folder / "ship.cpl").write_text("protocol Ship { role A role B A -> B : send_it }\n", encoding="utf-8")
    main = 'import "./ship.cpl"\nprotocol Main { role X role Y use Ship(A = X, B = Y) as s  fact f = s.send_it }\n'
    (editor.folder / "closed.cpl").write_text(main, encoding="utf-8")
    uri = await editor.open("main.cpl", main)
    assert editor.codes(uri) == ["unused"]
    ship = await editor.open("ship.cpl", "protocol Ship { role A role B A -> B : posted }\n")
    while "unknown-name" not in editor.codes(uri):
        await editor.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    await editor.change(ship, "protocol Ship { role A role B A -> B : send_it }\n")
    while "unknown-name" in editor.codes(uri):
        await editor.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    edit = await editor.client.text_document_rename_async(
        lsp.RenameParams(new_name="sent_off", **editor.at(uri, "send_it"))
    )
    assert edit is not None
    assert edit.changes is not None
    assert {changed.rsplit("/")[-1] for changed in edit.changes} == {"main.cpl", "closed.cpl", "ship.cpl"}
    with pytest.raises(Exception, match="cannot be the name"):
        await editor.client.text_document_rename_async(lsp.RenameParams(new_name="B", **editor.at(uri, "send_it")))


PART = "protocol Part { role A role B A -> B : told  property heard: EF told }\n"


@pytest.mark.asyncio
async def test_a_rename_reaches_files_beside_it_outside_the_workspace(
    editor: Editor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    away = tmp_path_factory.mktemp("away")
    whole = 'import "./part.cpl"\nprotocol Whole { role X role Y use Part(A = X, B = Y) as p  property q: EF p.told }\n'
    (away / "whole.cpl").write_text(whole, encoding="utf-8")
    (away / "part.cpl").write_text(PART, encoding="utf-8")
    uri = await editor.open((away / "part.cpl").as_uri(), PART)
    edit = await editor.client.text_document_rename_async(lsp.RenameParams(new_name="said", **editor.at(uri, "told")))
    assert edit is not None
    assert edit.changes is not None
    changed = {name.rsplit("/")[-1]: [one.new_text for one in edits] for name, edits in edit.changes.items()}
    assert changed == {"part.cpl": ["said", "said"], "whole.cpl": ["said"]}


@pytest.mark.asyncio
async def test_a_rename_is_refused_where_it_would_not_be_whole(editor: Editor) -> None:
    uri = await editor.open("part.cpl", PART)
    broken = (
        'import "./part.cpl"\nprotocol Whole { role X role Y use Part(A = X, B = Y) as p\n property q: EF ( p.told }\n'
    )
    (editor.folder / "broken.cpl").write_text(broken, encoding="utf-8")
    with pytest.raises(Exception, match=r"`told` may be meant in broken.cpl:3"):
        await editor.client.text_document_rename_async(lsp.RenameParams(new_name="said", **editor.at(uri, "told")))
    edit = await editor.client.text_document_rename_async(lsp.RenameParams(new_name="got", **editor.at(uri, "heard")))
    assert edit is not None
    (editor.folder / "broken.cpl").unlink()
    model = await editor.open("model.ispl", ISPL)
    with pytest.raises(Exception, match="in protocols only"):
        await editor.client.text_document_prepare_rename_async(lsp.PrepareRenameParams(**editor.at(model, "lit")))
    for number in range(1001):
        (editor.folder / f"{number}.cpl").touch()
    with pytest.raises(Exception, match="too many files"):
        await editor.client.text_document_rename_async(lsp.RenameParams(new_name="said", **editor.at(uri, "told")))
