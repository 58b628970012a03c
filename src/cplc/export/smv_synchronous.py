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
from cplc.export.smv import Assigned, exported, specification, specification_names
from cplc.export.smv_logic import Ctl, Ltl
from cplc.export.smv_questions import Plan, plan
from cplc.export.smv_text import Vocabulary
from cplc.export.templating import render
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.records import dataclass
from cplc.system.model import Variable
from cplc.system.synchronous import Change


@dataclass(frozen=True)
class Rounds:
    """The rounds of a system as definitions and constraints, in one dialect of SMV."""

    total: Total
    vocabulary: Vocabulary

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """What makes up a state."""
        choices = {one.player.choice for one in self.total.choosing}
        return tuple(variable for variable in self.total.system.variables if variable.name not in choices)

    @cached_property
    def _plain(self) -> dict[str, Expr]:
        """The choices of those who have one action alone."""
        players = (one.player for one in self.total.choosing)
        return {player.choice: e.Const(player.actions[0].name) for player in players if len(player.actions) == 1}

    def inputs(self) -> Iterator[tuple[str, str, str]]:
        """Yield the choices that are free: name, what it was called, and the actions."""
        for one in self.total.choosing:
            if one.is_free and one.player.choice not in self._plain:
                choice = self.total.system.variable[one.player.choice]
                yield self.vocabulary.variables[choice.name], choice.name, self.vocabulary.type_of(choice)

    def choices(self) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
        """Yield the choices that the state decides: name, what it was called, conditions and actions."""
        for one in self.total.choosing:
            player = one.player
            if not one.is_free and player.choice not in self._plain:
                last = self.vocabulary.dialect.true
                arms = [(self._text(a.allowed), self.vocabulary.value(a.name)) for a in player.actions]
                arms[-1] = (last, arms[-1][1])
                yield self.vocabulary.variables[player.choice], player.choice, arms

    @cached_property
    def _guards(self) -> Mapping[Expr, str]:
        """The names of guards that have parts."""
        found: dict[Expr, str] = {}
        for one in self.total.choosing:
            for number, guard in enumerate(self._composed(one), 1):
                found.setdefault(guard, f"{one.player.agent} change {number}")
        names = self.vocabulary.fresh(found.values())
        return {guard: names[name] for guard, name in found.items()}

    def _composed(self, one: Choosing) -> list[Expr]:
        changes = (change for rule in one.player.rules for change in rule)
        guards = dict.fromkeys(substitute(change.guard, self._plain) for change in changes)
        return [guard for guard in guards if isinstance(guard, e.And | e.Or)]

    def guards(self) -> list[tuple[str, str]]:
        return [(name, self.vocabulary.text(guard)) for guard, name in self._guards.items()]

    def moves(self) -> Iterator[tuple[str, str]]:
        """Yield what holds of a round, each with what it is about."""
        for one in self.total.choosing:
            if allowed := list(self._allowed(one)):
                yield f"what {one.player.agent} may do", "\n  & ".join(allowed)
            for rule in one.player.rules:
                written = list(dict.fromkeys(name for change in rule for name, _ in change.updates))
                if written:
                    yield f"{one.player.agent}: {', '.join(written)}", self._rule(rule, written)

    def _allowed(self, one: Choosing) -> Iterator[str]:
        actions = one.player.actions
        if one.player.choice in self._plain or not one.is_free:
            if not one.is_sure:
                yield self._text(e.disj(action.allowed for action in actions))
            return
        name = self.vocabulary.variables[one.player.choice]
        for action in actions:
            if not e.is_true(action.allowed):
                yield f"({name} = {self.vocabulary.value(action.name)} -> {self._text(action.allowed)})"

    def _rule(self, rule: tuple[Change, ...], written: list[str]) -> str:
        guards = [substitute(change.guard, self._plain) for change in rule]
        ways = [
            self._and([*self._when(guard), *self._made(change, written)])
            for guard, change in zip(guards, rule, strict=True)
            if not e.is_false(guard)
        ]
        otherwise = e.conj(map(e.negate, guards))
        if not e.is_false(otherwise):
            none = [f"!{self._guard(guard)}" for guard in dict.fromkeys(guards) if not e.is_false(guard)]
            ways.append(self._and([*none, *(f"next({name}) = {name}" for name in map(self._name, written))]))
        return "\n  | ".join(ways)

    def _when(self, guard: Expr) -> list[str]:
        return [] if e.is_true(guard) else [self._guard(guard)]

    def _guard(self, guard: Expr) -> str:
        return self._guards.get(guard) or self.vocabulary.text(guard)

    def _made(self, change: Change, written: list[str]) -> Iterator[str]:
        updates = dict(change.updates)
        for name in written:
            yield self._becomes(name, updates.get(name, e.Read(name)))

    def _becomes(self, name: str, value: Expr) -> str:
        domain = self.total.system.variable[name].domain
        if isinstance(value, e.Const) and value.value not in domain:
            return self.vocabulary.dialect.false
        return f"next({self._name(name)}) = {self.vocabulary.text(value)}"

    def unwritten(self) -> Iterator[str]:
        """Yield the variables that no rule writes."""
        players = (one.player for one in self.total.choosing)
        changes = (change for player in players for rule in player.rules for change in rule)
        written = {name for change in changes for name, _ in change.updates}
        for variable in self.variables:
            if variable.name not in written and variable.name != self.total.halted:
                yield self._name(variable.name)

    def _name(self, variable: str) -> str:
        return self.vocabulary.variables[variable]

    def _text(self, condition: Expr) -> str:
        return self.vocabulary.text(condition)

    def _and(self, parts: list[str]) -> str:
        return f"({' & '.join(parts)})" if parts else self.vocabulary.dialect.true


def export(request: Request) -> Export:
    """Return the system as one module, with a specification for each formula that CTL or LTL can say."""
    if request.system.recurring:
        raise CannotExport("NuSMV knows no conditions of fairness about knowledge or paths")
    made = total(request.system, request.formulas)
    vocabulary = Vocabulary(made.system)
    planned = plan(made.system, made.formulas, Ctl(vocabulary).text, Ltl(vocabulary).text)
    rounds = Rounds(made, vocabulary)
    names = specification_names(planned.asked, vocabulary)
    written = set(rounds.unwritten())
    kept = [variable for variable in rounds.variables if variable.name != made.halted]
    groups = [
        (owner, [_declared(variable, made, vocabulary) for variable in rounds.variables if variable.owner == owner])
        for owner in dict.fromkeys(variable.owner for variable in rounds.variables)
    ]
    text = render(
        "smv_rounds.j2",
        header=header_lines(request, _remarks(planned, made, vocabulary), planned.left_out),
        inputs=list(rounds.inputs()),
        constants=list(dict.fromkeys(action for _, _, arms in rounds.choices() for _, action in arms)),
        groups=groups,
        choices=list(rounds.choices()),
        guards=rounds.guards(),
        unwritten=sorted(written),
        start=None if e.is_true(made.system.start) else vocabulary.text(made.system.start),
        moves=list(rounds.moves()),
        halted=None if made.halted is None else vocabulary.variables[made.halted],
        reset={vocabulary.variables[v.name]: vocabulary.value(v.domain[0]) for v in kept},
        fairness=[("fairness", vocabulary.text(condition)) for condition in made.system.fairness],
        specifications=[specification(*each, planned, vocabulary) for each in zip(planned.asked, names, strict=True)],
        comment=comment,
    )
    return exported(text, planned)


def _declared(variable: Variable, made: Total, vocabulary: Vocabulary) -> Assigned:
    is_free = len(variable.domain) > 1 and set(variable.initial) == set(variable.domain)
    initial = None if is_free else vocabulary.values(variable.initial)
    return Assigned(vocabulary.variables[variable.name], variable.name, vocabulary.type_of(variable), initial, ())


def _remarks(planned: Plan, made: Total, vocabulary: Vocabulary) -> Iterator[str]:
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
