"""Export to CCS for the Concurrency Workbench of the New Century, with formulas in GCTL*.

Each variable is a cell: one process for each of its values. Each step is a process that reads and writes cells while it
holds a lock. Visible actions are the steps, and ``idle`` while the lock is free.
Claim: the processes are weakly bisimilar to the system, since internal actions do not decide between visible ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import product
from typing import Final, assert_never

from cplc.export.bounds import step_count
from cplc.export.ccs_expressions import Vocabulary, cofactors, leftmost_variable
from cplc.export.fairness import needs_fairness
from cplc.export.prism_formulas import without_nested_quantifiers
from cplc.export.request import CannotExport, Export, ExportedFormula, NotExpressible, Request, checked_length, joined
from cplc.export.smv_formulas import construct_name
from cplc.export.templating import comment, header_lines, render
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Conditional, Fulfils
from cplc.logic.expressions import Expr, Value
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import Justice, Step, System, Variable

# --- Steps as CCS processes: acquire the lock, evaluate the guard, act visibly, write cells, release the lock
#
# Invariant: before its visible action a step has changed nothing and can abort; after it, the remaining actions are
# deterministic and all other steps are blocked by the lock. So exactly the steps of the system are visible.
#
# An update reads the state before the step. Updates are ordered such that no update reads a cell that was written
# before. Where dependencies are cyclic, a buffered cell holds the new value until the step commits it.


_MAX_STEP_ACTIONS: Final = 20_000
"""Maximum number of actions of one step."""

Update = tuple[str, Expr]


@dataclass(frozen=True, slots=True)
class Process:
    """One definition: a choice between action prefixes."""

    name: str
    text: str


def processes(vocabulary: Vocabulary, step: Step, buffered: frozenset[str]) -> tuple[Process, ...]:
    """Return the definitions for one step."""
    return _StepWriter(vocabulary, step, buffered).definitions()


def buffered_variables(system: System) -> frozenset[str]:
    """Return the variables whose old value some step reads after it writes the new one."""
    return frozenset(name for step in system.steps for name in _ordered(step)[1])


def _ordered(step: Step) -> tuple[list[Update], list[str]]:
    """Return the updates in the order of writing, and the variables that are read after they are written."""
    remaining = {name: e.substitute(value, _guard_constants(step.guard)) for name, value in step.updates}
    order: list[Update] = []
    late: list[str] = []
    while remaining:
        read_by_others = Counter(name for target, value in remaining.items() for name in e.reads(value) - {target})
        chosen = next((name for name in remaining if not read_by_others[name]), None)
        if chosen is None:
            chosen = min(remaining, key=lambda name: read_by_others[name])
            late.append(chosen)
        order.append((chosen, remaining.pop(chosen)))
    return order, late


def _guard_constants(guard: Expr) -> Mapping[str, Expr]:
    """Return the variables that the guard makes constant."""
    constants: dict[str, Expr] = {}
    for part in guard.operands if isinstance(guard, e.And) else (guard,):
        match part:
            case e.Read(name):
                constants[name] = e.TRUE
            case e.Not(e.Read(name)):
                constants[name] = e.FALSE
            case e.Equal(e.Read(name), e.Const() as value) | e.Equal(e.Const() as value, e.Read(name)):
                constants[name] = value
            case _:
                pass
    return constants


@dataclass(eq=False)
class _Node:
    """A choice of actions; the initial node and nodes with several predecessors are named."""

    choices: list[tuple[str, _Node]] = field(default_factory=list)
    uses: int = 0


@dataclass
class _StepWriter:
    vocabulary: Vocabulary
    step: Step
    buffered_cells: frozenset[str]
    _action_count: int = 0

    def definitions(self) -> tuple[Process, ...]:
        begin = _Node()
        begin.uses = 2
        self._add(begin, "'lock", self._guard_test(e.substitute(self.step.guard, {}), begin, {}))
        return tuple(self._named(begin))

    def _add(self, node: _Node, action: str, after: _Node) -> None:
        self._action_count += 1
        if self._action_count > _MAX_STEP_ACTIONS:
            raise CannotExport(f"the step `{self.step.name}` has too many cases for an export to CCS")
        after.uses += 1
        node.choices.append((action, after))

    def _guard_test(self, guard: Expr, begin: _Node, nodes: dict[Expr, _Node]) -> _Node:
        """Return the node that evaluates the guard; it can always abort, and must where the guard is false."""
        if guard not in nodes:
            node = nodes[guard] = _Node()
            if e.is_true(guard):
                self._visible_action(node, begin)
            elif not e.is_false(guard):
                variable = self.vocabulary.system.variable[leftmost_variable(guard)]
                for rest, values in cofactors(variable, guard).items():
                    for value in values if not e.is_false(rest) else ():
                        action = self.vocabulary.get(variable.name, value)
                        self._add(node, action, self._guard_test(rest, begin, nodes))
            self._add(node, "'unlock", begin)
        return nodes[guard]

    def _visible_action(self, node: _Node, begin: _Node) -> None:
        """Add the visible action, one for each choice of values of free variables."""
        free = [(name, self.vocabulary.system.variable[name].initial) for name in self.step.free]
        updates = _ordered(self.step)[0]
        finish = self._epilogue(begin)
        for chosen in product(*(values for _, values in free)):
            after = finish
            for (name, _), value in reversed(list(zip(free, chosen, strict=True))):
                after = self._prefix(f"'{self.vocabulary.put(name, value)}", after)
            for name, update in reversed(updates):
                after = self._update(name, update, after, {})
            self._add(node, self.vocabulary.step(self.step.name), after)

    def _prefix(self, action: str, after: _Node) -> _Node:
        node = _Node()
        self._add(node, action, after)
        return node

    def _epilogue(self, begin: _Node) -> _Node:
        after = self._prefix("'unlock", begin)
        for name, _ in reversed(self.step.updates):
            if name in self.buffered_cells:
                after = self._prefix(f"'{self.vocabulary.take(name)}", after)
        for name in reversed(self.step.free):
            if name in self.buffered_cells:
                after = self._prefix(f"'{self.vocabulary.take(name)}", after)
        return after

    def _update(self, name: str, value: Expr, after: _Node, nodes: dict[Expr, _Node]) -> _Node:
        """Return the node that evaluates the new value and writes it."""
        if value not in nodes:
            match value:
                case e.Const(constant):
                    written = self._in_domain(name, constant)
                    nodes[value] = self._prefix(f"'{self.vocabulary.put(name, written)}", after)
                case _:
                    node = nodes[value] = _Node()
                    variable = self.vocabulary.system.variable[leftmost_variable(value)]
                    for rest, values in cofactors(variable, value).items():
                        for one in values:
                            action = self.vocabulary.get(variable.name, one)
                            self._add(node, action, self._update(name, rest, after, nodes))
        return nodes[value]

    def _in_domain(self, name: str, value: Value) -> Value:
        """Return the equal value of the domain; a value outside cannot occur and is replaced arbitrarily."""
        domain = self.vocabulary.system.variable[name].domain
        return next((one for one in domain if one == value), domain[0])

    # --- names

    def _named(self, begin: _Node) -> Iterator[Process]:
        stem = self.vocabulary.process(self.step.name)
        names: dict[int, str] = {id(begin): stem}
        waiting = [begin]

        def text(node: _Node) -> str:
            if len(node.choices) == 1 and node.uses < 2:
                ((action, after),) = node.choices
                return f"{action}.{text(after)}"
            if id(node) not in names:
                names[id(node)] = f"{stem}-{len(names)}"
                waiting.append(node)
            return names[id(node)]

        while waiting:
            node = waiting.pop(0)
            choices = " + ".join(f"{action}.{text(after)}" for action, after in node.choices)
            yield Process(names[id(node)], choices)


# --- Formula translation to GCTL* of the Concurrency Workbench
#
# A state of the system is a state of the processes in which the lock is free, called *settled*: ``idle`` is enabled
# in settled states only. Path formulas are relativised to the settled states of a path. An aborted step, or a self-
# loop of a cell, returns to its source and represents an idle step. A path with finitely many settled states reads
# cells forever within one step; path quantifiers exclude it.
#
# Fairness is a premise within each quantifier that depends on it. A step is enabled in a settled state if some path
# takes it before the next settled state.


@dataclass(frozen=True, slots=True)
class Gctl:
    vocabulary: Vocabulary
    justice: tuple[Justice, ...]
    """Justice constraints on fair runs, besides the fairness of the file."""
    depends_on_fairness: Callable[[Formula], bool]
    """Tells whether the truth of a quantified formula depends on fairness."""

    def text(self, formula: Formula) -> str:
        """Return a state formula, closed; raise `NotExpressible`."""
        match formula:
            case f.Atom(condition):
                return self.vocabulary.condition(condition)
            case f.OnPaths(quantifier, path, along):
                link = "->" if quantifier == "A" else "/\\"
                fair = self._fair_runs(formula, along)
                return checked_length(f"({quantifier} ({fair} {link} {self._path(path, True)}))")
            case f.Not(operand):
                return f"(not {self.text(operand)})"
            case f.And(operands):
                return joined(" /\\ ", map(self.text, operands), "tt")
            case f.Or(operands):
                return joined(" \\/ ", map(self.text, operands), "ff")
            case f.Implies(left, right):
                return checked_length(f"({self.text(left)} -> {self.text(right)})")
            case f.Iff(left, right):
                one, other = self.text(left), self.text(right)
                return checked_length(f"(({one} /\\ {other}) \\/ ((not {one}) /\\ (not {other})))")
            case Commits() | Fulfils() | Conditional():
                raise NotExpressible(construct_name(formula))
            case f.Derived():
                return self.text(formula.definition)
            case f.PathOperator() | f.StateOperator():
                raise NotExpressible(construct_name(formula))
            case _:
                assert_never(formula)

    # --- fair paths

    def _fair_runs(self, formula: f.OnPaths, along: f.Taken | None) -> str:
        """Return that a path is infinitely often settled, takes allowed steps only, and is fair."""
        parts = ["(G F settled)"]
        steps = [step.name for step in self.vocabulary.system.steps]
        excluded_steps = () if along is None else [name for name in steps if name not in along.steps]
        if excluded_steps:
            parts.append(f"(G ~{self._steps(excluded_steps)})")
        if self.depends_on_fairness(without_nested_quantifiers(formula)):
            for justice in self.justice:
                served = [steps[index] for index in justice.steps if along is None or steps[index] in along.steps]
                if served:
                    waits_not = f"(G F (settled /\\ (not {self._possible(served)})))"
                    parts.append(f"({waits_not} \\/ (G F {self._steps(served)}))")
            conditions = map(self.vocabulary.condition, self.vocabulary.system.fairness)
            parts += [f"(G F (settled /\\ {condition}))" for condition in conditions]
        return joined(" /\\ ", parts, "tt")

    def _possible(self, steps: Iterable[str]) -> str:
        """Return that one of the steps is enabled."""
        return f"(E (X ((not settled) U {self._steps(steps)})))"

    def _steps(self, steps: Iterable[str]) -> str:
        return f"{{{', '.join(map(self.vocabulary.step, steps))}}}"

    # --- paths

    def _path(self, path: Formula, positive: bool) -> str:
        """Return a path formula or, unless ``positive``, its negation, in brackets; it starts in a settled state."""
        if f.is_state_formula(path):
            return self.text(path) if positive else f"(not {self.text(path)})"
        match path:
            case f.Not(operand):
                return self._path(operand, not positive)
            case f.And(operands) | f.Or(operands):
                link = " /\\ " if isinstance(path, f.And) == positive else " \\/ "
                return joined(link, [self._path(operand, positive) for operand in operands], "tt")
            case f.Implies(left, right):
                link = "\\/" if positive else "/\\"
                return checked_length(f"({self._path(left, not positive)} {link} {self._path(right, positive)})")
            case f.Iff(left, right):
                alike = f"({self._path(left, True)} /\\ {self._path(right, positive)})"
                return checked_length(
                    f"({alike} \\/ ({self._path(left, False)} /\\ {self._path(right, not positive)}))"
                )
            case f.Taken(steps):
                return self._taken(steps, positive)
            case f.Next(operand):
                return self._next(self._path(operand, positive))
            case f.Finally(operand, bound):
                return self._somewhere(self._path(operand, positive), positive, bound)
            case f.Globally(operand, bound):
                return self._somewhere(self._path(operand, positive), not positive, bound)
            case f.Until(left, right, None) | f.Release(left, right, None):
                one, other = self._path(left, positive), self._path(right, positive)
                return (self._until if isinstance(path, f.Until) is positive else self._release)(one, other)
            case f.Until(left, right, bound):
                assert bound is not None
                return self._bounded(
                    self._path(left, positive), self._path(right, positive), positive, step_count(bound)
                )
            case f.Release():
                raise AssertionError(f"{path} is no formula of the language")
            case f.WeakUntil(left, right, None):
                one, other = self._path(left, positive), self._path(right, positive)
                if positive:
                    return checked_length(f"(((not settled) \\/ {one}) W (settled /\\ {other}))")
                return self._until(other, f"({one} /\\ {other})")
            case f.Previous() | f.Since():
                raise NotExpressible("past operators")
            case f.Derived():
                return self._path(path.definition, positive)
            case f.Atom() | f.StateOperator():
                raise AssertionError(f"{path} is a state formula")
            case _:
                assert_never(path)

    def _taken(self, steps: frozenset[str], positive: bool) -> str:
        named = [step.name for step in self.vocabulary.system.steps if step.name in steps]
        if not named:
            return "ff" if positive else "tt"
        if positive:
            return f"(X ((not settled) U {self._steps(named)}))"
        return f"(X (~{self._steps(named)} U settled))"

    def _next(self, text: str) -> str:
        return checked_length(f"(X ((not settled) U (settled /\\ {text})))")

    def _somewhere(self, text: str, existential: bool, bound: f.Bound | None) -> str:
        """Return that the formula holds in some settled state, or in all, within the bound."""
        if bound is None:
            return f"(F (settled /\\ {text}))" if existential else f"(G ((not settled) \\/ {text}))"
        unrolled = text
        link = "\\/" if existential else "/\\"
        for _ in range(step_count(bound)):
            unrolled = checked_length(f"({text} {link} {self._next(unrolled)})")
        return unrolled

    def _bounded(self, left: str, right: str, positive: bool, bound: int) -> str:
        unrolled = right
        for _ in range(bound):
            step = self._next(unrolled)
            unrolled = f"({right} \\/ ({left} /\\ {step}))" if positive else f"({right} /\\ ({left} \\/ {step}))"
            unrolled = checked_length(unrolled)
        return unrolled

    def _until(self, left: str, right: str) -> str:
        return checked_length(f"(((not settled) \\/ {left}) U (settled /\\ {right}))")

    def _release(self, left: str, right: str) -> str:
        return checked_length(f"((settled /\\ {left}) R ((not settled) \\/ {right}))")


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
