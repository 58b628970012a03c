"""Processing of the declarations of all files: symbols, recursion, macros, and declarations with errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.semantics import resolved, statements
from cplc.semantics.cycles import cycles
from cplc.semantics.expressions import ExpressionChecker
from cplc.semantics.references import Scope
from cplc.semantics.signatures import MAX_LOOP_DEPTH, Library, SymbolCollector
from cplc.source import Span
from cplc.syntax import ast


def declare(library: Library, expression_checker: ExpressionChecker) -> None:
    """Fill the library: macros, symbols of protocols, then references to other protocols."""
    declarer = SymbolCollector(library, expression_checker)
    for position, unit in enumerate(library.program):
        library.macros[position] = tuple(declarer.macros(unit.file.defines, None, position))
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
    stack: list[ast.Expr] = [macro.node.body]
    while stack:
        expr = stack.pop()
        if isinstance(expr, ast.Call) and (called := library.macro(expr.name.text, scope, None)):
            yield called
        stack.extend(_children(expr))


def _children(expr: ast.Expr) -> tuple[ast.Expr, ...]:
    match expr:
        case ast.Call(_, arguments):
            return arguments
        case ast.Unary(_, operand, bound):
            return (operand,) if bound is None else (operand, bound)
        case ast.Binary(_, left, right, bound):
            return (left, right) if bound is None else (left, right, bound)
        case ast.Junction(_, operands):
            return operands
        case ast.Social(body=body, trigger=trigger):
            return (body,) if trigger is None else (trigger, body)
        case ast.Quantifier(body=body) | ast.Knowledge(body=body):
            return (body,)
        case ast.Conditional(antecedent=antecedent, consequent=consequent):
            return (antecedent, consequent)
        case ast.OverPaths(_, path, along):
            return (path,) if along is None else (path, along)
        case ast.Strategic(_, path):
            return (path,)
        case ast.Ref(segments):
            return tuple(index for segment in segments for index in segment.indices)
        case ast.Literal_() | ast.View() | ast.Does():
            return ()


def broken_symbols(templates: Mapping[resolved.Signature, statements.Template], loops: set[object]) -> set[object]:
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


def _declared(bodies: Iterable[statements.Body]) -> Iterator[object]:
    for body in bodies:
        match body:
            case statements.Loop(_, inside):
                yield from _declared(inside)
            case (
                statements.Message(symbol) | statements.Fact(symbol) | statements.Commitment(symbol)
                | statements.Claim(symbol) | statements.Part(symbol) | statements.Agent(symbol)
            ):  # fmt: skip
                yield symbol
            case _:
                pass
