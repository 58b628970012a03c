"""Parsing expression grammar (Ford 2004) of `grammar/cpl.tx`, prepared as tables.

textX takes longer to read the grammar than to read a protocol. So `grammar/cpl.tables.json` holds its parsing
expressions, and `Recogniser` makes of them functions that build the objects that textX would build. A text that they
reject is read again by textX, which says where and why; without fitting tables, textX reads everything. `make golden`
writes the tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final
from zlib import crc32

from cplc.runtime.file_access import shipped

Expression = list[Any]
"""The kind of a parsing expression, and its parts: the arguments of the method `_match_<kind>`."""

Pairs = list[tuple[str, Any]]
"""Attributes of the object under construction, in the order of the text; backtracking removes the last ones."""

Matcher = Callable[[str, int, Pairs], int]
"""From a text, an offset and the object's attributes to the end of the match; -1 if there is none."""

Rule = Callable[[str, int], tuple[int, Any]]
"""From a text and an offset to the end of the match, or -1, and its object or text."""

_END: Final = "\0"
"""Stands after the text, so that every offset has a character; regular expressions do not see it."""

_BLANKS: Final = frozenset(" \n\t\r/")
"""First characters of blanks and comments; no token begins with a slash."""

_NOWHERE: Final = (-1, None)
_WORD: Final = re.compile(r"(\w+)\\b")
_KINDS: Final = {
    "Sequence": "sequence", "OrderedChoice": "choice", "Optional": "optional", "ZeroOrMore": "many", "Not": "not"
}  # fmt: skip


class Recogniser:
    """Functions for the rules of a grammar, each made when it is first used."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self._definitions: dict[str, tuple[str, Expression]] = tables["rules"]
        self._defaults: dict[str, dict[str, Any]] = tables["defaults"]
        self._start: str = tables["start"]
        self._rules: dict[str, Rule] = {}
        self._references: dict[str, Matcher] = {}
        self._blanks: Any = re.compile(rf"(?:[\t\n\r ]+|{tables['comment']})*").match

    def read(self, text: str) -> Any | None:
        """Return the object of a text; None if the grammar rejects it."""
        ended = text + _END
        end, model = self._rule(self._start)(ended, 0)
        return model if end >= 0 and self._token(ended, end) == len(text) else None

    def _token(self, text: str, at: int) -> int:
        """Return the beginning of the next token."""
        return self._blanks(text, at, len(text) - 1).end() if text[at] in _BLANKS else at

    # --- rules

    def _rule(self, name: str) -> Rule:
        """Return the function of a rule, which makes an object, an object of one of several rules, or text."""
        rule = self._rules.get(name)
        if rule is None:
            kind, expression = self._definitions[name]
            match kind:
                case "object":
                    rule = self._object(name, expression)
                case "alternatives":
                    rule = self._alternatives(expression[1:])
                case _:
                    rule = self._text(expression)
            self._rules[name] = rule
        return rule

    def _object(self, name: str, expression: Expression) -> Rule:
        matcher, token = self._matcher(expression), self._token
        made = type(name, (), self._defaults[name])

        def rule(text: str, at: int) -> tuple[int, Any]:
            start = token(text, at)
            pairs: Pairs = []
            end = matcher(text, start, pairs)
            if end < 0:
                return _NOWHERE
            node: Any = made()
            node.__dict__.update(pairs, _tx_position=start, _tx_position_end=end)
            return end, node

        return rule

    def _alternatives(self, references: list[Expression]) -> Rule:
        token, fitting = self._token, self._by_first_character(references)

        def rule(text: str, at: int) -> tuple[int, Any]:
            at = token(text, at)
            for index in fitting(text[at]):
                result = self._rule(references[index][1])(text, at)
                if result[0] >= 0:
                    return result
            return _NOWHERE

        return rule

    def _text(self, expression: Expression) -> Rule:
        matcher, token = self._matcher(expression), self._token

        def rule(text: str, at: int) -> tuple[int, Any]:
            start = token(text, at)
            end = matcher(text, start, [])
            return (end, text[start:end]) if end >= 0 else _NOWHERE

        return rule

    def _by_first_character(self, expressions: Sequence[Expression]) -> Callable[[str], list[int]]:
        """Return the function from the first character of a token to the expressions that it may begin."""
        first = [self._first_character(expression) for expression in expressions]

        @cache
        def fitting(character: str) -> list[int]:
            return [index for index, only in enumerate(first) if only in (None, character)]

        return fitting

    def _first_character(self, expression: Expression) -> str | None:
        """Return the character that every match begins with; None if there are several."""
        match expression:
            case ["word" | "literal", text]:
                return str(text[0])
            case ["reference", name]:
                return self._first_character(self._definitions[name][1])
            case ["sequence", ["set", _, part] | part, *_]:
                return self._first_character(part)
            case _:
                return None

    # --- tokens

    def _matcher(self, expression: Expression) -> Matcher:
        kind, *parts = expression
        matcher: Matcher = getattr(self, f"_match_{kind}")(*parts)
        return matcher

    def _match_word(self, word: str) -> Matcher:
        length, token = len(word), self._token

        def matcher(text: str, at: int, pairs: Pairs) -> int:
            at = token(text, at)
            end = at + length
            return end if text.startswith(word, at) and not (text[end].isalnum() or text[end] == "_") else -1

        return matcher

    def _match_literal(self, literal: str) -> Matcher:
        length, token = len(literal), self._token

        def matcher(text: str, at: int, pairs: Pairs) -> int:
            at = token(text, at)
            return at + length if text.startswith(literal, at) else -1

        return matcher

    def _match_regex(self, pattern: str) -> Matcher:
        token = self._token
        match: Any = None

        def matcher(text: str, at: int, pairs: Pairs) -> int:
            nonlocal match
            match = match or re.compile(pattern, re.MULTILINE).match
            result = match(text, token(text, at), len(text) - 1)
            return result.end() if result else -1

        return matcher

    # --- combinations

    def _match_reference(self, name: str) -> Matcher:
        """Match a rule for its text alone."""
        references = self._references

        def matcher(text: str, at: int, pairs: Pairs) -> int:
            if name not in references:
                references[name] = self._matcher(self._definitions[name][1])
            return references[name](text, at, pairs)

        return matcher

    def _match_sequence(self, *parts: Expression) -> Matcher:
        matchers = [self._matcher(part) for part in parts]

        def matcher(text: str, at: int, pairs: Pairs) -> int:
            for match in matchers:
                at = match(text, at, pairs)
                if at < 0:
                    break
            return at

        return matcher

    def _match_choice(self, *parts: Expression) -> Matcher:
        matchers, token = [self._matcher(part) for part in parts], self._token
        fitting = self._by_first_character(parts)

        def matcher(text: str, at: int, pairs: Pairs) -> int:
            at, before = token(text, at), len(pairs)
            for index in fitting(text[at]):
                end = matchers[index](text, at, pairs)
                if end >= 0:
                    return end
                del pairs[before:]
            return -1

        return matcher

    def _match_optional(self, part: Expression) -> Matcher:
        match = self._matcher(part)

        def matcher(text: str, at: int, pairs: Pairs) -> int:
            before = len(pairs)
            end = match(text, at, pairs)
            if end >= 0:
                return end
            del pairs[before:]
            return at

        return matcher

    def _match_many(self, part: Expression) -> Matcher:
        match = self._match_optional(part)

        def matcher(text: str, at: int, pairs: Pairs) -> int:
            while (end := match(text, at, pairs)) > at:
                at = end
            return at

        return matcher

    def _match_not(self, part: Expression) -> Matcher:
        match = self._matcher(part)

        def matcher(text: str, at: int, pairs: Pairs) -> int:
            return at if match(text, at, pairs) < 0 else -1

        return matcher

    # --- assignments

    def _value(self, part: Expression) -> Rule:
        """Return the function from a text to a value: of a rule, looked up when it is called, or of a token."""
        if part[0] != "reference":
            return self._text(part)
        rules, name = self._rules, part[1]

        def rule(text: str, at: int) -> tuple[int, Any]:
            return (rules.get(name) or self._rule(name))(text, at)

        return rule

    def _match_set(self, attribute: str, part: Expression) -> Matcher:
        rule = self._value(part)

        def matcher(text: str, at: int, pairs: Pairs) -> int:
            end, value = rule(text, at)
            if end >= 0:
                pairs.append((attribute, value))
            return end

        return matcher

    def _match_flag(self, attribute: str, part: Expression) -> Matcher:
        match = self._matcher(part)

        def matcher(text: str, at: int, pairs: Pairs) -> int:
            end = match(text, at, pairs)
            if end < 0:
                return at
            pairs.append((attribute, True))
            return end

        return matcher

    def _match_list(self, attribute: str, part: Expression, separator: str, least: int) -> Matcher:
        rule, next_one = self._value(part), self._match_literal(separator)

        def matcher(text: str, at: int, pairs: Pairs) -> int:
            values: list[Any] = []
            end, value = rule(text, at)
            while end >= 0:
                values.append(value)
                at = end
                end = next_one(text, at, pairs)
                if end >= 0:
                    end, value = rule(text, end)
            if len(values) < least:
                return -1
            pairs.append((attribute, values))
            return at

        return matcher


@cache
def recogniser(grammar: str) -> Recogniser | None:
    """Return the recogniser of `grammar/<grammar>.tx`; None without tables of this grammar."""
    folder = shipped("grammar")
    try:
        tables = json.loads((folder / f"{grammar}.tables.json").read_text(encoding="utf-8"))
        if tables["grammar"] == crc32((folder / f"{grammar}.tx").read_bytes()):
            return Recogniser(tables)
    except (OSError, ValueError, LookupError, TypeError):
        pass  # textX reads the grammar.
    return None


# --- preparing the tables


def tables_of(grammar: str) -> str:
    """Return the tables of `grammar/<grammar>.tx` as the text of their file."""
    from textx import metamodel_from_file

    path = shipped("grammar") / f"{grammar}.tx"
    metamodel: Any = metamodel_from_file(path)
    parser = metamodel._parser_blueprint
    rules: dict[str, tuple[str, Expression]] = {}
    (start, _) = parser.parser_model.nodes
    _define(start, rules)
    defaults = {
        cls.__name__: {name: _default(attribute) for name, attribute in cls._tx_attrs.items()}
        for cls in metamodel
        if rules.get(cls.__name__, ("",))[0] == "object"
    }
    content = {
        "grammar": crc32(path.read_bytes()), "start": start.rule_name, "comment": parser.comments_model.to_match,
        "rules": rules, "defaults": defaults,
    }  # fmt: skip
    return json.dumps(content, separators=(",", ":")) + "\n"


def _define(rule: Any, rules: dict[str, tuple[str, Expression]]) -> None:
    """Add the definition of a rule, and of those that it uses."""
    if rule.rule_name not in rules:
        kind = {"common": "object", "abstract": "alternatives", "match": "text"}[rule._tx_class._tx_type]
        rules[rule.rule_name] = kind, []
        rules[rule.rule_name] = kind, _own_expression(rule, rules)


def _expression(node: Any, rules: dict[str, tuple[str, Expression]]) -> Expression:
    """Return the table of a parsing expression of Arpeggio."""
    operator = node.rule_name.removeprefix("__asgn_")
    if node.root and operator == node.rule_name:
        _define(node, rules)
        return ["reference", node.rule_name]
    if not node.root:
        return _own_expression(node, rules)
    part = _expression(node.nodes[0], rules)
    match operator:
        case "plain":
            return ["set", node._attr_name, part]
        case "optional":
            return ["flag", node._attr_name, part]
        case "zeroormore" | "oneormore":
            separator = node.sep.to_match if node.sep else ""
            return ["list", node._attr_name, part, separator, int(operator == "oneormore")]
        case _:
            pass
    raise TypeError(f"no table for the assignment {operator}")


def _own_expression(node: Any, rules: dict[str, tuple[str, Expression]]) -> Expression:
    kind = type(node).__name__
    parts = [_expression(part, rules) for part in node.nodes]
    match kind:
        case "RegExMatch":
            word = _WORD.fullmatch(node.to_match)
            return ["word", word[1]] if word else ["regex", node.to_match]
        case "StrMatch":
            return ["literal", node.to_match]
        case "Sequence" if len(parts) == 1:
            return parts[0]
        case "OneOrMore":
            return ["sequence", *parts, ["many", *parts]]
        case _ if kind in _KINDS:
            return [_KINDS[kind], *parts]
        case _:
            pass
    raise TypeError(f"no table for the parsing expression {kind}")


def _default(attribute: Any) -> Any:
    """Return the value of an attribute that nothing is assigned to."""
    if attribute.mult in ("0..*", "1..*"):
        return []
    return False if attribute.bool_assignment else None
