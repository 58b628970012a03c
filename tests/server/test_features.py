"""Features of the language server, through a real process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lsprotocol import types as lsp
from tests.server.conftest import Editor, applied
from tests.support.editor_texts import EDITORS, ISPL, SHOP

from cplc.formatter import format_source
from cplc.formatter.ispl import format_ispl
from cplc.server.semantic_tokens import LEGEND
from cplc.source import Source


@EDITORS
@pytest.mark.asyncio
async def test_diagnostics_follow_the_text(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)
    assert editor.codes(uri) == []
    await editor.change(uri, SHOP.replace("after offer", "after ofer"))
    (diagnostic,) = editor.client.diagnostics[uri]
    assert (diagnostic.code, editor.marked(uri, diagnostic.range)) == ("unknown-name", "ofer")
    assert "did you mean `offer`?" in diagnostic.message
    assert diagnostic.code_description is not None
    await editor.change(uri, SHOP)
    assert editor.codes(uri) == []


@pytest.mark.quick
@pytest.mark.asyncio
async def test_hover_tells_lifecycle_value_and_words(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)

    async def said(word: str, number: int = 1) -> str:
        hover = await editor.client.text_document_hover_async(lsp.HoverParams(**editor.at(uri, word, number)))
        assert hover is not None
        assert isinstance(hover.contents, lsp.MarkupContent)
        return hover.contents.value

    goods = await said("goods", 2)
    assert "commitment goods = C(Seller, b, pay, ship)" in goods
    assert "Once you have paid, I ship." in goods
    assert "| `cancel` | `violate` | `active` | `violated` |" in goods
    assert "value `2`" in await said("buyers")
    assert "every run, some time" in await said("AF")
    assert "may be sent only when" in await said("after")
    assert "| `create c` of a commitment | debtor |" in await said("create")
    assert "received in some run" in await said("live")
    uri = await editor.open("group.cpl", SHOP.replace("C(Seller", "C(each {Seller}"))
    assert "each debtor alone must be able" in await said("each")
    assert "commitment goods = C(each {Seller}, b" in await said("goods", 2)
    uri = await editor.open("none.cpl", SHOP.replace("check sound, live", "check none"))
    assert "the usual checks (`live`" in await said("none")


@EDITORS
@pytest.mark.asyncio
async def test_definition_references_highlight(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)
    definitions = await editor.client.text_document_definition_async(lsp.DefinitionParams(**editor.at(uri, "goods[x]")))
    assert isinstance(definitions, list)
    (definition,) = definitions
    range_ = definition.target_selection_range if isinstance(definition, lsp.LocationLink) else definition.range
    assert range_.start == editor.place(uri, "goods")
    context = lsp.ReferenceContext(include_declaration=False)
    params = lsp.ReferenceParams(context=context, **editor.at(uri, "goods"))
    assert len(await editor.client.text_document_references_async(params) or ()) == 4
    marked = await editor.client.text_document_document_highlight_async(
        lsp.DocumentHighlightParams(**editor.at(uri, "pay", 2))
    )
    assert {editor.marked(uri, one.range) for one in marked or ()} == {"pay"}
    assert len(marked or ()) == 4


COMPLETIONS = [
    ("Seller -> b : offer   ", "Seller -> ¦ : offer", {"b", "Seller"}, {"after", "offer"}),
    ("after offer\n", "after ¦\n", {"offer", "stock"}, {"role", "AG", "sound"}),
    ("means create goods", "means ¦", {"create", "violate", "accept"}, {"goods", "test"}),
    ("means create goods", "means create ¦", {"goods"}, {"pay", "create"}),
    ("check sound, live", "check sound, ¦", {"live", "aligned"}, {"offer"}),
    ("expect fails", "expect ¦", {"holds", "fails"}, {"offer"}),
    ("active(goods[x])", "active(¦)", {"goods"}, {"offer"}),
    ("AG (active", "AG (does(¦) & active", {"send", "create", "pay", "Seller", "x"}, {"sound"}),
    ("choice ship | cancel", "choice ship | ¦", {"cancel", "pay"}, {"goods", "Seller"}),
    ("C(Seller, b, pay, ship)", "C(¦, b, pay, ship)", {"Seller", "b"}, {"pay"}),
    ("C(Seller, b, pay, ship)", "C(Seller, b, ¦, ship)", {"pay", "offer"}, {"AG"}),
    ("forall x in Buyer: AG", "forall x in Buyer: ¦ AG", {"AF", "forall", "x", "offer"}, {"after"}),
    ("property fair: forall", "property fair assuming ¦: forall", {"Seller", "all", "pay"}, {"goods"}),
    ("  choice ship", "  ¦\n  choice ship", {"commitment", "Seller", "choice"}, {"protocol"}),
    ("set stock", "set ¦", {"stock"}, {"sound"}),
    ("Seller -> b : ship   after pay ", "Seller -> b : ship   after pay ¦ ", {"means", "set", "unless"}, set()),
    ("for b in Buyer", "for b in ¦", {"Buyer"}, {"pay"}),
    ("expect fails\n", "& Seller.¦\n", {"stock"}, {"pay"}),
    ("  check", "  agent X plays ¦ { }\n  check", {"Seller"}, {"pay"}),
    ("  check", "  agent X plays Seller { ¦ }\n  check", {"goal", "believes"}, {"pay", "role"}),
    ("  check", "  agent X plays Seller { goal ¦ }\n  check", {"offer"}, {"role"}),
    ("  check", "  agent X plays Seller { chooses ship | ¦ }\n  check", {"cancel"}, {"Seller"}),
    ("  check", "  agent X plays Seller { }\n  analyze ¦\n  check", {"X"}, {"pay"}),
    ("  check", "  agent X plays Seller { }\n  analyze X: ¦ > 0.5\n  check", {"benefit"}, {"pay"}),
    ("cpl 2\n", "¦\n", {"cpl 2", "protocol"}, {"role"}),
    ("AG (active", "AG (does(¦) & active", {"idle", "tick"}, {"sound"}),
    ("  check", "  record Stock { var n: 0..3 = 3 }\n  Seller -> Stock : look  returns ¦\n  check", set(), {"pay"}),
    ("  check", "  record Stock { var n: 0..3 = 3 }\n  Seller -> Stock : look  returns m(¦)\n  check", {"n"}, {"pay"}),
    ("  check", "  record Stock { ¦ }\n  check", {"var"}, {"pay"}),
    ("C(Seller", "C(¦", {"any", "each", "Seller"}, {"AF"}),
    ("C(Seller", "C(any {¦", {"Seller", "Buyer"}, {"each", "AF"}),
    ("C(Seller", "C({Seller, ¦", {"Buyer"}, {"each", "pay"}),
    ("C(Seller", "C(Seller, {¦", {"Buyer"}, {"each", "pay"}),
    ("AG (active", "AG (C({Seller, Buyer[1]} -> ¦) & active", {"Buyer"}, {"each", "pay"}),
    ("check sound", "use ¦\n  check sound", {"Shop"}, {"pay"}),
]


@pytest.mark.asyncio
async def test_completion_knows_the_place(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)
    for old, new, present, absent in COMPLETIONS:
        text = SHOP.replace(old, new, 1)
        await editor.change(uri, text.replace("¦", ""))
        before = text[: text.index("¦")]
        position = lsp.Position(before.count("\n"), len(before) - (before.rfind("\n") + 1))
        params = lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), position)
        completions = await editor.client.text_document_completion_async(params)
        assert isinstance(completions, lsp.CompletionList)
        labels = {item.label for item in completions.items}
        assert present <= labels, new
        assert not absent & labels, new


@pytest.mark.asyncio
async def test_signatures_of_macros_used_protocols_and_atoms(editor: Editor) -> None:
    text = (
        "define answers(p, q) = AG (p -> AF q)\n"
        "protocol Part(n: 1..3 = 1) { role A role B A -> B : m }\n"
        "protocol Whole { role X role Y use Part(A = X, B = Y) as part  property p: answers(part.m, part.m) }\n"
    )
    uri = await editor.open("whole.cpl", text)

    async def shown(word: str) -> tuple[str, int | None]:
        signatures = await editor.client.text_document_signature_help_async(
            lsp.SignatureHelpParams(**editor.at(uri, word, after=True))
        )
        assert signatures is not None
        return signatures.signatures[0].label, signatures.active_parameter

    assert await shown("answers(part.m, ") == ("define answers(p, q) = AG (p -> AF q)", 1)
    assert await shown("use Part(A = X, ") == ("Part(n: 1..3 = 1, role A, role B)", 1)
    assert await shown("use Part(A = X, B = ") == ("Part(n: 1..3 = 1, role A, role B)", 2)


@pytest.mark.asyncio
async def test_symbols_folding_selection_and_colours(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)
    which = lsp.TextDocumentIdentifier(uri)
    (protocol,) = await editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(which)) or ()
    assert isinstance(protocol, lsp.DocumentSymbol)
    names = [one.name for one in protocol.children or ()]
    assert names == ["buyers", "Seller", "Buyer", "goods", "offer", "pay", "ship", "cancel", "fair"]
    symbols = await editor.client.workspace_symbol_async(lsp.WorkspaceSymbolParams("cncl"))
    assert [one.name for one in symbols or ()] == ["cancel"]
    folds = await editor.client.text_document_folding_range_async(lsp.FoldingRangeParams(which))
    assert (3, 19) in {(one.start_line, one.end_line) for one in folds or ()}
    position = editor.place(uri, "fulfilled")
    grown = await editor.client.text_document_selection_range_async(lsp.SelectionRangeParams(which, [position]))
    assert grown is not None
    ranges: list[str] = []
    one: lsp.SelectionRange | None = grown[0]
    while one is not None and one.range.start.line == one.range.end.line:
        ranges.append(editor.marked(uri, one.range))
        one = one.parent
    assert ranges[:3] == ["fulfilled", "fulfilled(goods[x])", "AF fulfilled(goods[x])"]
    tokens = await editor.client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(which))
    assert tokens is not None
    assert _coloured(editor, uri, list(tokens.data))["goods"] == {"interface"}
    assert _coloured(editor, uri, list(tokens.data))["pay"] == {"event"}
    assert _coloured(editor, uri, list(tokens.data))["after"] == {"keyword"}


def _coloured(editor: Editor, uri: str, data: list[int]) -> dict[str, set[str]]:
    """Return the kinds of token that each word is shown as."""
    lines = editor.texts[uri].split("\n")
    words_by_colour: dict[str, set[str]] = {}
    line = column = 0
    for start in range(0, len(data), 5):
        down, right, length, kind, _ = data[start : start + 5]
        line, column = line + down, right if down else column + right
        words_by_colour.setdefault(lines[line][column : column + length], set()).add(LEGEND.token_types[kind])
    return words_by_colour


@pytest.mark.asyncio
async def test_hints_say_who_chooses_and_who_is_bound(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)
    everything = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
    hints = await editor.client.text_document_inlay_hint_async(
        lsp.InlayHintParams(lsp.TextDocumentIdentifier(uri), everything)
    )
    assert [one.label for one in hints or ()] == ["= 2", "Seller → b", "Seller → b", "Seller chooses"]


FIXES = [
    ("after offer", "after ofer", "ofer", "Replace by `offer`", "after offer"),
    (
        "Seller -> b : cancel",
        "Shop -> b : cancel",
        "Shop -> b",
        "Declare the role `Shop`",
        "role Buyer[buyers]\n  role Shop",
    ),
    ("after pay     means violate goods", "means violate goods", "cancel", "Add `after pay`", "cancel after pay means"),
    ("check", "property q: F pay[1]  check", "F pay", "Write `AF pay[1]`", "property q: AF pay[1]"),
    (
        "AG (active(goods[x]) -> AF fulfilled(goods[x]))",
        "responds(pay[x], ship[x])",
        "responds",
        "Import",
        "std.properties",
    ),
    ("after offer", "after told", "told", "Declare the message `told`", "Seller -> b : told"),
    ("cpl 2\n\n", "", "protocol", "Write `cpl 2`", "cpl 2\n\n// A shop."),
    ("AG (active", "A□(active", "□", "Replace by `G `", "AG (active"),
    ("AG (active", "AG (K_b(pay[x]) & active", "K_b", "Replace by `K(b, pay[x])`", "AG (K(b, pay[x]) & active"),
    ("create goods", "create good", "good\n", "Replace by `goods`", "create goods"),
    (
        "  check",
        "  property q: AG pay[1] -> AF ship[1]\n  check",
        "AG pay",
        "Write `AG (pay[1] -> AF ship[1])`",
        "property q: AG (pay[1] -> AF ship[1])",
    ),
]


@pytest.mark.asyncio
async def test_quick_fixes_change_what_is_wrong(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)
    for old, new, word, title, expected in FIXES:
        await editor.change(uri, SHOP.replace(old, new, 1))
        assert expected in await _fixed(editor, uri, word, title), new


async def _fixed(editor: Editor, uri: str, word: str, title: str) -> str:
    """Return the text after the quick fix with this title, at this word."""
    position = editor.place(uri, word)
    context = lsp.CodeActionContext(editor.client.diagnostics[uri])
    fixes = await editor.client.text_document_code_action_async(
        lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), lsp.Range(position, position), context)
    )
    chosen = [one for one in fixes or () if isinstance(one, lsp.CodeAction) and one.title.startswith(title)]
    assert chosen, (title, [one.title for one in fixes or ()])
    return (await editor.applied(chosen[0].edit))[uri]


NOTATIONS = [
    (
        "means violate goods",
        "means delegate goods to Carrier",
        "Carrier\n    choice",
        "Declare `goods_carrier` and hand over to it",
        "    commitment goods = C(Seller, b, pay, ship)\n    commitment goods_carrier = C(Carrier, b, pay, ship)\n",
    ),
    ("C(Seller, b, pay, ship)", "C(Seller, b, ship)", "C(Seller, b, ship)", "Replace by", "C(Seller, b, true, ship)"),
    ("AG (active(goods[x])", "AG (Pay(x)", "Pay(x)", "Write `pay[x]`", "AG (pay[x] -> AF"),
    ("Seller -> b : ship ", "Seller --> b : ship ", "-->", "Replace by `->`", "Seller -> b : ship "),
]


@pytest.mark.asyncio
@pytest.mark.parametrize(("old", "new", "word", "title", "expected"), NOTATIONS)
async def test_quick_fix_of_a_notation_leaves_no_error(
    editor: Editor, old: str, new: str, word: str, title: str, expected: str
) -> None:
    shop = SHOP.replace("  role Buyer[buyers]\n", "  role Buyer[buyers]\n  role Carrier\n")
    uri = await editor.open("notation.cpl", shop.replace(old, new, 1))
    text = await _fixed(editor, uri, word, title)
    assert expected in text
    await editor.change(uri, text)
    left_over = [one.message for one in editor.client.diagnostics[uri] if one.severity == lsp.DiagnosticSeverity.Error]
    assert left_over == []


@pytest.mark.asyncio
async def test_formatting_is_that_of_the_command_line(editor: Editor) -> None:
    text = SHOP.replace("    choice ship", "choice   ship")
    uri = await editor.open("shop.cpl", text)
    options = lsp.FormattingOptions(2, True)
    params = lsp.DocumentFormattingParams(lsp.TextDocumentIdentifier(uri), options)
    edits = await editor.client.text_document_formatting_async(params)
    assert applied(text, edits) == format_source(Source("shop.cpl", text)).text
    await editor.change(uri, text + "protocol {")
    assert await editor.client.text_document_formatting_async(params) is None


@pytest.mark.asyncio
async def test_model_in_ispl_is_formatted_as_on_the_command_line(editor: Editor) -> None:
    uri = await editor.open("light.ispl", ISPL)
    params = lsp.DocumentFormattingParams(lsp.TextDocumentIdentifier(uri), lsp.FormattingOptions(2, True))
    edits = await editor.client.text_document_formatting_async(params)
    assert applied(ISPL, edits) == format_ispl(Source("light.ispl", ISPL)).text


@pytest.mark.asyncio
async def test_call_hierarchy(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)
    items = await editor.client.text_document_prepare_call_hierarchy_async(
        lsp.CallHierarchyPrepareParams(**editor.at(uri, "goods"))
    )
    (item,) = items or ()
    causes = await editor.client.call_hierarchy_incoming_calls_async(lsp.CallHierarchyIncomingCallsParams(item))
    assert {one.from_.name for one in causes or ()} == {"offer", "cancel", "pay", "ship"}
    (cause,) = [one.from_ for one in causes or () if one.from_.name == "pay"]
    effects = await editor.client.call_hierarchy_outgoing_calls_async(lsp.CallHierarchyOutgoingCallsParams(cause))
    assert {one.to.name for one in effects or ()} == {"ship", "cancel", "goods"}


@EDITORS
@pytest.mark.asyncio
async def test_lenses_verify_in_a_process_and_show_the_run(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", SHOP)
    which = lsp.CodeLensParams(lsp.TextDocumentIdentifier(uri))

    async def titles() -> list[str]:
        lenses = await editor.client.text_document_code_lens_async(which)
        return [one.command.title for one in lenses or () if one.command]

    assert await titles() == ["Verify all", "Verify", "sound: Verify", "live: Verify"]
    verify = lsp.ExecuteCommandParams("cplc.verify", arguments=[uri, "Shop", "fair"])
    await editor.client.workspace_execute_command_async(verify)
    assert "fails, as expected" in (await titles())[1]
    show = lsp.ExecuteCommandParams("cplc.showRun", arguments=[uri, "Shop", "fair"])
    shown = await editor.client.workspace_execute_command_async(show)
    text = str(shown)
    assert "fair" in text
    assert "pay[" in text
    hover = await editor.client.text_document_hover_async(lsp.HoverParams(**editor.at(uri, "fair")))
    assert hover is not None
    assert "fails, as expected" in str(hover.contents)
    await editor.change(uri, SHOP + "\n")
    assert (await titles())[1] == "Verify (before the last change: fails)"
    again = lsp.ExecuteCommandParams("cplc.verify", arguments=[uri, "Shop", None])
    await editor.client.workspace_execute_command_async(again)
    assert len([title for title in await titles() if "✓" in title]) == 2


NEVER_OWED = """\
protocol Shop {
  role Seller
  role Buyer
  commitment goods = C(Seller, Buyer, pay & decline, ship)
  Seller -> Buyer : offer  means create goods
  Buyer -> Seller : pay      after offer unless decline
  Buyer -> Seller : decline  after offer unless pay
  Seller -> Buyer : ship  after pay
  property shipped: pay -> AF ship
}
"""
"""Nobody both pays and declines, which no lint of the text finds."""


@pytest.mark.asyncio
async def test_verification_adds_the_warnings_of_the_reachable_states(editor: Editor) -> None:
    uri = await editor.open("shop.cpl", NEVER_OWED)
    assert "never-active" not in editor.codes(uri)

    async def verify(name: str | None) -> None:
        verifying = lsp.ExecuteCommandParams("cplc.verify", arguments=[uri, "Shop", name])
        await editor.client.workspace_execute_command_async(verifying)

    await verify("shipped")
    assert "never-active" not in editor.codes(uri), "one question is no verification of the file"
    await verify(None)
    await editor.published(uri, "never-active")
    (warning,) = [one for one in editor.client.diagnostics[uri] if one.code == "never-active"]
    assert editor.marked(uri, warning.range) == "goods"
    assert "its antecedent, `pay & decline`, is true in no reachable state: weaken it" in warning.message
    await editor.change(uri, NEVER_OWED.replace("pay & decline", "pay"))
    assert "never-active" not in editor.codes(uri), "it was about another text"


SLOW = """\
protocol Slow(n: 1..64 = 64) {
  role Mer { var free: 0..n = n }
  role Cus[n]
  for c in Cus {
    c -> Mer : a
    Mer -> c : b after a if Mer.free > 0 set Mer.free := Mer.free - 1
    c -> Mer : d after b restart
  }
  property heavy assuming Mer: AG (forall c in Cus: exists k in Cus: a[c] -> AF (b[k] & E G F a[c]))
  property light: EF b[1]
}
"""
"""A shared counter couples all customers: the verification takes many seconds."""


@pytest.mark.asyncio
async def test_verification_can_be_cancelled_and_never_blocks(editor: Editor) -> None:
    uri = await editor.open("slow.cpl", SLOW)
    verify = lsp.ExecuteCommandParams("cplc.verify", arguments=[uri, "Slow", None])
    task = asyncio.ensure_future(editor.client.workspace_execute_command_async(verify))
    await asyncio.sleep(0.3)
    hover = await editor.client.text_document_hover_async(lsp.HoverParams(**editor.at(uri, "Mer")))
    assert hover is not None
    cancel = lsp.ExecuteCommandParams("cplc.cancel", arguments=[uri])
    assert await editor.client.workspace_execute_command_async(cancel) == 1
    reply = await asyncio.wait_for(task, 20)
    assert "cancelled" in str(reply)


@pytest.mark.asyncio
async def test_mistakes_of_imported_files_are_told_where_they_are(editor: Editor) -> None:
    (editor.folder / "part.cpl").write_text("protocol P { role A role B A -> C : m }\n", encoding="utf-8")
    uri = await editor.open("main.cpl", 'import "./part.cpl"\nprotocol M { role X role Y use P(A = X, B = Y) as p }\n')
    part = editor.uri("part.cpl")
    while part not in editor.client.diagnostics:  # which come after those of the file itself
        await editor.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert editor.codes(part) == ["unknown-name"]
    editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
    while editor.client.diagnostics[part]:
        await editor.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)


@pytest.mark.asyncio
async def test_models_in_ispl_have_diagnostics_symbols_and_definitions(editor: Editor) -> None:
    uri = await editor.open("light.ispl", ISPL)
    assert "unknown-name" not in editor.codes(uri)
    which = lsp.TextDocumentIdentifier(uri)
    symbols = await editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(which))
    assert [one.name for one in symbols or ()] == ["Environment", "Man", "lit", "formula 1"]
    for word, number, target in (("lit", 2, 1), ("x", 5, 1), ("flip", 2, 1)):
        place = await editor.client.text_document_definition_async(lsp.DefinitionParams(**editor.at(uri, word, number)))
        assert isinstance(place, list), word
        (location,) = place
        assert isinstance(location, lsp.Location)
        assert location.range.start == editor.place(uri, word, target)
    for word, number, lines in (("lit", 2, [9, 13]), ("flip", 1, [2, 3, 4]), ("x", 2, [1, 3, 4, 9, 11])):
        params = lsp.DocumentHighlightParams(**editor.at(uri, word, number))
        marked = await editor.client.text_document_document_highlight_async(params) or ()
        assert [one.range.start.line for one in marked] == lines, word
        assert [one.kind for one in marked].index(lsp.DocumentHighlightKind.Write) == 0
        context = lsp.ReferenceContext(include_declaration=False)
        reference_params = lsp.ReferenceParams(context=context, **editor.at(uri, word, number))
        places = await editor.client.text_document_references_async(reference_params) or ()
        assert [one.range.start.line for one in places] == lines[1:]
    lens = lsp.CodeLensParams(which)
    titles = [one.command.title for one in await editor.client.text_document_code_lens_async(lens) or () if one.command]
    assert titles == ["Verify all", "Verify"]
    verify = lsp.ExecuteCommandParams("cplc.verify", arguments=[uri, None, None])
    verified: Any = await editor.client.workspace_execute_command_async(verify)
    assert [(one["asked"], one["verdict"]) for one in verified["results"]] == [("formula 1", "holds")]
    titles = [one.command.title for one in await editor.client.text_document_code_lens_async(lens) or () if one.command]
    assert titles[1].startswith("✓ holds")
    show = lsp.ExecuteCommandParams("cplc.showRun", arguments=[uri, "", "formula 1"])
    assert "AF !lit" in str(await editor.client.workspace_execute_command_async(show))
    await editor.change(uri, ISPL.replace("AF !lit", "AF !lid"))
    assert "unknown-name" in editor.codes(uri)


_MOODS = """cpl 2

// How a customer feels.
define Mood = {calm, cross}

protocol P {
  role Shop { var seen: Mood = calm }
  role Buyer
  Shop -> Buyer : ask(mood: Mood)  if mood = seen
}
"""


@pytest.mark.asyncio
async def test_names_of_enumerations_have_definition_hover_and_proposals(editor: Editor) -> None:
    uri = await editor.open("moods.cpl", _MOODS)
    hover = await editor.client.text_document_hover_async(lsp.HoverParams(**editor.at(uri, "Mood", 2)))
    assert hover is not None
    assert isinstance(hover.contents, lsp.MarkupContent)
    assert "define Mood = {calm, cross}" in hover.contents.value
    assert "How a customer feels." in hover.contents.value
    context = lsp.ReferenceContext(include_declaration=True)
    params = lsp.ReferenceParams(context=context, **editor.at(uri, "Mood"))
    assert len(await editor.client.text_document_references_async(params) or ()) == 3
    await editor.change(uri, _MOODS.replace("ask(mood: Mood)", "ask(mood: )"))
    place = lsp.CompletionParams(**editor.at(uri, "ask(mood: ", after=True))
    proposals = await editor.client.text_document_completion_async(place)
    assert isinstance(proposals, lsp.CompletionList)
    labels = {one.label for one in proposals.items}
    assert {"Mood", "bool", "time", "duration", "money"} <= labels
