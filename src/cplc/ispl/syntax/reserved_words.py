"""The words of ISPL."""

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
"""What an agent consists of, in this order."""

IN_FILE: Final = ("Semantics", "Agent", "Evaluation", "InitStates", "Groups", "Fairness", "Formulae")
"""What a file consists of, in this order."""

COLONS: Final = frozenset({"Obsvars", "Vars", "RedStates", "Protocol", "Evolution"})
"""Sections whose name is followed by `:`."""

ENVIRONMENT: Final = "Environment"
ACTION: Final = "Action"

MAX_NAME: Final = 200
"""How many characters a name may have: messages quote them."""

_LAST: Final = re.compile(r"(?:[A-Za-z_0-9]+|\S)\Z")


def last_word(text: str) -> tuple[int, int]:
    """Return where the last word or sign of a text begins and ends; of a long one, the end of it."""
    end = len(text.rstrip())
    start = max(0, end - MAX_NAME)
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
"""Words that no name may be."""
