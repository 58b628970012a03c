"""Reserved words and sections of ISPL."""

from __future__ import annotations

import re
from typing import Final

SECTIONS: Final = (
    "Obsvars", "Vars", "RedStates", "Protocol", "Evolution",
    "Evaluation", "InitStates", "Groups", "Fairness", "Formulae",
)  # fmt: skip
"""Sections that end with `end` and their name."""

LINES: Final = ("Semantics", "Lobsvars", "Actions")
"""Sections that end with `;`."""

IN_AGENT: Final = ("Obsvars", "Lobsvars", "Vars", "RedStates", "Actions", "Protocol", "Evolution")
"""Sections of an agent, in order."""

IN_FILE: Final = ("Semantics", "Agent", "Evaluation", "InitStates", "Groups", "Fairness", "Formulae")
"""Sections of a file, in order."""

COLONS: Final = frozenset({"Obsvars", "Vars", "RedStates", "Protocol", "Evolution"})
"""Sections whose name is followed by `:`."""

ENVIRONMENT: Final = "Environment"
ACTION: Final = "Action"

MAX_NAME_LENGTH: Final = 200
"""Maximum length of a name in characters; messages quote names."""

_LAST: Final = re.compile(r"(?:[A-Za-z_0-9]+|\S)\Z")


def last_word(text: str) -> tuple[int, int]:
    """Return the range of the last word or sign of a text, truncated to its end."""
    end = len(text.rstrip())
    start = max(0, end - MAX_NAME_LENGTH)
    match = _LAST.search(text[start:end])
    return (start + match.start(), end) if match else (0, 1)


OPERATORS: Final = frozenset(
    {"AG", "EG", "AX", "EX", "AF", "EF", "A", "E", "X", "F", "G", "U", "K", "GK", "GCK", "DK", "O", "LTL", "and", "or"}
)
RESERVED: Final = (
    OPERATORS
    | {*SECTIONS, *LINES, "Agent", ACTION, ENVIRONMENT, "GreenStates", "Other", "MA", "SA", "if", "end"}
    | {"MultiAssignment", "SingleAssignment", "boolean", "true", "false"}
)
"""Words that cannot be names."""
