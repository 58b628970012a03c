"""Name resolution of `Formulae` and `Fairness`, by the logic of each formula (CTL, LTL, CTL*)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, cast

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, did_you_mean, suggestion
from cplc.ispl.semantics import model
from cplc.ispl.semantics.declarations import Declarations, Declared
from cplc.ispl.syntax import ast
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.syntax.tree import children

_ACTIONS: Final = {
    "FuS": ("Fulfill", 0),
    "CaS": ("Cancel", 0),
    "ReS": ("Release", 1),
    "DeS": ("Delegate", 0),
    "AsS": ("Assign", 1),
}
"""Action and acting party of each operation on strong commitments in MCMAS+: `Cancel_i` of `i`."""

Reader = Callable[[ast.Formula], model.Formula | None]


class Formulas:
    """Resolves formulas and records the names that they use."""

    def __init__(self, declared: Declarations, problems: DiagnosticSink) -> None:
        self._declared = declared
        self._problems = problems
        self.used: set[str] = set()
        """Propositions."""
        self.used_groups: set[str] = set()
        self._is_fairness = False

    def specification(self, node: ast.Specification) -> model.Formula | None:
        """Return the state formula of a specification."""
        match node.logic:
            case "CTL":
                return self._ctl(node.formula)
            case "LTL":
                path = self._ltl(node.formula)
                return None if path is None else model.OnPaths("A", path)
            case "CTL*":
                return self._ctl_star(node.formula)

    def fairness(self, node: ast.Formula) -> model.Formula | None:
        """Return a fairness condition, which holds infinitely often on fair runs."""
        self._is_fairness = True
        formula = self._ctl(node)
        self._is_fairness = False
        return formula

    # --- CTL, knowledge, strategies and commitments

    def _ctl(self, node: ast.Formula) -> model.Formula | None:
        match node:
            case ast.Unary("X" | "F" | "G" as op):
                message = f"write `A{op}` or `E{op}`, or begin the formula with `LTL`"
                hint = suggestion(message, _quantified("A", node), _quantified("E", node))
                self._report_path_operator(node, f"`{op}`", hint)
                return None
            case ast.Binary("U"):
                self._report_path_operator(node, "`U`", _until_hint(node))
                return None
            case ast.Unary("A" | "E" as op, ast.Binary("U", left, right)):
                parts = self._all(self._ctl, (left, right))
                return None if parts is None else model.OnPaths(op, model.Until(*parts))
            case ast.Unary("A" | "E" as op, operand):
                self._report_wrong_logic(node, op, "CTL", self._quantifier_hint(op, operand))
                return None
            case ast.Unary(op, operand):
                inner = self._ctl(operand)
                quantifier = cast("Literal['A', 'E']", op[0])
                return None if inner is None else model.OnPaths(quantifier, _temporal(op[1], inner))
            case ast.Enforces():
                return self._enforces(node)
            case ast.Commits():
                return self._commits(node)
            case ast.Knows(_, _, operand):
                return self._knows(node, self._ctl(operand))
            case _:
                return self._shared(node, self._ctl)

    def _quantifier_hint(self, quantifier: str, operand: ast.Formula) -> Note:
        if isinstance(operand, ast.Unary) and operand.op in ("X", "F", "G"):
            return Note(f"write `{quantifier}{operand.op}`")
        return Note(f"in CTL `{quantifier}` stands before `(p U q)` only; begin the formula with `CTL*` for more")

    def _report_path_operator(self, node: ast.Formula, op: str, hint: Note) -> None:
        self._record_names(node)
        message = f"{op} is a path operator, but a state formula is required here"
        self._problems.report(rules.NOT_A_STATE_FORMULA, node.span, message, hint)

    def _report_wrong_logic(self, node: ast.Formula, op: str, logic: str, *notes: Note) -> None:
        self._record_names(node)
        self._problems.report(rules.WRONG_LOGIC, node.span, f"`{op}` is not an operator of {logic} here", *notes)

    def _record_names(self, node: object) -> None:
        """Record the names of a formula that has errors."""
        match node:
            case ast.Prop(name):
                self.used.add(name.text)
            case ast.Knows(_, who) | ast.Enforces(who):
                self.used_groups.add(who.text)
            case _:
                pass
        for child in children(node):
            self._record_names(child)

    def _enforces(self, node: ast.Enforces) -> model.Formula | None:
        if self._is_fairness:
            message = "Fairness conditions cannot contain strategies"
            self._record_names(node)
            self._problems.report(rules.WRONG_LOGIC, node.span, message)
            return None
        agents = self._group(node.group)
        goal: model.Formula | None = None
        match node.goal:
            case ast.Unary("X" | "F" | "G" as op, operand):
                inner = self._ctl(operand)
                goal = None if inner is None else _temporal(op, inner)
            case ast.Binary("U", left, right):
                parts = self._all(self._ctl, (left, right))
                goal = None if parts is None else model.Until(*parts)
            case other:
                self._record_names(other)
                hint = Note(f"write `<{node.group.text}> F p`, with `X`, `F`, `G` or `(p U q)`")
                message = "A strategy requires a goal; this formula is not one"
                self._problems.report(rules.NOT_A_GOAL, other.span, message, hint)
        return None if agents is None or goal is None else model.Enforces(agents, goal)

    def _commits(self, node: ast.Commits) -> model.Formula | None:
        if node.op in ("Tp", "Tc"):
            message = f"`{node.op}`, trust with a degree, is not supported"
            self._record_names(node)
            self._problems.report(
                rules.UNSUPPORTED_OPERATOR, node.span, message, Note("`Tr` is trust without a degree")
            )
            return None
        agents = [self._declared.agent(name, self._problems) for name in node.agents]
        parts = self._all(self._ctl, node.operands)
        resolved = tuple(agent for agent in agents if agent is not None)
        if len(resolved) < len(agents) or parts is None:
            return None
        names = tuple(agent.name for agent in resolved)
        for index, name in enumerate(node.agents):
            if name.text in names[:index]:
                message = f"One commitment names `{name.text}` twice"
                self._problems.report(rules.SAME_ROLE, name.span, message)
                return None
        self._check_parties(node, resolved)
        return model.Commits(cast("model.Commitment", node.op), names, parts)

    def _check_parties(self, node: ast.Commits, agents: tuple[Declared, ...]) -> None:
        """Report parties and actions that make a commitment false in all states."""
        debtor, creditor = agents[:2]
        if not any(name in creditor.variables for name in debtor.variables):
            message = f"`{debtor.name}` and `{creditor.name}` share no variable"
            hint = Note("two agents share the variables that both declare under the same name")
            self._problems.report(rules.NOTHING_SHARED, node.span, message, hint)
        for name, variable in debtor.variables.items():
            other = creditor.variables.get(name)
            if other is not None and other.type != variable.type:
                message = f"`{variable}` and `{other}` are shared but have different types"
                self._problems.report(rules.TYPE_MISMATCH, node.span, message)
        if node.op in _ACTIONS:
            verb, who = _ACTIONS[node.op]
            doer = agents[who]
            action = f"{verb}_{doer.name}"
            if action not in doer.actions:
                message = f"`{node.op}` requires the action `{action}`, which `{doer.name}` does not have"
                self._problems.report(rules.NEVER_DONE, node.span, message, Note("so it holds in no state"))

    # --- LTL

    def _ltl(self, node: ast.Formula) -> model.Formula | None:
        match node:
            case ast.Unary("X" | "F" | "G" as op, operand):
                inner = self._ltl(operand)
                return None if inner is None else _temporal(op, inner)
            case ast.Unary(op, operand):
                shorter = Note(f"remove `{op[0]}`: an LTL formula quantifies over all runs") if op[0] == "A" else None
                other = Note("begin the formula with `CTL*`") if len(op) == 1 else Note("remove `LTL`")
                self._report_wrong_logic(node, op, "LTL", shorter or other)
                return None
            case ast.Binary("U", left, right):
                parts = self._all(self._ltl, (left, right))
                return None if parts is None else model.Until(*parts)
            case ast.Knows("O"):
                self._report_wrong_logic(node, "O", "LTL")
                return None
            case ast.Knows(_, _, operand):
                inner = self._ltl(operand)
                if inner is not None and _is_of_path(inner):
                    inner = model.OnPaths("A", inner)
                return self._knows(node, inner)
            case ast.Enforces() | ast.Commits():
                self._report_wrong_logic(node, _operator_text(node), "LTL")
                return None
            case _:
                return self._shared(node, self._ltl)

    # --- CTL*

    def _ctl_star(self, node: ast.Formula) -> model.Formula | None:
        """Return a state formula of CTL*."""
        match node:
            case ast.Unary("A" | "E" as op, operand):
                path = self._path(operand)
                return None if path is None else model.OnPaths(op, path)
            case ast.Unary("X" | "F" | "G" as op):
                hint = suggestion(f"write `A {op}` or `E {op}`", _quantified("A ", node), _quantified("E ", node))
                self._report_path_operator(node, f"`{op}`", hint)
                return None
            case ast.Binary("U"):
                self._report_path_operator(node, "`U`", _until_hint(node))
                return None
            case ast.Knows("K" | "GK" | "GCK" | "DK", _, operand):
                return self._knows(node, self._ctl_star(operand))
            case ast.Unary() | ast.Knows() | ast.Enforces() | ast.Commits():
                sign = _operator_text(node)
                notes = [Note(f"write `{sign[0]} {sign[1]}`")] if isinstance(node, ast.Unary) else []
                self._report_wrong_logic(node, sign, "CTL*", *notes)
                return None
            case _:
                self._check_mcmas_precedence(node)
                return self._shared(node, self._ctl_star)

    def _path(self, node: ast.Formula) -> model.Formula | None:
        """Return a path formula of CTL*."""
        match node:
            case ast.Unary("X" | "F" | "G" as op, operand):
                inner = self._path(operand)
                return None if inner is None else _temporal(op, inner)
            case ast.Binary("U", left, right):
                parts = self._all(self._path, (left, right))
                return None if parts is None else model.Until(*parts)
            case ast.Not() | ast.Junction() | ast.Binary():
                self._check_mcmas_precedence(node)
                return self._shared(node, self._path)
            case _:
                return self._ctl_star(node)

    def _check_mcmas_precedence(self, node: ast.Formula) -> None:
        """Warn of formulas in which MCMAS 1.3 gives a path operator a larger scope than its precedence implies.

        If the operand is a state formula, MCMAS extends the scope over a following `and`, `or` or `->`.
        """
        match node:
            case ast.Junction(sign, operands):
                reaching, infix = operands[:-1], str(sign)
            case ast.Binary("->", left, _):
                reaching, infix = (left,), "->"
            case _:
                return
        for operand in reaching:
            op = _reaching_operator(operand)
            if op:
                message = f"MCMAS 1.3 extends the scope of `{op}` over the operand after `{infix}`"
                hint = Note(f"write `({operand.span.text}) {infix} …`, which is the meaning here")
                self._problems.report(rules.OTHER_DIALECT, operand.span, message, hint)

    # --- operators of all logics

    def _shared(self, node: ast.Formula, read: Reader) -> model.Formula | None:
        match node:
            case ast.Prop(name):
                return self._proposition(name)
            case ast.ColourAtom(agent, colour):
                declared = self._declared.agent(agent, self._problems)
                return None if declared is None else model.ColourAtom(declared.name, colour == "RedStates")
            case ast.Not(operand):
                inner = read(operand)
                return None if inner is None else model.Negation(inner)
            case ast.Junction(op, operands):
                parts = self._all(read, operands)
                return None if parts is None else model.Connective(op, parts)
            case ast.Binary(_, left, right):
                parts = self._all(read, (left, right))
                return None if parts is None else model.Connective("->", parts)
            case _:
                raise AssertionError(f"no logic reads {node!r}")

    def _all(self, read: Reader, nodes: Iterable[ast.Formula]) -> tuple[model.Formula, ...] | None:
        operands = [read(node) for node in nodes]
        parts = tuple(part for part in operands if part is not None)
        return parts if len(parts) == len(operands) else None

    def _proposition(self, name: ast.Name) -> model.Formula | None:
        self.used.add(name.text)
        if name.text in self._declared.propositions:
            return model.Prop(name.text)
        notes = did_you_mean(name.text, self._declared.propositions)
        if name.text in self._declared.agents:
            notes = (Note(f"`{name.text}` is an agent"),)
        message = f"No proposition is called `{name.text}`"
        self._problems.report(rules.UNKNOWN_NAME, name.span, message, *notes)
        return None

    def _knows(self, node: ast.Knows, inner: model.Formula | None) -> model.Formula | None:
        if node.op in ("K", "O"):
            agent = self._declared.agent(node.who, self._problems)
            return None if agent is None or inner is None else model.Knows(node.op, (agent.name,), inner)
        agents = self._group(node.who)
        return None if agents is None or inner is None else model.Knows(node.op, agents, inner)

    def _group(self, name: ast.Name) -> tuple[str, ...] | None:
        group = self._declared.groups.get(name.text)
        self.used_groups.add(name.text)
        if group is None:
            notes = did_you_mean(name.text, self._declared.groups)
            if name.text in self._declared.agents:
                notes = (Note(f"declare one in `Groups`: `g = {{{name.text}}};`"),)
            message = f"No group is called `{name.text}`"
            self._problems.report(rules.UNKNOWN_NAME, name.span, message, *notes)
        return group


def _temporal(op: str, operand: model.Formula) -> model.Temporal:
    return model.Temporal(cast("Literal['X', 'F', 'G']", op), operand)


def _operator_text(node: ast.Unary | ast.Knows | ast.Commits | ast.Enforces) -> str:
    return f"<{node.group.text}>" if isinstance(node, ast.Enforces) else node.op


def _is_of_path(formula: model.Formula) -> bool:
    """Tell whether a formula is a path formula."""
    match formula:
        case model.Temporal() | model.Until():
            return True
        case model.Negation(operand):
            return _is_of_path(operand)
        case model.Connective(_, operands):
            return any(map(_is_of_path, operands))
        case _:
            return False


def _reaching_operator(node: ast.Formula) -> str | None:
    """Return the last path operator of a formula if its operand is a state formula."""
    operator: str | None = None
    while not _is_enclosed(node):
        match node:
            case ast.Not(operand):
                node = operand
            case ast.Unary(op, operand):
                node, operator = operand, op
            case ast.Binary("U", _, right):
                node, operator = right, "U"
            case _:
                break
    return None if operator is None or _has_path_operators(node) else operator


def _has_path_operators(node: ast.Formula) -> bool:
    match node:
        case ast.Unary(op):
            return op in ("X", "F", "G")
        case ast.Not(operand):
            return _has_path_operators(operand)
        case ast.Junction(_, operands):
            return any(map(_has_path_operators, operands))
        case ast.Binary(op, left, right):
            return op == "U" or _has_path_operators(left) or _has_path_operators(right)
        case _:
            return False


def _until_hint(node: ast.Binary) -> Note:
    return suggestion("write `A(p U q)` or `E(p U q)`", _quantified("A", node), _quantified("E", node))


def _quantified(quantifier: str, node: ast.Unary | ast.Binary) -> str:
    """Return the text of a path formula after a path quantifier."""
    text = node.span.text
    if isinstance(node, ast.Binary):
        return f"{quantifier}{text}" if _is_enclosed(node) else f"{quantifier}({text})"
    return f"({quantifier}{text[1:].lstrip()}" if _is_enclosed(node) else f"{quantifier}{text}"


def _is_enclosed(node: ast.Formula) -> bool:
    """Tell whether a formula is parenthesised; its span includes the parentheses."""
    match node:
        case ast.Binary(_, left, _) | ast.Junction(_, (left, *_)):
            return node.span.start < left.span.start
        case _:
            return node.span.text.startswith("(")
