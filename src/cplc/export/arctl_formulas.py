"""State formulas in ARCTL, as the NuSMV reads them that was extended with it.

Inputs label transitions: `RELATION` says whether a transition is one in time, one between states that look alike to
somebody, or one between states in which one agent promises another the same. The latter lead anywhere, so ``REACHABLE``
stands below them. Below operators of time it changes nothing, since time leads from reachable states to reachable
ones, but it spares the tool all the others, which are what takes its time. Everything is said by ``EAX``,
``EA[… U …]``, ``EAG`` and negation: ``AAX`` is not the dual of ``EAX`` there, for it asks for a successor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cplc.export.fairness import needs_fairness
from cplc.export.smv_expressions import IDLE, STEP, Vocabulary
from cplc.export.smv_formulas import Unsaid, boolean, short, what_is
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.records import dataclass

RELATION: Final = "relation"
TIME: Final = f"{RELATION} = time"


@dataclass(frozen=True, slots=True)
class Looks:
    """Between states that look alike to all of these agents together."""

    agents: tuple[str, ...]

    @property
    def label(self) -> str:
        return "looks_" + "_".join(self.agents)


@dataclass(frozen=True, slots=True)
class Agrees:
    """Between states in which the debtor's end of a channel is the same."""

    observed: tuple[Expr, ...]
    observer: str

    @property
    def label(self) -> str:
        return f"promises_{self.observer}"


Relation = Looks | Agrees


def relations(formula: Formula) -> Iterator[Relation]:
    """Yield every relation, besides time, that the formula speaks of."""
    for part in f.subformulas(formula):
        match part:
            case f.Knows("together", agents, _):
                yield Looks(agents)
            case f.Knows(_, agents, _):
                yield from (Looks((agent,)) for agent in agents)
            case f.Commits(channel) | f.Fulfils(channel):
                yield Agrees(channel.promised, channel.name)
            case f.KnownFrom(observed, _, observer):
                yield Agrees(observed, observer)
            case f.Conditional():
                yield from relations(f.meaning(part))
            case _:
                pass


@dataclass(frozen=True, slots=True)
class Arctl:
    vocabulary: Vocabulary
    labels: dict[Relation, str]

    def text(self, formula: Formula) -> str:
        """Return the formula, in brackets unless it is one word or a negation; raise `Unsaid`."""
        match formula:
            case f.Atom(condition, _):
                return self.vocabulary.text(condition)
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return boolean(formula, map(self.text, f.children(formula)), self.vocabulary)
            case f.OnPaths():
                return short(f"({self._on_paths(formula)})")
            case _ if self.vocabulary.system.fairness:
                raise Unsaid(f"{what_is(formula)}, which the tool asks of fair states alone")
            case f.Knows("common", agents, operand):
                anybody = " | ".join(self._along(Looks((agent,))) for agent in agents)
                return f"!EA({anybody})[{_REACHABLE} U {self._not_so(operand)}]"
            case f.Knows("together", agents, operand):
                return self._everywhere(Looks(agents), operand)
            case f.Knows(_, agents, operand):
                everybody = [self._everywhere(Looks((agent,)), operand) for agent in agents]
                return everybody[0] if len(everybody) == 1 else short(f"({' & '.join(everybody)})")
            case f.Commits() | f.Fulfils() | f.Conditional():
                return self.text(f.meaning(formula))
            case f.KnownFrom(observed, operand, observer):
                return self._everywhere(Agrees(observed, observer), operand)
            case _:
                raise Unsaid(what_is(formula))

    # --- relations

    def _everywhere(self, relation: Relation, operand: Formula) -> str:
        return f"!(EAX({self._along(relation)}) {self._not_so(operand)})"

    def _not_so(self, operand: Formula) -> str:
        return short(f"({_REACHABLE} & !{self.text(operand)})")

    def _along(self, relation: Relation) -> str:
        return f"{RELATION} = {self.labels[relation]}"

    # --- time

    def _on_paths(self, formula: f.OnPaths) -> str:
        path = f.ctl_path(f.OnPaths(formula.quantifier, formula.path))
        if path is None and f.is_state_formula(formula.path):
            link = "->" if formula.quantifier == "A" else "&"
            return f"(EAG({TIME}) {self.vocabulary.dialect.true}) {link} {self.text(formula.path)}"
        if path is None:
            raise Unsaid("more than one temporal operator below a quantifier over runs")
        if formula.along is None:
            return self._path(formula.quantifier, path, TIME)
        if needs_fairness(self.vocabulary.system, f.OnPaths(formula.quantifier, path)):
            raise Unsaid("something said of endless runs with some steps alone, to which another fairness belongs")
        return self._path(formula.quantifier, path, f"{TIME} & {self._allowed(formula.along)}")

    def _allowed(self, along: f.Taken) -> str:
        steps = self.vocabulary.steps
        names = [IDLE, *(steps[name] for name in steps if name in along.steps)]
        return f"({' | '.join(f'{STEP} = {name}' for name in names)})"

    def _path(self, quantifier: str, path: f.Path, along: str) -> str:
        match path:
            case f.Next(operand) if quantifier == "E":
                return self._next(self.text(operand), along)
            case f.Next(operand):
                return f"!({self._next(f'!{self.text(operand)}', along)})"
            case f.Finally(operand, None) if quantifier == "E":
                return self._until(_REACHABLE, self.text(operand), along)
            case f.Finally(operand, None):
                return f"!({self._for_ever(f'!{self.text(operand)}', along)})"
            case f.Globally(operand, None) if quantifier == "E":
                return self._for_ever(self.text(operand), along)
            case f.Globally(operand, None):
                return f"!{self._until(_REACHABLE, f'!{self.text(operand)}', along)}"
            case f.Until(left, right, None):
                one, other = self.text(left), self.text(right)
                if quantifier == "E":
                    return self._until(one, other, along)
                return f"!({self._weak(f'!{other}', f'(!{one} & !{other})', along)})"
            case f.WeakUntil(left, right):
                one, other = self.text(left), self.text(right)
                if quantifier == "E":
                    return self._weak(one, other, along)
                return f"!{self._until(f'!{other}', f'(!{one} & !{other})', along)}"
            case f.Release(left, right):
                one, other = self.text(left), self.text(right)
                if quantifier == "E":
                    return self._weak(other, f"({one} & {other})", along)
                return f"!{self._until(f'!{one}', f'!{other}', along)}"
            case f.Finally(operand, int() as bound):
                return self._bounded(quantifier, self.vocabulary.dialect.true, self.text(operand), bound, along)
            case f.Until(left, right, int() as bound):
                return self._bounded(quantifier, self.text(left), self.text(right), bound, along)
            case f.Globally(operand, int() as bound):
                other = "A" if quantifier == "E" else "E"
                broken = f"!{self.text(operand)}"
                return f"!{self._bounded(other, self.vocabulary.dialect.true, broken, bound, along)}"
            case _:
                raise AssertionError(path)

    def _next(self, operand: str, along: str) -> str:
        return f"EAX({along}) {self._goes_on(operand)}"

    def _until(self, left: str, right: str, along: str) -> str:
        within = left if left == _REACHABLE else f"({_REACHABLE} & {left})"
        return f"EA({along})[{within} U ({_REACHABLE} & {self._goes_on(right)})]"

    def _weak(self, left: str, right: str, along: str) -> str:
        return f"{self._until(left, right, along)} | ({self._for_ever(left, along)})"

    def _for_ever(self, operand: str, along: str) -> str:
        return f"EAG({along}) ({_REACHABLE} & {operand})"

    def _bounded(self, quantifier: str, left: str, right: str, bound: int, along: str) -> str:
        """Return the until of so many steps, written out."""
        text = self._goes_on(right) if quantifier == "E" else right
        last = text
        for _ in range(bound):
            later = f"EAX({along}) {self._goes_on(text)}"
            if quantifier == "A":
                later = f"!(EAX({along}) {self._goes_on(f'!{text}')})"
            text = short(f"({last} | ({left} & ({later})))")
        return text

    def _goes_on(self, text: str) -> str:
        """Return that it is so and a fair run begins there, which without ``fairness`` is so everywhere."""
        if not self.vocabulary.system.fairness:
            return text
        return f"({text} & (EAG({TIME}) {self.vocabulary.dialect.true}))"


_REACHABLE: Final = f"REACHABLE({TIME})"
