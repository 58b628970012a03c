"""The reserved and contextual words of the language, in groups."""

from __future__ import annotations

from typing import Final

VERSION: Final = "2"
"""The supported version of the language, as in `cpl 2`."""

AGENT_ITEMS: Final = frozenset({"goal", "value", "believes", "chooses"})
"""Words that begin an item of an agent; elsewhere they may be names."""

FORMS: Final[dict[str, str]] = {
    "cpl": f"cpl {VERSION}",
    "import": 'import std.payments` or `import "./other.cpl" as other',
    "protocol": 'protocol Name(n: 1..8 = 2) "title" { … }',
    "role": "role Name`, `role Name[n]` or `role Name { var v: 0..3 = 0 }",
    "message": "Sender -> Receiver : name(p: 0..3) after … means …",
    "choice": "choice a | b",
    "fact": "fact name = condition",
    "commitment": "commitment name = C(debtor, creditor, antecedent, consequent)",
    "channel": "channel Sender -> Receiver unordered",
    "for": "for c in Family { … }` or `for i in 1..n { … }",
    "use": "use Protocol(role = Role) as name",
    "define": "define name(p, q) = formula",
    "property": 'property name "title" assuming Role: formula expect holds',
    "check": "check sound, live expect fails",
    "fairness": "fairness condition",
    "claim": "claim name = claim(Maker, Addressee, content)",
    "agent": "agent Name plays Role { … }",
    "analyze": "analyze Name: achievement > 0.8",
    "goal": "goal condition",
    "value": "value pay: +10, ship: -6.5",
    "believes": "believes Role when condition: pay 0.9 | refuse 0.1",
    "chooses": "chooses ship | cancel when condition",
}
"""The syntax of each declaration; several forms are joined by a backquote, text and a backquote."""

DECLARATIONS: Final = frozenset(FORMS) - {"cpl", "message", "channel"} - AGENT_ITEMS
"""Words that always begin a declaration; `channel` only before two roles, `cpl` only before a number."""

CLAUSES: Final = frozenset({"after", "unless", "if", "means", "set", "on", "resets", "restart", "repeatable"})
"""Words that begin a clause of a message."""

RESERVED: Final = DECLARATIONS | CLAUSES

PREFIXES: Final = frozenset("AEXFGYOH") | {path + step for path in "AE" for step in "XFG"}
"""Prefix operators of formulas."""

OPERATOR_WORDS: Final = PREFIXES | frozenset("UWRS") | {"therefore"}
"""Operators that are words, none of them reserved."""

CONTEXTUAL: Final = frozenset(
    {"all", "as", "assuming", "channel", "cpl", "expect", "expires", "fails", "holds", "in", "receipt", "retaining"}
    | {"plays", "when"}
    | AGENT_ITEMS
    | {"revocable", "sync", "therefore", "to", "unordered", "var", "with", "within"}
)
"""Words with a meaning in one context; elsewhere they may be names."""
