"""Completion proposals."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from cplc.language.lifecycle import (
    CLAIM_PREDICATES,
    CLAIM_VERBS,
    COMMITMENT_PREDICATES,
    GRANTABLE,
    JOINED,
    STANDINGS,
    VERBS,
)
from cplc.language.words import (
    BETWEEN_ROLES,
    CHECKS,
    CLAUSES,
    DECLARATIONS,
    EVENTS,
    FORMS,
    FREE_AS_NAMES,
    NO_USUAL_CHECKS,
    OF_COMMITMENTS,
    OWN_STEPS,
    VERSION,
    words_of,
)
from cplc.runtime.file_access import is_below, project_root, shipped
from cplc.semantics.participant_templates import ASPECTS
from cplc.semantics.symbol_index import Declared, Kind
from cplc.server.compiled_document import Compiled
from cplc.server.cursor_context import ALL_VERBS, Context, context
from cplc.server.hover import code, head, meaning
from cplc.source import Span
from cplc.syntax import ast

_Kinds = lsp.CompletionItemKind
_ICONS: Final[dict[Kind, lsp.CompletionItemKind]] = {
    "protocol": _Kinds.Module, "parameter": _Kinds.Constant, "role": _Kinds.Class, "variable": _Kinds.Field,
    "message": _Kinds.Event, "payload": _Kinds.Property, "fact": _Kinds.Value, "commitment": _Kinds.Interface,
    "claim": _Kinds.Interface, "part": _Kinds.Module, "macro": _Kinds.Function, "argument": _Kinds.Variable,
    "loop variable": _Kinds.Variable, "import": _Kinds.Module, "property": _Kinds.Value, "agent": _Kinds.Class,
    "type": _Kinds.Enum,
}  # fmt: skip

_OF_AGENTS: Final = words_of("agent item")
_PARTIES: Final = dict.fromkeys(BETWEEN_ROLES, 2) | {"K": 1, "claim": 2}
"""Number of leading arguments that are roles; for the modalities, both precede the first comma."""


def completion(compiled: Compiled, offset: int) -> list[lsp.CompletionItem]:
    """Return the proposals at an offset, the most likely first."""
    inside = compiled.tokens.inside(offset)
    at = context(compiled.tokens, offset)
    if inside is not None:
        is_path = inside.kind == "string" and at.keyword == "import"
        return _ordered(_paths(compiled, inside.text[1 : offset - inside.start])) if is_path else []
    place = _Place(compiled, at, offset)
    items = _ordered(place.items())
    edit = compiled.text.range(at.start, max(at.end, at.start))
    for item in items:
        item.text_edit = lsp.TextEdit(edit, item.insert_text or item.label)
        item.insert_text = None
    return items


def _ordered(items: Iterable[lsp.CompletionItem]) -> list[lsp.CompletionItem]:
    """Return each label once, with sort keys that preserve the order."""
    by_label: dict[str, lsp.CompletionItem] = {}
    for item in items:
        by_label.setdefault(item.label, item)
    for number, item in enumerate(by_label.values()):
        item.sort_text = f"{number:04}"
    return list(by_label.values())


def _word(word: str, kind: lsp.CompletionItemKind = _Kinds.Keyword, detail: str | None = None) -> lsp.CompletionItem:
    explanation = meaning(word)
    documentation = None if explanation is None else lsp.MarkupContent(lsp.MarkupKind.Markdown, explanation)
    return lsp.CompletionItem(word, kind=kind, detail=detail, documentation=documentation)


def _words(words: Iterable[str], kind: lsp.CompletionItemKind = _Kinds.Keyword) -> Iterator[lsp.CompletionItem]:
    return (_word(word, kind) for word in words)


def _declared(declaration: Declared, label: str | None = None) -> lsp.CompletionItem:
    text = head(declaration)
    documentation = lsp.MarkupContent(
        lsp.MarkupKind.Markdown, "\n\n".join(part for part in (code(text), declaration.doc) if part)
    )
    name = label or declaration.name.text
    return lsp.CompletionItem(name, kind=_ICONS[declaration.kind], detail=declaration.kind, documentation=documentation)


def _paths(compiled: Compiled, written: str) -> Iterator[lsp.CompletionItem]:
    """Yield the importable files near this one."""
    if compiled.document.path is None:
        return
    folder = Path(compiled.document.path).parent
    typed = os.path.dirname(written)
    try:
        if not is_below(Path(os.path.realpath(folder / typed)), project_root(folder)):
            return  # no such folder
        entries = sorted(os.scandir(folder / typed), key=lambda entry: entry.name)
    except (OSError, ValueError):
        return
    for entry in entries[:1000]:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield lsp.CompletionItem(f"{entry.name}/", kind=_Kinds.Folder)
        elif entry.name.endswith(".cpl") and entry.path != compiled.document.path:
            name = entry.name if typed or written.startswith(".") else f"./{entry.name}"
            yield lsp.CompletionItem(name, kind=_Kinds.File)


class _Place:
    def __init__(self, compiled: Compiled, at: Context, offset: int) -> None:
        self.compiled = compiled
        self.at = at
        self.offset = offset
        self.protocol = compiled.protocol_at(offset)
        self.declarations = [] if self.protocol is None else compiled.declared_in(self.protocol)

    # --- visible names

    def of(self, *kinds: Kind) -> Iterator[lsp.CompletionItem]:
        return (_declared(declared) for kind in kinds for declared in self.declarations if declared.kind == kind)

    def locals(self) -> Iterator[lsp.CompletionItem]:
        """Yield the variables of loops and quantifiers around the place, and the parameters of its message or macro."""
        for declared in self.compiled.index.declared.values():
            if declared.kind in ("loop variable", "argument") and self._is_around(declared.node):
                yield _declared(declared)
        for declared in self.compiled.index.declared.values():
            if declared.kind == "payload" and declared.inside is not None and self._is_around(declared.inside.node):
                yield _declared(declared)
        yield from self._bound_before()

    def _bound_before(self) -> Iterator[lsp.CompletionItem]:
        """Yield the variables of quantifiers and the parameters of a macro in an incomplete statement."""
        since = self.at.since
        for word, name in pairwise(since):
            if word.text in ("forall", "exists") and name.kind == "word":
                yield lsp.CompletionItem(name.text, kind=_ICONS["loop variable"], detail="loop variable")
        if self.at.keyword == "define":
            texts = [token.text for token in since]
            end = texts.index("=") if "=" in texts else 0
            for token in since[1:end]:
                if token.kind == "word":
                    yield lsp.CompletionItem(token.text, kind=_ICONS["argument"], detail="argument")

    def _is_around(self, node: object) -> bool:
        """Return whether a node of this file contains the place, or ends just before it."""
        span = getattr(node, "span", None)
        if not isinstance(span, Span) or span.source is not self.compiled.source:
            return False
        return span.start <= self.offset <= span.end + 1

    def roles(self) -> Iterator[lsp.CompletionItem]:
        yield from (item for item in self.locals() if item.detail == "loop variable")
        yield from self.of("role")

    def visible(self, kind: Kind) -> Iterator[lsp.CompletionItem]:
        for name, places in self.compiled.index.visible.items():
            declared = self.compiled.index.declared.get(places[0])
            if declared is not None and declared.kind == kind:
                yield _declared(declared, name)

    def macros(self) -> Iterator[lsp.CompletionItem]:
        yield from self.of("macro")
        yield from (item for item in self.visible("macro") if "." not in item.label)

    def _types(self) -> Iterator[lsp.CompletionItem]:
        yield from self.of("type")
        yield from self.visible("type")
        yield from _words(words_of("type", "open type"), _Kinds.TypeParameter)

    # --- proposals by context

    def items(self) -> Iterator[lsp.CompletionItem]:
        at = self.at
        if at.keyword == "import":
            return self._imports()
        if at.last == ".":
            return self._members()
        if at.last == "@":
            return self.roles()
        if at.bracket and (bracketed := self._in_bracket()) is not None:
            return bracketed
        return self._in_agent() if at.block == "agent" else self._in_statement()

    def _imports(self) -> Iterator[lsp.CompletionItem]:
        if self.at.is_operand_before:
            yield from _words(("as", *sorted(DECLARATIONS)))
            return
        written = "".join(token.text for token in self.at.since)
        for path in sorted(shipped("stdlib").rglob("*.cpl")):
            name = ".".join(("std", *path.relative_to(shipped("stdlib")).with_suffix("").parts))
            if name.startswith(written):
                yield lsp.CompletionItem(name[len(written) :], kind=_Kinds.Module, detail=name)

    def _members(self) -> Iterator[lsp.CompletionItem]:
        """Yield the members of the name before the dot."""
        depth = 0
        for token in reversed(self.at.since[:-1]):
            if token.text in "])":
                depth += 1
            elif token.text in "[(":
                depth -= 1
            elif depth == 0 and token.kind == "word":
                owner = next((name for name in self.declarations if name.name.text == token.text), None)
                name = self.compiled.name_at(token.end)
                if name is not None and name[0].end == token.end:
                    owner = name[1]
                if owner is not None and owner.kind == "loop variable":
                    owner = self._family(owner)
                if owner is not None and owner.kind in ("part", "role", "message"):
                    hidden = ("loop variable", "macro", "type", "property", "parameter") if owner.kind == "part" else ()
                    yield from (_declared(one) for one in self.compiled.index.members(owner) if one.kind not in hidden)
                return

    def _family(self, variable: Declared) -> Declared | None:
        domain = getattr(variable.node, "domain", None)
        if not isinstance(domain, ast.Ref):
            return None
        target = self.compiled.index.uses.get(domain.segments[-1].name.span)
        return None if target is None else self.compiled.index.declared.get(target)

    def _in_bracket(self) -> Iterator[lsp.CompletionItem] | None:
        at = self.at
        callee = at.callee.text if at.callee else ""
        if at.bracket == "{":
            if callee in ("(", ",", "any", "each"):
                return self.roles()
            return self._steps() if callee in ("A", "E") else iter(())
        if at.bracket == "[":
            return self._values()
        if callee == "does":
            return self._steps_inside()
        if at.keyword == "use":
            return self._values() if at.last == "=" else self._bindings()
        if at.last == ":" and at.keyword in ("message", "protocol"):
            return self._types()
        if at.keyword in ("message", "protocol"):
            return self._values() if at.last in ("=", "..") else iter(())
        if callee in _PARTIES and self._is_party(callee):
            return chain(self.roles(), self._promises(callee), self._answerable())
        is_word = callee in CLAIM_PREDICATES or callee in STANDINGS
        if callee in COMMITMENT_PREDICATES or (is_word and not any(m.label == callee for m in self.macros())):
            return self.of("commitment", "claim", "part")
        if callee in EVENTS:
            return self.of("message", "part")
        return self._formula()

    def _is_party(self, callee: str) -> bool:
        is_declared = self.at.keyword in ("commitment", "claim")
        in_formula = 2 if BETWEEN_ROLES.get(callee) == 3 else 1
        return self.at.commas < (_PARTIES[callee] if is_declared else in_formula)

    def _promises(self, callee: str) -> Iterator[lsp.CompletionItem]:
        """Yield the arguments of `C` and `Fu`: debtor and creditor of declared commitments."""
        is_formula = self.at.keyword not in ("commitment", "claim")
        return self.of("commitment", "part") if callee in OF_COMMITMENTS and is_formula else iter(())

    def _answerable(self) -> Iterator[lsp.CompletionItem]:
        """Yield the words before a group of debtors."""
        is_debtor = self.at.keyword == "commitment" and self.at.last == "("
        return _words(("any", "each") if is_debtor else ())

    def _steps(self) -> Iterator[lsp.CompletionItem]:
        yield _word("does", _Kinds.Operator)
        yield from self.locals()

    def _steps_inside(self) -> Iterator[lsp.CompletionItem]:
        last = self.at.last
        if last == "message":
            yield from _words(sorted(ALL_VERBS), _Kinds.Method)
        elif last == "send":
            yield from self.of("message", "part")
        elif last in ALL_VERBS or last in ("to", "with"):
            yield from self.of("commitment", "claim", "part")
        elif last == "(":
            yield from self.of("message")
            yield from self.roles()
            yield from _words(("send", "message", *sorted(ALL_VERBS)), _Kinds.Method)
            yield from self.of("part")
            yield from _words(OWN_STEPS)
        else:
            yield from _words(("to", "with"))

    def _bindings(self) -> Iterator[lsp.CompletionItem]:
        """Yield the roles and parameters of the used protocol that are not bound yet."""
        used = self.used()
        bound = {one.text for one, sign in pairwise(self.at.since) if sign.text == "="}
        if used is None:
            return
        for member in self.compiled.index.members(used):
            if member.kind in ("role", "parameter") and member.name.text not in bound:
                item = _declared(member)
                item.insert_text = f"{member.name.text} = "
                yield item

    def used(self) -> Declared | None:
        """Return the protocol of the current `use`."""
        words = "".join(token.text for token in self.at.since if token.kind == "word" or token.text == ".")
        for name, places in sorted(self.compiled.index.visible.items(), key=lambda pair: -len(pair[0])):
            declared = self.compiled.index.declared.get(places[0])
            first = "".join(t.text for t in self.at.since).split("(")[0]
            if declared is not None and declared.kind == "protocol" and name == first and words:
                return declared
        return None

    def _values(self) -> Iterator[lsp.CompletionItem]:
        yield from self.locals()
        yield from self.of("role", "parameter")
        yield from _words(("true", "false"), _Kinds.Constant)

    def _formula(self) -> Iterator[lsp.CompletionItem]:
        """Yield the operators and operands that may continue an expression."""
        at = self.at
        is_formula = at.keyword in ("property", "define")
        if at.is_operand_before:
            yield from _words(words_of("infix") if is_formula else (), _Kinds.Operator)
            if not at.bracket:
                yield from self._next()
            return
        yield from self.locals()
        yield from self.of("message", "fact")
        if at.keyword in ("after", "if", "unless", "set", "on"):
            yield from (_declared(one) for one in self.compiled.index.declared.values() if self._is_own(one))
        yield from self.of("part", "role", "parameter")
        states = dict.fromkeys((*COMMITMENT_PREDICATES, *(CLAIM_PREDICATES if self._has("claim") else ()), *STANDINGS))
        if self._has("commitment", "claim", "part") or not is_formula:
            yield from _words(states, _Kinds.Function)
        if is_formula:
            yield from self.macros()
            yield from _words(words_of("prefix", "quantifier", "modality", "atom"), _Kinds.Operator)
        else:
            yield from _words(("forall", "exists", "sent", "inflight"), _Kinds.Operator)
        yield from _words(("true", "false"), _Kinds.Constant)

    def _has(self, *kinds: Kind) -> bool:
        return any(declared.kind in kinds for declared in self.declarations)

    def _is_own(self, declared: Declared) -> bool:
        """Return whether it is a variable of the protocol's roles."""
        return declared.kind == "variable" and declared.inside in self.declarations

    def _next(self) -> Iterator[lsp.CompletionItem]:
        """Yield the words that may follow a complete expression."""
        at = self.at
        options = {
            "commitment": ("within", "expires", "revocable"),
            "property": ("expect",),
            "check": ("expect",),
            "use": ("as",),
        }
        yield from _words(options.get(at.keyword, ()))
        if at.keyword == "message" or at.keyword in CLAUSES:
            yield from _words((*sorted(CLAUSES), "returns"))
        yield from self._beginning()

    def _beginning(self) -> Iterator[lsp.CompletionItem]:
        """Yield the words that begin a declaration."""
        if self.at.block in ("protocol", "for"):
            yield from self.roles()
        top = ("protocol", "import", "define")
        if not self.at.block and self.compiled.file.version is None and self._is_first():
            yield lsp.CompletionItem(f"cpl {VERSION}", kind=_Kinds.Keyword, detail=meaning("cpl"))
        words = top if not self.at.block else sorted((DECLARATIONS | FREE_AS_NAMES) - {"protocol", "import"})
        yield from (_word(word, _Kinds.Keyword, FORMS.get(word, "").replace("`", "")) for word in words)

    def _is_first(self) -> bool:
        """Return whether no declaration precedes this place."""
        return all(token.start >= self.at.start for token in self.compiled.tokens.code)

    def _in_powers(self) -> Iterator[lsp.CompletionItem]:
        """Yield the words that may continue `empower R to verb c`."""
        last = self.at.last
        if any(token.text == "to" for token in self.at.since):
            if last in ("to", ","):
                return _words(GRANTABLE, _Kinds.Method)
            return iter(self.of("commitment", "part")) if last in GRANTABLE else self._beginning()
        return self.roles() if last in ("empower", ",") else _words(("to",))

    def _variables_of_records(self) -> Iterator[lsp.CompletionItem]:
        """Yield the variables whose values an answer may have."""
        for declared in self.declarations:
            owner = None if declared.inside is None else declared.inside.node
            if declared.kind == "variable" and isinstance(owner, ast.Role) and owner.is_record:
                yield _declared(declared)

    def _in_statement(self) -> Iterator[lsp.CompletionItem]:
        at = self.at
        last = at.last
        if at.since and at.since[0].text == "empower" and "->" not in (token.text for token in at.since):
            return self._in_powers()
        if last == "expect":
            return _words(("holds", "fails"))
        match at.keyword:
            case "" | "{":
                return _words(("var",)) if at.block == "role" else self._beginning()
            case "message" | "channel":
                texts = [token.text for token in at.since]
                if "returns" in texts and last in ("returns", "else"):
                    return iter(())  # a new name
                if "returns" in texts and texts.count("(") > texts.count(")"):
                    return self._variables_of_records()
                if last == "->" or (last == "," and "->" in texts and ":" not in texts):
                    return self.roles()
                if last == ":" or (at.keyword == "message" and len(at.since) == 0):
                    return iter(())
                if at.is_operand_before and any(token.text == "->" for token in at.since):
                    return (
                        self._next()
                        if at.keyword == "message"
                        else _words(("unordered", "fifo", "lossy", "duplicating", "within"))
                    )
                return self.roles()
            case "means":
                return self._operations(last)
            case "resets" | "choice":
                return self._next() if at.is_operand_before else self.of("message", "part")
            case "on" if last == "on":
                return _words(("receipt",))
            case "check":
                return self._next() if at.is_operand_before else _words((*CHECKS, NO_USUAL_CHECKS), _Kinds.Function)
            case "restart" | "repeatable":
                return self._next()
            case "use":
                return self._next() if at.is_operand_before else self.visible("protocol")
            case "for":
                if last == ":":
                    return _words(("id", "text"))
                return self.of("role") if last == "in" else _words(("in",) if at.since else ("each",))
            case "property":
                return self._property(last)
            case "agent":
                texts = [token.text for token in at.since]
                return self.roles() if "plays" in texts else _words(("plays",) if texts else ())
            case "analyze":
                return self._analysis(last)
            case "role" | "protocol":
                return self._in_head()
            case "fact" | "commitment" | "claim" | "define":
                has_name = any(token.text == "=" for token in at.since)
                return self._formula() if has_name else iter(())
            case _:
                return self._formula()

    def _in_agent(self) -> Iterator[lsp.CompletionItem]:
        """Yield the words that may continue an agent's block."""
        at = self.at
        begun = next((token.text for token in reversed(at.since) if token.text in (*_OF_AGENTS, "when", ":")), None)
        if begun is None or (at.is_operand_before and begun not in ("believes", "value")):
            item = next((token.text for token in reversed(at.since) if token.text in _OF_AGENTS), None)
            yield from _words(("when",) if begun in ("chooses", ":") else ())
            yield from _words(("within",) if (begun, item) == ("when", "believes") else ())
            yield from _words((*_OF_AGENTS, "for"))
        elif begun in ("goal", "when"):
            yield from self._formula()
        elif begun == "believes":
            yield from _words(("when", "within")) if at.is_operand_before else self.roles()
        elif not at.is_operand_before:
            yield from self.of("message", "part")

    def _analysis(self, last: str) -> Iterator[lsp.CompletionItem]:
        if all(token.text != ":" for token in self.at.since):
            return self.of("agent")
        return _words(ASPECTS, _Kinds.Function) if last in (":", ",") else _words(("expect",))

    def _in_head(self) -> Iterator[lsp.CompletionItem]:
        if self.at.keyword == "role" and self.at.block == "role":
            return chain(_words(("var",)), self._types())
        if self.at.is_operand_before:
            return self._next() if self.at.keyword == "role" else _words(("sync",))
        return iter(())

    def _property(self, last: str) -> Iterator[lsp.CompletionItem]:
        texts = [token.text for token in self.at.since]
        if "assuming" in texts and ":" not in texts:
            if last not in ("assuming", ","):
                return _words(("within",))
            return iter((*self.roles(), *self.of("message"), _word("all")))
        if ":" in texts:
            return self._formula()
        return _words(("assuming",)) if texts else iter(())

    def _operations(self, last: str) -> Iterator[lsp.CompletionItem]:
        if last in ("means", ","):
            kinds = {declared.kind for declared in self.declarations}
            verbs = (*(VERBS if kinds & {"commitment", "part"} or "claim" not in kinds else ()),)
            return _words(dict.fromkeys((*verbs, *(CLAIM_VERBS if "claim" in kinds else ()))), _Kinds.Method)
        if last in ALL_VERBS and not self.at.is_operand_before:
            only = [kind for kind, verbs in (("commitment", VERBS), ("claim", CLAIM_VERBS)) if last in verbs]
            return iter([*(i for i in self.of("commitment", "claim") if i.detail in only), *self.of("part")])
        if last in ("to", "with"):
            return self.of("commitment" if last == "to" else "claim", "part")
        return iter([*_words(self._joining()), *self._next()])

    def _joining(self) -> list[str]:
        """Return the word that the current operation still needs, if there is one."""
        texts = [token.text for token in self.at.since]
        start = max((index for index, text in enumerate(texts) if text in JOINED), default=None)
        if start is None or "," in texts[start:]:
            return []
        joined = JOINED[texts[start]]
        return ["retaining"] if joined in texts[start:] and texts[start] == "delegate" else [joined]
