"""Text of steps, variables and changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import TextWrapper
from typing import TypeVar

from cplc.checking.results import ExcludedStates, KnowledgeReason, Remark
from cplc.control_characters import printable
from cplc.language.durations import duration_text
from cplc.language.lifecycle import UNANSWERED
from cplc.logic.expressions import Value, value_text
from cplc.report.layout import DEFAULT_WIDTH, file_text
from cplc.source import Span
from cplc.system.commitments import last_move_of, standing_of, standing_text
from cplc.system.interpreter import holds
from cplc.system.model import Claim, Commitment, Message, State, Step, System, Variable
from cplc.system.printer import quoted
from cplc.system.synchronous import Player
from cplc.system.trace import Move, Run

MAX_INITIAL_VALUES = 12
MIN_LIFE_WIDTH = 32
"""Columns for a life beside its name; with fewer it is written below the name."""
_INDEX = re.compile(r"\[[^\]]*\]")
MAX_FORMULA_LENGTH = 200
Sent = TypeVar("Sent")
"""The data that a drawing keeps of a sending."""

HIDDEN = {"parity", "former", "follows", "argument", "last", "monitor"}
"""Variables that only serve the others."""


def place(span: Span | None) -> str:
    """Return the file and line."""
    return "" if span is None else printable(f"{file_text(span.source.name)}:{span.position[0]}")


def remark_text(remark: Remark) -> str:
    """Return a remark in one line, with the run that belongs to it."""
    return remark.message if remark.excluded is None else f"{remark.message}; {excluded_run_text(remark.excluded)}"


def excluded_run_text(excluded: ExcludedStates) -> str:
    """Return in one line how the first of the excluded states is reached."""
    run = excluded.run
    if not run.moves:
        return "an initial state is the first of them"
    steps = (step_text(excluded.system, *pair) for pair in zip(run.states, run.moves, strict=False))
    return f"{excluded.run_title} {', '.join(steps)}"


def step_text(system: System, before: State, move: Move) -> str:
    """Return who does what."""
    if move.actions:
        done = [f"{player.agent}: {action}" for player, action in acting(system, move)]
        return ", ".join(done) or "all do what they always do"
    if move.step is None:
        return "nothing happens"
    step = system.steps[move.step]
    match step.kind:
        case "send" | "exchange":
            message = system.message.get(step.event)
            receiver = f" -> {', '.join(message.receivers)}" if message else ""
            payload = ", ".join(f"{name} = {value_text(value)}" for name, value in step.payload)
            return f"{step.actor}{receiver} : {step.event}{f'({payload})' if payload else ''}"
        case "receive":
            again = " again" if step.is_duplicate else ""
            return f"{step.actor} receives {step.event}{_received(system, step, move.state)}{again}"
        case "duplicate":
            return f"{step.event} is duplicated{_way_of(system, step)}"
        case "lose":
            return f"{step.event} is lost{_way_of(system, step)}"
        case "restart":
            return f"{step.event} starts a new round"
        case "tick":
            return f"time passes ({duration_text(system.tick)})" if system.tick else "time passes"


def first_sent(in_flight: dict[tuple[str, str], list[Sent]], way: tuple[str, str]) -> Sent | None:
    """Take out and return the sending of a message to a receiver that arrives, or is lost, before all later ones."""
    sendings = in_flight.get(way)
    return sendings.pop(0) if sendings else None


def lost_to(message: Message, step: Step) -> str:
    """Return the receiver that a loss or a duplicate is about."""
    return step.name.rpartition("@")[2] if message.has_several_receivers else message.receivers[0]


def _way_of(system: System, step: Step) -> str:
    message = system.message.get(step.event)
    return f" on its way to {lost_to(message, step)}" if message and message.has_several_receivers else ""


def _received(system: System, step: Step, after: State) -> str:
    fields = [
        variable
        for variable in system.variables
        if variable.kind == "field" and variable.about == step.event and variable.owner == step.actor
    ]
    payload = ", ".join(f"{_parameter(variable)} = {value_text(after[variable.name])}" for variable in fields)
    return f"({payload})" if payload else ""


def _parameter(variable: Variable) -> str:
    return variable.name.rpartition("@")[0].removeprefix(f"{variable.about}.")


def initial_values(system: System, state: State) -> Iterator[str]:
    """Yield the values in the first state of a run that might have been others."""
    several = [
        variable.name
        for variable in system.variables
        if len(variable.initial) > 1 and variable.kind not in HIDDEN and variable.about
    ]
    yield from (f"{name} = {value_text(state[name])}" for name in several[:MAX_INITIAL_VALUES])
    if len(several) > MAX_INITIAL_VALUES:
        yield f"and {len(several) - MAX_INITIAL_VALUES} more"


def variable_text(system: System, variable: Variable) -> str:
    """Return what the variable stands for."""
    match variable.kind:
        case "copy":
            message = system.message.get(variable.about)
            if message and message.sender == variable.owner:
                return f"{variable.about} sent"
            if message is None or not message.has_several_receivers:
                return f"{variable.about} received"
            is_receiver = variable.owner in message.receivers
            return f"{variable.about} received by {variable.owner}" if is_receiver else f"{variable.about} in effect"
        case "field":
            return f"{variable.about}.{_parameter(variable)} at {variable.owner}"
        case "view":
            return f"{variable.about} as {variable.name.removeprefix(f'{variable.about}@')} sees it"
        case "clock":
            return f"ticks of {variable.about}{_seen_by(variable)}"
        case "flight":
            return f"ticks that {variable.about} is in flight"
        case "transit":
            return f"{variable.about} is on its way{_towards(system, variable)}"
        case "duplicates":
            return f"duplicates of {variable.about} to come{_towards(system, variable)}"
        case "queue":
            return f"place {variable.name.rpartition('.')[2]} of {variable.about}"
        case "queued":
            place, _, field = variable.name.removeprefix(f"{variable.about.replace(' ', '')}.").partition(".")
            return f"{field} in place {place} of {variable.about}"
        case "losses":
            return f"losses of {variable.about} in a row{_towards(system, variable)}"
        case "due":
            return f"ticks since {variable.about} became due"
        case "remaining":
            return f"ticks left of {variable.about}{_seen_by(variable)}"
        case "standing":
            observer = "" if variable.name == standing_of(variable.about) else f" as {_viewer(variable)} sees it"
            return f"standing of {variable.about}{observer}"
        case "age":
            return f"age of {variable.about} as {variable.owner} sees it"
        case "argument":
            return f"{variable.about} moved with"
        case "last":
            return f"last move of {variable.name.removeprefix(last_move_of(variable.about, ''))} on {variable.about}"
        case "former":
            return f"{variable.about} before"
        case "follows":
            return f"{variable.about} waits for"
        case "monitor":
            return f"what was seen for {variable.about}"
        case "parity":
            return f"parity of {variable.about} at {variable.owner}"
        case "own" | "commitment" | "claim":
            return variable.name


def _towards(system: System, variable: Variable) -> str:
    """Return the receiver, if the message has several."""
    message = system.message.get(variable.about)
    several = message is not None and message.has_several_receivers
    return f" to {variable.name.removeprefix(f'{variable.about}@').rpartition('.')[0]}" if several else ""


def knowledge_text(system: System, reason: KnowledgeReason) -> str:
    """Return by which observation an agent knows something, and the messages that it follows from."""
    name, content = variable_text(system, reason.variable), quoted(reason.claim.operand)
    if isinstance(reason.value, bool):
        observation = name if reason.value else f"not {name}"
    else:
        observation = f"{name} = {value_text(reason.value)}"
    text = f"{reason.claim.agents[0]} knows it by `{observation}`: {content} holds in every reachable state with it"
    if len(reason.chain) > 1:
        first, second, *more = reason.chain
        links = ", ".join(f"`{later}` after `{earlier}`" for later, earlier in zip([second, *more], more, strict=False))
        text = f"{text}, since `{first}` is sent only after `{second}`{f', {links}' if links else ''}"
    return text


def _viewer(variable: Variable) -> str:
    return variable.name.removeprefix(f"{variable.about}@").removesuffix(standing_of(""))


def _seen_by(variable: Variable) -> str:
    """Return in words the role of a view that counts the ticks of a deadline; nothing for the deadline itself."""
    if variable.name.startswith(f"{variable.about}."):
        return ""
    return f" as {variable.name.removeprefix(f'{variable.about}@').rpartition('.')[0]} sees it"


def echoes(system: System, variable: Variable, states: Sequence[State]) -> bool:
    """Tell whether the variable is the clock of a view that agrees with the deadline itself in all the states."""
    if variable.kind not in ("clock", "remaining") or not _seen_by(variable):
        return False
    view, _, suffix = variable.name.rpartition(".")
    declared = system.commitment.get(variable.about) or system.claim.get(variable.about)
    if declared is None:
        return False
    own = f"{declared.variable}.{suffix}"
    return all(
        own in state and state[own] == state[variable.name] and state.get(view) == state[declared.variable]
        for state in states
    )


def acting(system: System, move: Move) -> Iterator[tuple[Player, str]]:
    """Yield what the players did in a round, those left out that never do anything else."""
    for player, action in zip(system.players, move.actions, strict=False):
        if len(player.actions) > 1:
            yield player, action


def stopped(system: System, state: State) -> tuple[str, ...]:
    """Return who in a synchronous system has no action in the state, so that all stop."""
    return tuple(
        player.agent for player in system.players if not any(holds(one.allowed, state) for one in player.actions)
    )


def changes(system: System, before: State, move: Move) -> Iterator[str]:
    """Yield what a step changes beyond the message that it sends or receives, with one text for each subject."""
    texts: list[str] = []
    for text in _changes(system, before, move):
        subject, separator, change = text.partition(": ")
        same = next((at for at, earlier in enumerate(texts) if earlier.startswith(f"{subject}: ")), None)
        if same is None or not separator:
            texts.append(text)
        else:
            texts[same] = f"{texts[same]}, {change}"
    yield from texts


def _changes(system: System, before: State, move: Move) -> Iterator[str]:
    if move.actions:
        for name, old in before.items():
            if move.state[name] != old:
                yield f"{name}: {value_text(old)} -> {value_text(move.state[name])}"
        return
    if move.step is None:
        return
    step = system.steps[move.step]
    after = move.state
    for variable in system.variables:
        if variable.kind in HIDDEN or (variable.owner == "Env" and variable.about == ""):
            continue
        if variable.kind in ("commitment", "claim") and (moved := _moved(system, variable, before, after)):
            yield moved
        if before[variable.name] == after[variable.name]:
            if is_created_again(system, variable, before, move):
                yield f"{variable.about}: {before[variable.name]} -> {after[variable.name]} (created again)"
            continue
        shown = _change(system, step, variable, before, after)
        if shown:
            yield shown


def _moved(system: System, lifecycle: Variable, before: State, after: State) -> str:
    """Return the change of the standing of what stays in the same state; nothing where there is none."""
    if before[lifecycle.name] != after[lifecycle.name]:
        return ""
    old, new = (standing_text(system, lifecycle.name, state) for state in (before, after))
    return "" if old == new else f"{lifecycle.about}: {old or UNANSWERED} -> {new or UNANSWERED}"


def status_text(system: System, one: Commitment | Claim, state: State) -> str:
    """Return the lifecycle state and, where it has been moved on, the standing."""
    standing = standing_text(system, one.variable, state)
    return value_text(state[one.variable]) + (f", {standing}" if standing else "")


def _change(system: System, step: Step, variable: Variable, before: State, after: State) -> str:
    old, new = before[variable.name], after[variable.name]
    match variable.kind:
        case "commitment" | "claim":
            forgotten = " (forgotten by a new round)" if forgets(system, step, variable, before) else ""
            standing = standing_text(system, variable.name, after)
            empowered = system.empowered(step, variable.about)
            power = f" (by power of {empowered})" if empowered else ""
            return f"{variable.about}: {old} -> {new}{f', {standing}' if standing else ''}{forgotten}{power}"
        case "standing":
            view = variable.name.removesuffix(standing_of(""))
            is_reset = new == UNANSWERED and before.get(view) != after.get(view)
            is_news = variable.owner != "Env" and not is_reset and after.get(standing_of(variable.about)) != new
            return f"{variable_text(system, variable)}: {old} -> {new}" if is_news else ""
        case "view":
            declared = system.commitment.get(variable.about) or system.claim.get(variable.about)
            is_news = declared is None or after[declared.variable] != new
            return f"{variable_text(system, variable)}: {old} -> {new}" if is_news else ""
        case "own" if step.kind != "restart":
            return f"{variable.name}: {value_text(old)} -> {value_text(new)}"
        case "clock" if step.kind == "tick" and new and not echoes(system, variable, (after,)):
            return f"{variable.about}{_seen_by(variable)}: {_ticks(system, variable, new, after)}"
        case "remaining" if new and not echoes(system, variable, (after,)):
            return f"{variable.about}{_seen_by(variable)}: {ticks_text(system, int(new))} left"
        case "copy" if step.kind != "restart" and not new:
            return f"resets {variable.about}" if variable.owner == step.actor else ""
        case _:
            return ""


def is_created_again(system: System, lifecycle: Variable, before: State, move: Move) -> bool:
    """Tell whether the step creates a closed commitment or claim again that ends in the same state at once."""
    if move.step is None or lifecycle.kind not in ("commitment", "claim"):
        return False
    operations = (one for one in system.steps[move.step].operations if one.commitment == lifecycle.about)
    return before[lifecycle.name] == move.state[lifecycle.name] and any(
        one.verb == "create" and holds(one.applicable, before) for one in operations
    )


def life_of(system: System, one: Commitment | Claim, run: Run) -> list[tuple[str, int]]:
    """Return each state that it enters on the run, and the number of the step after which it does; 0 for the first."""
    variable = system.variable[one.variable]
    entered = [(status_text(system, one, run.start), 0)]
    for number, (before, move) in enumerate(zip(run.states, run.moves, strict=False), 1):
        value = status_text(system, one, move.state)
        if value != entered[-1][0] or is_created_again(system, variable, before, move):
            entered.append((value, number))
    return entered


def life_lines(
    names: Sequence[str], lives: Sequence[Sequence[tuple[str, int]]], columns: int = DEFAULT_WIDTH
) -> Iterator[str]:
    """Yield each life after its name, in as many lines as it takes: no state that is entered is left out.

    A first state `null` goes without saying where others follow.
    """
    width = max(map(len, names), default=0)
    is_narrow = columns - width - 6 < MIN_LIFE_WIDTH
    for name, life in zip(names, lives, strict=True):
        shown = life[1:] if len(life) > 1 and life[0][0] == "null" else life
        states = [f"{value} ({number})" if number else value for value, number in shown]
        text = " -> ".join(state.replace(" ", "\0") for state in states).replace(" -> ", " ->\0")
        indent, further = ("    ", "  ") if is_narrow else (f"  {name:<{width}}  ", "   ")
        if is_narrow:
            yield f"  {name}"
        lines = TextWrapper(columns - len(indent), break_long_words=False, break_on_hyphens=False)
        lines.subsequent_indent = further
        for at, line in enumerate(lines.wrap(text)):
            yield f"{' ' * len(indent) if at else indent}{line}".replace("\0", " ")


def forgets(system: System, step: Step, lifecycle: Variable, before: State) -> bool:
    """Tell whether the step is a restart that erases an owed commitment: in force, and not on course."""
    if lifecycle.kind != "commitment" or not step.takes_back(lifecycle.name):
        return False
    if lifecycle.about in system.commitment and holds(system.commitment[lifecycle.about].on_course, before):
        return False
    match before[lifecycle.name]:
        case "active":
            return True
        case "pending":
            former = (v for v in system.variables if v.kind == "former" and v.about == lifecycle.about)
            return any(before[variable.name] == "active" for variable in former)
        case _:
            return False


def _ticks(system: System, clock: Variable, ticks: Value, after: State) -> str:
    commitment = system.commitment.get(clock.about)
    limit = None
    if commitment is not None:
        state = after.get(clock.name.rpartition(".")[0], after[commitment.variable])
        limit = commitment.within if state == "active" else commitment.expires
    return f"{ticks} ticks" if limit is None else f"{ticks} of {limit} ticks"


def folded(notes: Iterable[str]) -> list[str]:
    """Return the notes, those once that differ only in which member of a family they name."""
    alike: dict[str, list[str]] = {}
    for note in notes:
        alike.setdefault(_INDEX.sub("[]", note), []).append(note)
    return [
        same[0] if len(same) == 1 else f"{same[0]}; so may {counted(len(same) - 1, 'other member')}"
        for same in alike.values()
    ]


def shortened(text: str) -> str:
    """Return the text, or its beginning if it is longer than people read."""
    shown = printable(text)
    return shown if len(shown) <= MAX_FORMULA_LENGTH else f"{shown[: MAX_FORMULA_LENGTH - 2]} …"


def joined(names: Sequence[str], word: str) -> str:
    return f" {word} ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)


def ticks_text(system: System, number: int) -> str:
    """Return a number of ticks, with their length if the protocol declares that of a tick."""
    text = counted(number, "tick")
    return f"{text} ({duration_text(number * system.tick)})" if system.tick and number else text


def fold_text(steps: int) -> str:
    """Return the text in place of irrelevant steps in sequence."""
    return f"… {steps} steps that do not matter"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
