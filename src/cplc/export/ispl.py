"""Export of protocols to ISPL for MCMAS 1.3.

The environment owns all variables and takes all steps: one action for each step, and `idle`, which changes nothing.
Each role is a passive agent that observes the variables of its local state. So the indistinguishability relations and
the number of reachable states are those of the system.
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
from cplc.export.ispl_formulas import ALWAYS, Ctl, CtlStar, FormulaNames, is_ctl, last_step_bits, with_observers
from cplc.export.ispl_specifications import ExportPlan, Specification, plan_export
from cplc.export.request import Export, ExportedFormula, NotExpressible, Request
from cplc.export.templating import render
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.records import dataclass
from cplc.system.model import Step, System, Variable

K = TypeVar("K", bound=Hashable)

_WIDTH: Final = 120
_MAX_NAME_LETTERS: Final = 48
"""Maximum length of identifiers that are made from formulas."""


def export(request: Request) -> Export:
    """Return the model with the formulas that CTL* with knowledge can express."""
    planned = plan_export(request.system, request.formulas)
    file = _File(planned)
    translated, left_out = [], list(planned.left_out)
    for one in planned.specifications:
        try:
            translated.append((one, file.formula(one)))
        except NotExpressible as problem:
            left_out.append(f"`{one.question.name}`: {problem} cannot be expressed")
    texts = [text for _, text in translated] or [ALWAYS]
    text = render(
        "ispl.j2",
        header=header_lines(request, _remarks(file), left_out),
        idle=IDLE,
        observed=file.observed(),
        groups=list(file.variables()),
        steps=[(s.name, file.vocabulary.steps[s.name], file.vocabulary.text(s.guard)) for s in file.system.steps],
        evolution=list(file.evolution()),
        agents=list(file.agents()),
        propositions=list(file.evaluation(any(re.search(rf"\b{ALWAYS}\b", text) for text in texts))),
        initial=list(file.initial()),
        coalitions=list(file.coalitions()),
        fairness=[(what, file.formula_names.propositions[holds]) for what, holds in planned.fairness_section],
        formulas=[(remarks_on(one.question), text) for one, text in translated]
        or [(["no formula was exported"], ALWAYS)],
        comment=comment,
        wrap=wrap,
    )
    return Export(text, tuple(left_out), comment="--", written=tuple(one.question.name for one, _ in translated))


@dataclass(frozen=True)
class _File:
    """Content of the file, with identifiers."""

    planned: ExportPlan

    @cached_property
    def bits(self) -> dict[str, frozenset[str]]:
        """Bits that record whether the last step is one of these."""
        specifications = self.planned.specifications
        parts = (part for one in specifications for part in f.subformulas(one.formula) if isinstance(part, f.Atom))
        read = frozenset().union(*(e.reads(part.condition) for part in parts))
        bits = last_step_bits((one.question.formula for one in specifications), self.planned.system)
        return {bit: steps for bit, steps in bits.items() if bit in read}

    @cached_property
    def system(self) -> System:
        """The system with the auxiliary variables of the file."""
        system = self.planned.system
        bits = tuple(Variable(bit, (False, True), (False,), "parity", "Env", bit) for bit in self.bits)
        system = with_observers((one.question.formula for one in self.planned.specifications), system)
        return replace(system, variables=(*system.variables, *bits) or (_DUMMY_VARIABLE,))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.system)

    @cached_property
    def _conditions(self) -> dict[Expr, str]:
        """Conditions of the propositions, each with its original text."""
        parts = (part for one in self.planned.specifications for part in f.subformulas(one.formula))
        texts = {part.condition: part.text for part in parts if isinstance(part, f.Atom)}
        assumptions = (("fairness", holds) for one in self.planned.specifications for holds in one.assumptions)
        for what, holds in (*self.planned.fairness_section, *assumptions):
            texts.setdefault(holds, what if what == "fairness" else f"fair to {what}")
        return texts

    @cached_property
    def _coalitions(self) -> dict[frozenset[str], str]:
        parts = (part for one in self.planned.specifications for part in f.subformulas(one.formula))
        epistemic = (part for part in parts if isinstance(part, f.Knows))
        groups = (part.agents for part in epistemic if part.mode != "each" or len(part.agents) > 1)
        return {frozenset(group): " and ".join(group) for group in groups}

    @cached_property
    def formula_names(self) -> FormulaNames:
        propositions = abbreviated_names(self._conditions, self.vocabulary.taken)
        taken = (*self.vocabulary.taken, *propositions.values())
        return FormulaNames(propositions, self.vocabulary.agents, abbreviated_names(self._coalitions, taken))

    def formula(self, specification: Specification) -> str:
        if specification.assumptions or not is_ctl(specification.formula):
            ctl_star = CtlStar(self.formula_names, self.planned.system, specification.assumptions)
            return f"CTL* {ctl_star.text(specification.formula)}"
        return Ctl(self.formula_names).text(specification.formula)

    # --- what the template prints

    def observed(self) -> list[tuple[str, str]]:
        """Return the variables that all agents observe: name and type."""
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
        """Yield each assignment with its guard; in each state at most one applies to a variable."""
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
        """Yield the propositions; MCMAS requires one."""
        if always or not self.formula_names.propositions:
            yield "true", ALWAYS, self.vocabulary.text(e.TRUE, "Environment.")
        for condition, name in self.formula_names.propositions.items():
            yield self._conditions[condition], name, self.vocabulary.text(condition, "Environment.")

    def initial(self) -> Iterator[str]:
        for variable in self.system.variables:
            name = f"Environment.{self.vocabulary.variables[variable.name]}"
            values = " or ".join(f"{name} = {self.vocabulary.value(value)}" for value in variable.initial)
            yield values if len(variable.initial) == 1 else f"({values})"

    def coalitions(self) -> Iterator[tuple[str, list[str]]]:
        for group, name in self.formula_names.coalitions.items():
            yield name, [text for agent, text in self.vocabulary.agents.items() if agent in group]


_DUMMY_VARIABLE: Final = Variable("nothing", (False, True), (False,), "own", "Env", "nothing")
"""Variable of a system that has none; MCMAS requires one."""


def abbreviated_names(texts: Mapping[K, str], taken: Iterable[str]) -> dict[K, str]:
    """Return an identifier for each key that resembles its text."""
    used = list(taken)
    names: dict[K, str] = {}
    for key, text in texts.items():
        stem = sanitized(text)[:_MAX_NAME_LETTERS].rstrip("_")
        (names[key],) = unique_identifiers([stem], IDENTIFIERS, used).values()
        used.append(names[key])
    return names


def wrap(text: str) -> str:
    """Break the text into lines before connectives and after commas."""
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
        f"The environment owns all variables and takes all steps. The action `{IDLE}`, enabled in every state, "
        "changes nothing. Each agent observes exactly the variables of its local state."
    )
    assuming = file.planned.assuming
    copies = len(file.system.variable[assuming].domain) if assuming is not None else 1
    bits = [names[bit] for bit in (*file.planned.bits, *file.bits)]
    if assuming is not None:
        yield (
            f"`{names[assuming]}` is the set of roles that are assumed to keep going. It is constant on each run and "
            "observable by all agents. A formula that depends on fairness holds vacuously where the set differs from "
            "its assumption."
        )
    if bits:
        yield f"History bits, which no agent observes and no step reads: {', '.join(bits)}."
    multiple = "as many" if copies == 1 else f"{copies} times as many"
    yield (
        f"The model has {multiple} reachable states as the system"
        + (", and more because of the history bits." if bits else ".")
    )


def remarks_on(question: ExportedFormula) -> list[str]:
    """Return the comment lines above a formula."""
    return [
        f"{question.name}: {question.text}",
        *([f"assuming {', '.join(sorted(question.assuming))}"] if question.assuming else []),
        *([f"expected: it {question.expected}"] if question.expected else []),
    ]
