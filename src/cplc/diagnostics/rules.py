"""Every rule there is. Grouped by the stage that reports it; codes are stable for ever.

`docs/rules/<code>.md` explains each one with an example that breaks it and one that does not.
"""

from __future__ import annotations

from cplc.diagnostics.core import Rule

# --- reading
UNREADABLE_FILE = Rule("unreadable-file", "a file that is missing, a directory or not UTF-8 text")
SYNTAX = Rule("syntax", "text that is not CPL")
TOO_DEEP = Rule("too-deep", "an expression nested deeper than can be read")

RULES: tuple[Rule, ...] = tuple(value for value in list(vars().values()) if isinstance(value, Rule))
