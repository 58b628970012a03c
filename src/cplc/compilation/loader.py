"""Loader of files: reads a text, and chooses the compilation of its language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cplc.compilation.cpl import CplCompilation
from cplc.compilation.interface import Channels, Compilation, NotApplicable, Strategies
from cplc.compilation.ispl import IsplCompilation
from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note, did_you_mean
from cplc.runtime.file_access import MAX_SIZE, NotRegular, TooManyBytes, read_bytes
from cplc.source import Source, Span

if TYPE_CHECKING:
    from cplc.semantics.imports import Load

ENDINGS: Final = (".cpl", ".ispl")
"""The endings of the names of files that can be compiled."""


def load(
    name: str,
    parameters: Mapping[str, str] | None = None,
    channels: Channels | None = None,
    protocol: str | None = None,
    strategies: Strategies = "full",
) -> Compilation | Diagnostic:
    """Return the compilation of a file, or the diagnostic of an unreadable file."""
    if Source(name, "").is_ispl:
        from cplc.ispl.syntax.parser import MAX_SIZE as MAX_ISPL_SIZE

        text = _text(name, MAX_ISPL_SIZE)
    else:
        text = _text(name, MAX_SIZE)
    if isinstance(text, Diagnostic):
        return text
    return compile_text(Source(name, text), Path(name), parameters, channels, protocol, strategies)


def compile_text(
    source: Source,
    path: Path | None = None,
    parameters: Mapping[str, str] | None = None,
    channels: Channels | None = None,
    protocol: str | None = None,
    strategies: Strategies = "full",
    load: Load | None = None,
) -> Compilation:
    """Return the compilation of a text, in its language; ``load`` replaces reading from disk."""
    if not source.is_ispl:
        return CplCompilation(source, path, parameters or {}, channels, protocol, load=load, strategies=strategies)
    if parameters or channels or protocol:
        raise NotApplicable("a model in ISPL has no parameters, no channels and no protocols to choose")
    return IsplCompilation(source, path, strategies=strategies)


def with_places(diagnostics: Iterable[Diagnostic], places: Mapping[str, Span]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics; one about the value of a parameter gets the place where the value is set."""
    if not places:
        return tuple(diagnostics)
    from cplc.semantics.instantiate import COMMAND_LINE

    def placed(one: Diagnostic) -> Diagnostic:
        if one.span.source.name != COMMAND_LINE:
            return one
        span = places.get(one.span.source.text.partition("=")[0])
        return one if span is None else replace(one, span=span, fixes=())

    return tuple(map(placed, diagnostics))


def _text(name: str, most: int) -> str | Diagnostic:
    """Return the text of a file named by the user, which may be a pipe."""
    return decoded(name, lambda: read_bytes(name, 4 * most + 3, or_pipe=True), "utf-8-sig", most)


def decoded(name: str, read: Callable[[], bytes], encoding: str = "utf-8", most: int = MAX_SIZE) -> str | Diagnostic:
    """Return the text of a file, or the diagnostic of an unreadable file."""
    try:
        return read().decode(encoding)
    except IsADirectoryError:
        return _unreadable(name, f"`{name}` is a directory, not a file")
    except NotRegular:
        return _unreadable(name, f"`{name}` is not a regular file")
    except TooManyBytes:
        message = f"The file has more than the {most:,} characters that can be read"
        return rules.FILE_TOO_LARGE.at(Span(Source(name, ""), 0, 0), message)
    except UnicodeDecodeError as problem:
        return _unreadable(name, f"`{name}` is not UTF-8 text (byte {problem.start})")
    except FileNotFoundError as problem:
        return _unreadable(name, f"cannot read `{name}`: {problem.strerror}", *_file_meant(name))
    except (OSError, ValueError) as problem:
        return _unreadable(name, f"cannot read `{name}`: {getattr(problem, 'strerror', None) or problem}")


def _file_meant(name: str) -> tuple[Note, ...]:
    """Return the hint with the file of the same folder that was meant, for example with the ending left out."""
    path = Path(name)
    try:
        models = [one.name for one in path.parent.iterdir() if one.suffix in (".cpl", ".ispl")]
    except OSError:
        return ()
    by_stem = {Path(one).stem: one for one in sorted(models, reverse=True)}
    fitting = by_stem.get(path.name)
    closest = did_you_mean(path.stem, by_stem) if fitting is None else ()
    meant = [fitting] if fitting else [by_stem[one.text] for note in closest for one in note.replacements]
    return tuple(Note(f"did you mean `{path.with_name(one)}`?", None, "hint") for one in meant)


def _unreadable(name: str, message: str, *notes: Note) -> Diagnostic:
    return rules.UNREADABLE_FILE.at(Span(Source(name, ""), 0, 0), message, *notes)
