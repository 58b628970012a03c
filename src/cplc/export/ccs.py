"""Systems in CCS for the Concurrency Workbench of the New Century, with their formulas in GCTL*.

Every variable is a cell, one process for each of its values; every step is a process that reads and writes cells while
it holds a lock. What can be seen of all that is the steps, and ``idle`` while the lock is free. So the processes are
weakly bisimilar to the system: nothing that is hidden decides anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from cplc.export.ccs_expressions import Vocabulary
from cplc.export.ccs_processes import Process, kept_beside, processes
from cplc.export.fairness import needs_fairness
from cplc.export.gctl_formulas import Gctl
from cplc.export.header import comment, header_lines
from cplc.export.request import CannotExport, Export, ExportedFormula, Request
from cplc.export.smv_formulas import Unsaid
from cplc.export.templating import render
from cplc.logic.expressions import Value
from cplc.records import dataclass
from cplc.system.model import System, Variable


def export(request: Request) -> Export:
    """Return the processes, and beside them the formulas that GCTL* can say."""
    system = request.system
    vocabulary = Vocabulary(system, tuple(question.name for question in request.formulas))
    buffered = kept_beside(system)
    steps = [
        (step.name, processes(vocabulary, step, buffered)) for step in system.steps
    ]  # first, for that may be too much
    translated, left_out = _asked(vocabulary, request.formulas)
    cells = [_cell(vocabulary, variable, variable.name in buffered) for variable in system.variables]
    begin = _begin(vocabulary, buffered)
    text = render(
        "ccs.j2",
        header=header_lines(request, (_REMARK,), left_out),
        cells=cells,
        begin=begin,
        steps=steps,
        together=[
            "Held" if begin else "Free",
            *(vocabulary.cell(variable.name, variable.initial[0]) for variable in system.variables),
            *(["Begin"] if begin else []),
            *(vocabulary.process(step.name) for step in system.steps),
        ],
        internal=["lock", "unlock", *(action for cell in cells for action in cell.internal)],
        comment=comment,
    )
    beside = ((".gctl", _formulas(request, vocabulary, translated)),) if translated else ()
    return Export(text, left_out, beside, "*", tuple(question.name for question, _ in translated))


_MOST: Final = 20_000
"""No cell has more processes than this."""

_REMARK = (
    "Main is the system. A step takes the lock, reads cells to find out whether it is possible, is seen, writes cells "
    "and lets the lock go; before it is seen it can give up. What is seen are the steps, and `idle` where no step is "
    "on the way. Cells also show the values that formulas ask for, as actions that change nothing. There are more "
    "states than in the system, but none that behaves differently: eq -S obseq would tell."
)


# --- formulas


def _asked(
    vocabulary: Vocabulary, questions: Sequence[ExportedFormula]
) -> tuple[list[tuple[ExportedFormula, str]], tuple[str, ...]]:
    """Return the questions that can be asked with their formulas, and for each of the others why not."""
    translated: list[tuple[ExportedFormula, str]] = []
    left_out: list[str] = []
    system = vocabulary.system
    for question in questions:
        logic = Gctl(vocabulary, system.constraints(question.assuming), partial(needs_fairness, system))
        try:
            translated.append((question, logic.text(question.formula)))
        except Unsaid as problem:
            left_out.append(f"`{question.name}`, for it has {problem}")
    return translated, tuple(left_out)


def _formulas(request: Request, vocabulary: Vocabulary, translated: Sequence[tuple[ExportedFormula, str]]) -> str:
    certain = all(len(variable.initial) == 1 for variable in vocabulary.system.variables)
    propositions = [
        (
            [
                f"{question.name}: {question.text}",
                *([f"assuming {', '.join(sorted(question.assuming))}"] if question.assuming else []),
                *([f"expected: it {question.expected}"] if question.expected else []),
            ],
            vocabulary.proposition(question.name),
            text if certain else f"(A ((G F settled) -> ((not settled) U (settled /\\ {text}))))",
        )
        for question, text in translated
    ]
    return render("gctl.j2", header=header_lines(request), propositions=propositions, comment=comment)


# --- cells


@dataclass(frozen=True, slots=True)
class Cell:
    original: str
    processes: tuple[Process, ...]
    internal: tuple[str, ...]


def _cell(vocabulary: Vocabulary, variable: Variable, is_kept: bool) -> Cell:
    """Return the processes that a variable is, with what steps do to it."""
    name = variable.name
    written = _written(vocabulary.system, variable)
    if is_kept and len(variable.domain) * len(written) > _MOST:
        raise CannotExport(f"`{name}` has too many values to keep one beside another in CCS")
    change = vocabulary.change(name)
    definitions: list[Process] = []
    if written and not is_kept:
        puts = [f"{vocabulary.put(name, one)}.{vocabulary.cell(name, one)}" for one in written]
        definitions.append(Process(change, " + ".join(puts)))
    for value in variable.domain:
        here = vocabulary.cell(name, value)
        shown = [f"'{vocabulary.get(name, value)}.{{}}"]
        if vocabulary.is_probed(name, value):
            shown.append(f"{vocabulary.probe(name, value)}.{{}}")
        later = {one: f"{here}-then-{vocabulary.cell(name, one)}" for one in written} if is_kept else {}
        changes = [f"{vocabulary.put(name, one)}.{after}" for one, after in later.items()] if is_kept else [change]
        choices = [*(choice.format(here) for choice in shown), *(changes if written else [])]
        definitions.append(Process(here, " + ".join(choices)))
        for one, after in later.items():
            taking = f"{vocabulary.take(name)}.{vocabulary.cell(name, one)}"
            definitions.append(Process(after, " + ".join((*(choice.format(after) for choice in shown), taking))))
    actions = [action(name, value) for value in variable.domain for action in (vocabulary.get, vocabulary.put)]
    return Cell(name, tuple(definitions), (*actions, *([vocabulary.take(name)] if is_kept else [])))


def _written(system: System, variable: Variable) -> Sequence[Value]:
    writes = any(variable.name in step.writes for step in system.steps)
    return variable.domain if writes or len(variable.initial) > 1 else ()


def _begin(vocabulary: Vocabulary, buffered: frozenset[str]) -> Process | None:
    """Return the process that chooses, before anything else, the values of variables with several initial ones.

    It may change its mind as long as it holds the lock: a choice made one by one would be seen by what is left of it.
    """
    uncertain = [variable for variable in vocabulary.system.variables if len(variable.initial) > 1]
    taking = {v.name: f"'{vocabulary.take(v.name)}." if v.name in buffered else "" for v in uncertain}
    choices = [
        f"'{vocabulary.put(variable.name, value)}.{taking[variable.name]}Begin"
        for variable in uncertain
        for value in variable.initial
    ]
    return Process("Begin", " + ".join((*choices, "'unlock.nil"))) if choices else None
