"""Export to CCS for the Concurrency Workbench of the New Century, with formulas in GCTL*.

Each variable is a cell: one process for each of its values. Each step is a process that reads and writes cells while it
holds a lock. Visible actions are the steps, and ``idle`` while the lock is free.
Claim: the processes are weakly bisimilar to the system, since internal actions do not decide between visible ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from cplc.export.ccs_expressions import Vocabulary
from cplc.export.ccs_processes import Process, buffered_variables, processes
from cplc.export.fairness import needs_fairness
from cplc.export.gctl_formulas import Gctl
from cplc.export.header import comment, header_lines
from cplc.export.request import CannotExport, Export, ExportedFormula, NotExpressible, Request
from cplc.export.templating import render
from cplc.logic.expressions import Value
from cplc.records import dataclass
from cplc.system.model import System, Variable


def export(request: Request) -> Export:
    """Return the processes and, in a companion file, the formulas that GCTL* can express."""
    system = request.system
    vocabulary = Vocabulary(system, tuple(question.name for question in request.formulas))
    buffered = buffered_variables(system)
    steps = [
        (step.name, processes(vocabulary, step, buffered)) for step in system.steps
    ]  # first: may raise `CannotExport`
    translated, left_out = _translate(vocabulary, request.formulas)
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


_MAX_CELL_PROCESSES: Final = 20_000
"""Maximum number of processes of one cell."""

_REMARK = (
    "Main is the system. A step acquires the lock, evaluates its guard by reading cells, performs its visible action, "
    "writes cells and releases the lock; before its visible action it can abort. Visible actions are the steps, and "
    "`idle` while the lock is free. Self-loops of the cells show the values that formulas refer to. The processes have "
    "more states than the system but are observationally equivalent to it (checked by eq -S obseq)."
)


# --- formulas


def _translate(
    vocabulary: Vocabulary, questions: Sequence[ExportedFormula]
) -> tuple[list[tuple[ExportedFormula, str]], tuple[str, ...]]:
    """Return the expressible questions with their formulas, and a note on each omission."""
    translated: list[tuple[ExportedFormula, str]] = []
    left_out: list[str] = []
    system = vocabulary.system
    for question in questions:
        logic = Gctl(vocabulary, system.constraints(question.assuming), partial(needs_fairness, system))
        try:
            translated.append((question, logic.text(question.formula)))
        except NotExpressible as problem:
            left_out.append(f"`{question.name}`: {problem} cannot be expressed")
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


def _cell(vocabulary: Vocabulary, variable: Variable, is_buffered: bool) -> Cell:
    """Return the processes of a variable, with the actions that read and write it."""
    name = variable.name
    written = _written(vocabulary.system, variable)
    if is_buffered and len(variable.domain) * len(written) > _MAX_CELL_PROCESSES:
        raise CannotExport(f"`{name}` has too many values for a buffered cell in CCS")
    change = vocabulary.change(name)
    definitions: list[Process] = []
    if written and not is_buffered:
        puts = [f"{vocabulary.put(name, one)}.{vocabulary.cell(name, one)}" for one in written]
        definitions.append(Process(change, " + ".join(puts)))
    for value in variable.domain:
        here = vocabulary.cell(name, value)
        shown = [f"'{vocabulary.get(name, value)}.{{}}"]
        if vocabulary.is_probed(name, value):
            shown.append(f"{vocabulary.probe(name, value)}.{{}}")
        later = {one: f"{here}-then-{vocabulary.cell(name, one)}" for one in written} if is_buffered else {}
        changes = [f"{vocabulary.put(name, one)}.{after}" for one, after in later.items()] if is_buffered else [change]
        choices = [*(choice.format(here) for choice in shown), *(changes if written else [])]
        definitions.append(Process(here, " + ".join(choices)))
        for one, after in later.items():
            taking = f"{vocabulary.take(name)}.{vocabulary.cell(name, one)}"
            definitions.append(Process(after, " + ".join((*(choice.format(after) for choice in shown), taking))))
    actions = [action(name, value) for value in variable.domain for action in (vocabulary.get, vocabulary.put)]
    return Cell(name, tuple(definitions), (*actions, *([vocabulary.take(name)] if is_buffered else [])))


def _written(system: System, variable: Variable) -> Sequence[Value]:
    writes = any(variable.name in step.writes for step in system.steps)
    return variable.domain if writes or len(variable.initial) > 1 else ()


def _begin(vocabulary: Vocabulary, buffered: frozenset[str]) -> Process | None:
    """Return the process that chooses the initial values of variables with several ones.

    It may revise each choice while it holds the lock; otherwise partial choices would be distinguishable states.
    """
    uncertain = [variable for variable in vocabulary.system.variables if len(variable.initial) > 1]
    taking = {v.name: f"'{vocabulary.take(v.name)}." if v.name in buffered else "" for v in uncertain}
    choices = [
        f"'{vocabulary.put(variable.name, value)}.{taking[variable.name]}Begin"
        for variable in uncertain
        for value in variable.initial
    ]
    return Process("Begin", " + ".join((*choices, "'unlock.nil"))) if choices else None
