"""Options of a file: those of the command line, completed by the overrides of the project's settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cplc.cli.options import ModelOptions
from cplc.settings import FileOptions, settings_for

_STANDARD_INPUT = "-"


def effective_options(file: str, options: ModelOptions) -> ModelOptions:
    """Return the options for a file; each value of the command line takes precedence over the settings."""
    if options.is_effective or file == _STANDARD_INPUT:
        return options
    path = Path(file)
    own = settings_for(path.parent).options_of(path, lambda: options.protocol or last_protocol(file))
    return replace(
        options,
        parameters={**own.parameters, **options.parameters},
        channels=options.channels or own.channels,
        assuming=own.assuming,
        places={name: span for name, span in own.places.items() if name not in options.parameters},
        settings=_words(own, options),
        is_effective=True,
    )


def _words(own: FileOptions, options: ModelOptions) -> tuple[str, ...]:
    """Return the options that the settings give and the command line does not, in words."""
    values = [f"{name}={value}" for name, value in own.parameters.items() if name not in options.parameters]
    return (*values, *([f"channels {own.channels}"] if own.channels and options.channels is None else ()))


def last_protocol(file: str) -> str | None:
    """Return the name of the last protocol of a file; None if it has none or is unreadable."""
    from cplc.compilation import load
    from cplc.diagnostics.core import Diagnostic

    loaded = load(file)
    names = () if isinstance(loaded, Diagnostic) else loaded.protocol_names
    return names[-1] if names else None
