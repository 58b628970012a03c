"""A compiler and model checker for commitment protocols.

Importing this module loads nothing else; the functions below load what they need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cplc.checking.results import Result
    from cplc.compilation import CplCompilation, EngineName
    from cplc.monitoring.monitor import Monitor as Monitor

__all__ = ["Monitor", "__version__", "compile", "verify"]
__version__ = "0.1.0"

_NONE: Mapping[str, str] = {}


if not TYPE_CHECKING:  # a type checker that saw this would accept every name

    def __getattr__(name: str) -> type[Monitor]:
        """Load the monitor when it is first used."""
        if name == "Monitor":
            from cplc.monitoring.monitor import Monitor

            return Monitor
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
    compilation: CplCompilation,
    *,
    names: Sequence[str] = (),
    engine: EngineName = "auto",
) -> tuple[Result, ...]:
    """Return the verdict of each named property, or of all that the file asks for."""
    return tuple(compilation.verify(compilation.questions(names), engine))
