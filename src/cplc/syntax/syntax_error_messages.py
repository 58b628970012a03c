"""Syntax error messages: from the failure of the grammar to a diagnostic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from cplc.diagnostics.core import Diagnostic, Note, other_name, suggestion
from cplc.diagnostics.rules import SYNTAX
from cplc.language.lifecycle import VERBS
from cplc.language.words import AGENT_ITEMS, CLAUSES, CONTINUATIONS, FORMS, RESERVED, TYPES_IN_WORDS
from cplc.records import dataclass
from cplc.source import Span
from cplc.syntax.scanner import Scan
from cplc.syntax.token_text import advice, closest_word, last_token, text_or, token_at

_LAST_REFERENCE: Final = re.compile(r"[A-Za-z_]\w*(?:\s*\[[^\[\]]*\]|\s*\.\s*[A-Za-z_]\w*)*\s*\Z")
_LONGEST_REFERENCE: Final = 1000
_NEXT_MESSAGE: Final = frozenset({"->", "[", "."})
_SIMPLE: Final = (
    frozenset(FORMS) - {"cpl", "message", "channel", "clock", "empower", "protocol", "for", "agent"} - AGENT_ITEMS
)
"""Words that begin a declaration without a block."""

_NEXT: Final = {
    "message": "a clause or the next declaration",
    **dict.fromkeys(("choice", "believes", "chooses"), "`|` or the next declaration"),
    **dict.fromkeys(("fact", "define", "fairness", "property", "goal"), "an operator or the next declaration"),
    **dict.fromkeys(("check", "use", "analyze", "value"), "`,` or the next declaration"),
}
"""Tokens that may follow a declaration that could be complete."""

_CONDITION: Final = re.compile(
    r"\b(after|unless|if|fact|fairness|goal)\b(?!.*\b(?:after|unless|if|means|set|on|resets)\b)", re.DOTALL
)
_JOINED: Final = {
    "unless": ("join conditions with `|`: any of them forbids it", " |"),
    **dict.fromkeys(
        ("after", "if", "fact", "fairness", "goal"), ("join conditions with `&` (all of them) or `|` (one)", " &", " |")
    ),
}
"""Advice where a comma stands between conditions, for the word before them, and what to write."""

_VERB_FORMS: Final = {form: verb for verb in VERBS for form in (verb, f"{verb}s", f"{verb.removesuffix('e')}es")}
"""Operations, also in the third person, each with its verb."""
_CLAUSE_ADVICE: Final = {
    **dict.fromkeys(
        ("when", "where", "provided", "requires"),
        ("write `if` before a condition, `after` before messages that have to come first", "if", "after"),
    ),
    **dict.fromkeys(
        ("within", "expires", "deadline"),
        ("a deadline belongs to a commitment: `commitment c = C(debtor, creditor, antecedent, consequent) within 3`",),
    ),
    "before": ("a message that may not have come stands after `unless`", "unless"),
}
"""Advice for words that stand like clauses of a message, and texts to write instead."""
_UNITS: Final = {
    unit: sign
    for sign, units in {
        "ms": "millisecond milliseconds msec", "s": "second seconds sec secs", "min": "minute minutes mins m",
        "h": "hour hours hr hrs", "d": "day days", "w": "week weeks wk wks",
    }.items()
    for unit in units.split()
}  # fmt: skip
"""Names of units of time, each with the sign that this language has for it."""
_NO_UNITS: Final = frozenset({"month", "months", "year", "years"})
_FOR_ALL: Final = re.compile(r"\b(?:forall|exists)\s+[A-Za-z_]\w*\s*\Z")
_SUBJECT: Final = re.compile(r"([A-Za-z_]\w*)\s*\Z")
_QUANTITY: Final = re.compile(r"(\d+)\s*([A-Za-z]+)")
_NUMBER_BEFORE: Final = re.compile(r"\d\s*\Z")

_DURATION: Final = r"\d+\s*(ms|"
"""The beginning of the grammar's expression for durations."""

_UNSAID: Final = frozenset({"", "Comment"})
"""Expectations of Arpeggio that are no terminals: negative lookahead, which has no text, and comments."""

_ROLES: Final = {"Identifier": "a name", "Digits": "a number", "Quoted": "a text in double quotes", "Dotted": "a name"}
_SIGNS: Final = (
    "=", ":=", ":", "->", "in", "to", "..", "{", "}", "(", ")", "[", "]", ",", "C", "claim", "bool", "assuming",
    "receipt", "holds", "fails", "returns", "else", "unordered", "fifo", "lossy", "duplicating",
    "var", "plays", "when", "|", ">=", ">",
)  # fmt: skip


class Expected(Protocol):
    """The part of a textX rule used here: a rule that was expected."""

    rule_name: str
    to_match: str


@dataclass(frozen=True)
class Rejection:
    """The farthest position of the parser, with the expected literals and rule names."""

    text: str
    offset: int
    expected: frozenset[str]

    @property
    def token(self) -> str:
        return token_at(self.text, self.offset)

    @property
    def between_declarations(self) -> bool:
        """True if a declaration is complete here, and no other begins."""
        return not self.expected

    def diagnostic(self, scan: Scan, keyword: str, at: int) -> Diagnostic:
        """Return the diagnostic for a declaration with this keyword; ``at`` is the place in the source."""
        if keyword == "clock" and (duration := self._duration(scan, at)) is not None:
            return duration
        token = self.token
        start = at
        if not token:
            blank = re.compile(r"\s*").match(scan.text, at)
            start = blank.end() if blank else at
            token = token_at(scan.text, start)
        end = min(start + max(len(token), 1), len(scan.text))
        before = last_token(self.text[: self.offset])
        expected = self._expected_text(keyword) + (f" after `{before}`" if before else "")
        line_end = self._line_end(scan.text, start) if before and not self.meant(keyword) else None
        if line_end is not None:
            message = f"Expected {expected}, found the end of the line"
            return SYNTAX.at(Span(scan.source, line_end, line_end), message, *self._notes(keyword, ""))
        shown = scan.source.text[start:end] if token.startswith('"') else token
        message = f"Expected {expected}, found {text_or(shown, 'the end of the file')}"
        return SYNTAX.at(Span(scan.source, start, max(start, end)), message, *self._notes(keyword, token))

    def _line_end(self, text: str, start: int) -> int | None:
        """Return the end of the line that lacks something; None if it is complete, or the token is in it."""
        if self.between_declarations:
            return None
        end = len(text[:start].rstrip())
        return end if "\n" in text[end:start] else None

    def _expected_text(self, keyword: str) -> str:
        if not self.offset and (self.between_declarations or not keyword):
            return "a declaration"
        if self.between_declarations:
            return _NEXT.get(keyword, "the next declaration")
        if "operand" in self.expected:
            return "an operand"
        if any(literal.startswith(_DURATION) for literal in self.expected):
            return "a duration, as `12 h`"
        if "infix" in self.expected and not self._signs():
            return "an operator"
        words = [f"`{sign}`" for sign in self._signs()]
        words += sorted({_ROLES[name] for name in self.expected if name in _ROLES})
        return " or ".join(words[:4]) or "something else"

    def _signs(self) -> list[str]:
        """Return the expected literals, except those that only continue the previous operand."""
        continuing = {"(", "[", "@", "."} if "infix" in self.expected else {"[", "."}
        bracket = self.expected == {"["}
        if {":", ","} <= self.expected <= {":", ",", "[", "."}:  # after a receiver: another one is rarely meant
            continuing.add(",")
        return [sign for sign in _SIGNS if sign in self.expected and (bracket or sign not in continuing)]

    def _notes(self, keyword: str, token: str) -> tuple[Note, ...]:
        notes = advice(self.text, self.offset) if self.token else ()
        if token == "," and self.between_declarations and (following := self._clause_after_comma(keyword)):
            notes += (Note(f"leave the comma out: `{following}` begins another clause"),)
        elif token == "," and self.between_declarations and (clause := _CONDITION.search(self.text, 0, self.offset)):
            notes += (suggestion(*_JOINED[clause.group(1)]),)
        if token in RESERVED and "Identifier" in self.expected and self.token:
            notes += (Note(f"`{token}` is a reserved word: choose another name"),)
        elif token and (meant := self.meant(keyword)):
            notes += (other_name(meant),)
        notes += tuple(self._word_advice(keyword, token))
        if keyword in FORMS:
            notes += (Note(f"the form is `{FORMS[keyword]}`"),)
        return notes

    def _word_advice(self, keyword: str, token: str) -> Iterator[Note]:
        """Yield the advice for a token that is natural at its place, and stands elsewhere or is written otherwise."""
        if not self.between_declarations:
            yield from self._advice_inside(keyword, token)
        elif token.startswith('"'):
            yield Note("a comment directly above describes it: `// …`; only protocols and properties have a title")
        elif _NUMBER_BEFORE.search(self.text, 0, self.offset) and (note := _after_number(keyword, token)):
            yield note
        elif keyword == "message" and token in _VERB_FORMS:
            yield suggestion(f"write `means {_VERB_FORMS[token]}`", f"means {_VERB_FORMS[token]}", certainty="certain")
        elif keyword == "message" and token in _CLAUSE_ADVICE:
            yield suggestion(*_CLAUSE_ADVICE[token])
        elif note := _ADVICE_IN.get((keyword, token)) or _ADVICE.get(token):
            yield note

    def _advice_inside(self, keyword: str, token: str) -> Iterator[Note]:
        """Yield the advice for a token inside a declaration."""
        if token == ":" and "in" in self.expected and _FOR_ALL.search(self.text, 0, self.offset):
            yield Note("name what it ranges over: `forall c in Family: …` or `forall i in 1..n: …`")
        if token == "<<" and "operand" in self.expected:
            yield Note("a group of roles ends with `>>`: `<<A, B>> F …`")
        if ":=" in self.expected and token in ("+", "-") and (name := _SUBJECT.search(self.text, 0, self.offset)):
            yield Note(f"write the whole value: `{name.group(1)} := {name.group(1)} {token} 1`")
        if self.token and self.expected <= {"@", "[", "[-+*%](?!>)", "(", "..", "."} and ".." in self.expected:
            if last_token(self.text[: self.offset]).lower() in ("string", "str"):
                yield Note("any text has the type `text`")
            yield Note(TYPES_IN_WORDS)
        elif keyword == "message" and token == "->":
            yield Note("a message has one sender: what is passed on is another message, `after` this one")
        elif keyword == "message" and self.expected == {":"} and token in (")", ","):
            yield Note("a parameter has a type, as in `price: 0..9` or `urgent: bool`")
        elif token == "=" and ":=" in self.expected:
            yield suggestion("an assignment is written `:=`", ":=", certainty="certain")
        elif keyword == "message" and token == "=" and {")", ","} <= self.expected:
            yield Note("a parameter has no default: the sender chooses the value, and a guard may restrict it")

    def _clause_after_comma(self, keyword: str) -> str | None:
        """Return the word of a clause that stands behind the comma here."""
        rest = self.text[self.offset + 1 :].lstrip()
        following = token_at(rest, 0)
        return following if keyword == "message" and following in CLAUSES else None

    def _duration(self, scan: Scan, at: int) -> Diagnostic | None:
        """Return the diagnostic for a wrong duration that begins here; None if no number does."""
        if (quantity := _QUANTITY.match(scan.text, at)) is None:
            number = re.compile(r"\d+").match(scan.text, at)
            if number is None:
                return None
            note = Note("add a unit: `us`, `ms`, `s`, `min`, `h`, `d` or `w`")
            return SYNTAX.at(Span(scan.source, at, number.end()), f"`{number.group()}` has no unit of time", note)
        unit = quantity.group(2)
        span = Span(scan.source, quantity.start(2), quantity.end(2))
        note = Note("the units are `us`, `ms`, `s`, `min`, `h`, `d` and `w`")
        if unit in _UNITS:
            note = suggestion(f"write `{_UNITS[unit]}`", _UNITS[unit], certainty="certain")
        return SYNTAX.at(span, f"`{unit}` is no unit of time", note)

    def meant(self, keyword: str) -> str | None:
        """Return the word that the token misspells; None for a word of the language at a wrong place."""
        candidates = self.candidates(keyword)
        return None if self.token in candidates else closest_word(self.token, candidates)

    def candidates(self, keyword: str) -> frozenset[str]:
        """Return the words that are expected here."""
        words = frozenset(sign for sign in self.expected if len(sign) > 1 and sign in _SIGNS and sign.isalpha())
        if self.between_declarations:
            words |= CONTINUATIONS.get(keyword, frozenset()) | _SIMPLE
        return words


def _after_number(keyword: str, token: str) -> Note | None:
    if token in _UNITS:
        return suggestion(f"write `{_UNITS[token]}`", _UNITS[token], certainty="certain")
    if token in _NO_UNITS:
        return Note("months and years differ in length: give days or weeks, as in `30 d`")
    if token in ("tick", "ticks"):
        return Note("a number alone counts ticks")
    if (keyword, token) == ("property", "."):
        return Note(
            "numbers are whole here; probabilities are asked for a participant: `analyze Name: achievement > 0.9`"
        )
    return None


_ADVICE: Final = {
    "var": Note("a variable belongs to a role: `role Name { var v: 0..3 = 0 }`"),
    "forall": Note("a formula stands in a property: `property name: forall …`"),
    "exists": Note("a formula stands in a property: `property name: exists …`"),
}
"""Advice for a token after any declaration."""

_ALTERNATIVES: Final = suggestion("separate alternatives by `|`", " |")
_COMMAS: Final = suggestion("separate them by commas", ",")
_ADVICE_IN: Final = {
    ("property", "assuming"): Note("assumptions stand before the colon: `property name assuming R: formula`"),
    ("commitment", "means"): Note("a message of the debtor creates it: `Debtor -> Creditor : m  means create c`"),
    ("believes", "%"): Note("probabilities are decimals from 0 to 1, as in `0.9`"),
    **{(keyword, token): _ALTERNATIVES for keyword in ("choice", "believes", "chooses") for token in (",", "or")},
    **{(keyword, token): _COMMAS for keyword in ("check", "analyze") for token in ("&", "and", "|")},
}
"""Advice for a token after a declaration of a kind."""


def rejection(text: str, line: int, column: int, rules: Iterable[Expected]) -> Rejection:
    """Return the rejection for an error of textX.

    The farthest it came may be inside a message that is none: of `fact f = a  b c` it says that `b` lacks an arrow.
    Then the place is where that message would begin.
    """
    offset = _offset(text, line, column)
    expected = {kind for rule in rules if (kind := _kind(rule)) not in _UNSAID}
    if expected <= _NEXT_MESSAGE and "->" in expected:
        reference = _LAST_REFERENCE.search(text, max(0, offset - _LONGEST_REFERENCE), offset)
        start = reference.start() if reference else offset
        token = token_at(text, offset)
        lacks_arrow = start == 0 and token != "" and not token[0].isalpha()
        return Rejection(text, offset, frozenset({"->"})) if lacks_arrow else Rejection(text, start, frozenset())
    if "import" in expected and "}" not in expected:
        return Rejection(text, offset, frozenset())
    return Rejection(text, offset, frozenset(expected - {"->"} if len(expected - _NEXT_MESSAGE) else expected))


def _kind(rule: Expected) -> str:
    match rule.rule_name, getattr(rule, "to_match", ""):
        case ("Number" | "Coalition", _):
            return "operand"
        case ("Until", _):
            return "infix"
        case (name, _) if name in _ROLES:
            return name
        case (_, r"\.(?!\.)"):
            return "."
        case (_, literal):
            return literal.removesuffix(r"\b")


def _offset(text: str, line: int, column: int) -> int:
    """Return the offset of a one-based line and column."""
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    return min(start + column - 1, len(text))


def correction(rejected: Rejection, keyword: str) -> tuple[int, int, str] | None:
    """Return the place and the correction of a misspelt word, if it is unambiguous."""
    token = rejected.token
    if len(token) < 3 or not token.isidentifier() or token in RESERVED:
        return None
    meant = rejected.meant(keyword)
    return (rejected.offset, rejected.offset + len(token), meant) if meant else None
