"""LALR(1) parsing with the tables that lark stores (`grammar/*.tables.json`), without importing lark.

Importing lark and restoring its parser takes longer than parsing the formulas of a file. `PreparedParser` runs the
same tables: the contextual lexer tries the terminals that the state of the parser accepts, in lark's order. Where it
rejects a text, lark reads the text again and says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from cplc.syntax.parse_tables import stored_tables

_END: Final = "$END"
_SHIFT: Final = 0


class Token(str):
    """A terminal of a text with its place; the tokens of lark have the same attributes."""

    __slots__ = ("end_pos", "start_pos")
    start_pos: int
    end_pos: int


class _Terminal(NamedTuple):
    name: str
    match: Callable[[str, int], int]
    """Return the end of the match at an offset, -1 if there is none."""
    first: str
    """The character that every match begins with; empty if there are several."""


class _Reduction(NamedTuple):
    origin: str
    size: int
    included: tuple[tuple[int, bool], ...]
    """Children that are passed on, and whether their own children are in their place."""
    build: Callable[[list[Any]], Any] | None
    """None for repetitions, which are passed on as lists."""
    is_transparent: bool
    """True if a single child replaces the node."""
    is_unit: bool
    """True if the rule has one child, which replaces the node."""


class PreparedParser:
    """Parser of one grammar that calls back for each rule."""

    def __init__(self, tables: dict[str, Any], callbacks: object) -> None:
        parser = tables["parser"]["parser"]
        memo, table = tables["memo"], parser["parser"]
        self._callbacks = callbacks
        self._memo: dict[str, Any] = memo
        self._names: dict[str, str] = table["tokens"]
        self._rows: dict[str, dict[str, Any]] = table["states"]
        self._start: int = table["start_states"]["start"]
        self._final: int = table["end_states"]["start"]
        terminals = [memo[str(reference["@"])] for reference in parser["lexer_conf"]["terminals"]]
        self._terminals = {terminal["name"]: terminal for terminal in sorted(terminals, key=_priority)}
        self._ignored = frozenset(parser["lexer_conf"]["ignore"])
        self._row = cache(self._decoded_row)
        self._reduction = cache(self._decoded_reduction)
        self._lexer = cache(lambda state: self._lexer_for(frozenset(self._row(state))))
        self._lexer_for = cache(self._made_lexer)
        self._terminal = cache(self._made_terminal)

    def parse(self, text: str) -> Any | None:
        """Return the result of the callbacks; None if the grammar rejects the text."""
        states, values = [self._start], list[Any]()
        at = 0
        while True:
            lexed = self._next_token(text, at, states[-1])
            if lexed is None:
                return None
            kind, token = lexed
            at = token.end_pos
            while True:
                action = self._row(states[-1]).get(kind)
                if action is None:
                    return None
                operation, target = action
                if operation == _SHIFT:
                    states.append(target)
                    values.append(token)
                    break
                rule = self._reduction(target)
                if rule.is_unit:
                    states[-1] = self._row(states[-2])[rule.origin][1]
                else:
                    self._reduce(rule, states, values)
                if kind == _END and states[-1] == self._final:
                    return values[-1]

    def _reduce(self, rule: _Reduction, states: list[int], values: list[Any]) -> None:
        first = len(values) - rule.size
        children: list[Any] = []
        for index, is_repetition in rule.included:
            child = values[first + index]
            children.extend(child) if is_repetition else children.append(child)
        del states[len(states) - rule.size :], values[first:]
        states.append(self._row(states[-1])[rule.origin][1])
        if rule.build is None or (rule.is_transparent and len(children) == 1):
            values.append(children if rule.build is None else children[0])
        else:
            values.append(rule.build(children))

    # --- tokens

    def _next_token(self, text: str, at: int, state: int) -> tuple[str, Token] | None:
        candidates, words = self._lexer(state)
        while at < len(text):
            for terminal in candidates(text[at]):
                end = terminal.match(text, at)
                if end > at:
                    break
            else:
                return None
            if terminal.name not in self._ignored:
                value = text[at:end]
                return words.get((terminal.name, value), terminal.name), _token(value, at)
            at = end
        return _END, _token("", at)

    def _made_lexer(
        self, accepted: frozenset[str]
    ) -> tuple[Callable[[str], list[_Terminal]], dict[tuple[str, str], str]]:
        """Return the terminals that may begin with a character, and the texts of one terminal that are another.

        A fixed text that a regular expression of the same priority matches, too, is found by that expression.
        """
        names = [name for name in self._terminals if name in accepted or name in self._ignored]
        texts = {name for name in names if self._terminals[name]["pattern"]["__type__"] == "PatternStr"}
        words: dict[tuple[str, str], str] = {}
        for name in names:
            for text in texts if name not in texts else ():
                value = self._terminals[text]["pattern"]["value"]
                same_priority = self._terminals[text]["priority"] == self._terminals[name]["priority"]
                if same_priority and self._terminal(name).match(value, 0) == len(value):
                    words[name, value] = text
        terminals = [self._terminal(name) for name in names if name not in words.values()]

        @cache
        def candidates(character: str) -> list[_Terminal]:
            return [terminal for terminal in terminals if terminal.first in ("", character)]

        return candidates, words

    def _made_terminal(self, name: str) -> _Terminal:
        pattern = self._terminals[name]["pattern"]
        value: str = pattern["value"]
        if pattern["__type__"] == "PatternStr":
            return _Terminal(name, lambda text, at: at + len(value) if text.startswith(value, at) else -1, value[0])
        match: Any = None

        def matched(text: str, at: int) -> int:
            nonlocal match
            match = match or re.compile(value).match
            result = match(text, at)
            return result.end() if result else -1

        return _Terminal(name, matched, "")

    # --- tables

    def _decoded_row(self, state: int) -> dict[str, tuple[int, int]]:
        """Return the actions of a state by the names of terminals and rules: shift to a state, or reduce by a rule."""
        row = self._rows[str(state)]
        return {
            self._names[token]: (operation, target if operation == _SHIFT else target["@"])
            for token, (operation, target) in row.items()
        }

    def _decoded_reduction(self, number: int) -> _Reduction:
        rule = self._memo[str(number)]
        origin, symbols, options = rule["origin"]["name"], rule["expansion"], rule["options"]
        included = tuple(
            (index, symbol["__type__"] == "NonTerminal" and symbol["name"].startswith("_"))
            for index, symbol in enumerate(symbols)
            if options["keep_all_tokens"] or not symbol.get("filter_out")
        )
        name = rule["alias"] or origin
        build = None if origin.startswith("_") else getattr(self._callbacks, name, _no_callback)
        is_transparent = bool(options["expand1"] and not rule["alias"])
        is_unit = is_transparent and len(symbols) == 1 and included == ((0, False),)
        return _Reduction(origin, len(symbols), included, build, is_transparent, is_unit)


def _priority(terminal: dict[str, Any]) -> tuple[int, int, int, str]:
    """Return the key of lark's order of terminals."""
    pattern = terminal["pattern"]
    value = pattern["value"]
    width = pattern["_width"][1] if "_width" in pattern else len(value)
    return -terminal["priority"], -width, -len(value), terminal["name"]


def _token(value: str, start: int) -> Token:
    token = Token(value)
    token.start_pos, token.end_pos = start, start + len(value)
    return token


def _no_callback(children: list[Any]) -> Any:
    raise TypeError("the grammar has a rule that has no callback")


def prepared_parser(grammar: str, callbacks: object) -> PreparedParser | None:
    """Return a parser by the stored tables of `grammar/<grammar>.lark`; None if they belong to another grammar."""
    tables = stored_tables(grammar)
    try:
        return None if tables is None else PreparedParser(tables, callbacks)
    except (LookupError, TypeError):
        return None  # lark reads the grammar.
