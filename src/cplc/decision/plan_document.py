"""Documents of plans: the JSON of ``cplc analyze``, or one plan in the same form, written by hand.

Only the form is checked here; `cplc.decision.given_plans` checks that the participant has such situations and steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from cplc.logic.expressions import Value
from cplc.records import dataclass

MAX_PLAN_BYTES = 20_000_000
_ACCOMPANYING = frozenset(("agent", "situations", "never", "figures", "by_what_it_sees"))
"""The fields of one plan: those of a plan of a line, those of the advice for one figure, and the name of its agent."""


class UnreadablePlan(ValueError):
    """Raised for a plan that cannot be played; the text says where and why."""


@dataclass(frozen=True, slots=True)
class StatedSituation:
    """A situation as the document states it."""

    where: str
    """Its place in the document."""
    sees: Mapping[str, Value]
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatedPlan:
    """The situations of a plan."""

    where: str
    situations: tuple[StatedSituation, ...]
    never: tuple[str, ...] = ()
    """Steps that it never takes."""


@dataclass(frozen=True)
class PlanDocument:
    """One plan, or the report on several agents with their plans."""

    agent: str | None
    """The agent of the plan, if it names one."""
    plan: StatedPlan | None
    """The plan, where it is one."""
    agents: Sequence[Mapping[str, object]] = ()

    def plan_of(self, agent: str, assumption: str) -> StatedPlan:
        """Return the plan of this agent under this assumption; raise `UnreadablePlan` if there is not just one."""
        if self.plan is not None:
            if self.agent not in (None, agent):
                raise UnreadablePlan(f"it is a plan of `{self.agent}`, not of `{agent}`")
            return self.plan
        named = [(at, one) for at, one in enumerate(self.agents) if one.get("agent") == agent]
        if not named:
            raise UnreadablePlan(f"it says nothing about an agent `{agent}`")
        alike = [(at, one) for at, one in named if (one.get("assuming") or "") == assumption]
        if not alike:
            condition = f"assuming {assumption}" if assumption else "without an assumption"
            raise UnreadablePlan(f"it has no plan of `{agent}` {condition}")
        at, entry = alike[0]
        several = list(_plans_of(entry, f"agents[{at}]."))
        if not several:
            raise UnreadablePlan(f"it has no plan of `{agent}`: nothing that it can do makes a difference there")
        contents = {
            (tuple((tuple(one.sees.items()), one.steps) for one in plan.situations), plan.never) for plan in several
        }
        if len(contents) > 1:
            places = ", ".join(f"`{plan.where.rstrip('.')}`" for plan in several)
            raise UnreadablePlan(f"it has several plans of `{agent}`; make a document of one of them: {places}")
        return several[0]


def plan_document(text: str) -> PlanDocument:
    """Parse the document; raise `UnreadablePlan` if it has another form."""
    try:
        document = json.loads(text)
    except RecursionError:
        raise UnreadablePlan("it is nested too deeply") from None
    except ValueError as problem:
        raise UnreadablePlan(f"it is not JSON: {problem}") from None
    match document:
        case {"agents": list(agents)}:
            return PlanDocument(None, None, [_object(one, f"agents[{at}]") for at, one in enumerate(agents)])
        case {"situations": _}:
            if strange := [name for name in document if name not in _ACCOMPANYING]:
                raise UnreadablePlan(f"`{strange[0]}` is no field of a plan")
            agent = document.get("agent")
            if agent is not None and not isinstance(agent, str):
                raise UnreadablePlan("`agent` is not a name")
            return PlanDocument(agent, _plan(document, ""))
        case dict():
            raise UnreadablePlan("it has neither `situations` nor `agents`, so no plan")
        case _:
            raise UnreadablePlan("it is JSON, but no object")


def _plans_of(entry: Mapping[str, object], where: str) -> Iterator[StatedPlan]:
    """Yield the plans of the lines; where these have none, the advice for each figure."""
    lines = list(_parts(entry, "lines", "plan", where))
    yield from lines or _parts(entry, "aspects", "advice", where)


def _parts(entry: Mapping[str, object], group: str, name: str, where: str) -> Iterator[StatedPlan]:
    every = entry.get(group, [])
    if not isinstance(every, list):
        raise UnreadablePlan(f"{where}{group} is not a list")
    for at, one in enumerate(every):
        place = f"{where}{group}[{at}]"
        part = _object(one, place).get(name)
        if part is not None:
            plan = _plan(_object(part, f"{place}.{name}"), f"{place}.{name}.")
            if plan.situations:
                yield plan


def _plan(data: Mapping[str, object], where: str) -> StatedPlan:
    situations = data.get("situations")
    if not isinstance(situations, list):
        raise UnreadablePlan(f"{where}situations is not a list")
    stated = tuple(_situation(one, f"{where}situations[{at}]") for at, one in enumerate(situations))
    return StatedPlan(where, stated, _names(data.get("never", []), f"{where}never"))


def _names(data: object, where: str) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(name, str) for name in data):
        raise UnreadablePlan(f"{where} is not a list of names")
    return tuple(data)


def _situation(data: object, where: str) -> StatedSituation:
    situation = _object(data, where)
    if strange := [name for name in situation if name not in ("sees", "steps")]:
        raise UnreadablePlan(f"{where}: `{strange[0]}` is no field of a situation, which are `sees` and `steps`")
    sees = _object(situation.get("sees"), f"{where}.sees")
    values: dict[str, Value] = {}
    for name, value in sees.items():
        if not isinstance(value, bool | int | str):
            raise UnreadablePlan(f"{where}.sees: the value of `{name}` is no value of a variable")
        values[name] = value
    steps = _names(situation.get("steps"), f"{where}.steps")
    if not steps:
        raise UnreadablePlan(f'{where}.steps is empty; "wait" says that it sends nothing')
    return StatedSituation(where, values, steps)


def _object(data: object, where: str) -> Mapping[str, object]:
    if not isinstance(data, dict):
        raise UnreadablePlan(f"{where} is not an object")
    return data
