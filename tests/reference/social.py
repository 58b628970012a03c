"""Social commitment by its definition: the states are sorted by what binds there, and each sort is decided by itself.

Each commitment, claim or move has an automaton of its keeping: a run is followed as long as it may still be kept. The
state where a run begins determines what binds there. Each side is bound by its own last move.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from tests.reference.contents import about_runs
from tests.reference.dialogue import BY_FIRST, CLAIM_OPEN, STANDING_AFTER
from tests.reference.lifecycle import OPEN, Life
from tests.reference.promises import is_in_force, is_on_course
from tests.reference.runs import RunGraph, path_of
from tests.reference.semantics import Reference
from tests.reference.sides import in_channel
from tests.reference.states import Move, World
from tests.support.oracles import path_tableau as tableau
from tests.support.oracles.path_tableau import Path

from cplc.semantics import terms as t

States = frozenset[int]


@dataclass(frozen=True)
class Fact:
    """A condition on one state that no term says."""

    name: str
    what: str


@dataclass(frozen=True)
class Promise:
    """Something that binds: in these states, and kept by the runs that satisfy the path formula."""

    name: str
    binds: Callable[[World], bool]
    keeping: Path


@dataclass(frozen=True)
class SocialCommitments:
    """The states that satisfy social commitments, given the graph and how path formulas are decided on it."""

    reference: Reference
    field: RunGraph
    worlds: Sequence[World]

    def satisfying(self, formula: t.Social) -> States:
        promises = tuple(self._promises(formula))
        sorts: dict[tuple[bool, ...], set[int]] = {}
        for state, world in enumerate(self.worlds):
            sorts.setdefault(tuple(promise.binds(world) for promise in promises), set()).add(state)
        satisfying_states: set[int] = set()
        for pattern, states in sorts.items():
            if any(pattern):
                counted = [promise.keeping for promise, binds in zip(promises, pattern, strict=True) if binds]
                if formula.trigger is not None:
                    counted.append(tableau.eventually(path_of(formula.trigger), None))
                keeping = reduce(tableau.Both, counted)
                broken = tableau.Both(keeping, tableau.no(path_of(formula.body)))
                satisfying_states |= states & self._some_run(keeping) - self._some_run(broken)
        return frozenset(satisfying_states)

    def _some_run(self, path: Path) -> States:
        return self.field.runs.satisfying(path, self._sees)

    def _sees(self, what: Hashable, state: int, move: Move | None) -> bool:
        if not isinstance(what, Fact):
            return self.field.sees(what, state, move)
        world, name = self.worlds[state], what.name
        life = world.env[name]
        match what.what:
            case "open":
                return life.state in OPEN
            case "standing":
                return life.state in CLAIM_OPEN
            case "on course":
                return is_on_course(self.reference, world, name)
            case "idle or on course":
                return life.state in OPEN and (
                    not is_in_force(world, name) or is_on_course(self.reference, world, name)
                )
            case "content at rest" | "contrary at rest":
                watched = self.reference.watched[name]
                leaves = frozenset(leaf for leaf in watched.asked if self.reference.holds(leaf, world))
                return watched.rests(life.remainder, leaves) is (what.what == "content at rest")
            case state_name:
                return life.state == state_name

    # --- what binds, and what keeps it

    def _promises(self, formula: t.Social) -> Iterator[Promise]:
        model, pair = self.reference.model, (formula.debtor, formula.creditor)
        for commitment in model.commitments:
            if not in_channel(commitment, *pair):
                continue
            if formula.modality == "SC":
                yield self._promise(commitment.name)
            else:
                yield self._offer(commitment.name)
        for claim in model.claims:
            name = claim.name
            if (claim.maker, claim.addressee) == pair:
                yield self._claimed(name, lambda life: True, "satisfied", "content at rest")
            if (claim.addressee, claim.maker) == pair:
                yield self._claimed(name, partial(_answered, "accept"), "satisfied", "content at rest")
                yield self._claimed(name, partial(_answered, "refuse"), "violated", "contrary at rest")
        yield from self._arguments(pair)

    def _promise(self, name: str) -> Promise:
        goal = tableau.some((_seen(name, "fulfilled"), tableau.globally(_seen(name, "on course"), None)))
        return Promise(name, lambda world: is_in_force(world, name), tableau.until(_seen(name, "open"), goal, None))

    def _offer(self, name: str) -> Promise:
        ended = tableau.some((_seen(name, "fulfilled"), _seen(name, "expired")))
        goal = tableau.some((ended, tableau.globally(_seen(name, "idle or on course"), None)))

        def binds(world: World) -> bool:
            return world.env[name].state == "conditional" or is_in_force(world, name)

        return Promise(name, binds, tableau.until(_seen(name, "open"), goal, None))

    def _claimed(self, name: str, answered: Callable[[Life], bool], goal: str, on_course: str) -> Promise:
        lasting = tableau.globally(tableau.Both(_seen(name, "standing"), _seen(name, on_course)), None)
        keeping = tableau.until(_seen(name, "standing"), tableau.some((_seen(name, goal), lasting)), None)

        def binds(world: World) -> bool:
            return world.env[name].state in CLAIM_OPEN and answered(world.env[name])

        return Promise(name, binds, keeping)

    def _arguments(self, pair: tuple[str, str]) -> Iterator[Promise]:
        operations = (operation for message in self.reference.model.messages for operation in message.operations)
        for verb, name, target in {(one.verb, one.commitment, one.target) for one in operations}:
            if target is None or verb not in STANDING_AFTER:
                continue
            first, second = self.reference.model.parties[name]
            if pair != ((second, first) if verb == "attack" else (first, second)):
                continue
            subject = self._content(name)
            implied = tableau.no(subject) if verb == "attack" else subject
            yield Promise(
                name,
                partial(_argued, name, verb, target),
                tableau.Next(tableau.implies(self._content(target), implied)),
            )

    def _content(self, name: str) -> Path:
        """Return the path formula of a subject: the content of a claim, or the goal of a commitment."""
        model = self.reference.model
        if name in model.claim:
            return path_of(model.claim[name].content)
        consequent = model.commitment[name].consequent
        goal = path_of(consequent)
        return goal if about_runs(consequent) else tableau.eventually(goal, None)


def _answered(verb: str, life: Life) -> bool:
    return life.second_said == (verb, None)


def _argued(name: str, verb: str, target: str, world: World) -> bool:
    life = world.env[name]
    return (verb, target) == (life.first_said if verb in BY_FIRST else life.second_said)


def _seen(name: str, what: str) -> Path:
    return tableau.Seen(Fact(name, what))
