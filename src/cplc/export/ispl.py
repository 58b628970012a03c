"""Systems for MCMAS 1.3.

The environment keeps all variables and takes the steps: an action of its own names each, and `idle` changes nothing.
Each role is an agent that watches: it sees those variables that make up its local state. So knowledge is that of the
system, and there are as many reachable states.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final, TypeVar

from cplc.export.header import comment, header_lines
from cplc.export.identifiers import sanitized, unique_identifiers
from cplc.export.ispl_expressions import IDENTIFIERS, IDLE, Vocabulary
from cplc.export.ispl_formulas import ALWAYS, Ctl, CtlStar, FormulaNames, Unsaid, is_ctl, last_step_bits, with_observers
from cplc.export.ispl_specifications import ExportPlan, Specification, plan_export
from cplc.export.request import Export, ExportedFormula, Request
from cplc.export.templating import render
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.records import dataclass
from cplc.system.model import Step, System, Variable

K = TypeVar("K", bound=Hashable)

_WIDTH: Final = 120
_MAX_NAME_LETTERS: Final = 48
"""Names made of what is written in formulas are cut after this many letters."""


def export(request: Request) -> Export:
    """Return the system with everything asked of it that CTL* and knowledge can say."""
    planned = plan_export(request.system, request.formulas)
    file = _File(planned)
    translated, left_out = [], list(planned.left_out)
    for one in planned.asked:
        try:
            translated.append((one, file.formula(one)))
        except Unsaid as problem:
            left_out.append(f"`{one.question.name}`, for it has {problem}")
    text = render(
        "ispl.j2",
        header=header_lines(request, _remarks(file), left_out),
        idle=IDLE,
        observed=file.observed(),
        groups=list(file.variables()),
        steps=[(s.name, file.vocabulary.steps[s.name], file.vocabulary.text(s.guard)) for s in file.system.steps],
        evolution=list(file.evolution()),
        agents=list(file.agents()),
        propositions=list(file.evaluation(any(re.search(rf"\b{ALWAYS}\b", text) for _, text in translated))),
        initial=list(file.initial()),
        coalitions=list(file.coalitions()),
        fairness=[(what, file.said.propositions[holds]) for what, holds in planned.fairness_section],
        formulas=[(remarks_on(one.question), text) for one, text in translated] or [(["nothing is asked"], ALWAYS)],
        comment=comment,
        wrap=wrap,
    )
    return Export(text, tuple(left_out), comment="--", written=tuple(one.question.name for one, _ in translated))


@dataclass(frozen=True)
class _File:
    """Everything in the file, by name."""

    planned: ExportPlan

    @cached_property
    def bits(self) -> dict[str, frozenset[str]]:
        """What is set while the step taken last is one of these."""
        specifications = self.planned.asked
        parts = (part for one in specifications for part in f.subformulas(one.formula) if isinstance(part, f.Atom))
        read = frozenset().union(*(e.reads(part.condition) for part in parts))
        bits = last_step_bits((one.question.formula for one in specifications), self.planned.system)
        return {bit: steps for bit, steps in bits.items() if bit in read}

    @cached_property
    def system(self) -> System:
        """The system with everything that the file has besides."""
        system = self.planned.system
        bits = tuple(Variable(bit, (False, True), (False,), "parity", "Env", bit) for bit in self.bits)
        system = with_observers((one.question.formula for one in self.planned.asked), system)
        return replace(system, variables=(*system.variables, *bits) or (_DUMMY_VARIABLE,))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.system)

    @cached_property
    def _conditions(self) -> dict[Expr, str]:
        """What propositions stand for, each with a text to remind of it."""
        parts = (part for one in self.planned.asked for part in f.subformulas(one.formula))
        texts = {part.condition: part.text for part in parts if isinstance(part, f.Atom)}
        assumptions = (("fairness", holds) for one in self.planned.asked for holds in one.assumptions)
        for what, holds in (*self.planned.fairness_section, *assumptions):
            texts.setdefault(holds, what if what == "fairness" else f"fair to {what}")
        return texts

    @cached_property
    def _coalitions(self) -> dict[frozenset[str], str]:
        parts = (part for one in self.planned.asked for part in f.subformulas(one.formula))
        epistemic = (part for part in parts if isinstance(part, f.Knows))
        groups = (part.agents for part in epistemic if part.mode != "each" or len(part.agents) > 1)
        return {frozenset(group): " and ".join(group) for group in groups}

    @cached_property
    def said(self) -> FormulaNames:
        propositions = abbreviated_names(self._conditions, self.vocabulary.taken)
        taken = (*self.vocabulary.taken, *propositions.values())
        return FormulaNames(propositions, self.vocabulary.agents, abbreviated_names(self._coalitions, taken))

    def formula(self, specification: Specification) -> str:
        if specification.assumptions or not is_ctl(specification.formula):
            return (
                f"CTL* {CtlStar(self.said, self.planned.system, specification.assumptions).text(specification.formula)}"
            )
        return Ctl(self.said).text(specification.formula)

    # --- what the template prints

    def observed(self) -> list[tuple[str, str]]:
        """Return what everybody sees, name and type."""
        selector = (v for v in self.system.variables if v.name == self.planned.assuming)
        return [(self.vocabulary.variables[v.name], self.vocabulary.type_of(v)) for v in selector]

    def variables(self) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
        declared = [variable for variable in self.system.variables if variable.name != self.planned.assuming]
        for owner in dict.fromkeys(variable.owner for variable in declared):
            owned = (variable for variable in declared if variable.owner == owner)
            names = self.vocabulary.variables
            yield (
                owner,
                [(variable.name, names[variable.name], self.vocabulary.type_of(variable)) for variable in owned],
            )

    def evolution(self) -> Iterator[tuple[str, str]]:
        """Yield each assignment and when it is made: for each variable one that applies, if any does."""
        for variable in self.system.variables:
            for step in self.system.steps:
                for value, condition in self._assigned(variable, step):
                    taken = f"Action = {self.vocabulary.steps[step.name]}"
                    yield (
                        f"{self.vocabulary.variables[variable.name]} = {value}",
                        f"{taken} and ({condition})" if condition else taken,
                    )
        for bit, steps in self.bits.items():
            name = self.vocabulary.variables[bit]
            taken = " or ".join(f"Action = {text}" for step, text in self.vocabulary.steps.items() if step in steps)
            if taken:
                yield f"{name} = true", taken
                yield f"{name} = false", f"!({taken})"

    def _assigned(self, variable: Variable, step: Step) -> Iterator[tuple[str, str | None]]:
        if variable.name in step.free:
            yield from ((self.vocabulary.value(value), None) for value in variable.initial)
            return
        for name, value in step.updates:
            if name == variable.name:
                yield from self.vocabulary.assigned(variable, value)

    def agents(self) -> Iterator[tuple[str, str, list[str]]]:
        for agent in self.system.agents:
            yield agent.name, self.vocabulary.agents[agent.name], [self.vocabulary.variables[v] for v in agent.local]

    def evaluation(self, always: bool) -> Iterator[tuple[str, str, str]]:
        """Yield the propositions; there must be one."""
        if always or not self.said.propositions:
            yield "true", ALWAYS, self.vocabulary.text(e.TRUE, "Environment.")
        for condition, name in self.said.propositions.items():
            yield self._conditions[condition], name, self.vocabulary.text(condition, "Environment.")

    def initial(self) -> Iterator[str]:
        for variable in self.system.variables:
            name = f"Environment.{self.vocabulary.variables[variable.name]}"
            values = " or ".join(f"{name} = {self.vocabulary.value(value)}" for value in variable.initial)
            yield values if len(variable.initial) == 1 else f"({values})"

    def coalitions(self) -> Iterator[tuple[str, list[str]]]:
        for group, name in self.said.coalitions.items():
            yield name, [text for agent, text in self.vocabulary.agents.items() if agent in group]


_DUMMY_VARIABLE: Final = Variable("nothing", (False, True), (False,), "own", "Env", "nothing")
"""For a system without variables; MCMAS wants one."""


def abbreviated_names(texts: Mapping[K, str], taken: Iterable[str]) -> dict[K, str]:
    """Return a name for each key that reminds of its text."""
    used = list(taken)
    names: dict[K, str] = {}
    for key, text in texts.items():
        stem = sanitized(text)[:_MAX_NAME_LETTERS].rstrip("_")
        (names[key],) = unique_identifiers([stem], IDENTIFIERS, used).values()
        used.append(names[key])
    return names


def wrap(text: str) -> str:
    """Break it into lines that can be read: before connectives and after commas."""
    protected = re.sub(r"(?<!,) (?!(?:and|or|->|U|if|:) )", "\xa0", text)
    lines = textwrap.fill(
        protected,
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="      ",
        break_on_hyphens=False,
        break_long_words=False,
    )
    return lines.replace("\xa0", " ")


def _remarks(file: _File) -> Iterator[str]:
    names = file.vocabulary.variables
    yield (
        f"The environment keeps all variables and takes all steps; with the action `{IDLE}`, possible in every state, "
        "nothing changes. Each agent sees the variables of its own local state, and nothing else."
    )
    assuming = file.planned.assuming
    copies = len(file.system.variable[assuming].domain) if assuming is not None else 1
    bits = [names[bit] for bit in (*file.planned.bits, *file.bits)]
    if assuming is not None:
        yield (
            f"`{names[assuming]}` says which roles are assumed to keep going. It never changes, everybody sees it, and "
            "each question concerns the runs on which it says what the question assumes."
        )
    if bits:
        yield f"Nobody sees {', '.join(bits)}, and no step asks for them. They only keep what was done."
    multiple = "as many" if copies == 1 else f"{copies} times as many"
    yield (
        f"There are {multiple} reachable states as in the system"
        + (", and more, for those bits tell states apart." if bits else ".")
    )


def remarks_on(question: ExportedFormula) -> list[str]:
    """Return what stands above a formula."""
    return [
        f"{question.name}: {question.text}",
        *([f"assuming {', '.join(sorted(question.assuming))}"] if question.assuming else []),
        *([f"expected: it {question.expected}"] if question.expected else []),
    ]
