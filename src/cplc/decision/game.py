"""Game of a participant against the world, with chance: who moves in each state, and where each move leads.

The *participant* sends, waits or walks away. *Chance* draws the outcome of each belief when its condition becomes true.
The *world* decides everything else: the order of events, sends without a belief, and when a drawn outcome comes. It may
fall silent where nothing forces a step: receipts, ticks that change something, drawn outcomes and sends of assumed
roles are forced. Section 7 of the semantics (`docs/analysis.md`) is the definition.

A state is an integer: the packed state of the system, above it what was drawn for each belief, and the mode.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from enum import IntEnum
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from cplc.decision.belief_draws import (
    DROPPED,
    FIRST_OUTCOME,
    IDLE,
    LOST,
    OVER,
    BeliefTable,
    GameDiagnostics,
    event_probabilities,
)
from cplc.decision.belief_scopes import beliefs_about_sends, scopes, touched_beliefs
from cplc.decision.bounds_under_draws import BoundsUnderDraws
from cplc.logic.expressions import Expr, reads
from cplc.statespace.graph_algorithms import merged_classes
from cplc.statespace.interleaved import InterleavedRelation
from cplc.statespace.packing import MemoTable
from cplc.system.model import System
from cplc.system.participant import Participant

if TYPE_CHECKING:
    from cplc.decision.symmetric_agents import Family

SEND_KINDS = ("send", "exchange")
MAX_COMPETING_OUTCOMES = 64
"""Maximum number of combinations of outcomes that are checked for excluding each other."""
MAX_JOINT_STATES = 20_000
"""Maximum number of states in which a path to several drawn outcomes is sought."""
NO_STEP = (1 << 32) - 1
"""The label of a transition that is no step of the system: a draw, waiting, or the end of a run."""
CERTAIN = 0
"""Index of probability one, for events without a belief."""

Transition = tuple[int, int]
"""A step and the state that it leads to."""
Option = tuple["ActionKind", list[tuple[int, list[Transition]]]]
"""An action: its kind, and events, each with the index of its probability and the transitions that may follow."""


class DrawsCompete(Exception):
    """An outcome that is drawn may exclude one of another belief, so the order of symmetric agents matters."""


class ActionKind(IntEnum):
    STEP = 0
    """A forced step of the world: taken eventually if it is enabled again and again."""
    SEND = 1
    """A step that the world may postpone forever: a send of another role, or the end of the run."""
    BELIEF = 2
    CONTROLLED = 3


class Mode(IntEnum):
    """Stage of the moves in one state of the system."""

    OPEN = 0
    WAITED = 1
    """The participant waits: the world moves next."""
    STOPPED = 2
    """The run has ended here."""


class Attitude(IntEnum):
    """The strategies that are considered."""

    TAKES_PART = 0
    """The participant sends something on some run; its game is that of all plans (`cplc.decision.participation`)."""
    FREE = 1
    """All plans."""
    STAYS_AWAY = 2
    """The participant never sends."""


class Game:
    """The moves in each state; nothing is stored but memoised tables."""

    def __init__(
        self,
        system: System,
        participant: Participant,
        attitude: Attitude = Attitude.FREE,
        assumed: frozenset[str] = frozenset(),
        families: Sequence[Family] = (),
    ) -> None:
        self.system = system
        self.participant = participant
        self.attitude = attitude
        self.relation = InterleavedRelation(system)
        self.packing = packing = self.relation.packing
        self.width = packing.width
        self.system_mask = (1 << self.width) - 1
        mine = frozenset(participant.agents)
        visible = [name for agent in system.agents if agent.name in mine for name in agent.local]
        self.view_mask = packing.mask(visible)
        self.is_send = [step.kind in SEND_KINDS for step in system.steps]
        self.is_own = [step.kind in SEND_KINDS and step.actor in mine for step in system.steps]
        self.is_forced = [
            step.kind not in SEND_KINDS or not assumed.isdisjoint((step.actor, step.event)) for step in system.steps
        ]
        self.chances, self._chance = event_probabilities(participant)
        shift = self.width
        self.beliefs: list[BeliefTable] = []
        order = [index for family in families for members in family.beliefs for index in members]
        tables: dict[int, BeliefTable] = {}
        for index in dict.fromkeys((*order, *range(len(participant.beliefs)))):
            belief = participant.beliefs[index]
            table = BeliefTable(index, belief, self._tabulated([belief.condition]), shift)
            tables[index] = table
            shift += table.bits
        self.beliefs = [tables[index] for index in range(len(participant.beliefs))]
        about = beliefs_about_sends(system, SEND_KINDS, [table.event_of.keys() for table in self.beliefs])
        self._by_step = {step: [self.beliefs[at] for at in several] for step, several in about.items()}
        self._scopes = scopes(
            system,
            packing,
            [reads(belief.condition) for belief in participant.beliefs],
            [tuple(table.event_of) for table in self.beliefs],
            [table.mask << table.shift for table in self.beliefs],
        )
        self._touched = touched_beliefs(system, self._scopes)
        self.mode_shift = shift
        self._open_mask = (1 << shift) - 1
        self._allowed: dict[int, Callable[[int], bool]] = {}
        for step in {step for decision in participant.decisions for step in decision.steps}:
            conditions = [one.condition for one in participant.decisions if step in one.steps]
            self._allowed[step] = self._tabulated(conditions)
        self._enabled: dict[int, list[Transition]] = {}
        self._bounds = BoundsUnderDraws(system, participant.beliefs)
        self._enabled_without_bounds: dict[tuple[int, frozenset[str]], list[Transition]] = {}
        self._drawn_of: dict[int, tuple[tuple[BeliefTable, int], ...]] = {}
        self._has_bounded_beliefs = any(table.within is not None for table in self.beliefs)
        self._after_draw: dict[int, list[Transition]] = {}
        self._unexpanded: dict[int, list[Option]] = {}
        """The actions in states after a draw that are not expanded yet."""
        self._leads: list[list[dict[frozenset[int], dict[int, bool]]]] = [
            [{} for _ in table.steps] for table in self.beliefs
        ]
        self._comes: list[list[dict[tuple[int, frozenset[int], int], bool]]] = [
            [{} for _ in table.steps] for table in self.beliefs
        ]
        self._blocked: dict[tuple[int, int], frozenset[int]] = {}
        self._joint: dict[tuple[int, int, frozenset[int]], bool] = {}
        self._own_receipts = frozenset(
            at for at, step in enumerate(system.steps) if step.kind == "receive" and step.actor in mine
        )
        self.diagnostics = GameDiagnostics({}, {}, set())
        self._canonical = None
        if families:
            from cplc.decision.symmetric_agents import canonical_form

            self._canonical = canonical_form(self, families)
        self._families = families
        self._members = [[packing.mask(member) & self.view_mask for member in family.members] for family in families]
        """The bits of each member that the participant sees."""
        self._places = {
            step: (number, member, place)
            for number, family in enumerate(families)
            for member, steps in enumerate(family.steps)
            for place, step in enumerate(steps)
        }

    def _tabulated(self, conditions: Sequence[Expr]) -> Callable[[int], bool]:
        """Return the conjunction as a memoised function of the packed state."""
        mask = self.packing.mask({name for condition in conditions for name in reads(condition)})
        tests = [self.packing.condition(condition) for condition in conditions]
        table = MemoTable(lambda pattern: all(test(pattern) for test in tests))
        return lambda state: table[state & mask]

    # --- states

    def packed(self, state: int) -> int:
        """Return the packed state of the system."""
        return state & self.system_mask

    def view(self, state: int) -> Hashable:
        """Return the local state of the participant, up to the exchange of symmetric agents."""
        if not self._members:
            return state & self.view_mask
        shared = self.view_mask
        blocks = []
        for members in self._members:
            for mask in members:
                shared &= ~mask
            blocks.append(tuple(sorted(_bits(state, mask) for mask in members)))
        return state & shared, tuple(blocks)

    def copies_of_belief(self, belief: int) -> tuple[int, ...]:
        """Return the corresponding belief of each symmetric agent."""
        for family in self._families:
            for beliefs in family.beliefs:
                if belief in beliefs:
                    place = beliefs.index(belief)
                    return tuple(each[place] for each in family.beliefs)
        return (belief,)

    def choice(self, state: int, step: int) -> Hashable:
        """Return a step of the participant as it chooses it: of a symmetric agent it only knows what it sees."""
        if step not in self._places:
            return step
        family, member, place = self._places[step]
        return family, place, _bits(state, self._members[family][member])

    def initial(self, limit: int) -> list[int]:
        states = [self._settled(state) for state in self.relation.initial_states(limit)]
        return list(dict.fromkeys(states))

    def _with_mode(self, state: int, mode: Mode) -> int:
        return state & self._open_mask | mode << self.mode_shift

    def enabled(self, packed: int) -> list[Transition]:
        """Return the steps of the system in a state, without ticks that change nothing.

        A round that is over stays over: its restart is no step of the game. So the restart of one instance does not
        end the run for the others.
        """
        steps = self._enabled.get(packed)
        if steps is None:
            steps = self._enabled[packed] = self._steps_of(self.relation, packed)
        return steps

    def _steps_of(self, relation: InterleavedRelation, packed: int) -> list[Transition]:
        kind = self.system.steps
        return [
            (step, target)
            for step, target in relation.transitions(packed)
            if kind[step].kind != "restart" and (target != packed or kind[step].kind != "tick")
        ]

    def _enabled_after_draws(self, state: int) -> list[Transition]:
        """Return the steps in a state: the clock does not wait for messages that a draw rules out."""
        packed = state & self.system_mask
        names = frozenset[str]().union(
            *(
                self._bounds.ruled_out(table.index, code - FIRST_OUTCOME if code >= FIRST_OUTCOME else None)
                for table, code in self._drawn(state)
                if code != LOST
            )
        )
        if not names:
            return self.enabled(packed)
        steps = self._enabled_without_bounds.get((packed, names))
        if steps is None:
            steps = self._steps_of(self._bounds.relation(names), packed)
            self._enabled_without_bounds[packed, names] = steps
        return steps

    def _drawn(self, state: int) -> Sequence[tuple[BeliefTable, int]]:
        """Return the beliefs that are not idle, each with the code of its draw."""
        draws = (state & self._open_mask) >> self.width
        drawn = self._drawn_of.get(draws)
        if drawn is None:
            drawn = self._drawn_of[draws] = tuple(
                (table, code) for table in self.beliefs if (code := table.drawn(state)) != IDLE
            )
        return drawn

    def _settled(self, state: int, touched: frozenset[int] | None = None) -> int:
        """Return the state with the draws of all periods that have ended taken back.

        After a step, only the periods of beliefs may have ended whose scope it touches.
        """
        packed = state & self.system_mask
        for table, code in self._drawn(state):
            if touched is not None and table.index not in touched:
                continue
            if not table.condition(packed) or (table.always and not self._any_can_come(table, packed)):
                state = table.with_drawn(state, IDLE)
            elif code >= FIRST_OUTCOME:
                outcome = code - FIRST_OUTCOME
                if not table.silent[outcome] and not self._can_come(
                    table, outcome, packed, self._blocks(state, table), table.ticks_since_draw(state)
                ):
                    state = table.with_drawn(state, LOST)
        return state if self._canonical is None else self._canonical(state)

    def _any_can_come(self, table: BeliefTable, packed: int) -> bool:
        return any(self._can_come(table, at, packed) for at in table.outcomes if not table.silent[at])

    def _after(self, state: int, step: int, target: int) -> int:
        """Return the state after a step that leads to this packed state of the system."""
        state = state & self._open_mask & ~self.system_mask | target
        if self._has_bounded_beliefs:
            state = self._older(state, step)
        for table in self._by_step.get(step, ()):
            outcome = table.event_of.get(step)
            if outcome is not None and table.drawn(state) == outcome + FIRST_OUTCOME:
                state = table.with_drawn(state, OVER)
        return self._settled(state, self._touched[step])

    def _older(self, state: int, step: int) -> int:
        """Return the state after a step as far as the bounds of drawn outcomes go: a tick brings them closer."""
        if self.system.steps[step].kind == "tick":
            for table, code in self._drawn(state):
                if table.is_bounded(code):
                    state = table.after_tick(state)
        return state

    # --- outcomes of beliefs

    def _blocks(self, state: int, table: BeliefTable) -> frozenset[int]:
        """Return the steps that the draws of other beliefs rule out."""
        scope = self._scopes[table.index]
        key = state & scope.draws, table.index
        blocked = self._blocked.get(key)
        if blocked is None:
            steps: set[int] = set()
            for other, code in self._drawn(state):
                if other is not table and code != LOST and other.index in scope.beliefs:
                    steps.update(step for step, at in other.event_of.items() if at != code - FIRST_OUTCOME)
            blocked = self._blocked[key] = frozenset(steps)
        return blocked

    def _can_come(
        self, table: BeliefTable, outcome: int, packed: int, blocked: frozenset[int] = frozenset(), ticks: int = 0
    ) -> bool:
        """Return whether unseen steps other than these lead to an outcome of the belief, so many ticks after its draw.

        There are no more ticks among them than the bound of the belief leaves. The receipt of what is in flight
        already, which will come, is no hindrance while the belief holds. The answer is the same for all states that
        agree on the scope of the belief.
        """
        memo = self._comes[table.index][outcome]
        key = packed & self._scopes[table.index].variables, blocked, ticks
        comes = memo.get(key)
        if comes is None:
            comes = memo[key] = self._computed_can_come(table, outcome, packed, blocked, ticks)
        return comes

    def _computed_can_come(
        self, table: BeliefTable, outcome: int, packed: int, blocked: frozenset[int], ticks: int
    ) -> bool:
        states = self._after_receipts(table, packed) if self._own_receipts else [packed]
        if table.within is None:
            return any(self._leads_unseen(table, outcome, state, blocked) for state in states)
        remaining = table.within - ticks
        return any(self._leads_unseen_within(table, outcome, state, blocked, remaining) for state in states)

    def _after_receipts(self, table: BeliefTable, packed: int) -> list[int]:
        """Return this state, and those after receipts of the participant in which the belief holds."""
        states = [packed]
        for state in states:
            for step, target in self.enabled(state):
                if step in self._own_receipts and target not in states and table.condition(target):
                    states.append(target)
        return states

    def _leads_unseen(self, table: BeliefTable, outcome: int, packed: int, blocked: frozenset[int]) -> bool:
        scope = self._scopes[table.index].variables
        memo = self._leads[table.index][outcome].setdefault(blocked, {})
        cached = memo.get(packed & scope)
        if cached is not None:
            return cached
        outcome_steps = table.steps[outcome]
        visited = {packed & scope}
        new = [packed]
        while new:
            state = new.pop()
            steps = self.enabled(state)
            if any(step in outcome_steps and step not in blocked for step, _ in steps) or memo.get(state & scope):
                memo[packed & scope] = True
                return True
            for step, target in steps:
                unseen = not (target ^ packed) & self.view_mask and step not in blocked
                is_new = unseen and target & scope not in visited
                if is_new and not self.is_own[step] and step not in table.event_of:
                    visited.add(target & scope)
                    new.append(target)
        memo.update(dict.fromkeys(visited, False))
        return False

    def _leads_unseen_within(
        self, table: BeliefTable, outcome: int, packed: int, blocked: frozenset[int], ticks: int
    ) -> bool:
        """Return whether unseen steps, with so many ticks at most, lead to an outcome."""
        scope = self._scopes[table.index].variables
        visited = {(packed & scope, ticks)}
        new = [(packed, ticks)]
        while new:
            state, remaining = new.pop()
            for step, target in self.enabled(state):
                if step in blocked:
                    continue
                if step in table.steps[outcome]:
                    return True
                if self.is_own[step] or step in table.event_of or (target ^ packed) & self.view_mask:
                    continue
                later = remaining - (self.system.steps[step].kind == "tick")
                if later >= 0 and (target & scope, later) not in visited:
                    visited.add((target & scope, later))
                    new.append((target, later))
        return False

    def _draw(self, state: int) -> Option | None:
        """Return the draw of the first belief that is due in this state.

        Beliefs are drawn in causal order: one whose outcomes need messages of another waits for that one.
        """
        packed = state & self.system_mask
        due: list[BeliefTable] = []
        waiting = [table for table in self.beliefs if table.drawn(state) == IDLE and table.condition(packed)]
        for table in waiting:
            events = [at for at in table.outcomes if not table.silent[at]]
            can_come = [
                self._can_come(table, at, packed, self._blocks(state, table)) and self._leaves_others(table, at, state)
                for at in events
            ]
            if all(can_come) and (events or not table.always):
                due.append(table)
            elif any(can_come):
                times, where = self.diagnostics.partial.get(table.index, (0, state))
                self.diagnostics.partial[table.index] = times + 1, where
        if not due:
            return None
        self._record(state, due)
        if len(due) > 1 and self._families and self._is_competition(due, state):
            raise DrawsCompete
        table = (
            due[0]
            if len(waiting) == 1
            else next((one for one in due if self._waits_for_no(one, waiting, state)), due[0])
        )
        outcomes: list[tuple[int, list[Transition]]] = []
        for at in table.outcomes:
            drawn = table.with_drawn(state, at + FIRST_OUTCOME)
            target = drawn if self._canonical is None else self._canonical(drawn)
            outcomes.append((self._chance[table.index, at], self._forced_on(target)))
        return ActionKind.BELIEF, outcomes

    def _leaves_others(self, table: BeliefTable, outcome: int, state: int) -> bool:
        """Return whether all outcomes that are drawn already can still come beside this one, on one path."""
        drawn = table.with_drawn(state, outcome + FIRST_OUTCOME)
        packed = state & self.system_mask
        pending = [
            (other, code - FIRST_OUTCOME)
            for other, code in self._drawn(state)
            if code >= FIRST_OUTCOME and not other.silent[code - FIRST_OUTCOME]
        ]
        # The outcome changes nothing for pending ones outside of its scope, which can come.
        scope = self._scopes[table.index].beliefs
        return all(
            other.index not in scope
            or self._can_come(other, at, packed, self._blocks(drawn, other), other.ticks_since_draw(drawn))
            for other, at in pending
        ) and self._come_together(drawn, packed, [table, *(other for other, _ in pending)])

    def _come_together(self, drawn: int, packed: int, tables: Sequence[BeliefTable]) -> bool:
        """Return whether some path brings about the drawn outcomes of all these beliefs, each of which can come alone.

        Outcomes of beliefs that share no variable with others, by any steps, do not hinder each other.
        """
        by_class: dict[str, list[int]] = {}
        for table in tables:
            by_class.setdefault(self._class_of[table.index], []).append(table.index)
        for members in by_class.values():
            if len(members) > 1:
                key = drawn & ~self.system_mask, packed, frozenset(members)
                if key not in self._joint:
                    self._joint[key] = self._path_to_all(drawn, packed, key[2])
                if not self._joint[key]:
                    return False
        return True

    def _is_competition(self, due: Sequence[BeliefTable], state: int) -> bool:
        """Return whether some outcomes of beliefs that are due together exclude each other; so their order matters."""
        pending = [other for other in self.beliefs if other.drawn(state) >= FIRST_OUTCOME]
        choices = [[at for at in table.outcomes if not table.silent[at]] for table in due]
        if prod(map(len, choices)) > MAX_COMPETING_OUTCOMES:
            return True
        for outcomes in product(*choices):
            drawn = state
            for table, at in zip(due, outcomes, strict=True):
                drawn = table.with_drawn(drawn, at + FIRST_OUTCOME)
            awaited = [one for one in pending if not one.silent[one.drawn(state) - FIRST_OUTCOME]]
            if not self._come_together(drawn, state & self.system_mask, [*due, *awaited]):
                return True
        return False

    @cached_property
    def _class_of(self) -> dict[int, str]:
        """The class of each belief: those in different classes have steps without common variables."""
        steps = self.system.steps
        footprints = [frozenset[str]().union(*(steps[step].footprint for step in one.event_of)) for one in self.beliefs]
        leaders = merged_classes(
            {name: name for name in self.system.variable}, (*(step.footprint for step in steps), *footprints)
        )
        return {
            one.index: leaders[min(names)] if names else "" for one, names in zip(self.beliefs, footprints, strict=True)
        }

    def _path_to_all(self, drawn: int, packed: int, pending: frozenset[int]) -> bool:
        """Return whether unseen steps, and the outcomes themselves, bring about all of these outcomes.

        Receipts of what is in flight, or is such an outcome, are no hindrance while the other beliefs hold. After
        `MAX_JOINT_STATES` the answer is that they do.
        """
        steps = self.system.steps
        arriving = frozenset(steps[step].event for step, _ in self.enabled(packed) if step in self._own_receipts)
        bounds = {
            at: one.within - one.ticks_since_draw(drawn)
            for at in pending
            if (one := self.beliefs[at]).within is not None
        }
        new = [(packed, pending, arriving, 0)]
        visited = set(new)
        while new and len(visited) <= MAX_JOINT_STATES:
            state, missing, arriving, ticks = new.pop()
            if not missing:
                return True
            for step, target in self.enabled(state):
                later = ticks + (bool(bounds) and steps[step].kind == "tick")
                if any(later > bound for at, bound in bounds.items() if at in missing):
                    continue
                covering = [one for one in self._by_step.get(step, ()) if one.drawn(drawn) not in (IDLE, LOST)]
                outcomes = frozenset(one.index for one in covering)
                if self.is_own[step] and not covering:
                    continue
                if not outcomes <= missing and not outcomes.isdisjoint(pending):
                    continue
                if any(one.event_of.get(step) != one.drawn(drawn) - FIRST_OUTCOME for one in covering):
                    continue
                remaining = missing - outcomes
                is_receipt = step in self._own_receipts and steps[step].event in arriving
                is_unseen = not (target ^ state) & self.view_mask
                if (
                    covering
                    or is_unseen
                    or (is_receipt and all(self.beliefs[at].condition(target) for at in remaining))
                ):
                    node = target, remaining, arriving | {steps[step].event} if covering else arriving, later
                    if node not in visited:
                        visited.add(node)
                        new.append(node)
        return bool(new)

    def _waits_for_no(self, table: BeliefTable, waiting: Sequence[BeliefTable], state: int) -> bool:
        """Return whether the outcomes can come without messages of the other beliefs."""
        scope = self._scopes[table.index].beliefs
        near = [other for other in waiting if other is not table and other.index in scope]
        if not near:
            return True  # its outcomes can come, and steps outside of its scope have no influence
        rest = frozenset(step for other in near for step in other.event_of)
        blocked = self._blocks(state, table) | (rest - table.event_of.keys())
        events = [at for at in table.outcomes if not table.silent[at]]
        return all(self._can_come(table, at, state & self.system_mask, blocked) for at in events)

    def _record(self, state: int, due: Sequence[BeliefTable]) -> None:
        self.diagnostics.applied.update(table.index for table in due)
        agents = self.participant.beliefs
        for at, one in enumerate(due):
            for other in due[at + 1 :]:
                if agents[one.index].agent == agents[other.index].agent:
                    self.diagnostics.overlapping.setdefault((one.index, other.index), state)

    def _forced_on(self, state: int) -> list[Transition]:
        """Return the transitions after a draw: where only forced steps are possible, one of them is taken at once."""
        transitions = self._after_draw.get(state)
        if transitions is None:
            options = self._options(state)
            if options and all(kind == ActionKind.STEP for kind, _ in options):
                transitions = [each for _, events in options for _, several in events for each in several]
            else:
                transitions = [(NO_STEP, state)]
                self._unexpanded[state] = options
            self._after_draw[state] = transitions
        return transitions

    # --- moves

    def options(self, state: int) -> list[Option]:
        """Return the actions in a state; none where the run has ended."""
        options = self._unexpanded.pop(state, None)
        return self._options(state) if options is None else options

    def _options(self, state: int) -> list[Option]:
        mode = state >> self.mode_shift
        packed = state & self.system_mask
        steps = self._enabled_after_draws(state) if self._bounds else self.enabled(packed)
        if mode == Mode.STOPPED:
            return []
        if mode == Mode.OPEN and self.beliefs and (draw := self._draw(state)) is not None:
            return [draw]
        drawn = [(table, code - FIRST_OUTCOME) for table, code in self._drawn(state)]
        awaited = [(table, outcome) for table, outcome in drawn if outcome >= 0 and not table.silent[outcome]]
        clock_waits = self._has_bounded_beliefs and any(
            table.is_bounded(code) and table.ticks_since_draw(state) == table.within
            for table, code in self._drawn(state)
        )
        moves: list[tuple[int, int, bool]] = []
        refused: list[tuple[int, int, bool]] = []
        own: list[Transition] = []
        is_forbidden = False
        for step, target in steps:
            if clock_waits and self.system.steps[step].kind == "tick":
                continue
            forced = self.is_forced[step]
            blocked = is_outcome = False
            if drawn and step in self._by_step:
                covering = self._by_step[step]
                for table, outcome in drawn:
                    if table in covering and outcome != DROPPED:
                        is_outcome |= table.event_of.get(step) == outcome
                        blocked |= table.event_of.get(step) != outcome
            if self.is_own[step] and not is_outcome:
                if blocked:
                    continue
                allowed = self._allowed.get(step)
                if allowed is None or allowed(packed):
                    own.append((step, target))
                else:
                    is_forbidden = True
                continue
            move = step, target, forced or is_outcome
            if blocked or not self._all_can_come(state, step, target, awaited):
                refused.append(move)
            else:
                moves.append(move)
        if not moves and refused and awaited:
            moves = [(step, target, True) for step, target, _ in refused]
        if self.attitude == Attitude.STAYS_AWAY:
            own = []
        may_stop = not awaited and not any(forced for _, _, forced in moves)
        return self._actions(state, moves, own, may_stop, is_forbidden)

    def _all_can_come(self, state: int, step: int, target: int, awaited: Sequence[tuple[BeliefTable, int]]) -> bool:
        """Return whether the outcomes that are awaited can come after a step, on one path."""
        touched = self._touched[step]
        if self._has_bounded_beliefs:
            state = self._older(state, step)
        remaining = [(table, outcome) for table, outcome in awaited if step not in table.steps[outcome]]
        if not all(
            table.index not in touched
            or self._can_come(table, outcome, target, self._blocks(state, table), table.ticks_since_draw(state))
            for table, outcome in remaining
        ):
            return False
        if len({self._class_of[table.index] for table, _ in remaining}) == len(remaining):
            return True
        holding = [table for table, _ in remaining if table.condition(target)]
        if len(holding) < 2:
            return True
        for table in self._by_step.get(step, ()):
            if step in table.event_of and table.drawn(state) == table.event_of[step] + FIRST_OUTCOME:
                state = table.with_drawn(state, OVER)
        return self._come_together(state, target, holding)

    def _actions(
        self,
        state: int,
        moves: Sequence[tuple[int, int, bool]],
        own: Sequence[Transition],
        may_stop: bool,
        is_forbidden: bool,
    ) -> list[Option]:
        mode = state >> self.mode_shift
        options: list[Option] = [
            (ActionKind.STEP if forced else ActionKind.SEND, [(CERTAIN, [(step, self._after(state, step, target))])])
            for step, target, forced in moves
        ]
        if not own or mode == Mode.WAITED:
            if moves and may_stop:
                stopped = self._with_mode(state, Mode.STOPPED)
                options.append((ActionKind.SEND, [(CERTAIN, [(NO_STEP, stopped)])]))
            if not options and is_forbidden and self.diagnostics.stuck is None:
                self.diagnostics.stuck = state
            return options
        choices = [(CERTAIN, [(step, self._after(state, step, target))]) for step, target in own]
        waited = self._with_mode(state, Mode.WAITED if moves else Mode.STOPPED)
        choices.append((CERTAIN, [(NO_STEP, waited)]))
        options.append((ActionKind.CONTROLLED, choices))
        return options


def _bits(state: int, mask: int) -> int:
    """Return the bits of a mask, moved to the lowest place."""
    return (state & mask) >> (mask & -mask).bit_length() - 1 if mask else 0
