"""Remarks on a verdict: vacuity, states that begin no fair run, commitments that are not kept.

The definitions are in `cplc.checking.vacuity`, `cplc.checking.realizability`, `cplc.checking.commitment_remarks` and
`cplc.checking.promise_conflicts`. They are evaluated on the reachable states of the system that decides the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from cplc.checking.engine_selector import EngineSelector, Part
from cplc.checking.realizability import Realizability, exclusion_remark
from cplc.checking.results import ExcludedStates, Question, Remark
from cplc.checking.vacuity import (
    Considered,
    Reachable,
    independent_atoms,
    not_serial,
    trivial_value,
    vacuous_implications,
)
from cplc.engines.interface import Engine
from cplc.logic.commitments import Commits, Conditional, Fulfils, SociallyCommits
from cplc.logic.expressions import Const, Read, conj, equal
from cplc.logic.formulas import And, Atom, Formula, Taken, subformulas
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import State
from cplc.system.trace import Evidence


@dataclass(frozen=True)
class _ReachableStates:
    """The reachable states of the reduced system that decides a formula."""

    selector: EngineSelector
    deciding: Formula
    assuming: frozenset[str]

    def occurs(self, formula: Formula) -> bool:
        return self.selector.occurs(formula, self.deciding, self.assuming)

    def example(self, formula: Formula) -> State | None:
        return self.selector.example(formula, self.deciding, self.assuming)


class Remarks:
    """The remarks on the verdict of one question."""

    def __init__(
        self,
        question: Question,
        selector: EngineSelector,
        realizability: Realizability,
        restrictions: Iterable[Taken | None],
    ) -> None:
        """``restrictions`` are those of the runs that the formula quantifies over, under fairness conditions."""
        self._question = question
        self._selector = selector
        self._realizability = realizability
        self._assuming = question.assuming
        self._restrictions = tuple(restrictions)

    def vacuous(self, parts: Sequence[Part]) -> tuple[Remark, ...]:
        """Return why the formula holds for a reason that its author hardly means, if it holds."""
        if self._question.kind not in {"property", "formula"}:
            return ()
        silent = tuple(
            Remark("over-nothing", f"there is nothing that `{quantifier}` ranges over")
            for quantifier in self._question.vacuous_quantifiers
        )
        constant = tuple(Remark("vacuous-implication", text) for text in self._question.constant_implications)
        considered = self._considered
        implications = self._remarks(parts, lambda met, formula: vacuous_implications(met, formula, considered))
        shown = (silent or constant) + self._along_nothing() + implications
        return shown or self.trivial(True)

    def trivial(self, value: bool) -> tuple[Remark, ...]:
        """Return the remark that the formula has this value in every protocol, if so."""
        if self._question.kind not in {"property", "formula"}:
            return ()
        if trivial_value(self._selector.system, self._question.formula) is not value:
            return ()
        return (Remark("trivial", f"the formula is {str(value).lower()} whatever the protocol does"),)

    def independent(self, parts: Sequence[Part]) -> Iterator[Remark]:
        """Yield the atoms that the property does not depend on."""
        if self._question.kind in {"property", "formula"}:
            texts = (
                text
                for part in parts
                for text in independent_atoms(
                    part.formula, lambda formula: self._selector.is_valid(formula, self._assuming)
                )
            )
            yield from (Remark("independent-atom", text) for text in dict.fromkeys(texts))

    def on_commitments(self, parts: Iterable[Part], *, holds: bool) -> tuple[Remark, ...]:
        """Return the remarks on the commitments in the formula."""
        kinds = Commits | Fulfils | Conditional
        social = [part for part in parts if any(isinstance(f, kinds) for f in subformulas(part.formula))]
        if not social:
            return ()
        from cplc.checking.commitment_remarks import contents_that_do_not_last, never_fulfilled

        whole = self._selector.system
        remarks = self._remarks(social, not_serial)
        for part in social:
            lost = contents_that_do_not_last(self._met, part.formula, whole)
            remarks += tuple(replace(remark, system=whole) for remark in lost if remark not in remarks)
        return remarks + (self._remarks(social, never_fulfilled) if holds else ())

    def on_conflicts(self, part: Part, evidence: Evidence | None) -> tuple[Remark, ...]:
        """Return the conflicts among promises that make a social commitment false."""
        if not any(isinstance(one, SociallyCommits) for one in subformulas(part.formula)):
            return ()
        from cplc.checking.promise_conflicts import conflicts_everywhere, conflicts_shown

        with suppress(ResourceExhausted):
            shown = () if evidence is None else tuple(conflicts_shown(part.formula, evidence, self._holds_in))
            everywhere = conflicts_everywhere(self._met(part.formula), part.formula, self._holds_in)
            return shown or tuple(replace(one, system=self._selector.system) for one in everywhere)
        return ()

    def excluding(self) -> tuple[tuple[Remark, ...], str | None]:
        """Return the remarks on reachable states without fair run, and the limit that left them open."""
        remarks: list[Remark] = []
        counted: set[int | None] = set()
        try:
            for along in sorted(self._restrictions, key=lambda along: along is not None):
                excluded = self._realizability.excluded(self._assuming, along)
                # A run along some steps is one of all steps: as many states are the same ones.
                if excluded is None or excluded.states in counted or (excluded.is_everywhere and along is not None):
                    continue
                counted |= {excluded.states} if along is None else set()
                remarks.append(exclusion_remark(excluded, along))
        except ResourceExhausted as limit:
            return tuple(remarks), f"whether a fair run begins in every reachable state was left open: {limit}"
        return tuple(remarks), None

    @property
    def _considered(self) -> Considered:
        """The reachable states that count for implications."""
        if None not in self._restrictions or self._excluded(None) is None:
            return "all"
        return "fair" if self._selector.system.excludes_unfair_states else "fair on runs"

    def _along_nothing(self) -> tuple[Remark, ...]:
        """Return the restrictions to steps under which no fair run begins anywhere."""
        excluded = ((along, self._excluded(along)) for along in self._restrictions if along is not None)
        return tuple(exclusion_remark(one, along) for along, one in excluded if one is not None and one.is_everywhere)

    def _excluded(self, along: Taken | None) -> ExcludedStates | None:
        """Return the states without fair run, if they are determined; `excluding` reports otherwise."""
        with suppress(ResourceExhausted):
            return self._realizability.excluded(self._assuming, along)
        return None

    def _remarks(
        self, parts: Iterable[Part], find: Callable[[Reachable, Formula], Iterator[Remark]]
    ) -> tuple[Remark, ...]:
        met = (_ReachableStates(self._selector, part.formula, self._assuming) for part in parts)
        remarks = (remark for reachable in met for remark in find(reachable, reachable.deciding))
        whole = self._selector.system
        return tuple({remark.message: replace(remark, system=whole) for remark in remarks}.values())

    def _met(self, deciding: Formula) -> _ReachableStates:
        return _ReachableStates(self._selector, deciding, self._assuming)

    def _holds_in(self, formula: Formula, state: State) -> bool:
        """Tell whether the formula holds in a reachable state, given by the variables of some component."""
        engine = self._selector.engine_for(formula)
        names = [name for name in engine.system.variable if name in state]
        here = conj(equal(Read(name), Const(state[name])) for name in names)
        if isinstance(engine, Engine):
            return not engine.is_empty(
                engine.intersection(engine.where(here), engine.satisfying(formula, self._assuming))
            )
        return engine.example(And((Atom(here, "this state"), formula)), self._assuming) is not None
