"""Synchronous systems for NuSMV 2.6: in each step the players make their choices and everything changes at once.

A choice is an input where there is something to choose and a definition where the state decides it. What a rule makes
of its variables is one constraint on the next state: one of its changes whose guard holds, or none where none does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from cplc.export.deadlock_totalisation import Choosing, Total, total
from cplc.export.expression_simplify import substitute
from cplc.export.header import comment, header_lines
from cplc.export.request import CannotExport, Export, Request
from cplc.export.smv import Declaration, make_export, specification, specification_names
from cplc.export.smv_expressions import Vocabulary
from cplc.export.smv_formulas import Ctl, Ltl
from cplc.export.smv_specifications import ExportPlan, plan_export
from cplc.export.templating import render
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.records import dataclass
from cplc.system.model import Variable
from cplc.system.synchronous import Change


@dataclass(frozen=True)
class SynchronousModel:
    """The rounds of a system as definitions and constraints, in one dialect of SMV."""

    total: Total
    vocabulary: Vocabulary

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """What makes up a state."""
        choices = {one.player.choice for one in self.total.choosing}
        return tuple(variable for variable in self.total.system.variables if variable.name not in choices)

    @cached_property
    def _forced_choices(self) -> dict[str, Expr]:
        """The choices of those who have one action alone."""
        players = (one.player for one in self.total.choosing)
        return {player.choice: e.Const(player.actions[0].name) for player in players if len(player.actions) == 1}

    def inputs(self) -> Iterator[tuple[str, str, str]]:
        """Yield the choices that are free: name, what it was called, and the actions."""
        for one in self.total.choosing:
            if one.is_free and one.player.choice not in self._forced_choices:
                choice = self.total.system.variable[one.player.choice]
                yield self.vocabulary.variables[choice.name], choice.name, self.vocabulary.type_of(choice)

    def choices(self) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
        """Yield the choices that the state decides: name, what it was called, conditions and actions."""
        for one in self.total.choosing:
            player = one.player
            if not one.is_free and player.choice not in self._forced_choices:
                last = self.vocabulary.dialect.true
                arms = [(self._condition(a.allowed), self.vocabulary.value(a.name)) for a in player.actions]
                arms[-1] = (last, arms[-1][1])
                yield self.vocabulary.variables[player.choice], player.choice, arms

    @cached_property
    def _guards(self) -> Mapping[Expr, str]:
        """The names of guards that have parts."""
        stems: dict[Expr, str] = {}
        for one in self.total.choosing:
            for number, guard in enumerate(self._composed(one), 1):
                stems.setdefault(guard, f"{one.player.agent} change {number}")
        names = self.vocabulary.fresh(stems.values())
        return {guard: names[name] for guard, name in stems.items()}

    def _composed(self, one: Choosing) -> list[Expr]:
        changes = (change for rule in one.player.rules for change in rule)
        guards = dict.fromkeys(substitute(change.guard, self._forced_choices) for change in changes)
        return [guard for guard in guards if isinstance(guard, e.And | e.Or)]

    def guards(self) -> list[tuple[str, str]]:
        return [(name, self.vocabulary.text(guard)) for guard, name in self._guards.items()]

    def transition_constraints(self) -> Iterator[tuple[str, str]]:
        """Yield what holds of a round, each with what it is about."""
        for one in self.total.choosing:
            if allowed := list(self._allowed(one)):
                yield f"what {one.player.agent} may do", "\n  & ".join(allowed)
            for rule in one.player.rules:
                written = list(dict.fromkeys(name for change in rule for name, _ in change.updates))
                if written:
                    yield f"{one.player.agent}: {', '.join(written)}", self._rule_constraint(rule, written)

    def _allowed(self, one: Choosing) -> Iterator[str]:
        actions = one.player.actions
        if one.player.choice in self._forced_choices or not one.is_free:
            if not one.is_sure:
                yield self._condition(e.disj(action.allowed for action in actions))
            return
        name = self.vocabulary.variables[one.player.choice]
        for action in actions:
            if not e.is_true(action.allowed):
                yield f"({name} = {self.vocabulary.value(action.name)} -> {self._condition(action.allowed)})"

    def _rule_constraint(self, rule: tuple[Change, ...], written: list[str]) -> str:
        guards = [substitute(change.guard, self._forced_choices) for change in rule]
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
        domain = self.total.system.variable[name].domain
        if isinstance(value, e.Const) and value.value not in domain:
            return self.vocabulary.dialect.false
        return f"next({self._name(name)}) = {self.vocabulary.text(value)}"

    def unwritten_variables(self) -> Iterator[str]:
        """Yield the variables that no rule writes."""
        players = (one.player for one in self.total.choosing)
        changes = (change for player in players for rule in player.rules for change in rule)
        written = {name for change in changes for name, _ in change.updates}
        for variable in self.variables:
            if variable.name not in written and variable.name != self.total.halted:
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
        raise CannotExport("NuSMV knows no conditions of fairness about knowledge or paths")
    made = total(request.system, request.formulas)
    vocabulary = Vocabulary(made.system)
    planned = plan_export(made.system, made.formulas, Ctl(vocabulary).text, Ltl(vocabulary).text)
    rounds = SynchronousModel(made, vocabulary)
    names = specification_names(planned.asked, vocabulary)
    written = set(rounds.unwritten_variables())
    remaining = [variable for variable in rounds.variables if variable.name != made.halted]
    groups = [
        (owner, [_declared(variable, made, vocabulary) for variable in rounds.variables if variable.owner == owner])
        for owner in dict.fromkeys(variable.owner for variable in rounds.variables)
    ]
    text = render(
        "smv_synchronous.j2",
        header=header_lines(request, _remarks(planned, made, vocabulary), planned.left_out),
        inputs=list(rounds.inputs()),
        constants=list(dict.fromkeys(action for _, _, arms in rounds.choices() for _, action in arms)),
        groups=groups,
        choices=list(rounds.choices()),
        guards=rounds.guards(),
        unwritten_variables=sorted(written),
        start=None if e.is_true(made.system.start) else vocabulary.text(made.system.start),
        transition_constraints=list(rounds.transition_constraints()),
        halted=None if made.halted is None else vocabulary.variables[made.halted],
        reset={vocabulary.variables[v.name]: vocabulary.value(v.domain[0]) for v in remaining},
        fairness=[("fairness", vocabulary.text(condition)) for condition in made.system.fairness],
        specifications=[specification(*each, planned, vocabulary) for each in zip(planned.asked, names, strict=True)],
        comment=comment,
    )
    return make_export(text, planned)


def _declared(variable: Variable, made: Total, vocabulary: Vocabulary) -> Declaration:
    is_free = len(variable.domain) > 1 and set(variable.initial) == set(variable.domain)
    initial = None if is_free else vocabulary.values(variable.initial)
    return Declaration(vocabulary.variables[variable.name], variable.name, vocabulary.type_of(variable), initial, ())


def _remarks(planned: ExportPlan, made: Total, vocabulary: Vocabulary) -> Iterator[str]:
    yield (
        "In each step all players make their choices and everything changes at once. A choice is an input, or a "
        "definition where the state decides it."
    )
    if made.halted is None:
        yield "It is plain that there always is a next state. There are as many reachable states as in the system."
    else:
        name = vocabulary.variables[made.halted]
        yield (
            f"A state of the system may have no next one, and NuSMV wants one: where `{name}` is true the system has "
            "halted, which it may do at any time, and all else is as here. That is one reachable state more than the "
            "system has." + ("" if made.system.fairness else " What is asked passes it over.")
        )
    if made.system.fairness:
        yield (
            "FAIRNESS: these conditions hold infinitely often"
            + (f", and `{vocabulary.variables[made.halted]}` never." if made.halted is not None else ".")
            + " NuSMV speaks of such runs alone, and passes over an initial state where none begins, as MCMAS does."
        )
