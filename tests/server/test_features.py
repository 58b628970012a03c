"""What the server answers, through a real process."""

from __future__ import annotations

import pytest
from lsprotocol import types as lsp

from tests.server.conftest import Editor

SHOP = """\
// A shop.
protocol Shop(buyers: 1..4 = 2) {
  role Seller { var stock: 0..3 = 3 }
  role Buyer[buyers]

  for b in Buyer {
    // Once you have paid, I ship.
    commitment goods = C(Seller, b, pay, ship)

    Seller -> b : offer                means create goods
    b -> Seller : pay    after offer
    Seller -> b : ship   after pay     set stock := stock - 1
    Seller -> b : cancel after pay     means violate goods
    choice ship | cancel
  }

  property fair: forall x in Buyer: AG (active(goods[x]) -> AF fulfilled(goods[x]))  expect fails
  check sound, live
}
"""


@pytest.mark.asyncio
async def test_diagnostics_follow_the_text(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)
    assert editor.codes(uri) == []
    await editor.change(uri, SHOP.replace("after offer", "after ofer"))
    (told,) = editor.client.diagnostics[uri]
    assert (told.code, editor.marked(uri, told.range)) == ("unknown-name", "ofer")
    assert "did you mean `offer`?" in told.message
    assert told.code_description is not None
    await editor.change(uri, SHOP)
    assert editor.codes(uri) == []


@pytest.mark.asyncio
async def test_hover_tells_lifecycle_value_and_words(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)

    async def said(word: str, number: int = 1) -> str:
        found = await editor.client.text_document_hover_async(lsp.HoverParams(**editor.at(uri, word, number)))
        assert found is not None
        assert isinstance(found.contents, lsp.MarkupContent)
        return found.contents.value

    goods = await said("goods", 2)
    assert "commitment goods = C(Seller, b, pay, ship)" in goods
    assert "Once you have paid, I ship." in goods
    assert "| `cancel` | `violate` | `active` | `violated` |" in goods
    assert "value `2`" in await said("buyers")
    assert "every run, some time" in await said("AF")
    assert "may be sent only when" in await said("after")
    assert "| `create` a commitment | debtor |" in await said("create")
    assert "received in some run" in await said("live")


@pytest.mark.asyncio
async def test_definition_references_highlight(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)
    found = await editor.client.text_document_definition_async(lsp.DefinitionParams(**editor.at(uri, "goods[x]")))
    assert isinstance(found, list)
    (there,) = found
    range_ = there.target_selection_range if isinstance(there, lsp.LocationLink) else there.range
    assert range_.start == editor.place(uri, "goods")
    context = lsp.ReferenceContext(include_declaration=False)
    params = lsp.ReferenceParams(context=context, **editor.at(uri, "goods"))
    assert len(await editor.client.text_document_references_async(params) or ()) == 4
    marked = await editor.client.text_document_document_highlight_async(
        lsp.DocumentHighlightParams(**editor.at(uri, "pay", 2))
    )
    assert {editor.marked(uri, one.range) for one in marked or ()} == {"pay"}
    assert len(marked or ()) == 4


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
    with pytest.raises(Exception, match=r"hides|mean|declared|reach"):
        await editor.client.text_document_rename_async(lsp.RenameParams(new_name="Seller", **editor.at(uri, "b in")))


COMPLETIONS = [
    ("Seller -> b : offer   ", "Seller -> ¦ : offer", {"b", "Seller"}, {"after", "offer"}),
    ("after offer\n", "after ¦\n", {"offer", "stock"}, {"role", "AG", "sound"}),
    ("means create goods", "means ¦", {"create", "violate", "release"}, {"goods", "accept"}),
    ("means create goods", "means create ¦", {"goods"}, {"pay", "create"}),
    ("check sound, live", "check sound, ¦", {"live", "aligned"}, {"offer"}),
    ("expect fails", "expect ¦", {"holds", "fails"}, {"offer"}),
    ("active(goods[x])", "active(¦)", {"goods"}, {"offer"}),
    ("AG (active", "AG (does(¦) & active", {"send", "create", "pay", "Seller", "x"}, {"sound"}),
    ("choice ship | cancel", "choice ship | ¦", {"cancel", "pay"}, {"goods", "Seller"}),
    ("C(Seller, b, pay, ship)", "C(¦, b, pay, ship)", {"Seller", "b"}, {"pay"}),
    ("C(Seller, b, pay, ship)", "C(Seller, b, ¦, ship)", {"pay", "offer"}, {"AG"}),
    ("forall x in Buyer: AG", "forall x in Buyer: ¦ AG", {"AF", "forall", "x", "offer"}, {"after"}),
    ("property fair: forall", "property fair assuming ¦: forall", {"Seller", "all"}, {"pay"}),
    ("  choice ship", "  ¦\n  choice ship", {"commitment", "Seller", "choice"}, {"protocol"}),
    ("set stock", "set ¦", {"stock"}, {"sound"}),
    ("Seller -> b : ship   after pay ", "Seller -> b : ship   after pay ¦ ", {"means", "set", "unless"}, set()),
    ("for b in Buyer", "for b in ¦", {"Buyer"}, {"pay"}),
    ("expect fails\n", "& Seller.¦\n", {"stock"}, {"pay"}),
    ("check sound", "use ¦\n  check sound", {"Shop"}, {"pay"}),
]


@pytest.mark.asyncio
async def test_completion_knows_the_place(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)
    for old, new, there, absent in COMPLETIONS:
        text = SHOP.replace(old, new, 1)
        await editor.change(uri, text.replace("¦", ""))
        before = text[: text.index("¦")]
        position = lsp.Position(before.count("\n"), len(before) - (before.rfind("\n") + 1))
        params = lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), position)
        found = await editor.client.text_document_completion_async(params)
        assert isinstance(found, lsp.CompletionList)
        labels = {item.label for item in found.items}
        assert there <= labels, new
        assert not absent & labels, new
