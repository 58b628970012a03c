"""Contents about runs: LTL over what has been received, compiled to a deterministic monitor.

A letter is a state with the step that leaves it. Steps that are letters are receipts, exchanges, ticks and restarts.
The state part gives every message, payload, variable and lifecycle state that the content mentions a value of its
domain. The step part says which `does(…)` of the content are true of the step; at most one message takes effect in
it. A content needs a monitor that is small enough, and that some event decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, product
from math import prod
from typing import Final

from cplc.automata.letter_progression import Letter, TooManyStates
from cplc.automata.monitor import (
    MAX_STATES,
    NO_STEP,
    TICK,
    TICKS,
    Monitor,
    atom_formula,
    monitor_of,
    states_before_minimisation,
)
from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.language.lifecycle import CLAIM_PREDICATES, COMMITMENT_PREDICATES, STANDINGS
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.semantics import model
from cplc.semantics import terms as t
from cplc.semantics.instances import InstanceTable
from cplc.semantics.model import CheckedModel, Message
from cplc.semantics.terms import Term, Value, conjuncts_of, is_about_runs
from cplc.source import Span

MAX_LETTERS: Final = 256
"""Combinations of the values that a content reads in one state."""
MAX_VALUES: Final = 4_096
"""Combinations of values enumerated to compute the consistent sets of atoms; above it, all sets count as consistent."""

MAX_FREE_ATOMS: Final = 8
"""Atoms of which all sets count as consistent."""

_Source = tuple[str, ...]
"""A message, a payload, a variable or a lifecycle state that atoms read."""


class TooManyLetters(Exception):
    """The content has more letters than a monitor can distinguish."""


@dataclass(frozen=True)
class Content:
    """A content about runs: its atoms by their numbers in the letters, and its monitor."""

    atoms: tuple[Term, ...]
    acts: tuple[t.Does, ...]
    """Numbered after the atoms."""
    monitor: Monitor
    counts_ticks: bool

    def step_of_message(self, message: Message | None, actor: str) -> int:
        """Return the number of a step by this role, in which a message takes effect, or none."""
        takes_effect = None if message is None else message.name
        return self.monitor.steps.index(_of_step(actor, takes_effect, self.acts, len(self.atoms)))

    @property
    def tick(self) -> int:
        """The number of the step by which time passes."""
        here = _of_tick(self.acts, len(self.atoms), self.counts_ticks)
        return self.monitor.steps.index(here)


def acts_in(term: Term) -> Iterator[t.Does]:
    """Yield the `does(…)` atoms of the content."""
    return (part for part in t.subterms(term) if isinstance(part, t.Does))


def compiled(term: Term, model: CheckedModel) -> Content:
    """Return the content with its monitor; raise `TooManyLetters` or `TooManyStates`."""
    atoms, acts, formula, by_ticks = _translated(term, model)
    return Content(atoms, acts, monitor_of(formula, *_letters(atoms, acts, by_ticks, model)), by_ticks)


def monitor_size(term: Term, model: CheckedModel) -> int:
    """Return the size of its monitor that `MAX_STATES` limits; raise `TooManyLetters` or `TooManyStates`."""
    atoms, acts, formula, by_ticks = _translated(term, model)
    return states_before_minimisation(formula, *_letters(atoms, acts, by_ticks, model))


def longest_tick_bound(term: Term) -> int:
    """Return the longest bound in ticks; 0 if there is none."""
    bounds = (part.bound for part in t.subterms(term) if isinstance(part, t.Apply) and part.in_ticks)
    return max((bound or 0 for bound in bounds), default=0)


def largest_that_fits(term: Term, model: CheckedModel) -> int | None:
    """Return the largest value of the longest bound in ticks for which the monitor is small enough, if there is one.

    Sizes of small bounds are extrapolated first: monitors mostly grow by the same number of states with each tick.
    """
    longest = longest_tick_bound(term)

    def size(bound: int) -> int | None:
        try:
            return monitor_size(_with_bound(term, longest, bound), model)
        except (TooManyLetters, TooManyStates):
            return None

    fits, too_long = 0, longest
    samples = size(8), size(16)
    match samples:
        case int(one), int(other) if other > one:
            expected = 16 + (MAX_STATES - other) * 8 // (other - one)
        case _:
            expected = 8
    guesses = [expected, expected + 1]
    while too_long - fits > 1:
        guess = guesses.pop(0) if guesses else (fits + too_long) // 2
        if fits < guess < too_long:
            fits, too_long = (fits, guess) if size(guess) is None else (guess, too_long)
    return fits or None


def _with_bound(term: Term, old: int, new: int) -> Term:
    """Return the term with another number for the bounds in ticks that have the old one."""
    if not isinstance(term, t.Apply):
        return term
    operands = tuple(_with_bound(operand, old, new) for operand in term.operands)
    if not term.in_ticks or term.bound != old:
        return replace(term, operands=operands)
    return replace(term, operands=operands, bound=new, low=min(term.low, new))


def _translated(term: Term, model: CheckedModel) -> tuple[tuple[Term, ...], tuple[t.Does, ...], Formula, bool]:
    """Return the atoms, the acts and the formula over their numbers, and whether it counts ticks."""
    facts = model.meanings
    atoms: dict[Term, int] = {}
    _number_atoms(term, facts, atoms)
    acts = tuple(dict.fromkeys(acts_in(term)))
    formula = _formula(term, facts, atoms, {act: len(atoms) + number for number, act in enumerate(acts)})
    counts_ticks = any(isinstance(one, f.Until | f.Release) and one.bound for one in f.core_subformulas(formula))
    return tuple(atoms), acts, formula, counts_ticks


def _letters(
    atoms: tuple[Term, ...], acts: tuple[t.Does, ...], by_ticks: bool, model: CheckedModel
) -> tuple[tuple[Letter, ...], tuple[Letter, ...]]:
    """Return the letters: the consistent sets of atoms of a state, and those of a step."""
    steps = {NO_STEP: None}
    steps.update(
        {letter: None for message in model.messages for letter in _of_message(message, model, acts, len(atoms))}
    )
    steps[_of_tick(acts, len(atoms), by_ticks)] = None
    return _states(atoms, model), tuple(steps)


def _of_message(message: Message, model: CheckedModel, acts: tuple[t.Does, ...], first: int) -> Iterator[Letter]:
    """Yield the letters of the steps in which a message is received."""
    for actor in (message.sender,) if model.sync else message.receivers:
        yield _of_step(actor, message.name, acts, first)
        if message.has_several_receivers and not model.sync:
            yield _of_step(actor, None, acts, first)


def _of_step(actor: str, takes_effect: str | None, acts: tuple[t.Does, ...], first: int) -> Letter:
    """Return the letter of a step by a role, in which a message may take effect."""
    done = {t.Does("act", actor)} | ({t.Does("take", takes_effect)} if takes_effect is not None else set())
    return frozenset(first + number for number, act in enumerate(acts) if act in done)


def _of_tick(acts: tuple[t.Does, ...], first: int, by_ticks: bool) -> Letter:
    done = frozenset(first + number for number, act in enumerate(acts) if act.verb == "tick")
    return done | {TICK} if by_ticks else done


def _number_atoms(term: Term, facts: Mapping[str, Term], atoms: dict[Term, int]) -> None:
    match term:
        case t.Const() | t.Does():
            pass
        case t.FactRef(fact):
            _number_atoms(facts[fact], facts, atoms)
        case t.Apply("!" | "&" | "|" | "->" | "<->" | "F" | "G" | "U" | "W" | "R" | "M", operands):
            for operand in operands:
                _number_atoms(operand, facts, atoms)
        case _:
            atoms.setdefault(term, len(atoms))


def _formula(term: Term, facts: Mapping[str, Term], atoms: Mapping[Term, int], acts: Mapping[t.Does, int]) -> Formula:
    def of(operand: Term) -> Formula:
        return _formula(operand, facts, atoms, acts)

    match term:
        case t.Const(value):
            return f.VALID if value is True else f.UNSATISFIABLE
        case t.Does():
            return atom_formula(acts[term])
        case t.FactRef(fact):
            return of(facts[fact])
        case t.Apply("!", (operand,)):
            return f.Not(of(operand))
        case t.Apply("&", operands):
            return f.And(tuple(map(of, operands)))
        case t.Apply("|", operands):
            return f.Or(tuple(map(of, operands)))
        case t.Apply("->", (left, right)):
            return f.Implies(of(left), of(right))
        case t.Apply("<->", (left, right)):
            return f.Iff(of(left), of(right))
        case t.Apply("F" | "G" | "U" | "W" | "R" | "M" as operator, operands, bound, _, low):
            window = None if bound is None else f.Bound(bound, low, TICKS)
            return f.PATH_OPERATORS[operator](*map(of, operands), window)
        case _:
            return atom_formula(atoms[term])


# --- which atoms hold together


def _states(atoms: tuple[Term, ...], model: CheckedModel) -> tuple[Letter, ...]:
    """Return the sets of atoms that are jointly satisfiable."""
    groups = [_group(group, atoms, model) for group in _groups(atoms)]
    if prod(len(group) for group in groups) > MAX_LETTERS:
        raise TooManyLetters
    return tuple(frozenset().union(*chosen) for chosen in product(*groups))


def _groups(atoms: tuple[Term, ...]) -> list[list[int]]:
    """Return the atoms by number, those together that read something in common."""
    groups: list[tuple[set[_Source], list[int]]] = []
    for number, atom in enumerate(atoms):
        sources, members = set(_sources(atom)), [number]
        for group in [group for group in groups if not group[0].isdisjoint(sources)]:
            groups.remove(group)
            sources, members = sources | group[0], group[1] + members
        groups.append((sources, members))
    return [members for _, members in groups]


def _group(members: list[int], atoms: tuple[Term, ...], model: CheckedModel) -> list[Letter]:
    if any(isinstance(part, _UNREAD) for number in members for part in t.subterms(atoms[number])):
        return _every_letter(members)
    sources = sorted({source for number in members for source in _sources(atoms[number])})
    domains = [_domain(source, model) for source in sources]
    if prod(map(len, domains)) > MAX_VALUES:
        return _every_letter(members)
    letters: dict[Letter, None] = {}
    for values in product(*domains):
        given = dict(zip(sources, values, strict=True))
        letters[frozenset(number for number in members if _value(atoms[number], given) is True)] = None
    return list(letters)


_UNREAD = (t.Sent, t.InFlight, t.Terminal)
"""Terms of goals whose values are not enumerated."""


def _every_letter(members: list[int]) -> list[Letter]:
    """Return all sets of these atoms."""
    if len(members) > MAX_FREE_ATOMS:
        raise TooManyLetters
    return [frozenset(some) for size in range(len(members) + 1) for some in combinations(members, size)]


def _sources(atom: Term) -> Iterator[_Source]:
    for part in t.subterms(atom):
        match part:
            case t.Happened(message):
                yield "message", message
            case t.Field(message, parameter):
                yield "message", message
                yield "payload", message, parameter
            case t.Var(variable):
                yield "variable", variable
            case t.InState(commitment, _, view):
                yield "state", commitment, view or ""
            case t.Stands(commitment, _, view):
                yield "standing", commitment, view or ""
            case _:
                pass


def _domain(source: _Source, model: CheckedModel) -> tuple[Value, ...]:
    match source:
        case ("message", _):
            return (False, True)
        case ("payload", message, parameter):
            return next(one.domain for one in model.message[message].parameters if one.name == parameter)
        case ("variable", variable):
            return model.variable[variable].domain
        case ("standing", _, _):
            return ("closed", *STANDINGS)
        case (_, name, _):
            words = CLAIM_PREDICATES if name in model.claim else COMMITMENT_PREDICATES
            return tuple(sorted(frozenset().union(*words.values())))
        case _:
            raise AssertionError(source)


def _value(term: Term, given: Mapping[_Source, Value]) -> Value | None:
    """Return the value of an atom, None for a payload that is not there."""
    match term:
        case t.Const(value):
            return value
        case t.Happened(message):
            return given["message", message]
        case t.Field(message, parameter):
            return given["payload", message, parameter] if given["message", message] else None
        case t.Var(variable):
            return given["variable", variable]
        case t.InState(commitment, states, view):
            return given["state", commitment, view or ""] in states
        case t.Stands(commitment, standings, view):
            return given["standing", commitment, view or ""] in standings
        case t.Apply(op, operands):
            return _applied(op, [_value(operand, given) for operand in operands])
        case _:
            raise AssertionError(f"not an atom: {term}")


def _applied(op: t.Op, operands: list[Value | None]) -> Value | None:
    if op in ("!", "&", "|", "->", "<->"):
        truths = [operand is True for operand in operands]
        return {
            "!": lambda: not truths[0],
            "&": lambda: all(truths),
            "|": lambda: any(truths),
            "->": lambda: not truths[0] or truths[1],
            "<->": lambda: truths[0] == truths[1],
        }[op]()
    values = [operand for operand in operands if operand is not None]
    is_comparison = op in ("=", "!=", "<", "<=", ">", ">=")
    if len(values) < len(operands):
        return False if is_comparison else None
    return t.compared(op, *values) if is_comparison else t.calculated(op, [int(value) for value in values])


# --- checks


def check_contents(table: InstanceTable, checked: model.CheckedModel) -> None:
    """Report contents about runs without a usable monitor."""
    for commitment in checked.commitments:
        if commitment.name in checked.about_runs:
            _monitored(table, commitment.name, commitment.consequent, commitment.span, checked)
    warned: set[Span] = set()
    for claim in checked.claims:
        content = _monitored(table, claim.name, claim.content, claim.span, checked)
        if content is not None and claim.span not in warned and _is_decided_when_made(content):
            warned.add(claim.span)
            message = f"The content of `{claim.name}` is decided by the state in which it is made"
            hint = Note("`F p` says that p holds now or later, `G p` that it holds forever")
            table.problems.report(rules.DECIDED_AT_ONCE, claim.span, message, hint)


def check_goals(table: InstanceTable, checked: model.CheckedModel) -> None:
    """Report goals about runs without a small enough monitor."""
    for participant in checked.participants:
        for goal in participant.goals:
            for part in conjuncts_of(goal.meaning):
                if is_about_runs(part):
                    _check_goal(table, part, goal.span, checked)


def _is_about_its_beginning(term: Term) -> bool:
    """Return whether a part of a formula about runs is a condition that its first state decides."""
    match term:
        case t.Apply("!" | "&" | "|" | "->" | "<->", operands) if is_about_runs(term):
            return any(map(_is_about_its_beginning, operands))
        case _:
            return not is_about_runs(term)


def _check_goal(table: InstanceTable, term: Term, span: Span, checked: model.CheckedModel) -> None:
    if _is_about_its_beginning(term):
        message = "A part of this goal without `F`, `G`, `U`, `W` or `R` would be about the beginning of the run"
        hint = Note("write `F p` for some time, `G p` for always, or a goal of its own for the end")
        table.problems.report(rules.NOT_A_STATE_CONDITION, span, message, hint)
        return
    try:
        compiled(term, checked)
    except TooManyLetters:
        hint = Note("use messages in place of payloads and variables, or write several goals")
        message = f"This goal depends on more than {MAX_LETTERS} combinations of values"
        table.problems.report(rules.TOO_LARGE, span, message, hint)
    except TooManyStates:
        hint = Note("write several goals" + (", or use smaller bounds in ticks" * bool(longest_tick_bound(term))))
        message = f"This goal needs a monitor with more than {MAX_STATES} states"
        table.problems.report(rules.TOO_LARGE, span, message, hint)


def _is_decided_when_made(content: Content) -> bool:
    """Return whether the state in which the claim is made always decides it."""
    monitor = content.monitor
    if monitor.decided[0] is not None:
        return True
    return all(monitor.on_entering(0, holding) is not None for holding in range(len(monitor.holding)))


def _too_many_states(name: str, content: Term, checked: model.CheckedModel) -> tuple[str, Note]:
    """Return the message for a content whose monitor is too large, with the largest bound that fits."""
    longest = longest_tick_bound(content)
    fitting = largest_that_fits(content, checked) if longest else None
    if fitting is None:
        message = f"The content of `{name}` needs a monitor with more than {MAX_STATES} states"
        return message, Note("split it into several commitments" + (", or use smaller bounds in ticks" * bool(longest)))
    message = (
        f"`<={longest} ticks` is too long in the content of `{name}`: its monitor has more than {MAX_STATES} states"
    )
    return message, Note(f"use a smaller bound: the largest one with a small enough monitor is `<={fitting} ticks`")


def _monitored(table: InstanceTable, name: str, term: Term, span: Span, checked: model.CheckedModel) -> Content | None:
    """Return the content with its monitor; report a monitor that is too large or never decides."""
    try:
        content = compiled(term, checked)
    except TooManyLetters:
        hint = Note("use messages in place of payloads and variables, or split it into several commitments")
        message = f"The content of `{name}` depends on more than {MAX_LETTERS} combinations of values"
        table.problems.report(rules.TOO_LARGE, span, message, hint)
        return None
    except TooManyStates:
        table.problems.report(rules.TOO_LARGE, span, *_too_many_states(name, term, checked))
        return None
    if not content.monitor.is_ever_decided:
        hint = Note("bound the time: write `F<=k ticks p` in place of `F p`")
        message = f"No event ever decides the content of `{name}`"
        table.problems.report(rules.UNDECIDED_CONTENT, span, message, hint)
        return None
    return content
