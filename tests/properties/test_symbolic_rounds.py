"""Symbolic rounds against the interpreter, on small random synchronous systems."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.logic_formulas import Logic, quantified
from tests.support.generators.synchronous_systems import adjacent, synchronous_systems
from tests.support.generators.systems import atoms
from tests.support.random_examples import examples

from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.engines.symbolic.reachability import BUDGET
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.system.interpreter import Interpreter, Key, holds, key
from cplc.system.model import State, System

_LOGIC = Logic(taken=False, games=False, social=False, bound=2, depth=1, weight=3)
Keys = frozenset[Key]


class _Plain:
    """The reachable states and all rounds between them; CTL by its fixpoints."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.interpreter = Interpreter(system)
        self.states: dict[Key, State] = {}
        self.rounds: dict[Key, list[tuple[tuple[str, ...], Key]]] = {}
        self.initial = frozenset(map(key, self.interpreter.initial_states()))
        reachable = list(self.interpreter.initial_states())
        while reachable:
            state = reachable.pop()
            if key(state) in self.states:
                continue
            self.states[key(state)] = state
            made = self.rounds[key(state)] = []
            for actions in self.interpreter.rounds(state):
                for target in self.interpreter.after_round(state, actions):
                    made.append((actions, key(target)))
                    reachable.append(target)

    @cached_property
    def everywhere(self) -> Keys:
        return frozenset(self.states)

    def before(self, goal: Keys) -> Keys:
        return frozenset(one for one, made in self.rounds.items() if any(to in goal for _, to in made))

    def after(self, states: Keys) -> Keys:
        return frozenset(to for one in states for _, to in self.rounds[one])

    def fair(self, keep: Keys) -> Keys:
        """Return from where a run stays there forever and meets all conditions: Emerson and Lei."""
        conditions = [self._where(condition) for condition in self.system.fairness]

        def smaller(z: Keys) -> Keys:
            z = z & self.before(z)
            for condition in conditions:
                z = z & self.until(z, z & condition & self.before(z))
            return z

        return _fixpoint(keep, smaller)

    def until(self, through: Keys, goal: Keys) -> Keys:
        return _fixpoint(goal, lambda z: z | (through & self.before(z)))

    def _where(self, condition: object) -> Keys:
        return frozenset(one for one, state in self.states.items() if holds(condition, state))  # type: ignore[arg-type]

    def satisfying(self, formula: Formula) -> Keys:
        """Decide atoms, CTL over them, what one agent knows, and what is adjacent."""
        everywhere = self.everywhere
        ends = self.fair(everywhere) if self.system.fairness else everywhere
        match formula:
            case f.Atom(condition):
                return self._where(condition)
            case f.Not(operand):
                return everywhere - self.satisfying(operand)
            case f.OnPaths("A", f.Until(left, right)):
                p, q = self.satisfying(left), self.satisfying(right)
                missing = everywhere - q
                return everywhere - self.until(missing, missing - p & ends) - self.fair(missing)
            case f.OnPaths("A", f.Next(operand)):
                return everywhere - self.before(ends - self.satisfying(operand))
            case f.OnPaths("A", f.Finally(operand)):
                return everywhere - self.fair(everywhere - self.satisfying(operand))
            case f.OnPaths("A", f.Globally(operand)):
                return everywhere - self.until(everywhere, ends - self.satisfying(operand))
            case f.OnPaths("E", f.Next(operand)):
                return self.before(self.satisfying(operand) & ends)
            case f.OnPaths("E", f.Finally(operand)):
                return self.until(everywhere, self.satisfying(operand) & ends)
            case f.OnPaths("E", f.Globally(operand)):
                return self.fair(self.satisfying(operand))
            case f.OnPaths("E", f.Until(left, right)):
                return self.until(self.satisfying(left), self.satisfying(right) & ends)
            case f.And(operands):
                return everywhere.intersection(*map(self.satisfying, operands))
            case f.Knows("each", (agent,), operand):
                doubts = {self._look(one, agent) for one in ends - self.satisfying(operand)}
                return frozenset(one for one in everywhere if self._look(one, agent) not in doubts)
            case f.Adjacent(operand, same, choice, back):
                return self._adjacent(self.satisfying(operand) & ends, same, choice, back=back)
            case _:
                raise AssertionError(formula)

    def _look(self, state: Key, agent: str) -> tuple[object, ...]:
        return tuple(self.states[state][name] for name in self.system.agent[agent].local)

    def _adjacent(
        self, goal: Keys, same: Iterable[tuple[str, str]], choice: tuple[str, str] | None, *, back: bool
    ) -> Keys:
        players = [player.choice for player in self.system.players]
        adjacent = set()
        for one, made in self.rounds.items():
            for actions, to in made:
                agree = all(self.states[one][x] == self.states[to][y] for x, y in same)
                if agree and (choice is None or actions[players.index(choice[0])] == choice[1]):
                    here, target = (to, one) if back else (one, to)
                    if target in goal:
                        adjacent.add(here)
        return frozenset(adjacent)


def _fixpoint(first: Keys, step: Callable[[Keys], Keys]) -> Keys:
    before, current = None, first
    while current != before:
        before, current = current, step(current)
    return current


def _agree(plain: _Plain, engine: SymbolicEngine, states: Keys, diagram: Node) -> bool:
    return engine.count(diagram) == len(states) and all(engine.contains(diagram, plain.states[one]) for one in states)


def _simple(system: System) -> st.SearchStrategy[Formula]:
    atom = atoms(system)
    path = st.one_of(
        *(st.builds(operator, atom) for operator in (f.Next, f.Finally, f.Globally)), st.builds(f.Until, atom, atom)
    )
    agent = st.tuples(st.sampled_from([agent.name for agent in system.agents]))
    return st.one_of(
        agent.flatmap(
            lambda one: st.lists(st.builds(f.Knows, st.just("each"), st.just(one), atom), min_size=1, max_size=3)
        ).map(lambda parts: f.And(tuple(parts))),
        st.builds(f.OnPaths, st.sampled_from("AE"), path),
        atom.flatmap(lambda operand: adjacent(system, operand)),
    )


@examples(60)
@given(synchronous_systems(), st.sampled_from((0, BUDGET)), st.data())
def test_images_of_rounds_match_interpreter(system: System, budget: int, data: st.DataObject) -> None:
    assert list(system.problems()) == []
    plain, engine = _Plain(system), SymbolicEngine(system, budget=budget)
    assert _agree(plain, engine, plain.everywhere, engine.reachable)
    assert _agree(plain, engine, plain.initial, engine.initial)
    for _ in range(4):
        formula = data.draw(_simple(system))
        diagram = engine.satisfying(formula)
        assert _agree(plain, engine, plain.satisfying(formula), diagram)
        assert _agree(plain, engine, plain.after(plain.satisfying(formula)), engine.successors(diagram))
        assert _agree(plain, engine, plain.before(plain.satisfying(formula)), engine.predecessors(diagram))


@examples(40)
@given(st.data())
def test_laws_and_tableau_agree_on_rounds(data: st.DataObject) -> None:
    """Formulas on infinite runs have the same value whether they are decomposed or not."""
    system = data.draw(synchronous_systems())
    engine = SymbolicEngine(system)
    formula = data.draw(quantified(system, _LOGIC).filter(lambda one: f.ctl_path(one) is None))
    assert engine.satisfying(formula) == engine.by_tableau(formula)
