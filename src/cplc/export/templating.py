"""Rendering of the Jinja templates of this package; templates contain no decisions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cplc.control_characters import printable
from cplc.export.request import Request


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(template: str, **values: object) -> str:
    """Render the template with the values."""
    return _environment().get_template(template).render(**values)


# --- Header comment of exported files: origin, encoding, omissions


_WIDTH = 100


def header_lines(request: Request, remarks: Iterable[str] = (), left_out: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the lines of the header in ASCII, without comment signs; ``left_out`` are the exporter's omissions."""
    origin = request.origin
    lines = [f"{request.system.name}, exported from {origin.source} by cplc {origin.version}"]
    lines += [f"{key}: {value}" for key, value in request.system.header]
    for remark in remarks:
        lines += ["", *textwrap.wrap(remark, _WIDTH)]
    notes = (*request.left_out, *left_out)
    if notes:
        lines += ["", "Omitted:"]
    for note in notes:
        lines += textwrap.wrap(f"{note}.", _WIDTH, initial_indent="* ", subsequent_indent="  ")
    return tuple(map(comment, lines))


def comment(text: str) -> str:
    """Return the text as one line of ASCII, fit for a comment that ends with its line."""
    return printable(" ".join(text.splitlines())).encode("ascii", "backslashreplace").decode("ascii")
