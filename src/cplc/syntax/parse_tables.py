"""LALR(1) parsers of the grammars, loaded from precomputed tables.

Computing the tables takes longer than the rest of parsing a file, so they are stored next to the grammar as
`grammar/*.tables.json`. If the tables belong to another grammar or version of lark, the parser is built from the
grammar, which takes longer and gives the same trees. `make golden` rewrites the tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from cplc.runtime.file_access import shipped

if TYPE_CHECKING:
    from lark import Lark


def parser_of(grammar: str, callbacks: object, start: tuple[str, ...] = ("start",)) -> Lark:
    """Return a parser for `grammar/<grammar>.lark` that calls back for each rule."""
    from lark import Lark, Transformer, __version__

    transformer = cast(Transformer[Any, Any], callbacks)  # lark takes any object whose methods are called as its rules
    tables = stored_tables(grammar)
    try:
        if tables is not None and tables["lark"] == __version__:
            load = cast(Callable[..., Lark], Lark._load_from_dict)
            return load(*_decoded(tables), transformer=transformer)
    except (ValueError, LookupError, TypeError, AttributeError):
        pass  # The grammar itself says the same.
    text = (shipped("grammar") / f"{grammar}.lark").read_text(encoding="utf-8")
    return Lark(
        text, parser="lalr", lexer="contextual", transformer=transformer, maybe_placeholders=False, start=list(start)
    )


def stored_tables(grammar: str) -> dict[str, Any] | None:
    """Return the tables of `grammar/<grammar>.lark`; None if there are none of this grammar."""
    folder = shipped("grammar")
    try:
        tables: dict[str, Any] = json.loads((folder / f"{grammar}.tables.json").read_text(encoding="utf-8"))
        text = (folder / f"{grammar}.lark").read_text(encoding="utf-8")
        return tables if tables["grammar"] == _checksum(text) else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def tables_of(grammar: str, start: tuple[str, ...] = ("start",)) -> str:
    """Return the tables of `grammar/<grammar>.lark` as the text of their file."""
    from lark import Lark, __version__
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    text = (shipped("grammar") / f"{grammar}.lark").read_text(encoding="utf-8")
    built = Lark(text, parser="lalr", lexer="contextual", maybe_placeholders=False, start=list(start))
    parser, memo = built.memo_serialize([TerminalDef, Rule])
    content = {"lark": __version__, "grammar": _checksum(text), "parser": parser, "memo": memo}
    return json.dumps(content, separators=(",", ":")) + "\n"


def _checksum(grammar: str) -> int:
    return crc32(grammar.encode())


def _decoded(tables: dict[str, Any]) -> tuple[dict[str, Any], dict[int, Any]]:
    """Return the parser and the shared objects as lark wrote them."""
    data = tables["parser"]
    lalr = data["parser"]["parser"]
    lalr["tokens"] = _by_number(lalr["tokens"])
    lalr["states"] = {int(state): _by_number(actions) for state, actions in lalr["states"].items()}
    return data, _by_number(tables["memo"])


def _by_number(table: dict[str, Any]) -> dict[int, Any]:
    return {int(number): value for number, value in table.items()}
