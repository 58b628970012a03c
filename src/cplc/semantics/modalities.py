"""Checking of modalities: path quantifiers, steps, commitment, knowledge and strategies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, did_you_mean, suggestion
from cplc.language.lifecycle import CLAIM_CHANGES, CLAIM_VERBS, JOINED, VERBS
from cplc.language.words import OWN_STEPS, PATH_OPERATORS, UNTILS
from cplc.semantics import resolved, types
from cplc.semantics.name_resolution import Scope, SymbolLookup
from cplc.semantics.types import BOOL, PATH, UNKNOWN, Type
from cplc.syntax import ast

Typed = tuple[resolved.Tree, Type]
_WRONG: Typed = (resolved.FALSE, UNKNOWN)

_GOALS = ("X", "F", "G", "U")


class FormulaChecker(Protocol):
    """Checks the formulas below a modality."""

    def path_formula(self, expr: ast.Expr, scope: Scope) -> Typed:
        """Return a formula on states or on runs."""

    def state_formula(self, expr: ast.Expr, scope: Scope) -> resolved.Tree:
        """Return a formula that a state decides."""


class ModalityChecker:
    """Checks path quantifiers, `does(…)`, modalities of agents and strategies."""

    def __init__(self, reader: FormulaChecker, names: SymbolLookup, error: Callable[..., None]) -> None:
        self._reader = reader
        self._names = names
        self._error = error

    def over_paths(self, expr: ast.OverPaths, scope: Scope) -> Typed:
        along = None if expr.along is None else self._action(expr.along, scope)
        path, _ = self._reader.path_formula(expr.path, scope)
        speaks_of_idling = along is not None and _names_idle_step(along)
        return resolved.OverPaths(expr.quantifier, path, along, speaks_of_idling), BOOL

    def _action(self, expr: ast.Expr, scope: Scope) -> resolved.Tree:
        """Return the action formula, and report anything else."""
        tree, _ = self._reader.path_formula(expr, scope)
        if (wrong := _no_action(tree)) is not None:
            span = getattr(wrong, "span", expr.span)
            message = "Expected steps in the braces after `A` or `E`, found a formula about a state or a run"
            hint = Note("combine `does(…)` with `!`, `&`, `|`, as in `E{does(Mer) | !does(pay)} F …`")
            self._error(rules.NOT_AN_ACTION, span, message, hint)
            return resolved.FALSE
        return tree

    def social(self, expr: ast.Social, scope: Scope) -> Typed:
        between = self._between(expr, scope)
        trigger = None if expr.trigger is None else self._reader.path_formula(expr.trigger, scope)[0]
        if expr.modality in ("SC", "SCc"):
            body, _ = self._reader.path_formula(expr.body, scope)
        else:
            body = self._reader.state_formula(expr.body, scope)
        return _WRONG if between is None else (resolved.Social(expr.modality, between, body, expr.span, trigger), BOOL)

    def _between(
        self, expr: ast.Social, scope: Scope
    ) -> tuple[resolved.Side, resolved.Side] | resolved.Instance | None:
        """Return the debtor and the creditor, or the commitment, of the modality."""
        match expr.between:
            case (ast.Ref() as commitment,) if expr.modality != "SC":
                return self._names.commitment(commitment, scope)
            case (commitment,):
                hint = Note(f"write `SC(i -> j, {expr.body.span.text})` with the debtor and the creditor")
                message = "`SC` is about all that one role has promised another, not about one commitment"
                self._error(rules.WRONG_ARGUMENTS, commitment.span, message, hint)
                return None
            case (first, second):
                debtor, creditor = self._names.side(first, scope), self._names.side(second, scope)
                sides = None if debtor is None or creditor is None else (debtor, creditor)
                if sides is None or expr.modality in ("C", "Fu") or not self._has_groups(sides, expr.modality):
                    return sides
                return None
            case _:
                raise AssertionError("the grammar has one or two")

    def _has_groups(self, sides: tuple[resolved.Side, resolved.Side], modality: str) -> bool:
        """Report a group in a modality that is about two roles."""
        for side in sides:
            if side.is_group:
                one = "name one role" if modality in ("SC", "SCc") else "name one role, or one commitment"
                hint = Note(f"`C` and `Fu` may be about groups; here {one}")
                self._error(rules.WRONG_KIND, side.span, f"`{modality}` is about single roles, not groups", hint)
                return True
        return False

    def conditional(self, expr: ast.Conditional, scope: Scope) -> Typed:
        antecedent = self._reader.state_formula(expr.antecedent, scope)
        consequent = self._reader.state_formula(expr.consequent, scope)
        between: tuple[resolved.Side, resolved.Side] | resolved.Instance | None
        other: resolved.RoleTree | resolved.Instance | None = None
        if len(expr.between) == 1 and isinstance(expr.between[0], ast.Ref):
            between = self._names.commitment(expr.between[0], scope)
            if expr.other is not None:
                other = self._names.commitment(expr.other, scope)
        else:
            debtor, creditor = (self._names.side(party, scope) for party in expr.between)
            between = None if debtor is None or creditor is None else (debtor, creditor)
            if between is not None and self._has_groups(between, expr.modality):
                between = None
            if expr.other is not None:
                other = self._names.role(expr.other, scope)
        if between is None or (expr.other is not None and other is None):
            return _WRONG
        return resolved.Conditional(expr.modality, between, other, antecedent, consequent, expr.span), BOOL

    def knowledge(self, expr: ast.Knowledge, scope: Scope) -> Typed:
        body = self._reader.state_formula(expr.body, scope)
        find: Callable[[ast.Ref, Scope], resolved.RoleTree | resolved.AllOf | None]
        find = self._names.role if expr.modality == "K" else self._names.roles
        group = [find(ref, scope) for ref in expr.group]
        members = tuple(member for member in group if member is not None)
        if len(members) < len(group) or not members:
            return _WRONG
        return resolved.Knowledge(expr.modality, members, body, expr.span), BOOL

    def strategic(self, expr: ast.Strategic, scope: Scope) -> Typed:
        goal, type_ = self._reader.path_formula(expr.path, scope)
        group = [self._names.roles(ref, scope) for ref in expr.group]
        members = tuple(member for member in group if member is not None)
        self._names.refuse_records(members, "has no strategies, and answers in any case")
        if isinstance(type_, types.Path) and (what := _no_goal(goal)) is not None:
            hint = Note("a goal is one of `X`, `F`, `G` and `U`, without a bound, over formulas that a state decides")
            self._error(rules.NOT_A_GOAL, expr.path.span, f"A strategy cannot have the goal {what}", hint)
            return _WRONG
        if not isinstance(type_, types.Path) and goal != resolved.FALSE:
            hint = Note("use `F p` for reachability, `G p` for safety, `X p`, or `[p U q]`")
            self._error(
                rules.NOT_A_GOAL,
                expr.path.span,
                "A strategy needs a temporal goal: the present state decides this formula",
                hint,
            )
            return _WRONG
        if len(members) < len(group) or not isinstance(goal, resolved.Apply):
            return _WRONG
        return resolved.Strategic(members, goal, expr.span), BOOL

    # --- the step taken -------------------------------------------------------------------------

    def does(self, expr: ast.Does, scope: Scope) -> Typed:
        subject: resolved.Instance | resolved.RoleTree | None
        other: resolved.Instance | None = None
        if expr.verb is None and (verb := _own_step(expr.subject, scope)):
            return resolved.Does(verb, None, None, False, expr.span), PATH
        if expr.verb is None:
            subject = self._names.doer(expr.subject, scope)
            verb = "take" if isinstance(subject, resolved.Instance) else "act"
        elif (verb := expr.verb.text) == "send" and expr.other is None and expr.by is None:
            subject = self._names.message(expr.subject, scope)
        else:
            subject = self._names.obligation(expr.subject, scope)
            if expr.by is not None and expr.by.text != "message":
                hint = Note("write `does(message create c)` to leave out automatic rules and ticks")
                self._error(rules.UNKNOWN_OPERATION, expr.by.span, f"`{expr.by.text}` performs no operations", hint)
                return resolved.FALSE, PATH
            if not self._is_operation(expr, expr.verb, subject):
                return resolved.FALSE, PATH
            if expr.other is not None:
                find = self._names.commitment if JOINED[verb] == "to" else self._names.claim
                other = find(expr.other, scope)
        if subject is None or (expr.other is not None and other is None):
            return resolved.FALSE, PATH
        return resolved.Does(verb, subject, other, expr.by is not None, expr.span), PATH

    def does_in_fairness(self, expr: ast.Does, scope: Scope) -> resolved.Tree:
        """Return the steps of a message, of a role or of time, as a fairness condition names them."""
        tree, _ = self.does(expr, scope)
        if isinstance(tree, resolved.Does) and tree.verb not in ("take", "act", "send", "tick"):
            hint = Note("use the message that performs it, or a condition on states")
            message = f"A fairness condition cannot be about `{tree.verb}`"
            self._error(rules.WRONG_KIND, expr.span, message, hint)
            return resolved.FALSE
        return tree

    def does_in_content(self, expr: ast.Does, scope: Scope) -> Typed:
        """Return a step in a content: a message taking effect, a role acting or a tick."""
        tree, type_ = self.does(expr, scope)
        if isinstance(tree, resolved.Does) and tree.verb == "idle":
            hint = Note("a content is evaluated at receipts, exchanges, ticks and restarts")
            self._error(rules.NOT_A_CONTENT, expr.span, "A content cannot depend on idle steps", hint)
            return resolved.FALSE, PATH
        if expr.verb is not None and expr.verb.text == "send":
            hint = Note(f"write `does({expr.subject.span.text})`, which is true of the step by which it takes effect")
            self._error(
                rules.NOT_A_CONTENT, expr.span, "A content can depend on received messages, not on sent ones", hint
            )
            return resolved.FALSE, PATH
        if expr.verb is not None:
            hint = Note("use the state that the operation leads to, or the message that performs it")
            message = f"A content cannot depend on the operation `{expr.verb.text}`"
            self._error(rules.NOT_A_CONTENT, expr.span, message, hint)
            return resolved.FALSE, PATH
        return tree, type_

    def _is_operation(self, expr: ast.Does, verb: ast.Name, subject: resolved.Instance | None) -> bool:
        """Return whether the verb is an operation on the subject, with the right preposition."""
        if subject is None:
            return False
        is_claim = isinstance(subject.symbol, resolved.ClaimSymbol)
        verbs: tuple[str, ...] = CLAIM_CHANGES if is_claim else VERBS
        if expr.by is not None:
            verbs = CLAIM_VERBS if is_claim else VERBS
        if verb.text not in verbs:
            what = "claims" if is_claim else "commitments"
            notes = did_you_mean(verb.text, verbs) or (Note("operations are " + ", ".join(verbs)),)
            message = f"`{verb.text}` is no operation on {what}"
            self._error(rules.UNKNOWN_OPERATION, verb.span, message, *notes)
            return False
        joined = JOINED.get(verb.text)
        if expr.other is not None and expr.joined != joined:
            subject_text, other = expr.subject.span.text, expr.other.span.text
            right = f"{verb.text} {subject_text}" + (f" {joined} {other}" if joined else "")
            message = f"`{verb.text}` takes no `{expr.joined}`"
            self._error(rules.WRONG_TARGET, expr.span, message, suggestion(f"write `does({right})`", f"does({right})"))
            return False
        return True


def _own_step(subject: ast.Ref, scope: Scope) -> str | None:
    """Return `tick` or `idle`, unless the protocol declares that name."""
    (first, *rest) = subject.segments
    name = first.name.text
    is_own = name in OWN_STEPS and not first.indices and not rest and not scope.declares(name)
    return name if is_own else None


def _names_idle_step(action: resolved.Tree) -> bool:
    """Return whether a combination of `does(…)` has `does(idle)` in it."""
    return any(isinstance(node, resolved.Does) and node.verb == "idle" for node in (action, *resolved.nodes(action)))


def path_word(tree: resolved.Tree) -> str | None:
    """Return the first temporal operator that is not below a path quantifier; None for a state formula."""
    match tree:
        case resolved.Does():
            return "does"
        case resolved.Apply(op) if op in PATH_OPERATORS:
            return op
        case resolved.Apply("!" | "&" | "|" | "->" | "<->", operands):
            return next((word for operand in operands if (word := path_word(operand))), None)
        case resolved.Quantified(_, _, body):
            return path_word(body)
        case _:
            return None


def _no_action(tree: resolved.Tree) -> resolved.Tree | None:
    """Return a part that is neither `does(…)` nor a constant; None if there is none."""
    match tree:
        case (
            resolved.Does() | resolved.LiteralTree() | resolved.ParameterValue() | resolved.LoopValue()
            | resolved.IndexOf() | resolved.SameRole()
        ):  # fmt: skip
            return None
        case resolved.Apply(op) if op in PATH_OPERATORS:
            return tree
        case resolved.Apply(_, operands):
            return next((wrong for operand in operands if (wrong := _no_action(operand)) is not None), None)
        case resolved.Quantified(_, _, body):
            return _no_action(body)
        case _:
            return tree


def _no_goal(goal: resolved.Tree) -> str | None:
    """Return the text of an unsupported goal; None if strategies can have this goal."""
    match goal:
        case resolved.Apply("X" | "F" | "G" | "U" as op, operands, _, bound):
            if bound is not None:
                return f"`{op}` with a bound"
            inner = next((word for operand in operands if (word := path_word(operand))), None)
            return None if inner is None else f"`{inner}` inside `{op}`"
        case _:
            word = path_word(goal)
            return f"`{word}`" if word not in _GOALS else f"a combination of goals like `{word}`"


def no_content(expr: ast.Expr) -> tuple[str, Note] | None:
    """Return the message and the advice for an operator that a content cannot contain; None if it can."""
    about_states = Note(
        "a content is about received messages: use messages, facts, states, `does(…)` and F, G, U, W, R"
    )
    match expr:
        case ast.Unary("X"):
            hint = Note(
                "any other party may take the next step: name it with `does(…)`, or bound the time: `F<=1 ticks`"
            )
            return "A content cannot contain `X`", hint
        case ast.Unary("Y" | "O" | "H" as op) | ast.Binary("S" as op):
            return f"A content cannot contain the past operator `{op}`", Note("use F, G, U, W or R")
        case ast.Binary("therefore"):
            return "A content cannot contain `therefore`", Note("write `->`")
        case ast.Unary(op, operand, bound, False, low) if bound is not None:
            shown = f"{op}{_bound_text(low, bound)} ticks {operand.span.text}"
            return "A content cannot count steps, since other parties take steps, too", Note(f"count ticks: `{shown}`")
        case ast.Binary(op, left, right, bound, False, low) if bound is not None:
            shown = f"{left.span.text} {op}{_bound_text(low, bound)} ticks {right.span.text}"
            return "A content cannot count steps, since other parties take steps, too", Note(f"count ticks: `{shown}`")
        case ast.OverPaths():
            hint = Note(f"leave `{expr.quantifier}` out: the content is about the run on which the promise is made")
            return f"A content cannot contain the path quantifier `{expr.quantifier}`", hint
        case ast.Social(modality) | ast.Knowledge(modality):
            return f"A content cannot contain `{modality}`", about_states
        case ast.Strategic():
            return "A content cannot contain a strategy", about_states
        case _:
            return None


def no_goal(expr: ast.Expr) -> tuple[str, Note]:
    """Return the message and the advice for an operator that the goal of an agent cannot contain."""
    if (wrong := no_content(expr)) is not None and isinstance(expr, ast.Unary | ast.Binary):
        message, advice = wrong
        return message.replace("A content", "A goal"), advice
    hint = Note("use messages, facts and states, and F, G, U, W, R about the run, as in `goal F<=3 ticks pay`")
    if isinstance(expr, ast.OverPaths):
        advice = Note("leave it out: a goal is about one run")
        return f"A goal cannot contain the path quantifier `{expr.quantifier}`", advice
    if isinstance(expr, ast.Does):
        return "A goal cannot contain `does(…)`", Note("name the message itself: it is true once it has been received")
    return "A goal depends on what happens in one run", hint


def _bound_text(low: ast.Expr | None, bound: ast.Expr) -> str:
    return f"<={bound.span.text}" if low is None else f"[{low.span.text}..{bound.span.text}]"


def quantified(expr: ast.Expr) -> Note:
    """Return the advice that turns a path formula into a state formula."""
    text = expr.span.text
    if "\n" in text or len(text) > 50:
        return Note("put `A` before it for every run, or `E` for some run")
    match expr:
        case ast.Unary("X" | "F" | "G", bound=None):
            rest = text
        case ast.Unary("X" | "F" | "G" | "Y" | "O" | "H") | ast.Does():
            rest = f" {text}"
        case ast.Binary(op) if op in UNTILS:
            rest = f"[{text}]"
        case _:
            rest = f" ({text})"
    return suggestion(f"write `A{rest}` for every run, or `E{rest}` for some run", f"A{rest}", f"E{rest}")
