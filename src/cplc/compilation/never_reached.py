"""Warnings of commitments that the reachable states show never to be created, or never to bind anybody.

Each warning says that a lifecycle state is reachable in no instance of a declaration: at the borders of a family some
instances are often meant to be idle. Conditions of fairness do not count, and with several initial states the runs
from all of them do. A question that exceeds a limit is undecided, and nothing is said. The check `live` does the same
for messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from cplc.checking.builtin_checks import on_some_run, plain_text, without_fairness
from cplc.checking.results import Question, Result
from cplc.compilation.interface import BoundQuestion
from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note
from cplc.language.lifecycle import COMMITMENT_STATES
from cplc.logic import expressions as e
from cplc.logic.formulas import Atom
from cplc.records import dataclass
from cplc.semantics.model import Commitment, PayloadDeadline
from cplc.settings.suppression import not_suppressed
from cplc.source import Span
from cplc.system.model import System

if TYPE_CHECKING:
    from cplc.compilation.cpl import CplCompilation

Event = Literal["created", "owed", "conditional", "antecedent"]
"""A kind of state: the commitment exists, is active or violated, is conditional; or its antecedent is true."""

_STATES: Mapping[Event, tuple[str, ...]] = {
    "created": tuple(state.name for state in COMMITMENT_STATES if state.phase != "null"),
    "owed": ("active", "violated"),
    "conditional": ("conditional",),
}
_MAX_MESSAGES = 3
"""Number of messages that a note names."""

Ask = Callable[[Sequence[BoundQuestion]], Iterator[Result]]


@dataclass(frozen=True)
class NeverReached:
    """The commitments of a text, grouped by their declarations, and the questions about their states.

    That the first instance of each declaration is owed nearly always settles that the declaration is needed; only if it
    does not, `warnings` asks more.
    """

    compilation: CplCompilation
    system: System
    declarations: tuple[tuple[Commitment, ...], ...]

    @property
    def questions(self) -> tuple[BoundQuestion, ...]:
        """Questions about the first instance of each declaration."""
        return tuple(
            self._question(instances[0], event) for instances in self.declarations for event in _events(instances[0])
        )

    def warnings(self, answered: Iterable[Result], ask: Ask) -> tuple[Diagnostic, ...]:
        """Return the warnings, given the answers to `questions`; ``ask`` answers further ones."""
        unreachable = {one.question.name for one in answered if one.answer == "fails"}

        def never(instances: tuple[Commitment, ...], event: Event) -> bool:
            """Tell whether no instance has such a state; false where this is unknown."""
            if _name(instances[0], event) not in unreachable:
                return False
            return all(one.answer == "fails" for one in ask([self._question(other, event) for other in instances[1:]]))

        return not_suppressed(
            (warning for one in self.declarations for warning in self._warnings(one, never, ask)),
            self.compilation.settings,
        )

    def _warnings(
        self, instances: tuple[Commitment, ...], never: Callable[[tuple[Commitment, ...], Event], bool], ask: Ask
    ) -> Iterator[Diagnostic]:
        one = instances[0]
        if not never(instances, "owed"):
            if one.expires is not None and never(instances, "conditional"):
                yield rules.IDLE_DEADLINE.at(
                    one.span,
                    f"`{one.name}` is conditional in no reachable state{_more(instances)}, so `expires` never runs",
                    Note("its antecedent is true whenever it is created: leave `expires` out, or create it earlier"),
                )
        elif all(answer.answer == "fails" for answer in ask([self._question(other, "created") for other in instances])):
            yield rules.NEVER_CREATED.at(
                one.span, f"`{one.name}` is created in no reachable state{_more(instances)}", self._creators(one)
            )
        else:
            idle = f", so its deadline {_length(one.within)} never runs" if one.within is not None else ""
            yield rules.NEVER_ACTIVE.at(
                one.span,
                f"`{one.name}` is active in no reachable state{_more(instances)}{idle}",
                self._cause(instances, ask),
            )

    def _creators(self, commitment: Commitment) -> Note:
        creating = [
            message.name
            for message in self.compilation.model.messages
            if any(operation.created == commitment.name for operation in message.operations)
        ]
        names = ", ".join(f"`{name}`" for name in creating[:_MAX_MESSAGES])
        return Note(f"only {names} would create it: `check live` tells whether such a message is ever received")

    def _cause(self, instances: tuple[Commitment, ...], ask: Ask) -> Note:
        """Return why the commitments are never active."""
        antecedents = [self._question(one, "antecedent") for one in instances]
        antecedent = plain_text(self.system, self.system.commitment[instances[0].name].antecedent)
        if all(one.answer == "fails" for one in ask(antecedents)):
            return Note(f"its antecedent, `{antecedent}`, is true in no reachable state: weaken it")
        return Note("where its antecedent is true, it is closed or not created: create it earlier, or leave it out")

    def _question(self, commitment: Commitment, event: Event) -> BoundQuestion:
        lowered = self.system.commitment[commitment.name]
        possible = self.system.variable[lowered.variable].domain
        states = [state for state in _STATES.get(event, ()) if state in possible]
        condition = lowered.antecedent if event == "antecedent" else e.one_of(e.Read(lowered.variable), states)
        text = f"some run from some initial state reaches one where {commitment.name} is {event}"
        formula = on_some_run(self.system, Atom(condition, f"{commitment.name} is {event}", in_words=True))
        question = Question(
            name=_name(commitment, event),
            kind="check",
            formula=formula,
            text=text,
            span=commitment.span,
            system=without_fairness(self.system),
            unsupported=self.compilation.unsupported(formula),
            verdict_only=True,
        )
        return BoundQuestion(question, self.system)


def never_reached(compilation: CplCompilation) -> NeverReached:
    """Return the commitments of the text itself about which nothing static is known."""
    declarations: dict[Span, list[Commitment]] = {}
    reported = {one.span for one in compilation.diagnostics if one.code in rules.FROM_STATES}
    for commitment in compilation.model.commitments:
        if commitment.span.source == compilation.source and commitment.span not in reported:
            declarations.setdefault(commitment.span, []).append(commitment)
    return NeverReached(compilation, compilation.system, tuple(map(tuple, declarations.values())))


def _events(commitment: Commitment) -> tuple[Event, ...]:
    return ("owed", "conditional") if commitment.expires is not None else ("owed",)


def _name(commitment: Commitment, event: Event) -> str:
    return f"{commitment.name} is {event}"


def _more(instances: Sequence[Commitment]) -> str:
    return f", nor is any other of its {len(instances)} instances" if len(instances) > 1 else ""


def _length(deadline: int | PayloadDeadline) -> str:
    return f"`{deadline.text}`" if isinstance(deadline, PayloadDeadline) else f"of {deadline} ticks"
