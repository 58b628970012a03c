"""Random runs of models in ISPL: each round is one that the definitions allow, and none is missing."""

from __future__ import annotations

import json
from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support.generators.ispl_models import Features, model
from tests.support.oracles.synchronous_model_checker import NaiveRounds

from cplc.compilation import IsplCompilation
from cplc.drawing.projected_graph import projected_rounds
from cplc.report.json_data import run_data
from cplc.simulation.interactive_session import choice_table
from cplc.simulation.random_walk import RoundSampler, draw, draw_initial_state
from cplc.simulation.rng import RandomSource
from cplc.simulation.run_replay import recording
from cplc.source import Source

_seeds = st.integers(0, 1_000_000)
_STATES = 400


def _compiled(seed: int) -> IsplCompilation:
    compilation = IsplCompilation(Source("random.ispl", model(Random(seed), Features(games=False), formulas=1)))
    assume(compilation.ok and not compilation.unverifiable)
    return compilation


@settings(max_examples=60)
@given(_seeds)
def test_random_run_replays_and_ends_where_nothing_changes(seed: int) -> None:
    compilation = _compiled(seed)
    system = compilation.system
    naive = NaiveRounds(system)
    assume(len(naive.rounds) <= _STATES)
    for bias in ("coverage", "uniform"):
        for drawn, statistics in draw(system, bias, None, seed=seed, runs=3, most=12, keep=3):
            assert drawn is not None
            assert tuple(drawn.run.start.values()) in naive.initial
            last = tuple(drawn.run.states[-1].values())
            is_final = {after for _, after in naive.rounds[last]} <= {last}
            assert drawn.ending == ("nothing" if is_final else "limit")
            assert is_final or drawn.length == 12
            (recorded,) = recording(json.dumps(run_data(system, drawn.run))).runs
            _, replayed = compilation.replay(recorded)
            assert replayed.misfit is None
            assert replayed.run == drawn.run
            assert statistics.steps == sum(count for _, count in statistics.taken) // len(system.players)


@settings(max_examples=40)
@given(_seeds)
def test_choices_lead_to_all_successors(seed: int) -> None:
    compilation = _compiled(seed)
    naive = NaiveRounds(compilation.system)
    assume(len(naive.rounds) <= _STATES)
    table, sampler = choice_table(compilation.system), RoundSampler(compilation.system)
    for state in sorted(naive.reachable, key=str)[:20]:
        here = naive.thaw(state)
        choices = table.choices(here)
        assert {(choice.move.actions, tuple(choice.move.state.values())) for choice in choices} == naive.rounds[state]
        for choice in choices[:10]:
            agents = (player.agent for player in compilation.system.players)
            named = table.named(", ".join(map(": ".join, zip(agents, choice.move.actions, strict=True))), here)
            assert choice in named
            assert {one.move.actions for one in named} == {choice.move.actions}
        drawn = sampler.draw(here, RandomSource(seed))
        assert (drawn is None) == (not choices)


@settings(max_examples=40)
@given(_seeds)
def test_initial_states_are_drawn_from_all(seed: int) -> None:
    system = _compiled(seed).system
    naive = NaiveRounds(system)
    assume(len(naive.initial) <= 4)
    dice = RandomSource(seed)
    drawn = [draw_initial_state(system, dice) for _ in range(200)]
    assert {tuple(state.values()) for state in drawn if state is not None} == set(naive.initial)
    for state in naive.initial:
        assert draw_initial_state(system, dice, naive.thaw(state)) == naive.thaw(state)


@settings(max_examples=30)
@given(_seeds)
def test_drawn_states_are_the_reachable_ones(seed: int) -> None:
    system = _compiled(seed).system
    naive = NaiveRounds(system)
    assume(len(naive.rounds) <= _STATES)
    graph = projected_rounds(system, [variable.name for variable in system.variables], None)
    assert graph.is_complete
    states = [tuple(projection.values()) for projection in graph.projections]
    assert set(states) == naive.rounds.keys()
    assert set(states[: graph.first]) == naive.initial
    successors = {(state, after) for state, rounds in naive.rounds.items() for _, after in rounds}
    assert {(states[source], states[target]) for source, _, target in graph.steps} == successors
    for agent in system.agents:
        local = projected_rounds(system, agent.local, agent.name)
        positions = [list(system.variable).index(name) for name in sorted(agent.local, key=list(system.variable).index)]
        views = {tuple(state[position] for position in positions) for state in naive.rounds}
        assert {tuple(projection.values()) for projection in local.projections} == views
