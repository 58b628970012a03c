"""The public interface of the package: compile a text, and verify it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cplc.checking.results import Result
    from cplc.compilation import Compilation, CplCompilation, EngineName
    from cplc.decision.next_send import Advice
    from cplc.system.model import State

__all__ = ["compile", "decide", "verify"]

_NONE: Mapping[str, str] = {}


def compile(  # noqa: A001 - the public name is `cplc.compile`
    text: str,
    *,
    name: str = "<text>",
    parameters: Mapping[str, str] = _NONE,
    channels: Literal["sync", "async"] | None = None,
) -> CplCompilation:
    """Return the compilation of a text; its `diagnostics` say what is wrong with it."""
    from cplc.compilation import CplCompilation
    from cplc.source import Source

    return CplCompilation(Source(name, text), parameters=parameters, channels=channels)


def verify(
    compilation: Compilation,
    *,
    names: Sequence[str] = (),
    engine: EngineName = "auto",
) -> tuple[Result, ...]:
    """Return the verdict of each named property, or of all that the file asks for."""
    return tuple(compilation.verify(compilation.questions(names), engine))


def decide(protocol: CplCompilation, agent: str, state: Sequence[str] | State = ()) -> Advice:
    """Return the options of an agent in the middle of a run with what each is worth, the best one first.

    The state is the sequence of events that the agent has seen, such as ``offer[1]`` or ``bid(3)``, or a value of each
    variable of the system.
    """
    adviser = protocol.adviser(agent)
    return adviser.advice_in([state]) if isinstance(state, dict) else adviser.advice_after(tuple(state))
