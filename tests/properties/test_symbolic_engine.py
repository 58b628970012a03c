"""The symbolic engine against the explicit one, on random systems, with all options and backends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.systems import (
    conditions_over,
    formulas,
    roles,
    some_channels,
    systems,
)
from tests.support.oracles.model_checker import Naive
from tests.support.random_examples import examples

from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.engines.symbolic.reachability import BUDGET
from cplc.engines.symbolic.transitions import MAX_VARIANTS
from cplc.logic.formulas import state_subformulas
from cplc.system.model import State, System

# All steps as relations; most of them; none that need not be. Always among the reachable states only; never.
WAYS = [
    pytest.param(variants, budget, id=f"{variants} variants, budget {budget}")
    for variants in (0, 1, MAX_VARIANTS)
    for budget in (0, BUDGET)
]


class _Two:
    """Both engines on one system."""

    def __init__(
        self, system: System, *, variants: int = MAX_VARIANTS, budget: int = BUDGET, backend: str | None = None
    ):
        self.explicit = ExplicitEngine(system)
        self.symbolic = SymbolicEngine(system, backend, variants=variants, budget=budget)
        oracle = Naive(system)
        self.states: list[State] = [oracle.thaw(state) for state in oracle.reachable]

    def agree(self, one: bytes, other: Node) -> bool:
        explicit, symbolic = self.explicit, self.symbolic
        return explicit.count(one) == symbolic.count(other) and all(
            explicit.is_empty(explicit.intersection(one, explicit.singleton(state)))
            == symbolic.is_empty(symbolic.intersection(other, symbolic.singleton(state)))
            for state in self.states
        )


@pytest.mark.parametrize(("variants", "budget"), WAYS)
@examples(25)
@given(st.data())
def test_satisfying_states_match_explicit_engine(variants: int, budget: int, data: st.DataObject) -> None:
    system = data.draw(systems())
    two = _Two(system, variants=variants, budget=budget)
    formula, assuming = data.draw(formulas(system)), data.draw(roles(system))
    assert two.agree(two.explicit.reachable, two.symbolic.reachable)
    assert two.agree(two.explicit.initial, two.symbolic.initial)
    for part in reversed(list(state_subformulas(formula))):
        assert two.agree(two.explicit.satisfying(part, assuming), two.symbolic.satisfying(part, assuming))
    assert two.explicit.is_valid(formula, assuming) == two.symbolic.is_valid(formula, assuming)


@pytest.mark.parametrize(("variants", "budget"), WAYS[::2])
@examples(25)
@given(st.data())
def test_images_and_indistinguishability_match_explicit_engine(variants: int, budget: int, data: st.DataObject) -> None:
    system = data.draw(systems())
    two = _Two(system, variants=variants, budget=budget)
    condition = data.draw(conditions_over(system.variables))
    some = data.draw(
        st.frozensets(st.integers(0, len(system.steps) - 1)) if system.steps else st.just(frozenset[int]())
    )
    one, other = two.explicit.where(condition), two.symbolic.where(condition)
    assert two.agree(one, other)
    for steps in (None, some):
        assert two.agree(two.explicit.successors(one, steps), two.symbolic.successors(other, steps))
        assert two.agree(two.explicit.predecessors(one, steps), two.symbolic.predecessors(other, steps))
    names = [agent.name for agent in system.agents]
    for name in names:
        assert two.agree(two.explicit.indistinguishable((name,), one), two.symbolic.indistinguishable((name,), other))
    for channel in some_channels(system):
        assert two.agree(two.explicit.agreeing(channel.promised, one), two.symbolic.agreeing(channel.promised, other))


@pytest.mark.parametrize("backend", ["dd.cudd", "dd.autoref"])
@examples(15)
@given(st.data())
def test_backends_agree(backend: str, data: st.DataObject) -> None:
    pytest.importorskip(backend)
    system = data.draw(systems())
    two = _Two(system, backend=backend)
    formula, assuming = data.draw(formulas(system)), data.draw(roles(system))
    assert two.agree(two.explicit.satisfying(formula, assuming), two.symbolic.satisfying(formula, assuming))


@given(st.data())
def test_pick_is_deterministic_member(data: st.DataObject) -> None:
    system = data.draw(systems())
    condition = data.draw(conditions_over(system.variables))
    picked = []
    for _ in range(2):
        engine = SymbolicEngine(system)
        states = engine.where(condition)
        if engine.is_empty(states):
            with pytest.raises(ValueError, match="empty"):
                engine.pick(states)
            return
        state = engine.pick(states)
        assert engine.count(engine.intersection(engine.singleton(state), states)) == 1
        picked.append(state)
    assert picked[0] == picked[1]
