"""Views of one member: a system of the shared state and a representative member, with predicates on the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cplc.decision.enabled_choices import ChoiceTable, ChoiceTables, EnabledChoices
from cplc.decision.symmetric_agents import SymmetricAgents
from cplc.logic.expressions import reads
from cplc.records import dataclass
from cplc.statespace.packing import Packing
from cplc.system.model import State, Step, System, Variable
from cplc.system.participant import Belief, Participant


@dataclass(frozen=True)
class MemberView:
    """A system of the shared variables, the first member of a family (or none) and predicates."""

    system: System
    participant: Participant
    packing: Packing
    groups: tuple[ChoiceTable, ...]
    steps: tuple[int, ...]
    """Indices of its steps in the whole system."""
    beliefs: tuple[int, ...]
    local: int
    """The mask of the member's variables."""
    watched: tuple[str, ...]

    def watching(self, bits: int) -> int:
        """Return the bits of the predicates that hold."""
        return sum(self.packing.bits(name, True) for at, name in enumerate(self.watched) if bits >> at & 1)

    def watches_of(self, mask: int) -> tuple[str, ...]:
        return tuple(name for name in self.watched if self.packing.mask([name]) & mask)


def view_of(symmetry: SymmetricAgents, number: int | None) -> MemberView:
    """Return the view of the first member of a family; without a family, the view of the shared state alone."""
    own = None if number is None else (number, 0)
    family = None if number is None else symmetry.families[number]
    if family is None:
        taken = {step for one in symmetry.families for steps in one.steps for step in steps}
        named = {index for one in symmetry.families for each in one.beliefs for index in each}
        ruled = {index for one in symmetry.families for each in one.decisions for index in each}
        steps = tuple(index for index in range(len(symmetry.system.steps)) if index not in taken)
        beliefs = tuple(index for index in range(len(symmetry.participant.beliefs)) if index not in named)
        decisions = tuple(index for index in range(len(symmetry.participant.decisions)) if index not in ruled)
    else:
        steps, beliefs, decisions = family.steps[0], family.beliefs[0], family.decisions[0]
    new = {index: at for at, index in enumerate(steps)}
    member_steps = [_step(symmetry, symmetry.system.steps[index], own) for index in steps]
    participant = replace(
        symmetry.participant,
        beliefs=tuple(_belief(symmetry, symmetry.participant.beliefs[index], own, new) for index in beliefs),
        decisions=tuple(
            replace(one, condition=symmetry.seen(one.condition, own), steps=tuple(new[step] for step in one.steps))
            for one in map(symmetry.participant.decisions.__getitem__, decisions)
        ),
    )
    local = () if family is None else family.members[0]
    names = {name for step in member_steps for name in step.footprint}.union(
        *(reads(one.condition) for one in participant.beliefs),
        *(reads(one.condition) for one in participant.decisions),
    )
    watched = tuple(name for name in symmetry.watched if name in names)
    system = replace(restricted_system(symmetry.system, (*symmetry.shared, *local), watched), steps=tuple(member_steps))
    packing = Packing(system)
    groups = tuple(ChoiceTables(system, participant, packing).groups())
    return MemberView(system, participant, packing, groups, steps, beliefs, packing.mask(local), watched)


def _belief(symmetry: SymmetricAgents, belief: Belief, own: tuple[int, int] | None, new: Mapping[int, int]) -> Belief:
    events = (replace(event, steps=tuple(new[step] for step in event.steps)) for event in belief.events)
    return replace(belief, condition=symmetry.seen(belief.condition, own), events=tuple(events))


def _step(symmetry: SymmetricAgents, step: Step, own: tuple[int, int] | None) -> Step:
    return replace(
        step,
        guard=symmetry.seen(step.guard, own),
        updates=tuple((symmetry.first(name), symmetry.seen(to, own)) for name, to in step.updates),
        free=tuple(map(symmetry.first, step.free)),
    )


def step_changes(offer: EnabledChoices) -> Iterator[tuple[int, int]]:
    for transitions, _ in offer.uncontrolled:
        yield from transitions
    for transitions in offer.controlled:
        yield from transitions
    for _, events in offer.believed:
        for _, transitions in events:
            yield from transitions


def union(groups: Sequence[ChoiceTable]) -> int:
    mask = 0
    for group in groups:
        mask |= group.mask
    return mask


def restricted_state(state: State, system: System) -> State:
    return {name: state[name] for name in system.variable if name in state}


def restricted_system(system: System, names: Sequence[str], watched: Sequence[str]) -> System:
    """Return the system restricted to these variables, with a Boolean for each predicate."""
    restricted_system = set(names)
    first = [system.variable[name] for name in names]
    assert len(restricted_system) == len(first)
    watching = [Variable(name, (False, True), (False,), "own", "Env", "") for name in watched]
    return replace(
        system,
        variables=(*first, *watching),
        shared=(), messages=(), commitments=(), claims=(), justice=(), fairness=(), hazards=(),
    )  # fmt: skip
