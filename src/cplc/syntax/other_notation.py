"""Notation of papers and of other tools, with its translation to this language.

The five papers of `docs/papers.md` write `Fu(C(i, j, p))`, `K_i p` and `Create(Ag1, goods)`; model checkers write `&&`,
`[] p` and `GK(g, p)`. Each is a mistake here, with its exact replacement: `Fu(i -> j, p)`, `K(i, p)`,
`does(create goods)`, `&`, `G p` and `EK(g, p)`. A text is translated only where it cannot be read, so a name is never
taken for notation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from cplc.diagnostics.core import Diagnostic, Note, suggestion
from cplc.diagnostics.rules import OTHER_NOTATION
from cplc.language.lifecycle import CLAIM_CHANGES, MOVES, OPERATIONS, VERBS
from cplc.language.words import BETWEEN_ROLES, PREFIXES
from cplc.records import dataclass
from cplc.source import Span
from cplc.syntax.tokens import code_tokens

Context = Literal["formula", "commitment", "means"]
"""The context of a text: `C(A, B, q)` is a commitment in a declaration and a formula elsewhere."""

_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_REFERENCE: Final = re.compile(r"[A-Za-z_]\w*(?:\s*\[[^\[\]]*\]|\s*\.\s*[A-Za-z_]\w*)*", re.ASCII)

SIGNS: Final = {
    "∧": "&", "⋀": "&", "∨": "|", "⋁": "|", "¬": "!", "→": "->", "⇒": "->", "⊃": "->", "⟶": "->", "⟹": "->", "↔": "<->",
    "⇔": "<->", "≡": "<->", "⟷": "<->", "□": "G", "◻": "G", "◇": "F", "◊": "F", "♢": "F", "○": "X", "◯": "X",
    "∴": "therefore", "⊤": "true", "⊥": "false", "≤": "<=", "≥": ">=", "≠": "!=", "×": "*",
    "−": "-", "–": "-", "…": "..", "⟨⟨": "<<", "⟩⟩": ">>", "〈〈": "<<", "〉〉": ">>", "⟪": "<<", "⟫": ">>",
    "/\\": "&", "\\/": "|", "~": "!",
}  # fmt: skip
"""Signs that this language does not have, with their replacements."""

OPERATORS: Final = {"&&": "&", "||": "|", "==": "=", "=>": "->", "[]": "G", "<>": "F"}
"""Operators of other languages that consist of signs of this language."""

ARROWS: Final = {"-->": "->", "==>": "->"}
"""Arrows between roles, as diagrams draw them."""

WORDS: Final = {"and": "&", "or": "|", "not": "!", "implies": "->", "iff": "<->"}

_QUANTIFIERS: Final = {"∀": ("A", "forall"), "∃": ("E", "exists")}
"""Before a temporal operator a path quantifier, elsewhere a quantifier over a family."""
_SIGNS_OF_TIME: Final = frozenset("□◻◇◊♢○◯[")
_TEMPORAL: Final = frozenset("XFG") | _SIGNS_OF_TIME

_JOINING: Final = "_([∴⊤⊥∀∃□◻◇◊♢○◯"
"""Tokens that need a blank between them and a word."""

_SAME: Final = {"GK": "EK", "GCK": "CK"}
"""Modalities with another name in this language."""
_SUBSCRIPTED: Final = {"K": "K", "E": "EK", "EK": "EK", "D": "DK", "DK": "DK", "C": "CK", "CK": "CK"}
_SUBSCRIPT: Final = re.compile(r"(EK|DK|CK|[KEDC])_(\w*)", re.ASCII)
_VERBS: Final = {
    **{verb: verb for verb in (*VERBS, *CLAIM_CHANGES)},
    "fulfil": "fulfill", "discharge": "fulfill", "cancel": "withdraw",
}  # fmt: skip
_MAX_FORMS: Final = 40
"""Nesting of forms that are translated."""
_ARGUED: Final = frozenset(move.verb for move in MOVES if move.joined)
_HANDING_OVER: Final = {row.verb: row.by for row in OPERATIONS if row.joined}
"""Operations that name another party, with the position of that party in the successor."""
_COMMITMENT: Final = re.compile(
    r"\bcommitment\s+(?P<name>[A-Za-z_]\w*)\s*(?P<index>\[[^\]]*\])?\s*=\s*C\s*\("
    r"\s*(?P<debtor>[^,()]+?)\s*,\s*(?P<creditor>[^,()]+?)\s*,",
    re.ASCII,
)
_ROLE: Final = r"[A-Za-z_]\w*\s*(?:\[[^\[\]{}]*\]\s*|\.\s*[A-Za-z_]\w*\s*)*"
_MESSAGE: Final = re.compile(
    r"message\s+(?P<name>[A-Za-z_]\w*\s*(?:\([^()]*\)\s*)?)(?::|from\b)\s*"
    rf"(?P<sender>{_ROLE})(?:->|to\b)\s*(?P<receiver>{_ROLE})",
    re.ASCII,
)
_HAND_OVER: Final = re.compile(r"\b(delegate|assign)\s+([A-Za-z_]\w*)\s+to\s+([A-Za-z_]\w*)(?![\w\[.])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Translation:
    """A range of the text and its translation."""

    start: int
    end: int
    text: str
    is_certain: bool = True
    """True if the translation is equivalent; otherwise it is weaker."""

    def diagnostic(self, span: Span) -> Diagnostic:
        """Report it at its place in a source."""
        return reported(span, self.text, is_certain=self.is_certain)


def reported(span: Span, translated: str, *, is_certain: bool = True) -> Diagnostic:
    """Report other notation with its translation, which is an automatic fix only if it is certain."""
    written = " ".join(span.text.split())
    shown = written if len(written) <= 60 else f"{written[:57]}…"
    advice = "an arrow is `->`" if written in ARROWS else f"write `{translated.strip()}`"
    note = suggestion(advice, translated, certainty="certain")
    if not is_certain:
        note = Note(f"`{translated.strip()}` is the nearest: no message here hands it over to that role")
    return OTHER_NOTATION.at(span, f"`{shown}` is the notation of another language", note)


def sign(text: str, start: int) -> tuple[int, str] | None:
    """Return the end and the translation of a sign of other notation at an offset; None if there is none."""
    if (choices := _QUANTIFIERS.get(text[start])) is not None:
        after = re.compile(r"\s*(\S?)(\w?)").match(text, start + 1)
        is_path = after is not None and after[1] in _TEMPORAL and not (after[1].isalpha() and after[2])
        if is_path and after is not None and after[1] in _SIGNS_OF_TIME:
            return start + 1, choices[0]
        return start + 1, _spaced(text, start, 1, choices[0] if is_path else choices[1])
    for length in (3, 2, 1):
        written = text[start : start + length]
        if written in ("[]", "<>"):
            return _temporal_or_comparison(text, start, written)
        if (instead := SIGNS.get(written) or OPERATORS.get(written) or ARROWS.get(written)) is not None and len(
            written
        ) == length:
            return start + length, _spaced(text, start, length, instead)
    return None


def _temporal_or_comparison(text: str, start: int, written: str) -> tuple[int, str]:
    """Read `<>` after an operand as a comparison, and otherwise as an operator of time."""
    before = text[:start].rstrip()
    word = re.search(r"\w+\Z", before)
    follows_operand = before[-1:] in (")", "]") or (word is not None and word[0] not in PREFIXES | {"A", "E"})
    if written == "<>" and follows_operand:
        return start + 2, "!="
    return start + 2, _spaced(text, start, 2, OPERATORS[written])


def _spaced(text: str, start: int, length: int, instead: str) -> str:
    """Return the replacement with blanks towards adjacent words, except after a path quantifier."""
    if not instead[0].isalpha():
        return instead
    before, after = text[:start], text[start + length : start + length + 1]
    word = re.search(r"\w+\Z", before)
    quantified = instead in ("X", "F", "G") and word is not None and word[0] in ("A", "E")
    quantified = quantified or (instead in ("X", "F", "G") and before[-1:] in ("∀", "∃"))
    left = " " if word is not None and not quantified else ""
    joins = after != "" and (after.isalnum() or after in _JOINING)
    return left + instead + (" " if joins else "")


def translations(
    text: str, context: Context = "formula", *, words: bool = True, file: str = ""
) -> tuple[Translation, ...]:
    """Return the outermost parts of a text that are other notation, in order.

    ``words`` are `and`, `or` and the like: a name may be called so. ``file`` is the text that declares the names: in
    `Delegate(i, k, c)` and `Delegate(i, c, k)` it says which is the commitment, and to which other one it is delegated.
    """
    return tuple(_Translator(text, context, words=words, file=file).translations())


def declared_message(text: str) -> Translation | None:
    """Return the translation of `message m : A -> B`, where the name of a message stands before its roles."""
    match = _MESSAGE.match(text)
    if match is None:
        return None
    name, sender, receiver = (match[part].strip() for part in ("name", "sender", "receiver"))
    return Translation(match.start(), match.start() + len(match[0].rstrip()), f"{sender} -> {receiver} : {name}")


def applied(text: str, edits: Iterable[Translation]) -> str:
    """Return the text in the notation of this language."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


class _Translator:
    """Finds and translates other notation in the tokens of a text."""

    def __init__(self, text: str, context: Context, *, words: bool = True, file: str = "") -> None:
        self.text = text
        self.file = file
        self.context = context
        self.words = words
        self.tokens = [(token.text, token.start, token.end) for token in code_tokens(text)]
        self.closing = _matching([token for token, _, _ in self.tokens])
        self.depth = 0
        self.is_certain = True
        self.forms: dict[tuple[int, Context], tuple[int, str] | None] = {}

    def translations(self) -> Iterator[Translation]:
        return self._between(0, len(self.tokens), self.context)

    def _between(self, first: int, end: int, context: Context) -> Iterator[Translation]:
        """Yield the outermost forms among some tokens."""
        index = first
        while index < end:
            form = self._form(index, context)
            if form is None:
                index += 1
                continue
            last, text = form
            yield Translation(self.tokens[index][1], self.tokens[last - 1][2], text, self.is_certain)
            index = last

    def _word(self, index: int) -> str:
        return self.tokens[index][0] if 0 <= index < len(self.tokens) else ""

    def _slice(self, first: int, end: int) -> str:
        """Return the translated text between two tokens."""
        if first >= end:
            return ""
        parts, at = list[str](), self.tokens[first][1]
        for edit in self._between(first, end, "formula"):
            parts += [self.text[at : edit.start], edit.text]
            at = edit.end
        return "".join((*parts, self.text[at : self.tokens[end - 1][2]]))

    def _arguments(self, opening: int) -> list[tuple[int, int]]:
        """Return the token positions of each argument in parentheses."""
        closing = self.closing[opening]
        arguments: list[tuple[int, int]] = []
        first = index = opening + 1
        while index < closing:
            if self._word(index) == ",":
                arguments.append((first, index))
                first = index + 1
            index = self.closing.get(index, index) + 1
        return [*arguments, (first, closing)]

    # --- forms

    def _form(self, index: int, context: Context) -> tuple[int, str] | None:
        """Return the end and the translation of a form that begins at a token; None if there is none."""
        key = index, context
        if key not in self.forms:  # what stands inside a form is looked at again where the form is none
            if self.depth > _MAX_FORMS:
                return None
            self.depth += 1
            self.forms[key] = self._translate_form(index, context)
            self.depth -= 1
        return self.forms[key]

    def _translate_form(self, index: int, context: Context) -> tuple[int, str] | None:
        word = self._word(index)
        if not _NAME.fullmatch(word):
            return self._coalition(index) if word == "<" else None
        if self._word(index - 1) in (".", "@"):
            return None
        is_operator = self._ends_operand(index - 1) != (word == "not")
        if self.words and word in WORDS and is_operator and self._word(index + 1) not in ("[", ".", "->", ":"):
            return index + 1, WORDS[word]
        if self._word(index + 1) == "(" and index + 1 in self.closing:
            return self._modality(index, word, context)
        return self._subscripted(index, word)

    def _ends_operand(self, index: int) -> bool:
        word = self._word(index)
        return word in (")", "]", "}") or (bool(re.fullmatch(r"\w+", word)) and word not in PREFIXES | WORDS.keys())

    def _modality(self, index: int, word: str, context: Context) -> tuple[int, str] | None:
        arguments = self._arguments(index + 1)
        end = self.closing[index + 1] + 1
        texts = [self._slice(first, last) for first, last in arguments]
        if context == "commitment" and word in ("C", "CC", "SC"):
            return self._declared(end, word, texts)
        name = _SAME.get(word, word)
        if word == "Fu" and (inner := _fulfilled(texts[-1])) is not None and len(texts) <= 2:
            return end, f"Fu({inner})"
        if (formulas := BETWEEN_ROLES.get(name)) is not None and len(texts) == formulas + 2 and _are_names(texts[:2]):
            return end, f"{name}({texts[0]} -> {texts[1]}, {', '.join(texts[2:])})"
        if name in ("EK", "CK") and name != word and len(texts) == 2:
            return end, f"{name}({texts[0]}, {texts[1]})"
        if word not in ("C", "SC") and (verb := _VERBS.get(word.lower())) is not None:
            text = self._action(verb, texts, context)
            return None if text is None else (end, text)
        return self._subscripted(index, word)

    def _declared(self, end: int, word: str, texts: list[str]) -> tuple[int, str] | None:
        """Translate an unconditional commitment, or a conditional one with another name."""
        if word != "CC" and len(texts) == 3:
            return end, f"C({texts[0]}, {texts[1]}, true, {texts[2]})"
        if word != "C" and len(texts) == 4:
            return end, f"C({', '.join(texts)})"
        return None

    def _action(self, verb: str, texts: list[str], context: Context) -> str | None:
        """Translate an action on a commitment; its first argument may be the acting role."""
        argued = verb in _ARGUED
        subjects = texts[1:] if len(texts) > (2 if argued else 1) else texts
        if not _are_names(texts) or (argued and len(subjects) != 2) or (not argued and not subjects):
            return None
        operation = f"{verb} {subjects[0]} with {subjects[1]}" if argued else self._operation(verb, texts)
        return operation if context == "means" else f"does({operation})"

    def _operation(self, verb: str, texts: list[str]) -> str:
        """Translate an operation on the commitment among these names, or on the last name if none is declared."""
        declared = {match["name"]: match for match in _COMMITMENT.finditer(self.file)}
        named = [place for place, text in enumerate(texts) if re.split(r"[\s\[]", text)[0] in declared]
        if not named:
            return f"{verb} {texts[-1]}"
        subject = texts[named[0]]
        if verb not in _HANDING_OVER:
            return f"{verb} {subject}"
        if len(named) > 1:
            return f"{verb} {subject} to {texts[named[1]]}"
        # Who performs it stands first; what is left is the other party.
        remaining = [text for place, text in enumerate(texts) if place not in (named[0], 0)]
        roles = {
            match[3]
            for match in _HAND_OVER.finditer(self.file)
            if (match[1], match[2]) == (verb, subject)
            and match[3] in declared
            and declared[match[3]][_HANDING_OVER[verb]] in remaining
        }
        if len(roles) == 1:
            return f"{verb} {subject} to {roles.pop()}"
        self.is_certain = self.is_certain and not remaining
        return f"{verb} {subject}"

    def _subscripted(self, index: int, word: str) -> tuple[int, str] | None:
        """Read `K_i p`, `K_{i} p`, `C_{i, j} p` (common knowledge) and `C_{i -> j} p` (commitment)."""
        match = _SUBSCRIPT.fullmatch(word)
        if match is None:
            return None
        first = index + 1
        if match[2]:
            agents = match[2]
        elif self._word(first) == "{" and first in self.closing:
            closing = self.closing[first]
            agents = self._slice(first + 1, closing)
            first = closing + 1
        else:
            return None
        end = self._operand_end(first)
        if end is None:
            return None
        body = self._slice(first, end)
        if self._word(first) == "(" and self.closing.get(first) == end - 1:
            body = self._slice(first + 1, end - 1)
        modality = "C" if "->" in agents else _SUBSCRIPTED[match[1]]
        separator = "->" if modality == "C" else ","
        agents = f" {separator} ".replace(" ,", ",").join(agent.strip() for agent in agents.split(separator))
        if modality in ("EK", "DK", "CK") and "," in agents:
            agents = f"{{{agents}}}"
        return end, f"{modality}({agents}, {body})"

    def _operand_end(self, index: int) -> int | None:
        """Return the end of the operand of a prefix operator; None if there is none."""
        while self._word(index) in PREFIXES or self._word(index) in ("!", "not"):
            index += 1
        if index in self.closing and self._word(index) in ("(", "["):
            return self.closing[index] + 1
        if (form := self._form(index, "formula") if _SUBSCRIPT.fullmatch(self._word(index)) else None) is not None:
            return form[0]
        if not re.fullmatch(r"\w+", self._word(index)):
            return None
        index += 1
        while self._word(index) in ("[", "(", "."):
            if self._word(index) == ".":
                index += 2
            elif index in self.closing:
                index = self.closing[index] + 1
            else:
                return None
        return index

    def _coalition(self, index: int) -> tuple[int, str] | None:
        """Read `<g> F p`, as MCMAS writes it."""
        end = index + 1
        while _NAME.fullmatch(self._word(end)) or self._word(end) == ",":
            end += 1
        goes_on = self._word(end + 1) in ("X", "F", "G", "(", "[")
        if end == index + 1 or self._word(end) != ">" or not goes_on or self._ends_operand(index - 1):
            return None
        return end + 1, f"<<{self._slice(index + 1, end)}>>"


def _matching(words: list[str]) -> dict[int, int]:
    """Return the positions of matching brackets."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for index, word in enumerate(words):
        if word in _CLOSES:
            opened.append(index)
        elif opened and word == _CLOSES[words[opened[-1]]]:
            closing[opened.pop()] = index
    return closing


def _are_names(texts: Iterable[str]) -> bool:
    return all(_REFERENCE.fullmatch(text) for text in texts)


def _fulfilled(text: str) -> str | None:
    """Return the arguments of the commitment in a fulfilment."""
    match = re.fullmatch(r"C\((.*)\)", text, re.DOTALL)
    return match[1] if match is not None and "->" in match[1].split(",")[0] else None
