"""Whatever is done in whatever order, the server knows what a fresh compilation knows."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from lsprotocol import types as lsp
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation, load
from cplc.semantics.symbol_index import Index
from cplc.server import (
    diagnostics,
    ispl,
    navigation,
    outline,
    semantic_tokens,
    verdicts,
)
from cplc.server.compiled_document import Compiled, CompiledIspl
from cplc.server.completion import completion
from cplc.server.diagnostics import by_file
from cplc.server.documents import Documents
from cplc.server.hover import hints, hover, signature_help
from cplc.server.text_edits import layout

_PARTS = [
    "protocol P {", "protocol Q(n: 1..3 = 2) {", "}", "role A", "role B[n]", "A -> B : pay", "after pay",
    "means create c", "commitment c = C(A, B, pay, ship)", "for b in B {", 'import "./other.cpl"',
    'import "./main.cpl" as m',
    "import std.properties", "use P(A = A, B = B) as p", "property x: AG (pay -> AF p.pay)", "check sound, live",
    "define f(p) = EF p", "(", ")", '"', "// 😀", "/*", "\r\n", "\n", "\r", "😀", "\u2028", "\x00", "\ud800",
    "E{does(A)} F", "choice pay | ship", "claim q = claim(A, B, pay)", "agent X plays A {", "[", "<<A>>", "@", ".",
]  # fmt: skip
_WHOLE = [
    'import "./other.cpl"\nprotocol M { role A role B use Ship(X=A, Y=B) as s\r\n fact f = s.go /*😀*/ & s.back }',
    "protocol Ship { role X role Y X -> Y : go Y -> X : back after go property p: EF back }",
    "define f(p, q) = AG (p -> AF q)\nprotocol M { role A role B A -> B : pay property x: f(pay, pay) check live }",
]
_TEXTS = st.sampled_from(_WHOLE) | st.lists(st.sampled_from(_PARTS), max_size=14).map(" ".join)
_NAMES = st.sampled_from(["main.cpl", "other.cpl", "model.ispl", "un named é.cpl"])


def _facts(index: Index) -> Any:
    return (
        sorted((s.source.name, s.start, s.end, t.source.name, t.start) for s, t in index.uses.items()),
        sorted((s.source.name, s.start, d.kind) for s, d in index.declared.items()),
    )


class Editors(RuleBasedStateMachine):
    """Texts are opened, edited, saved, deleted and closed; between that, everything is asked anywhere."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.documents = Documents()
        self.documents.folders = (str(self.folder),)
        self.texts: dict[str, str] = {}
        """Documents that are open, according to the model."""

    def teardown(self) -> None:
        if hasattr(self, "documents"):
            self.documents.shutdown()
            for file in self.folder.iterdir():
                file.unlink()
            self.folder.rmdir()

    def _uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    @rule(name=_NAMES, text=_TEXTS)
    def open(self, name: str, text: str) -> None:
        self.documents.open(self._uri(name), text, 1)
        self.texts[name] = text

    @rule(name=_NAMES, new=_TEXTS, data=st.data())
    def change(self, name: str, new: str, data: st.DataObject) -> None:
        text = self.texts.get(name, "")
        at = data.draw(st.integers(0, len(text)))
        document = self.documents.document(self._uri(name)) if name in self.texts else None
        if document is None:
            change: Any = lsp.TextDocumentContentChangeWholeDocument(new)
            self.texts[name] = new
        else:
            place = document.text.range(at, at)
            at = document.text.offset(place.start)
            change = lsp.TextDocumentContentChangePartial(place, new)
            self.texts[name] = text[:at] + new + text[at:]
        self.documents.change(self._uri(name), [change], None)

    @rule(name=_NAMES)
    def save(self, name: str) -> None:
        if name in self.texts:
            (self.folder / name).write_bytes(self.texts[name].encode("utf-8", "surrogatepass"))

    @rule(name=_NAMES)
    def delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    @rule(name=_NAMES)
    def close(self, name: str) -> None:
        self.documents.close(self._uri(name))
        self.texts.pop(name, None)

    @rule(name=_NAMES, data=st.data())
    def ask(self, name: str, data: st.DataObject) -> None:
        compiled_document = asyncio.run(self.documents.compiled(self._uri(name)))
        if compiled_document is None:
            return
        offset = data.draw(st.integers(0, len(compiled_document.text.text)))
        if isinstance(compiled_document, Compiled):
            for answer in _ANSWERS:
                answer(compiled_document, offset)
        by_file(compiled_document, self.documents.uri_of)
        diagnostics.actions(compiled_document, offset, offset, [])
        if isinstance(compiled_document, CompiledIspl):
            ispl.document_symbols(compiled_document)
            ispl.definition(compiled_document, offset)
            ispl.highlights(compiled_document, offset)
        else:
            importing_documents = asyncio.run(self.documents.everything(lambda text: "import" in text))
            navigation.references(compiled_document, offset, importing_documents, with_declaration=True)
            with contextlib.suppress(navigation.Refused):
                navigation.renamed(compiled_document, offset, "pay", importing_documents, self.documents.buffers)

    @invariant()
    def what_is_known_is_what_a_fresh_compilation_knows(self) -> None:
        for name, text in getattr(self, "texts", {}).items():
            compiled_document = asyncio.run(self.documents.compiled(self._uri(name)))
            assert compiled_document is not None
            assert compiled_document.text.text == text
            if isinstance(compiled_document, CompiledIspl):
                continue
            # The same in a folder of its own, where everything that is open has been saved.
            with tempfile.TemporaryDirectory() as other:
                for file in self.folder.iterdir():
                    (Path(other) / file.name).write_bytes(file.read_bytes())
                for opened, its in self.texts.items():
                    (Path(other) / opened).write_bytes(its.encode("utf-8", "surrogatepass"))
                fresh = load(str(Path(other) / name))
                if not isinstance(fresh, CplCompilation):
                    continue  # not UTF-8, which only a buffer can be
                here, fresh_folder = str(self.folder), other
                assert str(_facts(compiled_document.index)).replace(here, "") == str(_facts(fresh.index)).replace(
                    fresh_folder, ""
                )
                codes = [(one.code, one.span.start, one.span.end) for one in compiled_document.diagnostics]
                if "\ud800" not in "".join(self.texts.values()):
                    expected_diagnostics = (*fresh.diagnostics, *fresh.remarks)
                    assert codes == [(one.code, one.span.start, one.span.end) for one in expected_diagnostics]


_ANSWERS: list[Callable[[Compiled, int], Any]] = [
    lambda compiled_document, offset: hover(compiled_document, offset, None),
    completion,
    signature_help,
    navigation.definition,
    navigation.highlights,
    lambda compiled_document, offset: navigation.links(compiled_document),
    lambda compiled_document, offset: outline.document_symbols(compiled_document),
    lambda compiled_document, offset: outline.folding(compiled_document),
    outline.selection,
    lambda compiled_document, offset: outline.workspace_symbols("p", [compiled_document]),
    lambda compiled_document, offset: semantic_tokens.semantic_tokens(compiled_document),
    lambda compiled_document, offset: hints(compiled_document, 0, offset),
    lambda compiled_document, offset: [
        (navigation.incoming_calls(compiled_document, item), navigation.outgoing_calls(compiled_document, item))
        for item in navigation.prepare_calls(compiled_document, offset)
    ],
    lambda compiled_document, offset: verdicts.lenses(compiled_document, verdicts.Verdicts()),
    lambda compiled_document, offset: layout(compiled_document),
]

TestEditors = Editors.TestCase
TestEditors.settings = examples(25, stateful_step_count=12, deadline=None)
