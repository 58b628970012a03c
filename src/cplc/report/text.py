"""Text report: the verdict of each question with its counterexample or witness."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal

from cplc.checking.results import QUICK_SEARCH, Answer, ExcludedStates, Remark, Result
from cplc.control_characters import printable
from cplc.logic.commitments import OFFERED
from cplc.logic.expressions import value_text
from cplc.logic.formulas import Adjacent, And, Enforces, Formula, Implies, KnownFrom, Knows, Not
from cplc.records import dataclass
from cplc.report.failure_explanation import closing_sentences
from cplc.report.layout import Layout, Part, Places, Style, formula_lines, list_lines, plain
from cplc.report.path_explanation import claim_text
from cplc.report.step_text import (
    HIDDEN,
    changes,
    counted,
    echoes,
    fold_text,
    folded,
    initial_values,
    joined,
    knowledge_text,
    life_lines,
    life_of,
    place,
    remark_text,
    shortened,
    step_text,
    stopped,
    variable_text,
)
from cplc.report.strategy_text import strategy_lines
from cplc.report.trace_narration import Narration, decisive, has_trace, told
from cplc.source import Span
from cplc.system.model import Claim, Commitment, State, System
from cplc.system.trace import Evidence, Move, Run

Detail = Literal["verdicts", "failures", "everything"]
"""Which results are shown with their runs."""

MAX_FINDINGS = 10
MAX_ASIDES = 5
MAX_DEPTH = 3


def verdict_part(result: Result) -> Part:
    """Return the style of a result: good, bad or a warning; a failure that the file expects is none of them."""
    if result.answer in {"unknown", "vacuous"} or (result.question.advisory and not result.as_expected):
        return "warning"
    if result.as_expected:
        return "strong" if result.answer == "fails" else "good"
    return "bad"


def result_text(
    result: Result,
    style: Style | Layout = plain,
    *,
    detail: Detail = "failures",
    shown: Collection[ExcludedStates | str] = (),
) -> str:
    """Return the report on a result; notes and runs to states ``shown`` before are omitted."""
    return "".join(f"{line.rstrip()}\n" for line in _result(result, Layout.of(style), detail, shown))


def usual_checks_text(results: Sequence[Result], style: Style | Layout = plain) -> str:
    """Return the lines on usual checks that hold, one paragraph for each set of sizes."""
    layout = Layout.of(style)
    lines: list[str] = []
    for where in dict.fromkeys(map(_sizes, results)):
        same = [result for result in results if _sizes(result) == where]
        cached = "  (cached)" if all(result.cached for result in same) else ""
        names = ", ".join(result.question.name for result in same)
        first, *more = layout.wrapped(f"{'holds':<8}{names} (usual checks{where}){cached}", "", "        ")
        lines += [layout.style("holds  ", "good") + first.removeprefix("holds  "), *more]
    text = "".join(f"{line}\n" for line in lines)
    for name in (result.question.name for result in results):
        text = text.replace(name, layout.style(name, "strong"))
    return text.replace("  (cached)", layout.style("  (cached)", "faint"))


def _sizes(result: Result) -> str:
    if result.sizes is None:
        return ""
    fixed = "".join(f", {name} = {value}" for name, value in result.sizes.fixed)
    every = "every size" if result.sizes.scope == "every size" else "every declared size"
    return f" at {every} of {result.sizes.parameter}{fixed}"


def is_usual_and_plain(result: Result) -> bool:
    """Return whether a usual check holds without remarks."""
    more = bool(result.remarks or result.notes or result.reason)
    if (sizes := result.sizes) is not None:
        more |= sizes.scope == "verified sizes" or bool(sizes.vacuous or sizes.not_asked)
    return result.question.is_usual and result.answer == "holds" and not more


class ResultWriter:
    """Writer of results as they come: joins usual checks that hold, and writes notes on the whole file once."""

    def __init__(
        self, write: Callable[[str], None], style: Style | Layout = plain, detail: Detail = "failures"
    ) -> None:
        self._write = write
        self._layout = Layout.of(style)
        self._detail: Detail = detail
        self._plain: list[Result] = []
        self._shown: list[ExcludedStates | str] = []

    def add(self, result: Result) -> None:
        if self._detail != "everything" and is_usual_and_plain(result):
            self._plain.append(result)
            return
        self.flush()
        self._write(result_text(result, self._layout, detail=self._detail, shown=self._shown))
        self._shown += [remark.excluded for remark in result.remarks if remark.excluded is not None]
        self._shown += result.question.data_notes

    def flush(self) -> None:
        """Write the usual checks that are still to be written."""
        if self._plain:
            self._write(usual_checks_text(self._plain, self._layout))
            self._plain.clear()


def evidence_text(system: System, evidence: Evidence, style: Style | Layout = plain) -> str:
    """Return the evidence alone."""
    return "".join(f"{line.rstrip()}\n" for line in _evidence(system, evidence, Layout.of(style), Places(), 0))


# --- the verdict


def _result(
    result: Result, layout: Layout, detail: Detail, shown_before: Collection[ExcludedStates | str]
) -> Iterator[str]:
    yield from headline(result, layout)
    places = Places(result.span)
    for line in _about(result, shown_before):
        yield from layout.wrapped(line, "  ", "    ")
    for remark in result.remarks:
        shows_states = detail != "verdicts" and remark.excluded not in shown_before
        yield from _remark(result.system, remark, layout, places if shows_states else None)
    if result.engine and (detail == "everything" or result.engine_reason == QUICK_SEARCH):
        engine = layout.wrapped(f"engine {result.engine}: {result.engine_reason}", "  ", "    ")
        yield from (layout.style(line, "faint") for line in engine)
    is_aside = result.question.is_usual and result.question.advisory and result.answer == "fails"
    shown = detail == "everything" or (detail == "failures" and result.answer == "fails" and not is_aside)
    if shown:
        yield from _reason(result, layout, places, is_folded=detail != "everything")
    elif is_aside:
        yield f"  --property {result.question.name} shows a run"
    closing = list(closing_sentences(result, with_run=shown))
    if closing:
        yield ""
        for sentence in closing:
            yield from layout.wrapped(sentence, "  ")
    if shown or closing:
        yield ""


def _reason(result: Result, layout: Layout, places: Places, *, is_folded: bool) -> Iterator[str]:
    """Yield the evidence or, for a failure that no run shows, what was searched."""
    if result.evidence is not None and has_trace(result.evidence):
        yield ""
        named = result.evidence.formula if result.findings else result.question.formula
        lines = _evidence(result.system, result.evidence, layout.indented(2), places, 0, named, is_folded=is_folded)
        yield from (f"  {line}" if line else "" for line in lines)
        if result.left_out:
            variables = counted(result.left_out, "variable")
            yield layout.style(f"  left out: {variables} that this does not depend on", "faint")
    elif result.answer == "fails" and not result.findings:
        yield from _nothing_helps(result, layout)


def _nothing_helps(result: Result, layout: Layout) -> Iterator[str]:
    """Yield the explanation of a failure that no run shows."""
    decided = [] if result.evidence is None else decisive(result.system, result.evidence)
    if decided and all(part not in {result.question.formula, Not(result.question.formula)} for part, _ in decided):
        yield from layout.wrapped(", ".join(claim_text(part, holds) for part, holds in decided), "  ", "    ")
    if decided and all(isinstance(part, Enforces) and not holds for part, holds in decided):
        yield from layout.wrapped("all reachable states were searched: no strategy of the group guarantees it", "  ")
    elif result.evidence is not None and not _is_exhaustive(result.evidence):
        article = "an" if any(len(variable.initial) > 1 for variable in result.system.variables) else "the"
        yield f"  it fails in {article} initial state, before any step"
    else:
        yield "  all reachable states were searched: nothing makes it true"


def _is_exhaustive(evidence: Evidence) -> bool:
    """Tell whether the evidence, or a part of it, rests on all runs or all states."""
    return evidence.exhaustive or any(_is_exhaustive(part) for _, part in evidence.parts)


def headline(result: Result, layout: Layout) -> Iterator[str]:
    """Yield the verdict, the name and the formula: in one line if it fits, otherwise the formula below."""
    question, style = result.question, layout.style
    assuming = f" assuming {question.assumed}" if question.assumed else ""
    expected = expectation(result)
    where = place(result.span)
    formula = printable(question.asked)
    cached = "  (cached)" if result.cached else ""
    word = f"{_WORDS[result.answer]:<7}"
    short = f"{word} {question.name}{assuming}: {formula}{expected}{f'  {where}' if where else ''}{cached}"
    head = f"{style(word, verdict_part(result))} {style(question.name, 'strong')}"
    link = "" if not where or result.span is None else f"  {layout.place(result.span, where)}"
    end = f"{link}{style(cached, 'faint') if cached else ''}"
    if len(short) <= layout.width:
        yield f"{head}{assuming}: {formula}{expected}{end}"
        return
    first, *more = layout.wrapped(f"{word} {question.name}{assuming}{expected}", "", "        ")
    if more or len(first) + len(where) + len(cached) + 2 > layout.width:
        yield first.replace(f"{word} {question.name}", head, 1)
        yield from more
        if where or cached:
            yield f"      {end}"
    else:
        yield f"{head}{assuming}{expected}{end}"
    if question.kind == "check":
        yield from layout.wrapped(formula, "  ", "  ")
    else:
        yield from formula_lines(shortened(formula), layout.width, "  ")


_WORDS: dict[Answer, str] = {"holds": "holds", "fails": "fails", "vacuous": "vacuous", "unknown": "unknown"}


def expectation(result: Result) -> str:
    """Return how the answer compares with the expectation of the file, if that needs saying."""
    if result.question.advisory and result.answer != "unknown" and not result.as_expected:
        return " (a warning)"
    if result.answer == "unknown" or result.question.expected == "holds":
        return ""
    return " (as expected)" if result.as_expected else " (expected to fail)"


def _about(result: Result, shown_before: Collection[ExcludedStates | str]) -> Iterator[str]:
    if result.question.title:
        yield printable(result.question.title)
    if result.sizes is not None and result.sizes.text is not None:
        yield result.sizes.text
    if result.instance:
        yield f"fails for {result.instance}"
    if result.reason:
        yield result.reason
    if result.knowledge is not None:
        yield knowledge_text(result.system, result.knowledge)
    for finding in result.findings[:MAX_FINDINGS]:
        yield f"- {finding}"
    if len(result.findings) > MAX_FINDINGS:
        yield f"- and {len(result.findings) - MAX_FINDINGS} more"
    notes = folded([note for note in result.notes if note not in shown_before])
    for note in notes[:MAX_FINDINGS]:
        yield f"note: {printable(note)}"
    if len(notes) > MAX_FINDINGS:
        yield f"note: and {len(notes) - MAX_FINDINGS} more"


def _remark(system: System, remark: Remark, layout: Layout, places: Places | None) -> Iterator[str]:
    """Yield a remark, with the states that it excludes if their ``places`` are given."""
    word: tuple[str, Part] = ("warning", "warning") if remark.is_warning else ("because", "faint")
    first, *more = layout.wrapped(f"{word[0]}: {remark.message}", "  ", "    ")
    yield first.replace(word[0], layout.style(*word), 1)
    yield from more
    if remark.state is not None:
        described = ", ".join(_described(remark.system or system, remark.state)) or "the initial state"
        yield from layout.wrapped(f"for example where {described}", "    ", "      ")
    if remark.excluded is not None and places is not None:
        yield from _excluded(remark.excluded, layout, places)


def _excluded(excluded: ExcludedStates, layout: Layout, places: Places) -> Iterator[str]:
    indent = " " * 4
    if not excluded.run.moves:
        yield f"{indent}an initial state is the first of them"
        return
    yield f"{indent}{excluded.run_title}"
    rows = _rows(excluded.system, excluded.run)
    table = _Table(rows, layout.indented(len(indent)), places)
    for number, row in enumerate(rows, 1):
        yield from (f"{indent}{line}" for line in table.step(str(number), row))


# --- runs


def _evidence(
    system: System,
    evidence: Evidence,
    layout: Layout,
    places: Places,
    depth: int,
    named: Formula | None = None,
    *,
    is_folded: bool = True,
) -> Iterator[str]:
    """Yield the evidence, with its formula unless that has just been ``named``; steps that do not matter are folded."""
    narration = told(system, evidence)
    marks = narration.marks[1:] if evidence.formula == named else narration.marks
    if narration.run.moves or (depth == 0 and narration.strategy is None):
        folds = narration.folds if is_folded else ()
        yield from run_lines(system, narration.run, marks, layout, places, folds)
        yield from _lives(system, narration, layout, {position + 1 for fold in folds for position in fold})
    if narration.pair is not None:
        yield from _pair(system, narration.pair, layout, places, depth)
    if narration.strategy is not None:
        for line in strategy_lines(system, narration.strategy):
            yield from _fitted(line, layout)
    if depth < MAX_DEPTH:
        for position, part in narration.asides[:MAX_ASIDES]:
            where = f"in the state after step {position}" if position else "in the first state"
            yield ""
            yield from layout.wrapped(f"besides, {where}, {claim_text(part.formula, part.holds)}:")
            within = layout.indented(2)
            for line in _evidence(system, part, within, places, depth + 1, part.formula, is_folded=is_folded):
                yield f"  {line}" if line else ""
        if len(narration.asides) > MAX_ASIDES:
            yield f"and {len(narration.asides) - MAX_ASIDES} more that the run depends on"


def _fitted(line: str, layout: Layout) -> Iterator[str]:
    """Yield a line of a table as it is, or in several lines if it is too long."""
    indent = line[: len(line) - len(line.lstrip())]
    yield from (line,) if len(line) <= layout.width else layout.wrapped(line.strip(), indent, f"{indent}    ")


def run_lines(
    system: System,
    run: Run,
    marks: Sequence[tuple[int, str]],
    style: Style | Layout,
    places: Places | None = None,
    folds: Sequence[range] = (),
) -> Iterator[str]:
    """Yield the numbered steps, what each changes, the loop, and the marks of states between them.

    Moves in ``folds`` do not matter, and are folded.
    """
    layout = Layout.of(style)
    rows = _rows(system, run)
    table = _Table(rows, layout, places or Places())
    margin = " " * (table.digits + 2)

    def between(text: str) -> Iterator[str]:
        hanging = f"{margin}  " if text.startswith("*") else margin
        return (layout.style(line, "strong") for line in layout.wrapped(text, margin, hanging))

    if first := list(initial_values(system, run.start)):
        for line in layout.wrapped(f"at first {', '.join(first)}", margin):
            yield layout.style(line, "faint")
    if not rows:
        yield from between("already in the first state:")
    folded = {position for fold in folds for position in fold}
    beginnings = {fold.start: len(fold) for fold in folds}
    for number in range(len(rows) + 1):
        if number in folded and number not in beginnings:
            continue
        for position, text in marks:
            if position == number:
                yield from between(f"* {text}")
        if run.loop == number:
            resting = _rest(system, run)
            if resting is not None:
                yield from between(resting)
                return
        if number in beginnings:
            yield from between(fold_text(beginnings[number]))
            continue
        if number < len(rows) and (number == 0 or not _is_pause(run, number - 1, number)):
            last = next(n for n in range(number, len(rows)) if n + 1 == len(rows) or not _is_pause(run, n, n + 1))
            label = f"{number + 1}" if last == number else f"{number + 1}-{last + 1}"
            yield from table.step(label, rows[number])
    if run.loop is not None:
        yield from between(f"{_repeating(run.loop + 1, len(rows))} forever")
    elif idle := stopped(system, run.states[-1]):
        yield from between(f"here all stop: {joined(idle, 'and')} can do nothing")


def _repeating(first: int, last: int) -> str:
    return f"step {first} repeats" if first == last else f"steps {first}-{last} repeat"


def _rest(system: System, run: Run) -> str | None:
    """Return the text of a stuttering loop."""
    assert run.loop is not None
    moves, states = run.moves[run.loop :], run.states[run.loop :]
    if any(state != states[0] for state in states):
        return None
    if all(move.actions for move in moves):
        return "from here on nothing changes, forever"
    if all(move.step is None for move in moves):
        return "from here on nothing happens forever"
    if all(move.step is None or system.steps[move.step].kind == "tick" for move in moves):
        return "from here on only time passes, forever"
    return None


@dataclass(frozen=True, slots=True)
class _Row:
    """One step of a run as it is printed."""

    what: str
    changes: tuple[str, ...]
    span: Span | None


def _rows(system: System, run: Run) -> list[_Row]:
    return [_row(system, before, move) for before, move in zip(run.states, run.moves, strict=False)]


def _row(system: System, before: State, move: Move) -> _Row:
    span = None if move.step is None else system.steps[move.step].span
    return _Row(step_text(system, before, move), tuple(changes(system, before, move)), span)


class _Table:
    """The numbered steps of a run: who does what and where it is written, and what it changes in a line below."""

    def __init__(self, rows: Sequence[_Row], layout: Layout, places: Places) -> None:
        self.digits = len(str(len(rows)))
        self._layout = layout
        self._places = places
        room = layout.width - self.digits - len(".   line 999")
        self._width = min(max((len(row.what) for row in rows), default=0), room)

    def step(self, label: str, row: _Row) -> Iterator[str]:
        begin = f"{label:>{self.digits}}. "
        first, *more = self._layout.wrapped(f"{begin}{row.what}", "", " " * (len(begin) + 2))
        yield from [first, *more][:-1]
        last = [first, *more][-1]
        if row.span is not None:
            where = self._places.text(row.span)
            padded = f"{last:<{len(begin) + self._width}}  "
            last = padded if len(padded) + len(where) <= self._layout.width else f"{last}  "
            last += self._layout.place(row.span, where)
        yield last
        yield from list_lines(row.changes, self._layout.width, " " * (self.digits + 4))


def _is_pause(run: Run, first: int, second: int) -> bool:
    """Tell whether both steps are idle, without a loop entry between them."""
    return run.loop != second and all(
        move.step is None and not move.actions for move in (run.moves[first], run.moves[second])
    )


def _lives(system: System, narration: Narration, layout: Layout, folded: Collection[int]) -> Iterator[str]:
    """Yield the lifecycle states of each commitment and claim along the run."""
    yield from _courses(system, system.commitments, narration, layout, folded)
    yield from _courses(system, system.claims, narration, layout, folded)


def _courses(
    system: System,
    lives: Sequence[Commitment | Claim],
    narration: Narration,
    layout: Layout,
    folded: Collection[int],
) -> Iterator[str]:
    names: list[str] = []
    entered: list[list[tuple[str, int]]] = []
    for one in lives:
        life = life_of(system, one, narration.run)
        if life != [("null", 0)] and not all(not step or step in folded for _, step in life):
            names.append(f"{one.name} ({' to '.join(one.parties)})")
            entered.append(life)
    if names:
        kind = "claims" if isinstance(lives[0], Claim) else "commitments"
        yield layout.style(f"{kind}, with the step after which each state begins:", "faint")
        yield from life_lines(names, entered, layout.width)


# --- pairs of states


def _pair(system: System, evidence: Evidence, layout: Layout, places: Places, depth: int) -> Iterator[str]:
    assert evidence.elsewhere is not None
    assert evidence.alternative is not None
    here, other = evidence.run.start, evidence.elsewhere.states[-1]
    there_is = _there_is(evidence, evidence.alternative)
    if here == other:
        yield from layout.wrapped(f"{_already(evidence)} in this very state {there_is}")
    elif not evidence.elsewhere.moves:
        yield from layout.wrapped(f"{_related(evidence)} an initial state, where {there_is}")
    else:
        yield from layout.wrapped(f"{_related(evidence)} the state after this other run, where {there_is}:")
        for line in run_lines(system, evidence.elsewhere, (), layout.indented(2), places):
            yield f"  {line}"
    if here != other:
        yield from _side_by_side(system, evidence, here, other, layout)
    if depth < MAX_DEPTH and has_trace(evidence.alternative):
        yield ""
        yield from layout.wrapped(f"in that other state, {there_is}:")
        formula = evidence.alternative.formula
        for line in _evidence(system, evidence.alternative, layout.indented(2), places, depth + 1, named=formula):
            yield f"  {line}" if line else ""


def _there_is(evidence: Evidence, other_evidence: Evidence) -> str:
    """Return the claim about the other state; for a commitment, that promises are kept there."""
    formula = evidence.formula
    if not isinstance(formula, KnownFrom) or not isinstance(formula.operand, Implies):
        return claim_text(other_evidence.formula, other_evidence.holds)
    content = claim_text(formula.operand.right, False)
    return content if OFFERED in formula.observer else f"all of it is kept and {content}"


def _already(evidence: Evidence) -> str:
    return "a round led back to this state:" if isinstance(evidence.formula, Adjacent) else "already"


def _related(evidence: Evidence) -> str:
    formula = evidence.formula
    if isinstance(formula, KnownFrom):
        if OFFERED not in formula.observer:
            return f"exactly the same is promised ({formula.observer}) in"
        channel, _, names = formula.observer.partition(OFFERED)
        return f"what {channel} promises is kept, and what it offers ({names}) is kept or still offered, in"
    if isinstance(formula, Adjacent):
        return "one round led here from"
    if not evidence.agents:
        return "the formula is about all reachable states, and one of them is"
    if len(evidence.agents) == 1:
        return f"{evidence.agents[0]} cannot tell this state from"
    return f"{' and '.join(evidence.agents)} together cannot tell this state from"


def _side_by_side(system: System, evidence: Evidence, here: State, other_state: State, layout: Layout) -> Iterator[str]:
    """Yield the common observations of the agents in both states, and the differences."""
    observed = {name for agent in evidence.agents for name in system.agent[agent].local}
    if isinstance(evidence.formula, Knows) and evidence.agents:
        same = _described(system, {name: value for name, value in here.items() if name in observed})
        who = f"what {' and '.join(evidence.agents)} see{'s' if len(evidence.agents) == 1 else ''} in both"
        yield from layout.wrapped(f"{who}: {', '.join(same) or 'nothing has happened'}", "", "  ")
    rows = [
        (variable_text(system, variable), value_text(here[variable.name]), value_text(other_state[variable.name]))
        for variable in system.variables
        if here[variable.name] != other_state[variable.name]
        and variable.kind not in HIDDEN
        and not echoes(system, variable, (here, other_state))
    ]
    if not rows:
        return
    names, values = max(len(row[0]) for row in rows), max(4, *(len(row[1]) for row in rows))
    yield f"{'what differs':<{max(names, 12)}}  {'here':<{values}}  there"
    for name, at, other in rows:
        yield f"{name:<{max(names, 12)}}  {at:<{values}}  {other}"


def _described(system: System, state: State) -> Iterator[str]:
    """Yield the variables that differ from their first initial value."""
    for variable in system.variables:
        value = state.get(variable.name, variable.initial[0])
        if variable.kind in HIDDEN or variable.about == "" or value == variable.initial[0]:
            continue
        if variable.name in state and echoes(system, variable, (state,)):
            continue
        name = variable_text(system, variable)
        yield name if value is True else f"{name} = {value_text(value)}"


# --- Results in one line each, the place first, as editors and other tools expect it


def concise(result: Result) -> str:
    """Return the place, the verdict, the name and the formula; then what else there is to say."""
    question = result.question
    where = place(result.span)
    verdict = f"{result.answer} {question.name}{expectation(result)}: {shortened(question.asked)}"
    remarks = map(remark_text, result.remarks)
    sizes = "" if result.sizes is None else result.sizes.text
    instance = f"fails for {result.instance}" if result.instance else ""
    fragments = (instance, *_parts(result), sizes, *result.findings, *folded(result.notes), *remarks)
    notes = (*fragments, result.reason or "", "cached" if result.cached else "")
    return "; ".join((f"{where}: {verdict}" if where else verdict, *filter(None, notes)))


def _parts(result: Result) -> Iterator[str]:
    """Yield which part of a conjunction fails."""
    question, evidence = result.question, result.evidence
    if result.answer == "fails" and not result.findings and evidence and isinstance(question.formula, And):
        decided = decisive(result.system, evidence)
        if all(part not in (question.formula, Not(question.formula)) for part, _ in decided):
            yield printable(", ".join(claim_text(part, holds) for part, holds in decided))
