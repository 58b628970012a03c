"""Comparison of all engines with the definitions, on random systems, protocols and ISPL models.

``python -m tests.agreement --pairs 20000 --seed 1`` draws systems with a formula of the whole logic each, protocols
with properties and models in ISPL with formulas, evaluates them with every engine in every state, and prints figures.
The oracles are ``model_checker.py`` (systems) and ``synchronous_model_checker.py`` (models) in
``tests/support/oracles``, and the interpreter in ``tests/reference`` (protocols). ``--only games`` compares the
strategic abilities of groups, mostly with uniform strategies, and ``strategy_validation.py`` plays each strategy that
an engine returns; ``--only decisions`` compares what participants with beliefs can guarantee with all their plans.
Hypothesis minimises a disagreement, which is printed as Python or as a file to verify; the run continues with other
examples.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass
from random import Random
from time import perf_counter
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.reference.decisions import NotAGame, TooManyPlans
from tests.reference.logic import begins
from tests.reference.logic import holds as holds_of_the_protocol
from tests.reference.semantics import Reference
from tests.reference.states import TooLarge
from tests.support.decision_verdicts import PLANS, POSITIONS, DecisionDisagreement, game_of, lines_for
from tests.support.decision_verdicts import compare as compare_decisions
from tests.support.every_engine import ENGINES
from tests.support.generators.decision_features import wide_games
from tests.support.generators.decision_games import decision_games
from tests.support.generators.imperfect_information import guessing_games, guessing_goals
from tests.support.generators.ispl_commitments import commitment_model
from tests.support.generators.ispl_models import Features, model
from tests.support.generators.logic_formulas import games, logic_formulas, operators
from tests.support.generators.property_formulas import Sample, protocols, strategic_protocols
from tests.support.generators.systems import roles, systems
from tests.support.generators.timed_protocols import divided_protocols, timed_protocols
from tests.support.oracles.games import TooManyStrategies
from tests.support.oracles.model_checker import Frozen, Naive, States
from tests.support.oracles.strategy_validation import strategy_mistakes
from tests.support.oracles.synchronous_model_checker import NaiveRounds
from tests.support.timed_verdicts import TimedDisagreement
from tests.support.timed_verdicts import compare as compare_timed

from cplc.checking.counterexamples import explain
from cplc.compilation import CplCompilation, EngineName, IsplCompilation, Strategies
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.interface import Engine
from cplc.engines.on_the_fly import engine as onthefly
from cplc.logic.formulas import Enforces, Formula, state_subformulas
from cplc.runtime.context import ResourceExhausted
from cplc.source import Source
from cplc.system.model import System

USUAL = ("explicit", "symbolic-oxidd", "onthefly")
"""The engines asked about every pair; the others are asked about one in ``RARELY``."""
RARELY = 20
BATCH = 100
"""Number of pairs for each seed; a disagreement ends a batch."""
STATES = 1500
"""Maximum number of states of a protocol here."""
ROUNDS = 300
"""And a model in ISPL, in which a state may have many rounds."""
GAME_STATES = 150
"""And a protocol or model whose games are compared."""
ROUND_GOALS = ("X p0", "F p1", "G p0", "F (p0 and p2)", "(p0 U p1)", "(!p1 U p2)", "X <h> F p1", "F <k> X p0")
FORMULAS = 4
"""Number of formulas for each protocol."""
MODALITIES = re.compile(r"\b[A-Z][A-Za-z]*(?=\()|<<")
"""Categories in which the formulas of protocols are counted."""
HOLDS = {"holds": True, "vacuous": True, "fails": False}


class Disagreement(AssertionError):
    """An engine says something else than the definitions."""


@dataclass
class Figures:
    """Counts of the comparisons so far."""

    pairs: int = 0
    formulas: int = 0
    """State formulas, the parts of others among them, each at every reachable state."""
    states: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self, who: str) -> Iterator[None]:
        begin = perf_counter()
        try:
            yield
        finally:
            self.seconds[who] += perf_counter() - begin  # type: ignore[assignment]

    def disagree(self, what: str) -> None:
        """Take it down, and say so at once: the run may not come to its end."""
        self.disagreements.append(what)
        sys.stdout.write(f"\n{what}\n")
        sys.stdout.flush()

    def lines(self) -> Iterator[str]:
        yield f"{self.pairs} pairs, {self.formulas} formulas at {self.states} states"
        for title, counted in (
            ("verdicts", self.verdicts),
            ("operators", self.operators),
            ("limits met", self.unknown),
        ):
            yield f"{title}: " + ", ".join(f"{name} {count}" for name, count in counted.most_common())
        yield "seconds: " + ", ".join(f"{name} {spent:.1f}" for name, spent in self.seconds.most_common())
        yield f"disagreements: {len(self.disagreements)}"


# --- systems


def set_of(engine: Engine[Any], engine_set: Any, oracle: Naive) -> States:
    """Return an engine's set as the oracle writes it."""
    return frozenset(state for state in oracle.reachable if engine.contains(engine_set, oracle.thaw(state)))


def answers(name: str, system: System, assuming: frozenset[str], oracle: Naive) -> Callable[[Formula], States]:
    """Return how one engine finds the states that satisfy a formula."""
    if name == "onthefly":
        local = onthefly.OnTheFlyEngine(system)
        return lambda formula: frozenset(
            state for state in oracle.reachable if local.holds(formula, oracle.thaw(state), assuming)
        )
    engine = ENGINES[name](system)
    return lambda formula: set_of(engine, engine.satisfying(formula, assuming), oracle)


def supports(name: str, formula: Formula) -> bool:
    return name != "onthefly" or onthefly.supports(formula)


def compare_system(
    system: System, formula: Formula, assuming: frozenset[str], engines: Collection[str], figures: Figures
) -> None:
    """Compare the values of every subformula at every reachable state, by the engines and the oracle."""
    oracle = (NaiveRounds if system.is_synchronous else Naive)(system)
    parts = list(dict.fromkeys(reversed(list(state_subformulas(formula)))))
    with figures.timed("definitions"):
        expected = [oracle.satisfying(part, assuming) for part in parts]
    for name in engines:
        with figures.timed(name):
            try:
                ask = answers(name, system, assuming, oracle)
            except ResourceExhausted:
                figures.unknown[name] += len(parts)
                continue
            for part, states in zip(parts, expected, strict=True):
                if supports(name, part):
                    try:
                        engine_states = ask(part)
                    except ResourceExhausted:
                        figures.unknown[name] += 1
                        continue
                    if engine_states != states:
                        raise Disagreement(reproducer(system, part, assuming, name, engine_states, states, oracle))
    figures.pairs += 1
    figures.formulas += len(parts)
    figures.states += len(oracle.reachable)
    figures.operators.update(operators(formula))
    figures.verdicts["holds" if oracle.initial & oracle.reachable <= expected[-1] else "fails"] += 1


def reproducer(
    system: System,
    formula: Formula,
    assuming: frozenset[str],
    engine: str,
    difference: States,
    expected: States,
    oracle: Naive,
) -> str:
    """Return a program that shows the disagreement, and its subject."""

    def shown(states: Collection[Frozen]) -> str:
        return "; ".join(str(oracle.thaw(state)) for state in sorted(states, key=repr)[:4]) or "nothing"

    return "\n".join(
        [
            f"{engine} finds besides: {shown(difference - expected)}",
            f"{engine} does not find: {shown(expected - difference)}",
            "from cplc.logic.expressions import *; from cplc.system import expr as e, formula as f",
            "from cplc.logic.formulas import *; from cplc.system.model import *; from cplc.system.synchronous import *",
            f"system = {_code(system)}",
            f"formula = {_code(formula)}",
            f"assuming = {assuming!r}",
        ]
    )


def _code(value: object) -> str:
    """Return an expression for a value; the classes of formulas hide those of expressions that are called alike."""
    match value:
        case tuple():
            return "(" + "".join(f"{_code(item)}, " for item in value) + ")"
        case _ if is_dataclass(value):
            module = {"cplc.logic.expressions": "e.", "cplc.logic.formulas": "f."}.get(type(value).__module__, "")
            names = [part.name for part in fields(value) if part.name != "span"]
            given = ", ".join(f"{name}={_code(getattr(value, name))}" for name in names)
            return f"{module}{type(value).__name__}({given})"
        case _:
            return repr(value)


# --- protocols


def compare_protocol(
    sample: Sample, engines: Collection[EngineName], figures: Figures, *, uniform: bool = False, limit: int = STATES
) -> bool:
    """Compare verdicts on every property; return whether the protocol was small enough, and never out of range."""
    strategies: Strategies = "uniform" if uniform else "full"
    compilation = CplCompilation(Source("generated.cpl", sample.text), strategies=strategies)
    errors = [diagnostic for diagnostic in compilation.diagnostics if diagnostic.is_error]
    if errors and all(error.code == "cyclic-condition" for error in errors):
        return False  # what is drawn may hand over in circles
    if not compilation.ok:
        raise Disagreement("\n".join([*(d.concise() for d in compilation.diagnostics), sample.text]))
    reference = Reference(compilation.model)
    try:
        graph = reference.explore(limit)
    except TooLarge:
        return False
    if reference.out_of_range:
        return False
    properties = compilation.model.properties
    with figures.timed("lowering"):
        questions = compilation.questions([declared.name for declared in properties])
    expected: dict[str, bool] = {}
    for declared in properties:
        with figures.timed("reference"):
            expected[declared.name] = holds_of_the_protocol(
                reference, graph, declared.formula, declared.assuming, uniform=uniform
            )
    for engine in engines:
        with figures.timed(f"{engine} verify"):
            results = list(compilation.verify(questions, engine))
        for declared, result in zip(properties, results, strict=True):
            if result.answer not in HOLDS:
                figures.unknown[f"{engine} verify: {result.reason}"] += 1
                if any(one.code == "no-fair-run" for one in result.remarks) and begins(
                    reference, graph, declared.assuming
                ):
                    raise Disagreement(f"{engine} finds no fair run for {declared.name}\n{sample.text}")
            elif HOLDS[result.answer] != expected[declared.name]:
                wrong = f"{engine} reports that {declared.name} {result.answer}"
                raise Disagreement(f"{wrong}\n{sample.text}")
    for declared, formula in zip(properties, sample.formulas, strict=True):
        figures.pairs += 1
        figures.formulas += 1
        figures.operators.update(set(MODALITIES.findall(formula)))
        figures.verdicts["protocol holds" if expected[declared.name] else "protocol fails"] += 1
    figures.states += len(graph.states)
    return True


# --- models in ISPL


def compare_model(text: str, engines: Collection[str], methods: Collection[EngineName], figures: Figures) -> bool:
    """Compare every formula at every state, and verdicts with their evidence; return whether it was small enough."""
    reading = IsplCompilation(Source("generated.ispl", text))
    if not reading.ok or reading.unverifiable:
        return False
    oracle = NaiveRounds(reading.system)
    if len(oracle.rounds) > ROUNDS:
        return False
    try:
        for question in reading.questions():
            compare_system(reading.system, question.question.formula, frozenset(), engines, figures)
        for method in methods:
            with figures.timed(f"{method} verify"):
                results = list(reading.verify(reading.questions(), method))
            for result in results:
                expected = oracle.initial & oracle.reachable <= oracle.satisfying(result.question.formula)
                if not oracle.initial & oracle.reachable and result.answer != "unknown":
                    raise Disagreement(f"{method} reports that {result.question.text} {result.answer} of no run")
                if result.answer not in HOLDS:
                    figures.unknown[f"{method} verify: {result.reason}"] += 1
                elif HOLDS[result.answer] != expected:
                    raise Disagreement(f"{method} reports that {result.question.text} {result.answer}")
                else:
                    figures.verdicts["model holds" if expected else "model fails"] += 1
    except Disagreement as apart:
        raise Disagreement(f"{apart}\n{text}") from None
    return True


# --- long runs


def run(compare: Callable[[st.DataObject], None], examples: int, number: int, figures: Figures) -> None:
    """Compare one batch; keep the smallest disagreement. What is compared while it is made smaller does not count."""
    counted: Figures | None = None

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(st.data())
    def batch(data: st.DataObject) -> None:
        nonlocal counted
        try:
            compare(data)
        except Exception:
            counted = counted or deepcopy(figures)
            raise

    wrong = ""
    try:
        batch()
    except Disagreement as apart:
        wrong = str(apart)
    except Exception as broken:
        wrong = "\n".join([repr(broken), *getattr(broken, "__notes__", ())])
    if counted is not None:
        vars(figures).update(vars(counted))
    if wrong:
        figures.disagree(wrong)


def systems_compared(
    figures: Figures, engines: Sequence[str], optional_engines: Sequence[str]
) -> Callable[[st.DataObject], None]:
    def compare(data: st.DataObject) -> None:
        system = data.draw(systems())
        formula, assuming = data.draw(logic_formulas(system)), data.draw(roles(system))
        more = optional_engines if figures.pairs % RARELY == RARELY - 1 else ()
        compare_system(system, formula, assuming, [*engines, *more], figures)

    return compare


def games_compared(figures: Figures, engines: Sequence[str]) -> Callable[[st.DataObject], None]:
    """Compare what groups can do on systems so small that every strategy can be tried."""
    engines = [name for name in engines if name != "onthefly"]

    def compare(data: st.DataObject) -> None:
        formula: Formula
        if data.draw(st.booleans()):
            system, formula = data.draw(guessing_games()), data.draw(guessing_goals())
        else:
            system = data.draw(systems(lifelike=True, states=24))
            formula = data.draw(games(system, uniform=data.draw(st.booleans())))
        compare_game(system, formula, engines, figures)

    return compare


def compare_game(system: System, formula: Formula, engines: Sequence[str], figures: Figures) -> None:
    """Compare a formula about a group at every state, and judge the strategies that show it at the initial ones."""
    with suppress(TooManyStrategies):
        compare_system(system, formula, frozenset(), engines, figures)
        oracle = (NaiveRounds if system.is_synchronous else Naive)(system)
        for name in engines:
            engine = ENGINES[name](system)
            for part in state_subformulas(formula):
                won = oracle.satisfying(part) if isinstance(part, Enforces) else frozenset()
                for state in sorted(oracle.initial & won, key=repr)[:3]:
                    evidence = explain(engine, part, oracle.thaw(state), True)
                    for mistake in strategy_mistakes(oracle, evidence):
                        raise Disagreement(
                            f"{mistake}: {evidence}\n"
                            + reproducer(system, part, frozenset(), name, frozenset(), frozenset(), oracle)
                        )
                    figures.verdicts[f"strategy for {evidence.scope}"] += 1


def protocol_games_compared(figures: Figures, engines: Sequence[str]) -> Callable[[st.DataObject], None]:
    """Compare what uniform strategies of groups can do in small protocols, families among them."""
    engines = [name for name in engines if name != "onthefly"]

    def compare(data: st.DataObject) -> None:
        compilation = CplCompilation(Source("generated.cpl", data.draw(protocols(formula_count=0)).text))
        with suppress(ResourceExhausted):
            if compilation.ok and ExplicitEngine(compilation.system, GAME_STATES).reachable:
                formula = data.draw(games(compilation.system, uniform=True))
                compare_game(compilation.system, formula, engines, figures)

    return compare


def strategic_protocols_compared(figures: Figures, engines: Sequence[EngineName]) -> Callable[[st.DataObject], None]:
    """Compare verdicts about uniform strategies with those of the reference interpreter, which lowers nothing."""
    methods = [name for name in engines if name != "onthefly"]

    def compare(data: st.DataObject) -> None:
        with suppress(TooManyStrategies):
            compare_protocol(data.draw(strategic_protocols()), methods, figures, uniform=True, limit=GAME_STATES)

    return compare


def round_games_compared(figures: Figures, engines: Sequence[str]) -> Callable[[st.DataObject], None]:
    """Compare what uniform strategies of groups can do in models in which all act together."""
    engines = [name for name in engines if name != "onthefly"]

    def compare(data: st.DataObject) -> None:
        text = model(Random(data.draw(st.integers(0, 2**32))), Features(fairness=False)).partition("Formulae")[0]
        group, goal = data.draw(st.sampled_from("ghk")), data.draw(st.sampled_from(ROUND_GOALS))
        text = f"{text}Formulae <{group}> {goal}; end Formulae"
        reading = IsplCompilation(Source("generated.ispl", text), strategies="uniform")
        if reading.ok and not reading.unverifiable and len(NaiveRounds(reading.system).rounds) <= GAME_STATES:
            for question in reading.questions():
                if isinstance(question.question.formula, Enforces):
                    compare_game(reading.system, question.question.formula, engines, figures)

    return compare


def timed_compared(figures: Figures, engines: Sequence[EngineName], count: int) -> Callable[[st.DataObject], None]:
    """Compare verdicts on timed protocols with those of the reference semantics of time."""

    def compare(data: st.DataObject) -> None:
        counts: Counter[str] = Counter()
        try:
            with figures.timed("time"):
                compare_timed(data.draw(timed_protocols(count) | divided_protocols(count)), engines, counts)
        except TimedDisagreement as apart:
            raise Disagreement(str(apart)) from None
        figures.pairs += count
        figures.states += counts.pop("states", 0)
        figures.verdicts.update(counts)

    return compare


def decisions_compared(figures: Figures) -> Callable[[st.DataObject], None]:
    """Compare what a participant can guarantee with the judge, which tries all plans of a small game."""

    def compare(data: st.DataObject) -> None:
        draft = data.draw(st.one_of(decision_games(), wide_games(), wide_games()))
        picks = data.draw(st.lists(st.integers(0, 1023), min_size=1, max_size=3))
        counts: Counter[str] = Counter()
        compilation = CplCompilation(Source("game.cpl", draft.text()))
        if not compilation.ok:
            return
        try:
            with figures.timed("decisions"), suppress(TooManyPlans, NotAGame):
                game = game_of(compilation.model, draft, limit=POSITIONS, plans=PLANS)
                compare_decisions(draft, lines_for(game, picks), counts)
        except DecisionDisagreement as apart:
            raise Disagreement(str(apart)) from None
        figures.pairs += counts.pop("games", 0)
        figures.verdicts.update(counts)

    return compare


def protocols_compared(
    figures: Figures, engines: Sequence[EngineName], count: int, commitments: bool
) -> Callable[[st.DataObject], None]:
    def compare(data: st.DataObject) -> None:
        has_groups = not data.draw(st.integers(0, 3))
        has_record = not has_groups and not data.draw(st.integers(0, 3))
        drawn = protocols(formula_count=count, commitments=commitments, has_groups=has_groups, has_record=has_record)
        compare_protocol(data.draw(drawn), engines, figures)

    return compare


def models_compared(
    figures: Figures, engines: Sequence[str], methods: Sequence[EngineName]
) -> Callable[[st.DataObject], None]:
    def compare(data: st.DataObject) -> None:
        chance = Random(data.draw(st.integers(0, 2**32)))
        text = commitment_model(chance)[0] if data.draw(st.booleans()) else model(chance, Features(games=False))
        compare_model(text, engines, methods, figures)

    return compare


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.agreement", description=__doc__)
    parser.add_argument("--pairs", type=int, default=2000, help="pairs of a system and a formula, or a property")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", nargs="*", default=list(USUAL), choices=[*ENGINES, "onthefly"])
    parser.add_argument("--only", choices=["systems", "protocols", "models", "games", "time", "decisions"])
    parser.add_argument("--formulas", type=int, default=FORMULAS, help="properties of each protocol")
    parser.add_argument("--commitments", action="store_true", help="properties about commitments only: C, Fu, SC, ...")
    options = parser.parse_args(arguments)
    figures = Figures()
    methods: tuple[EngineName, ...] = ("explicit", "symbolic", "onthefly")
    named = [method for method in methods if any(name.startswith(method) for name in options.engines)]
    batches = []
    if options.only in (None, "systems"):
        optional_engines = [name for name in ENGINES if name not in options.engines]
        batches.append((systems_compared(figures, options.engines, optional_engines), BATCH))
        batches.append((games_compared(figures, options.engines), BATCH // 5))
    if options.only in (None, "protocols"):
        batches.append((protocols_compared(figures, named, options.formulas, options.commitments), BATCH // 10))
    if options.only in (None, "time"):
        batches.append((timed_compared(figures, named, options.formulas), BATCH // 10))
    if options.only in (None, "models"):
        batches.append((models_compared(figures, options.engines, named), BATCH // 10))
    if options.only == "decisions":
        batches.append((decisions_compared(figures), BATCH))
    if options.only == "games":
        batches.append((games_compared(figures, options.engines), BATCH))
        batches.append((protocol_games_compared(figures, options.engines), BATCH))
        batches.append((strategic_protocols_compared(figures, named), BATCH))
        batches.append((round_games_compared(figures, options.engines), BATCH))
    number, begin = options.seed * 1_000_003, perf_counter()
    while figures.pairs < options.pairs:
        for compare, examples in batches:
            run(compare, examples, number, figures)
            number += 1
        spent, wrong = perf_counter() - begin, len(figures.disagreements)
        sys.stderr.write(f"\r{figures.pairs}/{options.pairs} pairs, {spent:.0f} s, {wrong} disagreements ")
        sys.stderr.flush()
    sys.stderr.write("\n")
    sys.stdout.write("\n".join(figures.lines()) + "\n")
    return 1 if figures.disagreements else 0


if __name__ == "__main__":
    raise SystemExit(main())
