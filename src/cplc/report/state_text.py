"""One state in words: what an agent sees, and how every commitment stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cplc.control_characters import printable
from cplc.report.step_text import HIDDEN, changes, status_text, step_text, value_text, variable_text
from cplc.report.text import Style, plain
from cplc.simulation.interactive_session import Choice
from cplc.system.interpreter import holds
from cplc.system.model import Claim, Commitment, State, System, Variable
from cplc.system.printer import condition_text, content_text, expr_text


def choices_text(system: System, state: State, choices: Sequence[Choice], most: int) -> Iterator[str]:
    """Yield the numbered ways on, with what each changes."""
    rows = []
    for choice in choices[:most]:
        move = choice.move
        effects = [*changes(system, state, move), *(f"{name} = {value_text(value)}" for name, value in choice.chosen)]
        rows.append((step_text(system, state, move), ", ".join(effects)))
    width = min(48, max((len(what) for what, _ in rows), default=0))
    for number, (what, effects_text) in enumerate(rows, 1):
        yield printable(f"  {number:>3}  {what:<{width}}  {effects_text}".rstrip())
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
    first, second = (one.maker, one.addressee) if isinstance(one, Claim) else (one.debtor, one.creditor)
    return f"{one.name} ({first} to {second})"


def _meaning(system: System, one: Commitment | Claim, state: State) -> str:
    if isinstance(one, Claim):
        return one.formula or expr_text(one.content)
    match state[one.variable]:
        case "conditional":
            clause = f"if {condition_text(system, one.antecedent)}, {one.debtor} owes {content_text(system, one)}"
        case "active":
            owes = "keeps its promise to" if holds(one.on_course, state) else "owes"
            clause = f"{one.debtor} {owes} {one.creditor}: {content_text(system, one)}"
        case "pending":
            clause = f"{one.debtor} would owe {content_text(system, one)}, and waits"
        case _:
            return ""
    return clause + _clock(system, one, state)


def _clock(system: System, one: Commitment, state: State) -> str:
    clause, limit = ("within", one.within) if state[one.variable] == "active" else ("expires", one.expires)
    if (remaining := f"{one.variable}.{clause}") in system.variable:
        left = int(state[remaining])
        return f" ({left} tick{'' if left == 1 else 's'} left)"
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
