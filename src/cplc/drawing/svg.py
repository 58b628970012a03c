"""SVG elements. The output is deterministic: equal drawings are equal bytes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from cplc.control_characters import printable, printable_lines
from cplc.language.lifecycle import CLAIM_STATES, COMMITMENT_STATES

CHARACTER_WIDTH: Final = 6.7
"""Assumed width of a character in points; a wide one counts twice."""
LINE_HEIGHT: Final = 16

_STYLE: Final = """
.cplc-drawing { color-scheme: light dark; --paper: #ffffff; --ink: #1d2430; --faint: #5b6675; --line: #8791a3;
  --fill: #f4f6fa; --lane: #d5dae3; --conditional: #8db4e2; --active: #2c66ad; --pending: #7a63b8; --good: #2e8b57;
  --bad: #b42318; --mended: #c9822b; --over: #9aa3b2; }
@media (prefers-color-scheme: dark) { .cplc-drawing { --paper: #14181f; --ink: #e3e8f0; --faint: #a3adbd;
  --line: #76829a; --fill: #1f2631; --lane: #343c4a; --conditional: #4a6f9e; --active: #76aef0; --pending: #a995e0;
  --good: #4cc38a; --bad: #ff8a7e; --mended: #e39a55; --over: #69748a; } }
.cplc-drawing text { font: 12px system-ui, sans-serif; fill: var(--ink); text-anchor: start; }
.cplc-drawing .title { font-size: 14px; font-weight: 700; } .cplc-drawing .strong { font-weight: 700; }
.cplc-drawing .faint { fill: var(--faint); } .cplc-drawing .small { font-size: 11px; fill: var(--faint); }
.cplc-drawing .end { text-anchor: end; } .cplc-drawing .middle { text-anchor: middle; }
.cplc-drawing .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.cplc-drawing .paper { fill: var(--paper); }
.cplc-drawing .box { fill: var(--fill); stroke: var(--line); }
.cplc-drawing .first { stroke: var(--ink); stroke-width: 2; }
.cplc-drawing .edge { fill: none; stroke: var(--line); stroke-width: 1.2; }
.cplc-drawing .dashed { stroke-dasharray: 5 4; } .cplc-drawing .lane { stroke: var(--lane); stroke-dasharray: 3 4; }
.cplc-drawing .head { fill: var(--line); }
.cplc-drawing .conditional { fill: var(--conditional); } .cplc-drawing .active { fill: var(--active); }
.cplc-drawing .pending { fill: var(--pending); } .cplc-drawing .good { fill: var(--good); }
.cplc-drawing .bad { fill: var(--bad); } .cplc-drawing .mended { fill: var(--mended); }
.cplc-drawing .over { fill: var(--over); }
"""

_COLOURS: Final = {state.name: state.colour for state in (*COMMITMENT_STATES, *CLAIM_STATES)}


def colour(status: str) -> str:
    """Return the colour class of a commitment or claim by its lifecycle state."""
    return _COLOURS.get(status.partition(",")[0], "over")


def document(title: str, description: str, width: float, height: float, body: Iterable[str]) -> str:
    """Return an SVG document with a title and an accessible description."""
    lines = "\n".join(body)
    wide, high = number(max(width, 32 + text_width(title) * 1.2)), number(height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cplc-drawing" width="{wide}" height="{high}"'
        f' viewBox="0 0 {wide} {high}" role="img">\n'
        f"<title>{escaped(title)}</title>\n<desc>{escaped(description)}</desc>\n<style>{_STYLE}</style>\n"
        f'<rect class="paper" width="{wide}" height="{high}"/>\n'
        f"{text(16, 24, title, 'title')}\n{lines}\n</svg>\n"
    )


def text(x: float, y: float, words: str, kind: str = "") -> str:
    return f'<text{_class(kind)} x="{number(x)}" y="{number(y)}">{escaped(words)}</text>'


def lines_of_text(x: float, y: float, lines: Sequence[str], kind: str = "") -> str:
    """Return several lines; ``y`` is the baseline of the first."""
    return "".join(text(x, y + LINE_HEIGHT * at, line, kind) for at, line in enumerate(lines))


def rectangle(x: float, y: float, width: float, height: float, kind: str, *, round_by: float = 0) -> str:
    corner = f' rx="{number(round_by)}"' if round_by else ""
    return (
        f'<rect{_class(kind)} x="{number(x)}" y="{number(y)}" width="{number(width)}"'
        f' height="{number(height)}"{corner}/>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line{_class(kind)} x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"/>'


def path(points: str, kind: str) -> str:
    return f'<path{_class(kind)} d="{points}"/>'


def head(x: float, y: float, dx: float, dy: float) -> str:
    """Return an arrowhead at the point in this direction."""
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    ux, uy = dx / length, dy / length
    corners = ((x, y), (x - 9 * ux + 4 * uy, y - 9 * uy - 4 * ux), (x - 9 * ux - 4 * uy, y - 9 * uy + 4 * ux))
    return f'<polygon class="head" points="{" ".join(f"{number(a)},{number(b)}" for a, b in corners)}"/>'


def with_tooltip(words: str, body: str) -> str:
    """Return a group with a tooltip."""
    return f"<g><title>{escaped(words)}</title>{body}</g>"


def text_width(words: str) -> float:
    return CHARACTER_WIDTH * sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in words)


def wrapped(words: str, most: int) -> list[str]:
    """Return lines of at most so many characters; a longer word is broken, behind punctuation if possible."""
    lines: list[str] = []
    for word in words.split(" "):
        rest = word
        if lines and len(lines[-1]) + 1 + len(rest) <= most:
            lines[-1] += f" {rest}"
            continue
        while len(rest) > most:
            at = max((match.end() for match in re.finditer(r"[.,:;/\])=&|-]", rest[:most])), default=0)
            at = at if at > most // 3 else most
            lines.append(rest[:at])
            rest = rest[at:]
        lines.append(rest)
    return lines


def truncated(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"


def number(value: float) -> str:
    """Return a coordinate with one decimal."""
    written = f"{value:.1f}".removesuffix(".0")
    return "0" if written == "-0" else written


def escaped(words: str) -> str:
    """Return the text escaped for XML, with visible control characters."""
    return escape(printable_lines(words))


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


# --- Quoting of texts for DOT, Mermaid and PlantUML, so that no name is interpreted as markup


def dot_text(*lines: str) -> str:
    """Return a string of DOT."""
    escaped = (_controlled(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"{}"'.format("\\n".join(escaped))


def mermaid_text(*lines: str) -> str:
    """Return a text of Mermaid; special characters are written as character references."""
    return "<br/>".join(
        re.sub(r"[^\w .,:()=+?→⇒…\[\]@!-]", lambda match: f"#{ord(match[0])};", _controlled(line)) or "#8203;"
        for line in lines
    )


def plantuml_text(*lines: str) -> str:
    """Return a text of PlantUML; special characters are written as code points."""
    return "\\n".join(
        re.sub(r"[^\w .,:()=+?→⇒…@!]|__+|!(?=include|pragma)", _numbered, _controlled(line)) for line in lines
    )


def _numbered(match: re.Match[str]) -> str:
    return "".join(f"<U+{ord(char):04X}>" for char in match[0])


def remark(words: str) -> str:
    """Return the text as a comment of one line."""
    return _controlled(words)


def _controlled(words: str) -> str:
    """Return the text in one line, with visible control characters."""
    return printable(re.sub(r"[\t\n\r]+", " ", words))
