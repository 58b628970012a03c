"""Signatures: the declarations of each protocol, before the expressions of its clauses are checked.

Symbols come first, then macros and references between protocols: recursive ones are reported and not instantiated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, did_you_mean
from cplc.language.lifecycle import COMMITMENT_PREDICATES, PREDICATES
from cplc.language.words import EVENTS, LITERALS, OPERATORS, TYPES_IN_WORDS, words_of
from cplc.semantics import resolved
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.semantics.expressions import ExpressionChecker
from cplc.semantics.imports import Program
from cplc.semantics.name_resolution import Scope, kind_of
from cplc.semantics.types import BOOL, INT, UNKNOWN, Data, Enum, Type
from cplc.source import Span
from cplc.statespace.graph_algorithms import cycles
from cplc.syntax import ast
from cplc.syntax.replies import as_message, replies_to, variables_named
from cplc.syntax.tree import walk

MAX_LOOP_DEPTH = 30
"""Nesting of loops."""


class Library:
    """The protocols and macros of all files, and those visible in each file."""

    def __init__(self, program: Program, problems: DiagnosticSink) -> None:
        self.program = program
        self.problems = problems
        self.signatures: dict[int, tuple[resolved.Signature, ...]] = {}
        self.macros: dict[int, tuple[resolved.MacroSymbol, ...]] = {}
        self.types: dict[int, tuple[resolved.TypeSymbol, ...]] = {}
        self.broken: set[object] = set()
        """Loops and used parts of which an error leaves nothing to say."""
        self._names: dict[int, dict[str, list[TopLevel]]] = {}

    def reporting_to(self, problems: DiagnosticSink) -> Library:
        """Return the same library with another sink for errors in names."""
        library = Library(self.program, problems)
        library.signatures, library.macros, library.broken = self.signatures, self.macros, self.broken
        library.types = self.types
        return library

    def every_signature(self) -> Iterator[resolved.Signature]:
        for signatures in self.signatures.values():
            yield from signatures

    def every_macro(self) -> Iterator[resolved.MacroSymbol]:
        for macros in self.macros.values():
            yield from macros
        for signature in self.every_signature():
            yield from signature.macros.values()

    def protocol(self, ref: ast.Ref, unit: int) -> resolved.Signature | None:
        """Return the protocol of that name, or report that there is none."""
        name = ".".join(segment.name.text for segment in ref.segments)
        visible = {
            text: [s for s in symbols if isinstance(s, resolved.Signature)]
            for text, symbols in self._visible(unit).items()
        }
        candidates = visible.get(name, [])
        if not candidates:
            notes = did_you_mean(name, [text for text, symbols in visible.items() if symbols])
            self.problems.report(rules.UNKNOWN_NAME, ref.span, f"No protocol is called `{name}`", *notes)
            return None
        if len(candidates) > 1:
            self._ambiguous(name, ref.span, candidates)
        return candidates[0]

    def macro(self, name: str, scope: Scope, span: Span | None) -> resolved.MacroSymbol | None:
        """Return the macro of that name; where a span is given, report that there is none."""
        if scope.signature and name in scope.signature.macros:
            return scope.signature.macros[name]
        visible = self._visible(scope.unit)
        candidates = [symbol for symbol in visible.get(name, []) if isinstance(symbol, resolved.MacroSymbol)]
        if candidates:
            if len(candidates) > 1 and span is not None:
                self._ambiguous(name, span, candidates)
            return candidates[0]
        if span is not None:
            macros = {
                text for text, symbols in visible.items() if any(isinstance(s, resolved.MacroSymbol) for s in symbols)
            }
            own = set(scope.signature.macros) if scope.signature else set[str]()
            names = macros | own | PREDICATES | set(EVENTS)
            notes = did_you_mean(name, sorted(names))
            if name == "P":
                notes = (Note("probabilities are asked for a participant: `analyze Name: achievement > 0.9`"),)
            if not notes and "." not in name:
                notes = (Note("usual ones come with `import std.properties`"),)
            message = f"`{name}` is neither a state of a commitment or claim nor a macro"
            self.problems.report(rules.UNKNOWN_NAME, span, message, *notes)
        return None

    def type_of(self, name: str, scope: Scope, span: Span) -> resolved.TypeSymbol | None:
        """Return the enumeration of that name; report that there is none."""
        if scope.signature and name in scope.signature.types:
            return scope.signature.types[name]
        visible = self._visible(scope.unit)
        candidates = [symbol for symbol in visible.get(name, []) if isinstance(symbol, resolved.TypeSymbol)]
        if len(candidates) > 1:
            self._ambiguous(name, span, candidates)
        if not candidates:
            names = [text for text, every in visible.items() if any(isinstance(s, resolved.TypeSymbol) for s in every)]
            own = list(scope.signature.types) if scope.signature else []
            notes = did_you_mean(name, sorted([*names, *own, "bool", *words_of("open type")]))
            if name.lower() in ("string", "str"):
                notes = (Note("any text has the type `text`"),)
            self.problems.report(rules.UNKNOWN_NAME, span, f"No type is called `{name}`", *notes, Note(TYPES_IN_WORDS))
        return candidates[0] if candidates else None

    def _ambiguous(self, name: str, span: Span, candidates: Iterable[TopLevel]) -> None:
        notes = [
            Note("declared here", c.node.name.span if isinstance(c, resolved.Signature) else c.span) for c in candidates
        ]
        self.problems.report(rules.AMBIGUOUS_NAME, span, f"Two imported files declare `{name}`", *notes)

    def visible(self, unit: int) -> dict[str, tuple[Span, ...]]:
        """Return the declarations of all top-level names visible in a file."""
        return {
            name: tuple(s.node.name.span if isinstance(s, resolved.Signature) else s.span for s in symbols)
            for name, symbols in self._visible(unit).items()
        }

    def _visible(self, unit: int) -> dict[str, list[TopLevel]]:
        """Return the names visible in a file: its own, then imported ones, bare or qualified by the import."""
        if unit in self._names:
            return self._names[unit]
        names: dict[str, list[TopLevel]] = {}
        for import_, target in self.program[unit].imports:
            if target is None or target == unit:
                continue
            for symbol in self._declared(target):
                prefix = import_.alias.text if import_.alias else import_.target.split(".")[-1]
                bare = [] if import_.alias else [symbol.name]
                for name in (*bare, *([] if import_.is_path and not import_.alias else [f"{prefix}.{symbol.name}"])):
                    if symbol not in (symbols := names.setdefault(name, [])):
                        symbols.append(symbol)
        for symbol in self._declared(unit):
            names[symbol.name] = [symbol]
        if len(self.signatures) == len(self.program):
            self._names[unit] = names
        return names

    def _declared(self, unit: int) -> Iterator[TopLevel]:
        yield from self.signatures.get(unit, ())
        yield from self.macros.get(unit, ())
        yield from self.types.get(unit, ())


TopLevel = resolved.Signature | resolved.MacroSymbol | resolved.TypeSymbol
"""Symbols that other files can import."""


class SymbolCollector:
    """Collects the symbols of one protocol."""

    def __init__(self, library: Library, expression_checker: ExpressionChecker) -> None:
        self._library = library
        self._problems = library.problems
        self._expression_checker = expression_checker

    def macros(
        self, defines: Iterable[ast.Define], home: resolved.Signature | None, unit: int
    ) -> Iterator[resolved.MacroSymbol]:
        first_places: dict[str, Span] = {}
        for define in defines:
            name = define.name.text
            self._reserved(define.name, operators=True)
            if name in first_places:
                self._duplicate(define.name, first_places[name])
                continue
            first_places[name] = define.name.span
            parameters: dict[str, Span] = {}
            for parameter in define.parameters:
                self._reserved(parameter, operators=True)
                if parameter.text in parameters:
                    self._duplicate(parameter, parameters[parameter.text])
                parameters.setdefault(parameter.text, parameter.span)
            yield resolved.MacroSymbol(name, define, home, unit, define.name.span)

    def types(
        self, definitions: Iterable[ast.TypeDefinition], macros: Iterable[resolved.MacroSymbol]
    ) -> Iterator[resolved.TypeSymbol]:
        first_places = {macro.name: macro.span for macro in macros}
        for definition in definitions:
            name = definition.name
            self._reserved(name, operators=True)
            if name.text in first_places:
                self._duplicate(name, first_places[name.text])
                continue
            first_places[name.text] = name.span
            yield resolved.TypeSymbol(name.text, definition, name.span)

    def signature(self, protocol: ast.Protocol, unit: int) -> resolved.Signature:
        """Return the signature without its used parts and families; `fill` adds them."""
        signature = resolved.Signature(protocol.name.text, unit, protocol, {}, {}, {}, {}, {})
        defines = [d for d in protocol.declarations if isinstance(d, ast.Define)]
        for macro in self.macros(defines, signature, unit):
            signature.macros[macro.name] = macro
        definitions = [d for d in protocol.declarations if isinstance(d, ast.TypeDefinition)]
        for symbol in self.types(definitions, signature.macros.values()):
            signature.types[symbol.name] = symbol
        for parameter in protocol.parameters:
            self._parameter(parameter, signature)
        for declaration in protocol.declarations:
            if isinstance(declaration, ast.Role):
                self._role(declaration, signature)
        return signature

    def fill(self, signature: resolved.Signature) -> None:
        """Add the declarations that refer to other protocols or are inside loops over roles."""
        scope = Scope(signature.unit, signature)
        self._block(signature.node.declarations, signature, scope)

    def _block(self, declarations: Iterable[ast.Declaration], signature: resolved.Signature, scope: Scope) -> None:
        for declaration in declarations:
            match declaration:
                case ast.For():
                    self._loop(declaration, signature, scope)
                case ast.ForEach():
                    self._instances_by_key(declaration, signature, scope)
                case ast.Memory():
                    self._memory(declaration, signature, scope)
                case ast.Message():
                    parameters = self._payload(declaration, signature, scope)
                    symbol = resolved.MessageSymbol(
                        declaration.name.text, scope.chain, parameters, declaration, declaration.name.span
                    )
                    self._declare(declaration.name, symbol, signature)
                    for reply in replies_to(declaration):
                        self._reply(declaration, reply, signature, scope)
                case ast.Fact():
                    fact = resolved.FactSymbol(declaration.name.text, scope.chain, declaration, declaration.name.span)
                    self._declare(declaration.name, fact, signature)
                case ast.Commitment(name):
                    commitment = resolved.CommitmentSymbol(name.text, scope.chain, declaration, name.span)
                    self._declare(name, commitment, signature)
                case ast.Claim(name):
                    claim = resolved.ClaimSymbol(name.text, scope.chain, declaration, name.span)
                    self._declare(name, claim, signature)
                case ast.Agent(name):
                    agent = resolved.AgentSymbol(name.text, scope.chain, declaration, name.span)
                    self._declare(name, agent, signature)
                case ast.Use():
                    self._part(declaration, signature, scope)
                case ast.Role(name) | ast.Define(name) | ast.TypeDefinition(name) if scope.chain:
                    what = {ast.Role: "A role", ast.Define: "A macro"}.get(type(declaration), "An enumeration")
                    self._misplaced(name.span, what)
                case ast.Check(_) if scope.chain:
                    self._misplaced(declaration.span, "A check")
                case _:
                    pass

    def _misplaced(self, span: Span, what: str) -> None:
        message = f"{what} belongs to the protocol as a whole and cannot stand in a `for`"
        self._problems.report(rules.MISPLACED_DECLARATION, span, message)

    def _loop(self, loop: ast.For, signature: resolved.Signature, scope: Scope) -> None:
        if len(scope.chain) >= MAX_LOOP_DEPTH:
            self._problems.report(
                rules.TOO_DEEP, loop.variable.span, f"More than {MAX_LOOP_DEPTH} loops are nested here"
            )
            return
        self._reserved(loop.variable, operators=True)
        domain = self._expression_checker.names.domain(loop.domain, scope)
        if domain is None:
            nobody = resolved.NumberDomain(resolved.LiteralTree(1), resolved.LiteralTree(0))
            binder = resolved.Binder(loop.variable.text, nobody, loop.variable.span)
            self._library.broken.add(binder)
        else:
            binder = resolved.Binder(loop.variable.text, domain, loop.variable.span)
        signature.blocks[id(loop)] = binder
        inner = Scope(scope.unit, signature, (*scope.chain, binder), {**scope.locals, binder.name: binder})
        self._block(loop.body, signature, inner)

    def _instances_by_key(self, block: ast.ForEach, signature: resolved.Signature, scope: Scope) -> None:
        key = block.key
        self._reserved(key, operators=True)
        if scope.chain:
            message = "Instances by key belong to the protocol as a whole: `for each` cannot stand in another block"
            hint = Note("put the loop into the block, as in `for each order: id { for c in Cus { … } }`")
            self._problems.report(rules.MISPLACED_DECLARATION, key.span, message, hint)
            return
        if key.text in signature.keys:
            self._duplicate(key, signature.keys[key.text].span)
            return
        if (declared := scope.declaration(key.text)) is not None:
            self._duplicate(key, declared[1])
        if self._ranged(block.type, scope).type not in (Data("id"), Data("text")):
            message = "A key is of type `id` or `text`: there is one instance for each of any number of values"
            hint = Note("a limited number of instances is a loop: `for i in 1..n { … }`")
            self._problems.report(rules.TYPE_MISMATCH, block.type.span, message, hint)
        binder = resolved.Binder(key.text, resolved.KeyDomain(key.text), key.span)
        signature.blocks[id(block)] = signature.keys[key.text] = binder
        inner = Scope(scope.unit, signature, (binder,), {**scope.locals, binder.name: binder})
        self._block(block.body, signature, inner)

    def _memory(self, memory: ast.Memory, signature: resolved.Signature, scope: Scope) -> None:
        """Add the variable of a role in a block with a key, one for each key."""
        shape = Note("as in `for each order: id { var Bank.charges: 0..3 = 0 … }`")
        if len(scope.chain) != 1 or not isinstance(scope.chain[0].domain, resolved.KeyDomain):
            message = "A variable stands in the braces of its role or, one for each key, in a block `for each`"
            in_role = Note("a variable belongs to a role: `role Name { var v: 0..3 = 0 }`")
            self._problems.report(rules.MISPLACED_DECLARATION, memory.name.span, message, in_role, shape)
            return
        role, *rest = memory.name.segments
        if len(rest) != 1 or role.indices or rest[0].indices:
            message = f"`{memory.name.span.text}` does not say whose variable it is: write `Role.name`"
            self._problems.report(rules.UNKNOWN_NAME, memory.name.span, message, shape)
            return
        symbol = signature.symbols.get(role.name.text)
        if not isinstance(symbol, resolved.RoleSymbol):
            notes = did_you_mean(role.name.text, [one.name for one in signature.roles])
            self._problems.report(rules.UNKNOWN_NAME, role.name.span, f"No role is called `{role.name.text}`", *notes)
            return
        self._expression_checker.references.refer(role.name.span, symbol.span)
        self._expression_checker.references.used.add(symbol)
        name = rest[0].name
        self._reserved(name, operators=True)
        if name.text in symbol.variables:
            self._duplicate(name, symbol.variables[name.text].span)
            return
        declared = self._ranged(memory.type, scope)
        initial = None
        if memory.initial is not None:
            initial = self._expression_checker.initial(memory.initial, scope, declared.type)
        symbol.variables[name.text] = resolved.VariableSymbol(name.text, declared, initial, name.span, scope.chain)

    def _part(self, use: ast.Use, signature: resolved.Signature, scope: Scope) -> None:
        used = self._library.protocol(use.protocol, signature.unit)
        if used is None:
            return
        if any(isinstance(one, ast.ForEach) for one in used.node.declarations):
            message = f"`{used.name}` has instances by key, and cannot be a part of another protocol"
            hint = Note("leave out its `for each`, and put the `use` into a block with a key")
            self._problems.report(rules.MISPLACED_DECLARATION, use.protocol.span, message, hint)
            return
        self._expression_checker.references.refer(use.protocol.segments[-1].name.span, used.node.name.span)
        name = use.alias or use.protocol.segments[-1].name
        self._declare(name, resolved.PartSymbol(name.text, scope.chain, used, use, name.span), signature)

    def _role(self, role: ast.Role, signature: resolved.Signature) -> None:
        scope = Scope(signature.unit, signature)
        variables: dict[str, resolved.VariableSymbol] = {}
        for variable in role.variables:
            self._reserved(variable.name, operators=True)
            if variable.name.text in variables:
                self._duplicate(variable.name, variables[variable.name.text].span)
                continue
            declared = self._ranged(variable.type, scope)
            initial = None
            if variable.initial is not None and declared.type != UNKNOWN:
                initial = self._expression_checker.initial(variable.initial, scope, declared.type)
            variables[variable.name.text] = resolved.VariableSymbol(
                variable.name.text, declared, initial, variable.name.span
            )
        size = None if role.size is None else self._expression_checker.number(role.size, scope)
        if role.name.text in {"Env", "all"}:
            taken = "the environment" if role.name.text == "Env" else "every role"
            self._problems.report(
                rules.RESERVED_NAME, role.name.span, f"`{role.name.text}` stands for {taken} and cannot be declared"
            )
        self._declare(
            role.name, resolved.RoleSymbol(role.name.text, size, variables, role.name.span, role.is_record), signature
        )

    def _parameter(self, parameter: ast.Parameter, signature: resolved.Signature) -> None:
        self._reserved(parameter.name, operators=True)
        name = parameter.name.text
        if name in signature.parameters:
            self._duplicate(parameter.name, signature.parameters[name].span)
            return
        scope = Scope(signature.unit, signature)
        declared = self._ranged(parameter.type, scope)
        if isinstance(declared.type, Enum | Data):
            message = "A parameter of a protocol is a truth value or a number"
            self._problems.report(rules.TYPE_MISMATCH, parameter.type.span, message)
        default = None
        if parameter.default is not None:
            default = self._expression_checker.initial(parameter.default, scope, declared.type)
        signature.parameters[name] = resolved.ParameterSymbol(name, declared, default, parameter.name.span)

    def _reply(self, request: ast.Message, reply: ast.Reply, signature: resolved.Signature, scope: Scope) -> None:
        """Declare the message by which a record answers; its parameters are variables of the record."""
        role = request.receivers[0]
        name = role.segments[0].name.text
        local, symbol = scope.locals.get(name), signature.symbols.get(name)
        if isinstance(local, resolved.Binder) and isinstance(local.domain, resolved.FamilyDomain):
            symbol = local.domain.role
        record = symbol if isinstance(symbol, resolved.RoleSymbol) and symbol.is_record else None
        if record is None or len(request.receivers) > 1:
            receivers = ", ".join(one.span.text for one in request.receivers)
            hint = Note("declare it by `record` in this protocol, or write the answer as a message of its own")
            message = f"Only a record answers by `returns`, and `{receivers}` is none"
            self._problems.report(rules.BAD_REPLY, reply.name.span, message, hint)
        declared = {} if record is None else record.variables
        parameters: dict[str, resolved.Ranged] = {}
        for field in reply.fields:
            if field.text in parameters:
                self._duplicate(field, next(one.span for one in reply.fields if one.text == field.text))
            elif field.text in declared:
                self._expression_checker.references.refer(field.span, declared[field.text].span)
                self._expression_checker.references.used.add(declared[field.text])
                parameters[field.text] = declared[field.text].declared
            elif record is not None:
                notes = did_you_mean(field.text, declared) or (Note("an answer has values of variables of its record"),)
                message = f"`{record.name}` has no variable `{field.text}`"
                self._problems.report(rules.UNKNOWN_NAME, field.span, message, *notes)
        variables = {} if record is None else variables_named(record.name, signature.node.declarations)
        node = as_message(request, reply, variables)
        answer = resolved.MessageSymbol(reply.name.text, scope.chain, parameters, node, reply.name.span)
        self._declare(reply.name, answer, signature)

    def _payload(self, message: ast.Message, signature: resolved.Signature, scope: Scope) -> dict[str, resolved.Ranged]:
        parameters: dict[str, resolved.Ranged] = {}
        spans: dict[str, Span] = {}
        for parameter in message.parameters:
            name = parameter.name
            self._reserved(name, operators=True)
            if name.text in parameters:
                self._duplicate(name, spans[name.text])
                continue
            if parameter.default is not None:
                self._problems.report(
                    rules.TYPE_MISMATCH, parameter.default.span, "A parameter of a message takes no default"
                )
            spans[name.text] = name.span
            parameters[name.text] = self._ranged(parameter.type, scope)
        return parameters

    def _ranged(self, type_: ast.Type, scope: Scope) -> resolved.Ranged:
        match type_:
            case ast.BoolType():
                return resolved.Ranged(BOOL, span=type_.span)
            case ast.Range(low, high):
                bounds = self._expression_checker.number(low, scope), self._expression_checker.number(high, scope)
                return resolved.Ranged(INT, *bounds, type_.span)
            case ast.DataType(name):
                if name == "decimal(0)":
                    hint = Note("a whole number is of a range, as in `0..5`")
                    self._problems.report(rules.TYPE_MISMATCH, type_.span, "A decimal has 1 to 9 places", hint)
                    name = "decimal(1)"
                return resolved.Ranged(Data(name), span=type_.span)
            case ast.NamedType(target):
                return self._named_type(target, scope)
            case ast.EnumType(members):
                first_places: dict[str, Span] = {}
                for member in members:
                    if member.text in first_places:
                        self._duplicate(member, first_places[member.text])
                    if member.text in LITERALS:
                        self._reserve(member, "a word of the language")
                    first_places.setdefault(member.text, member.span)
                enumeration: Type = Enum(tuple(first_places))
                return resolved.Ranged(enumeration, span=type_.span)

    def _named_type(self, target: ast.Ref, scope: Scope) -> resolved.Ranged:
        """Return an enumeration by its name, which an import may qualify."""
        names = [segment.name for segment in target.segments]
        symbol = self._library.type_of(".".join(name.text for name in names), scope, target.span)
        if symbol is not None and any(segment.indices for segment in target.segments):
            self._problems.report(rules.WRONG_INDICES, target.span, f"`{symbol.name}` is a type and takes no index")
            symbol = None
        if symbol is None:
            return resolved.Ranged(UNKNOWN, span=target.span)
        references = self._expression_checker.references
        references.used.add(symbol)
        references.refer(names[-1].span, symbol.span)
        imports = (import_.alias for import_, _ in self._library.program[scope.unit].imports if import_.alias)
        alias = next((one for one in imports if len(names) > 1 and one.text == names[0].text), None)
        if alias is not None:
            references.refer(names[0].span, alias.span)
        return replace(self._ranged(symbol.node.type, scope), span=target.span)

    def _declare(self, name: ast.Name, symbol: resolved.Symbol, signature: resolved.Signature) -> None:
        match symbol:
            case resolved.RoleSymbol():
                self._reserved(name, operators=symbol.is_family)
            case resolved.PartSymbol():
                self._reserved(name, operators=True)
            case _:
                self._reserved(name, operators=True, states=True)
        earlier = signature.symbols.get(name.text) or signature.parameters.get(name.text)
        if earlier:
            self._declared_again(name, earlier, symbol)
            return
        signature.symbols[name.text] = symbol

    def _declared_again(
        self, name: ast.Name, earlier: resolved.Symbol | resolved.ParameterSymbol, symbol: resolved.Symbol
    ) -> None:
        """Report a name that is declared twice; a use of one with two kinds may mean either, and is not reported."""
        if isinstance(earlier, resolved.ParameterSymbol) or kind_of(earlier) == kind_of(symbol):
            self._duplicate(name, earlier.span)
            return
        self._expression_checker.references.contested.add(earlier)
        hint = Note("roles, messages, commitments, claims and facts share one name space: rename one of them")
        message = f"`{name.text}` is {kind_of(earlier)} already"
        self._problems.report(rules.DUPLICATE_NAME, name.span, message, hint, Note("declared here", earlier.span))

    def _reserved(self, name: ast.Name, *, operators: bool, states: bool = False) -> None:
        if name.text in LITERALS:
            self._reserve(name, "a word of the language")
        elif operators and name.text in OPERATORS:
            self._reserve(name, "an operator of formulas; only single roles may have such a name")
        elif states and name.text in COMMITMENT_PREDICATES:
            self._reserve(name, "a state of commitments")

    def _reserve(self, name: ast.Name, what: str) -> None:
        hint = Note("choose another name")
        if name.text in COMMITMENT_PREDICATES:
            hint = Note(f"choose another name: in formulas `{name.text}(c)` asks for the state of a commitment")
        self._problems.report(rules.RESERVED_NAME, name.span, f"`{name.text}` is {what}", hint)

    def _duplicate(self, name: ast.Name, earlier: Span) -> None:
        message = f"`{name.text}` is declared already"
        self._problems.report(rules.DUPLICATE_NAME, name.span, message, Note("first declared here", earlier))


def declare(library: Library, expression_checker: ExpressionChecker) -> None:
    """Fill the library: macros, symbols of protocols, then references to other protocols."""
    declarer = SymbolCollector(library, expression_checker)
    for position, unit in enumerate(library.program):
        library.macros[position] = tuple(declarer.macros(unit.file.defines, None, position))
        library.types[position] = tuple(declarer.types(unit.file.types, library.macros[position]))
    for position, unit in enumerate(library.program):
        first_places: dict[str, Span] = {}
        for protocol in unit.file.protocols:
            name = protocol.name
            if name.text in first_places:
                message = f"`{name.text}` is declared already"
                note = Note("first declared here", first_places[name.text])
                library.problems.report(rules.DUPLICATE_NAME, name.span, message, note)
            first_places.setdefault(name.text, name.span)
        library.signatures[position] = tuple(declarer.signature(protocol, position) for protocol in unit.file.protocols)
    for signature in library.every_signature():
        declarer.fill(signature)


def forbid_recursion(library: Library) -> None:
    """Report recursive or too deeply nested uses of protocols; these parts are not instantiated."""
    signatures = {f"{position}": signature for position, signature in enumerate(library.every_signature())}
    keys = {signature: key for key, signature in signatures.items()}
    uses = {key: [keys[part.signature] for part in _parts(signature)] for key, signature in signatures.items()}
    levels: dict[str, int] = {}
    for component, circle in cycles(uses):
        inside = [signatures[key] for key in component]
        if circle:
            for signature in inside:
                library.broken.update(part for part in _parts(signature) if part.signature in inside)
            first, following = signatures[circle[0]], signatures[circle[1 % len(circle)]]
            use = next(part for part in _parts(first) if part.signature is following)
            shown = " -> ".join(f"`{signatures[key].name}`" for key in (*circle, circle[0]))
            message = f"`{first.name}` uses itself: {shown}"
            library.problems.report(rules.RECURSIVE_DEFINITION, use.node.protocol.span, message)
        for key in component:
            levels[key] = 1 + max((levels.get(inner, 0) for inner in uses[key]), default=0)
            if levels[key] > MAX_LOOP_DEPTH:
                library.broken.update(_parts(signatures[key]))
                if levels[key] == MAX_LOOP_DEPTH + 1:
                    message = f"Protocols use each other more than {MAX_LOOP_DEPTH} levels deep here"
                    library.problems.report(rules.TOO_DEEP, signatures[key].node.name.span, message)


def check_macros(library: Library, expression_checker: ExpressionChecker) -> None:
    """Check every macro by itself, inner macros first; macros that cannot be expanded are skipped."""
    macros = {f"{position}": macro for position, macro in enumerate(library.every_macro())}
    numbers = {macro: key for key, macro in macros.items()}
    calls = {key: [numbers[m] for m in _called(macro, library) if m in numbers] for key, macro in macros.items()}
    for component, circle in cycles(calls):
        macro = macros[circle[0]] if circle else macros[component[0]]
        if circle:
            expression_checker.unusable.update(macros[key] for key in component)
            shown = " -> ".join(f"`{macros[key].name}`" for key in (*circle, circle[0]))
            message = f"`{macro.name}` is defined by itself: {shown}"
            library.problems.report(rules.RECURSIVE_DEFINITION, macro.span, message)
            continue
        rests_on_unusable = any(macros[inner] in expression_checker.unusable for inner in calls[component[0]])
        if rests_on_unusable or not expression_checker.macro_alone(macro):
            expression_checker.unusable.add(macro)


def _parts(signature: resolved.Signature) -> Iterator[resolved.PartSymbol]:
    return (symbol for symbol in signature.symbols.values() if isinstance(symbol, resolved.PartSymbol))


def _called(macro: resolved.MacroSymbol, library: Library) -> Iterator[resolved.MacroSymbol]:
    """Yield the macros that a macro's body calls."""
    scope = Scope(macro.unit, macro.home)
    for expr in walk(macro.node.body):
        if isinstance(expr, ast.Call) and (called := library.macro(expr.name.text, scope, None)):
            yield called


def broken_symbols(templates: Mapping[resolved.Signature, resolved.Template], loops: set[object]) -> set[object]:
    """Return the symbols whose declarations have errors and cannot be instantiated."""
    broken: set[object] = set()
    for signature, template in templates.items():
        sound = set(_declared(template.body))
        broken.update(
            symbol
            for symbol in signature.symbols.values()
            if not isinstance(symbol, resolved.RoleSymbol)
            and (symbol not in sound or any(binder in loops for binder in symbol.chain))
        )
    return broken


def _declared(bodies: Iterable[resolved.Body]) -> Iterator[object]:
    for body in bodies:
        match body:
            case resolved.Loop(_, inside):
                yield from _declared(inside)
            case (
                resolved.Message(symbol) | resolved.Fact(symbol) | resolved.Commitment(symbol)
                | resolved.Claim(symbol) | resolved.Part(symbol) | resolved.Agent(symbol)
            ):  # fmt: skip
                yield symbol
            case _:
                pass
