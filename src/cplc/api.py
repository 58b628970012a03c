"""The public interface of the package: compile a text, and verify it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cplc.checking.results import Result
    from cplc.compilation import Compilation, CplCompilation, EngineName

__all__ = ["compile", "verify"]

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
