"""Export of synchronous systems to NuSMV 2.6: in each round all players choose actions and update their variables.

A nondeterministic choice is an input, a deterministic one a definition. A rule is one constraint on the next state: the
disjunction of its enabled changes, or no change if none is enabled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Final, assert_never

from cplc.export.expression_simplify import Domains, is_unsatisfiable
from cplc.export.request import CannotExport, Export, ExportedFormula, Request
from cplc.export.smv import Declaration, make_export, specification, specification_names
from cplc.export.smv_formulas import Ctl, Ltl, Vocabulary
from cplc.export.smv_specifications import ExportPlan, plan_export
from cplc.export.templating import comment, header_lines, render
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, Value
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import System, Variable
from cplc.system.synchronous import Action, Change, Player

# --- Totalisation of the transition relation for tools that require infinite runs, and relativisation of formulas
#
# If a syntactic check excludes deadlocks, the system is unchanged. Otherwise a sink state *halted* becomes a
# successor of every state and of itself. Formulas are relativised to the other states: existential goals must be
# reached before the sink, universal goals need not hold in it, and CTL* quantifiers range over runs that avoid it.


_MAX_COMPARED_ACTIONS: Final = 16
"""Maximum number of actions of a player whose guards are compared pairwise."""


@dataclass(frozen=True)
class PlayerChoice:
    """A player with properties of its choice."""

    player: Player
    is_free: bool
    """Several actions may be allowed in one state."""
    is_total: bool
    """Some action is allowed in every state."""


@dataclass(frozen=True)
class TotalSystem:
    """A system with a total transition relation, and the formulas relativised to its original states."""

    system: System
    """The system with the players' choices as variables and, if needed, ``halted``."""
    formulas: tuple[ExportedFormula, ...]
    player_choices: tuple[PlayerChoice, ...]
    halted: str | None


def totalise(system: System, formulas: Sequence[ExportedFormula]) -> TotalSystem:
    """Return the system with choices as variables, and with a sink state unless deadlocks are excluded.

    With conditions of ``fairness`` the targets quantify over infinite fair runs only; then never to halt is one more
    condition.
    """
    domains = {variable.name: variable.domain for variable in system.variables}
    choices = tuple(
        Variable(player.choice, names, names, "own", player.agent, player.choice)
        for player in system.players
        for names in (tuple(action.name for action in player.actions),)
    )
    player_choices = tuple(_player_choice(player, domains) for player in system.players)
    domains |= {choice.name: choice.domain for choice in choices}
    changes = (change for player in system.players for rule in player.rules for change in rule)
    has_no_deadlock = all(one.is_total for one in player_choices) and all(
        _stays_in_range(change, domains) for change in changes
    )
    if has_no_deadlock:
        return TotalSystem(
            replace(system, variables=(*system.variables, *choices)), tuple(formulas), player_choices, None
        )
    name = "halted"
    while name in domains:
        name += "'"
    halted = Variable(name, (False, True), (False,), "own", "Env", name)
    fairness = (*system.fairness, e.Not(e.Read(name))) if system.fairness else ()
    relativised = tuple(
        formula if system.fairness else replace(formula, formula=relativise(formula.formula, name))
        for formula in formulas
    )
    widened = replace(system, variables=(*system.variables, halted, *choices), fairness=fairness)
    return TotalSystem(widened, relativised, player_choices, name)


def _player_choice(player: Player, domains: Domains) -> PlayerChoice:
    """Return the properties of the choice; valid guards become true."""
    actions = tuple(
        Action(one.name, e.TRUE if is_unsatisfiable(e.negate(one.allowed), domains) else one.allowed)
        for one in player.actions
    )
    allowed = [action.allowed for action in actions]
    pairs = combinations(allowed, 2)
    is_free = len(allowed) > _MAX_COMPARED_ACTIONS or not all(is_unsatisfiable(e.conj(pair), domains) for pair in pairs)
    is_total = is_unsatisfiable(e.conj(map(e.negate, allowed)), domains)
    return PlayerChoice(replace(player, actions=actions), is_free, is_total)


def _stays_in_range(change: Change, domains: Domains) -> bool:
    return all(
        _is_in_domain(value, domains, name)
        or is_unsatisfiable(e.conj((change.guard, _is_outside(value, domains[name]))), domains)
        for name, value in change.updates
    )


def _is_in_domain(value: Expr, domains: Domains, name: str) -> bool:
    """Tell whether the type of the expression implies a value in the variable's domain."""
    if isinstance(domains[name][0], bool):
        return True
    return isinstance(value, e.Read) and set(domains[value.variable]) <= set(domains[name])


def _is_outside(value: Expr, domain: tuple[Value, ...]) -> Expr:
    return e.negate(e.one_of(value, domain))


# --- relativisation to running states


def relativise(formula: Formula, halted: str) -> Formula:
    """Return a formula that holds in the system with ``halted`` iff this one holds in the system without."""
    halted_atom = f.Atom(e.Read(halted), halted)
    return _Relativisation(halted_atom, f.Not(halted_atom)).of(formula)


@dataclass(frozen=True)
class _Relativisation:
    halted_atom2: Formula
    running: Formula

    def of(self, formula: Formula) -> Formula:
        parts = tuple(map(self.of, f.children(formula)))
        rebuilt = f.with_children(formula, parts) if parts else formula
        if not isinstance(rebuilt, f.OnPaths):
            return rebuilt
        operator = f.ctl_path(rebuilt)
        if operator is not None:
            path = self._exists(operator) if rebuilt.quantifier == "E" else self._for_all(operator)
            return replace(rebuilt, path=path)
        endless = f.Globally(self.running)
        is_some = rebuilt.quantifier == "E"
        return replace(rebuilt, path=f.And((endless, rebuilt.path)) if is_some else f.Implies(endless, rebuilt.path))

    def _exists(self, path: f.CtlPath) -> Formula:
        match path:
            case f.Next(operand) | f.Finally(operand) | f.Globally(operand):
                return replace(path, operand=self._while_running(operand))
            case f.Until(_, right) | f.Release(_, right):
                return replace(path, right=self._while_running(right))
            case f.WeakUntil(left, right):
                return replace(path, left=self._while_running(left), right=self._while_running(right))
            case f.Derived():
                return self._exists(f.ctl_core(path))
            case _:
                assert_never(path)

    def _for_all(self, path: f.CtlPath) -> Formula:
        match path:
            case f.Next(operand) | f.Finally(operand) | f.Globally(operand):
                return replace(path, operand=self._unless_halted(operand))
            case f.Until(_, right) | f.Release(_, right) | f.WeakUntil(_, right):
                return replace(path, right=self._unless_halted(right))
            case f.Derived():
                return self._for_all(f.ctl_core(path))
            case _:
                assert_never(path)

    def _while_running(self, operand: Formula) -> Formula:
        return f.And((operand, self.running))

    def _unless_halted(self, operand: Formula) -> Formula:
        return f.Or((operand, self.halted_atom2))


@dataclass(frozen=True)
class SynchronousModel:
    """Definitions and constraints of a synchronous system in one dialect of SMV."""

    totalise: TotalSystem
    vocabulary: Vocabulary

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """State variables."""
        choices = {one.player.choice for one in self.totalise.player_choices}
        return tuple(variable for variable in self.totalise.system.variables if variable.name not in choices)

    @cached_property
    def _forced_choices(self) -> dict[str, Expr]:
        """Choices of the players that have a single action."""
        players = (one.player for one in self.totalise.player_choices)
        return {player.choice: e.Const(player.actions[0].name) for player in players if len(player.actions) == 1}

    def inputs(self) -> Iterator[tuple[str, str, str]]:
        """Yield the nondeterministic choices: identifier, original name and actions."""
        for one in self.totalise.player_choices:
            if one.is_free and one.player.choice not in self._forced_choices:
                choice = self.totalise.system.variable[one.player.choice]
                yield self.vocabulary.variables[choice.name], choice.name, self.vocabulary.type_of(choice)

    def choices(self) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
        """Yield the deterministic choices: identifier, original name, conditions and actions."""
        for one in self.totalise.player_choices:
            player = one.player
            if not one.is_free and player.choice not in self._forced_choices:
                last = self.vocabulary.dialect.true
                arms = [(self._condition(a.allowed), self.vocabulary.value(a.name)) for a in player.actions]
                arms[-1] = (last, arms[-1][1])
                yield self.vocabulary.variables[player.choice], player.choice, arms

    @cached_property
    def _guards(self) -> Mapping[Expr, str]:
        """Names of compound guards."""
        stems: dict[Expr, str] = {}
        for one in self.totalise.player_choices:
            for number, guard in enumerate(self._composed(one), 1):
                stems.setdefault(guard, f"{one.player.agent} change {number}")
        names = self.vocabulary.fresh(stems.values())
        return {guard: names[name] for guard, name in stems.items()}

    def _composed(self, one: PlayerChoice) -> list[Expr]:
        changes = (change for rule in one.player.rules for change in rule)
        guards = dict.fromkeys(e.substitute(change.guard, self._forced_choices) for change in changes)
        return [guard for guard in guards if isinstance(guard, e.And | e.Or)]

    def guards(self) -> list[tuple[str, str]]:
        return [(name, self.vocabulary.text(guard)) for guard, name in self._guards.items()]

    def transition_constraints(self) -> Iterator[tuple[str, str]]:
        """Yield the constraints on transitions, each with its purpose."""
        for one in self.totalise.player_choices:
            if allowed := list(self._action_constraints(one)):
                yield f"enabled actions of {one.player.agent}", "\n  & ".join(allowed)
            for rule in one.player.rules:
                written = list(dict.fromkeys(name for change in rule for name, _ in change.updates))
                if written:
                    yield f"{one.player.agent}: {', '.join(written)}", self._rule_constraint(rule, written)

    def _action_constraints(self, one: PlayerChoice) -> Iterator[str]:
        actions = one.player.actions
        if one.player.choice in self._forced_choices or not one.is_free:
            if not one.is_total:
                yield self._condition(e.disj(action.allowed for action in actions))
            return
        name = self.vocabulary.variables[one.player.choice]
        for action in actions:
            if not e.is_true(action.allowed):
                yield f"({name} = {self.vocabulary.value(action.name)} -> {self._condition(action.allowed)})"

    def _rule_constraint(self, rule: tuple[Change, ...], written: list[str]) -> str:
        guards = [e.substitute(change.guard, self._forced_choices) for change in rule]
        translations = [
            self._conjunction([*self._guard_conjuncts(guard), *self._update_constraints(change, written)])
            for guard, change in zip(guards, rule, strict=True)
            if not e.is_false(guard)
        ]
        otherwise = e.conj(map(e.negate, guards))
        if not e.is_false(otherwise):
            none = [f"!{self._guard(guard)}" for guard in dict.fromkeys(guards) if not e.is_false(guard)]
            translations.append(
                self._conjunction([*none, *(f"next({name}) = {name}" for name in map(self._name, written))])
            )
        return "\n  | ".join(translations)

    def _guard_conjuncts(self, guard: Expr) -> list[str]:
        return [] if e.is_true(guard) else [self._guard(guard)]

    def _guard(self, guard: Expr) -> str:
        return self._guards.get(guard) or self.vocabulary.text(guard)

    def _update_constraints(self, change: Change, written: list[str]) -> Iterator[str]:
        updates = dict(change.updates)
        for name in written:
            yield self._update_constraint(name, updates.get(name, e.Read(name)))

    def _update_constraint(self, name: str, value: Expr) -> str:
        domain = self.totalise.system.variable[name].domain
        if isinstance(value, e.Const) and value.value not in domain:
            return self.vocabulary.dialect.false
        return f"next({self._name(name)}) = {self.vocabulary.text(value)}"

    def unwritten_variables(self) -> Iterator[str]:
        """Yield the variables without rules."""
        players = (one.player for one in self.totalise.player_choices)
        changes = (change for player in players for rule in player.rules for change in rule)
        written = {name for change in changes for name, _ in change.updates}
        for variable in self.variables:
            if variable.name not in written and variable.name != self.totalise.halted:
                yield self._name(variable.name)

    def _name(self, variable: str) -> str:
        return self.vocabulary.variables[variable]

    def _condition(self, condition: Expr) -> str:
        return self.vocabulary.text(condition)

    def _conjunction(self, parts: list[str]) -> str:
        return f"({' & '.join(parts)})" if parts else self.vocabulary.dialect.true


def export(request: Request) -> Export:
    """Return the system as one module, with a specification for each formula that CTL or LTL can say."""
    if request.system.recurring:
        raise CannotExport("NuSMV has no fairness constraints over knowledge or paths")
    totalised = totalise(request.system, request.formulas)
    vocabulary = Vocabulary(totalised.system)
    planned = plan_export(totalised.system, totalised.formulas, Ctl(vocabulary).text, Ltl(vocabulary).text)
    rounds = SynchronousModel(totalised, vocabulary)
    names = specification_names(planned.specifications, vocabulary)
    written = set(rounds.unwritten_variables())
    remaining = [variable for variable in rounds.variables if variable.name != totalised.halted]
    groups = [
        (
            owner,
            [_declared(variable, totalised, vocabulary) for variable in rounds.variables if variable.owner == owner],
        )
        for owner in dict.fromkeys(variable.owner for variable in rounds.variables)
    ]
    text = render(
        "smv_synchronous.j2",
        header=header_lines(request, _remarks(planned, totalised, vocabulary), planned.left_out),
        inputs=list(rounds.inputs()),
        constants=list(dict.fromkeys(action for _, _, arms in rounds.choices() for _, action in arms)),
        groups=groups,
        choices=list(rounds.choices()),
        guards=rounds.guards(),
        unwritten_variables=sorted(written),
        start=None if e.is_true(totalised.system.start) else vocabulary.text(totalised.system.start),
        transition_constraints=list(rounds.transition_constraints()),
        halted=None if totalised.halted is None else vocabulary.variables[totalised.halted],
        reset={vocabulary.variables[v.name]: vocabulary.value(v.domain[0]) for v in remaining},
        fairness=[("fairness", vocabulary.text(condition)) for condition in totalised.system.fairness],
        specifications=[
            specification(*each, planned, vocabulary) for each in zip(planned.specifications, names, strict=True)
        ],
        comment=comment,
    )
    return make_export(text, planned)


def _declared(variable: Variable, totalised: TotalSystem, vocabulary: Vocabulary) -> Declaration:
    is_free = len(variable.domain) > 1 and set(variable.initial) == set(variable.domain)
    initial = None if is_free else vocabulary.values(variable.initial)
    return Declaration(vocabulary.variables[variable.name], variable.name, vocabulary.type_of(variable), initial, ())


def _remarks(planned: ExportPlan, totalised: TotalSystem, vocabulary: Vocabulary) -> Iterator[str]:
    yield (
        "In each step all players choose actions and all variables change simultaneously. A nondeterministic choice is "
        "an input, a deterministic one a definition."
    )
    if totalised.halted is None:
        yield "The transition relation is total. The model has as many reachable states as the system."
    else:
        name = vocabulary.variables[totalised.halted]
        yield (
            f"NuSMV requires a total transition relation, but the system may have deadlocks. In the sink state, where "
            f"`{name}` is true, the system has halted; every state has a transition to it. The model has one reachable "
            "state more than the system."
            + ("" if totalised.system.fairness else " Formulas are relativised to the other states.")
        )
    if totalised.system.fairness:
        yield (
            "FAIRNESS: these conditions hold infinitely often"
            + (f", and `{vocabulary.variables[totalised.halted]}` never." if totalised.halted is not None else ".")
            + " NuSMV quantifies over such runs only and ignores initial states without fair runs, as MCMAS does."
        )
