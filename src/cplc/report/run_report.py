"""Report on simulated runs: their steps, the statistics of how they end, and the same as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from cplc.control_characters import printable
from cplc.language.groups import agreeing, side_text
from cplc.logic.expressions import value_text
from cplc.report.json_data import Data, run_data
from cplc.report.layout import DEFAULT_WIDTH, Layout, Style, list_lines, plain
from cplc.report.run_charts import lives_of
from cplc.report.step_text import (
    HIDDEN,
    changes,
    life_lines,
    status_text,
    step_text,
    ticks_text,
    variable_text,
)
from cplc.report.text import run_lines
from cplc.report.trace_narration import Narration
from cplc.simulation.interactive_session import Choice
from cplc.simulation.run_replay import Replayed
from cplc.simulation.run_statistics import CommitmentOutcomes, Ending, Statistics
from cplc.system.interpreter import holds
from cplc.system.model import Claim, Commitment, State, System, Variable
from cplc.system.printer import condition_text, content_text, expr_text
from cplc.system.trace import Run

MOST_COURSES: Final = 12
"""With more commitments than these, those of a family share a row."""
MAX_NAMES: Final = 12

ENDINGS: Final[dict[Ending, str]] = {
    "limit": "--steps is reached",
    "nothing": "nothing more can happen",
    "time": "only time can pass",
    "refused": "whatever can happen is decided against",
}


def run_text(system: System, run: Run, style: Style | Layout = plain, *, length: int = 0) -> Iterator[str]:
    """Yield the steps of a run that has this length at least, and what became of each commitment."""
    layout = Layout.of(style)
    if run.moves:
        for line in run_lines(system, run, (), layout.indented(2)):
            yield f"  {printable(line)}"
    if length > len(run.moves):
        yield f"  and {length - len(run.moves):,} more steps"
    lives = lives_of(system, Narration(run, (), (), None))
    if lives:
        heading = "what becomes of commitments, with the step after which each state begins:"
        yield from (layout.style(line, "faint") for line in layout.wrapped(heading, "  ", "    "))
    names = [f"{life.name} ({life.parties})" for life in lives]
    for line in life_lines(names, [[(value, at) for value, at, _ in life.spans] for life in lives], layout.width - 2):
        yield f"  {line}"


def statistics_text(statistics: Statistics, style: Style = plain) -> Iterator[str]:
    """Yield how runs end and how commitments do, and what never happened."""
    runs, steps = statistics.runs, statistics.steps
    yield f"{runs:,} {_plural('run', runs)}, {steps:,} {_plural('step', steps)}"
    for ending, count in sorted(statistics.endings.items(), key=lambda one: (-one[1], one[0])):
        yield f"  {count:,} {_plural('ends', count, 'end')}: {ENDINGS[ending]}"
    courses = summarised(statistics.courses)
    rows = [_row(course) for course in courses if course.instances]
    if rows:
        yield ""
        widths = [max(map(len, column)) for column in zip(*((_HEADING, *rows)), strict=True)]
        for number, row in enumerate((_HEADING, *rows)):
            line = f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]}"
            yield style(line, "faint") if number == 0 else printable(line)
    unborn = [course.name for course in courses if not course.instances]
    if unborn:
        yield ""
        yield f"never made: {_named(unborn)}"
    if statistics.never:
        yield f"never taken: {_named(statistics.never)}"


_HEADING: Final = ("commitment", "made", "ended as")


def _row(course: CommitmentOutcomes) -> tuple[str, str, str]:
    shares = sorted(course.endings.items(), key=lambda one: -one[1])
    ended = ", ".join(f"{state} {count:,} ({_percent(count, course.instances)})" for state, count in shares)
    return f"{course.name} ({course.parties[0]} to {course.parties[1]})", f"{course.instances:,}", ended


def _percent(count: int, whole: int) -> str:
    """Return the share; nothing that happened is 0 %, nothing that sometimes did not is 100 %."""
    rounded = round(100 * count / whole)
    return "<1 %" if rounded == 0 else ">99 %" if rounded == 100 and count < whole else f"{rounded} %"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return ", ".join(printable(name) for name in names[:MAX_NAMES]) + more


def _plural(word: str, count: int, several: str = "") -> str:
    return word if count == 1 else several or f"{word}s"


def summarised(courses: Iterable[CommitmentOutcomes], most: int = MOST_COURSES) -> tuple[CommitmentOutcomes, ...]:
    """Return the courses or, where they are many, one for each family: `goods[*]` for all of `goods`."""
    listed = tuple(courses)
    if len(listed) <= most:
        return listed
    families: dict[tuple[str, tuple[str, str], bool], dict[str, int]] = {}
    for course in listed:
        first, second = map(family, course.parties)
        endings = families.setdefault((family(course.name), (first, second), course.is_claim), {})
        for state, count in course.endings.items():
            endings[state] = endings.get(state, 0) + count
    return tuple(CommitmentOutcomes(*key, endings) for key, endings in families.items())


def family(name: str) -> str:
    """Return the name that stands for all members of a family."""
    return re.sub(r"\[[^\]]*\]", "[*]", name)


def statistics_data(statistics: Statistics) -> Data:
    return {
        "runs": statistics.runs,
        "steps": statistics.steps,
        "longest": statistics.longest,
        "endings": {ending: statistics.endings.get(ending, 0) for ending in ENDINGS},
        "commitments": [_course(course) for course in statistics.courses if not course.is_claim],
        "claims": [_course(course) for course in statistics.courses if course.is_claim],
        "taken": dict(statistics.taken),
    }


def _course(course: CommitmentOutcomes) -> Data:
    first, second = course.parties
    return {"name": course.name, "from": first, "to": second, "made": course.instances, "ended": course.endings}


def shown_data(system: System, run: Run, length: int, ending: Ending) -> Data:
    """Return a run as `cplc replay` reads it; of a very long one the beginning."""
    return {**run_data(system, run), "length": length, "ending": ending}


# --- replayed runs


def replayed_text(system: System, one: Replayed, file: str, style: Style | Layout = plain) -> str:
    """Return a replayed run, and where it does not fit the file."""
    return "".join(f"{line}\n" for line in _replayed(system, one, file, Layout.of(style)))


def _replayed(system: System, one: Replayed, file: str, layout: Layout) -> Iterator[str]:
    yield f"run {one.recorded.name}: {len(one.recorded.steps):,} {_plural('step', len(one.recorded.steps))}"
    if one.run is not None:
        yield from run_text(system, one.run, layout)
    if one.ignored:
        yield f"  not compared, because {file} has no such variables: {_some(one.ignored, 8)}"
    if one.misfit is None:
        yield f"  {layout.style('fits', 'good')} {file}"
    else:
        at = f"at step {one.misfit.at}" if one.misfit.at else "from the beginning"
        yield f"  {layout.style('does not fit', 'bad')} {file} {at}: {one.misfit.message}"
        yield from (f"    {reason}" for reason in one.misfit.reasons)
        if one.misfit.instead:
            yield f"    possible there: {_some(one.misfit.instead, 12)}"
    yield ""


def _some(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def replayed_data(system: System, one: Replayed) -> Data:
    run: Data = {"start": {}, "steps": [], "loop": None} if one.run is None else run_data(system, one.run)
    misfit = one.misfit
    return {
        "name": one.recorded.name,
        **run,
        "fits": misfit is None,
        "misfit": None
        if misfit is None
        else {
            "at": misfit.at,
            "message": misfit.message,
            "reasons": list(misfit.reasons),
            "possible": list(misfit.instead),
        },
        "not_compared": list(one.ignored),
    }


# --- One state in words: what an agent sees, and how every commitment stands


def choices_text(
    system: System, state: State, choices: Sequence[Choice], most: int, columns: int = DEFAULT_WIDTH
) -> Iterator[str]:
    """Yield the numbered ways on, with what each changes: beside them if there is room, else in lines of their own."""
    rows = []
    for choice in choices[:most]:
        move = choice.move
        effects = [*changes(system, state, move), *(f"{name} = {value_text(value)}" for name, value in choice.chosen)]
        rows.append((step_text(system, state, move), effects))
    width = min(48, max((len(what) for what, _ in rows), default=0))
    lines = [f"  {number:>3}  {what:<{width}}  {', '.join(effects)}" for number, (what, effects) in enumerate(rows, 1)]
    if max(map(len, lines), default=0) <= columns:
        yield from (printable(line.rstrip()) for line in lines)
    else:
        for number, (what, effects) in enumerate(rows, 1):
            yield printable(f"  {number:>3}  {what}")
            yield from map(printable, list_lines(effects, columns, "         "))
    if len(choices) > most:
        yield f"       and {len(choices) - most} more; `all` lists them"


def view_text(system: System, agent: str, state: State, style: Style = plain) -> Iterator[str]:
    """Yield what an agent sees: messages that it has sent and received, its variables, its views of commitments."""
    yield style(f"{agent} sees", "strong")
    shown = [system.variable[name] for name in system.agent[agent].local]
    copies = [variable for variable in shown if variable.kind == "copy" and state[variable.name]]
    messages: dict[str, list[str]] = {"sent": [], "received": []}
    for variable in copies:
        message = system.message.get(variable.about)
        how = "sent" if message is not None and message.sender == agent else "received"
        messages[how].append(variable.about + _payload(system, variable, state))
    for how, names in messages.items() if system.messages else ():
        yield f"  {how}: {printable(', '.join(names)) or 'nothing'}"
    for variable in shown:
        if variable.kind in ("copy", "field") or variable.kind in HIDDEN:
            continue
        yield printable(f"  {variable_text(system, variable)} = {value_text(state[variable.name])}")


def _payload(system: System, copy: Variable, state: State) -> str:
    values = [
        f"{one.name.rpartition('@')[0].removeprefix(f'{one.about}.')} = {value_text(state[one.name])}"
        for one in system.variables
        if one.kind == "field" and (one.about, one.owner) == (copy.about, copy.owner)
    ]
    return f"({', '.join(values)})" if values else ""


def commitments_text(system: System, state: State, style: Style = plain) -> Iterator[str]:
    """Yield every commitment and claim: its state, what it waits for or who owes what, and its clock."""
    declared: list[Commitment | Claim] = [*system.commitments, *system.claims]
    if not declared:
        yield "there are no commitments"
        return
    rows = [(_name(one), status_text(system, one, state), _meaning(system, one, state)) for one in declared]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, value, meaning in rows:
        shown = style(f"{value:<{widths[1]}}", "bad") if value == "violated" else f"{value:<{widths[1]}}"
        yield f"  {printable(name):<{widths[0]}}  {shown}  {printable(meaning)}".rstrip()


def _name(one: Commitment | Claim) -> str:
    return f"{one.name} ({' to '.join(one.parties)})"


def _meaning(system: System, one: Commitment | Claim, state: State) -> str:
    if isinstance(one, Claim):
        return one.formula or expr_text(one.content)
    who, owes = one.answerable_text, agreeing(one.debtor, "owes", "owe", one.answerable)
    match state[one.variable]:
        case "conditional":
            clause = f"if {condition_text(system, one.antecedent)}, {who} {owes} {content_text(system, one)}"
        case "active":
            if holds(one.on_course, state):
                owes = agreeing(one.debtor, "keeps its promise to", "keep their promise to", one.answerable)
            clause = f"{who} {owes} {side_text(one.creditor)}: {content_text(system, one)}"
        case "pending":
            waits = agreeing(one.debtor, "waits", "wait", one.answerable)
            clause = f"{who} would owe {content_text(system, one)}, and {waits}"
        case _:
            return ""
    return clause + _clock(system, one, state)


def _clock(system: System, one: Commitment, state: State) -> str:
    clause, limit = ("within", one.within) if state[one.variable] == "active" else ("expires", one.expires)
    if (remaining := f"{one.variable}.{clause}") in system.variable:
        return f" ({ticks_text(system, int(state[remaining]))} left)"
    clock = next((v for v in system.variables if v.kind == "clock" and v.about == one.name and v.owner == "Env"), None)
    if clock is None or limit is None:
        return ""
    return f" ({value_text(state[clock.name])} of {limit} ticks)"


def state_text(system: System, state: State) -> Iterator[str]:
    """Yield every variable that is not as it was at first."""
    for variable in system.variables:
        value = state[variable.name]
        if len(variable.initial) > 1 or value != variable.initial[0]:
            yield printable(f"  {variable.name} = {value_text(value)}")
