"""Listing of reductions: the system and the formula after each pass, for maintainers and for the curious."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cplc.checking.engine_selector import EngineName, EngineSelector, method_of
from cplc.checking.results import Question
from cplc.reductions.pipeline import Application
from cplc.reductions.problem import PerSystem
from cplc.system.model import System
from cplc.system.printer import formula_text, system_text


def reduction_listing(
    questions: Iterable[tuple[System, Question]], engine: EngineName, pass_name: str
) -> Iterator[str]:
    """Yield a text for each conjunct of each question: the problem after this pass, or after ``all`` passes.

    A system that was listed before is referred to by its first place.
    """
    method = method_of(engine)
    selector_of = PerSystem(lambda system: EngineSelector(system, method, auto=engine == "auto"))
    places: dict[int, tuple[System, str]] = {}  # by the identity of the system, which the entry keeps alive
    for system, question in questions:
        selector = selector_of(system)
        parts = selector.parts(question.formula)
        for number, part in enumerate(parts, 1):
            which = f", conjunct {number} of {len(parts)}" if len(parts) > 1 else ""
            reduced = selector.fully_reduced(part.formula, question.assuming)
            applications = [one for one in reduced.applications if pass_name in {"all", one.by.name}]
            if not applications:
                yield f"-- {question.name}{which}: not reduced by {_passes(pass_name)}\n"
            for one in applications:
                yield _after(one, f"{question.name}{which}", places)


def _passes(pass_name: str) -> str:
    return "any pass" if pass_name == "all" else f"`{pass_name}`"


def _after(application: Application, place: str, places: dict[int, tuple[System, str]]) -> str:
    before, after = application.before, application.after
    lines = [f"-- {place}: after `{application.by.name}`", f"formula {formula_text(after.formula)}"]
    if after.interchangeable is not before.interchangeable:
        lines += (
            f"interchangeable {', '.join(f'{family}[{index}]' for family in group.families for index in group.indices)}"
            for group in after.interchangeable
        )
    if after.goals is not before.goals and after.goals is not None:
        lines.append(f"goals of stubborn sets: {len(after.goals.goals)}")
    if after.system is not before.system:
        variables = f"{len(after.system.variables)} of {len(before.system.variables)} variables"
        lines.append(f"{variables}, {len(after.system.steps)} of {len(before.system.steps)} steps")
        here = f"{place}, after `{application.by.name}`"
        _, first = places.setdefault(id(after.system), (after.system, here))
        lines.append(system_text(after.system) if first == here else f"the system is that of {first}\n")
    else:
        lines.append("the system remains as it is\n")
    return "\n".join(lines)
