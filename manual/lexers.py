"""Colours for protocols and for models in ISPL, by the words that the program itself reserves."""

from __future__ import annotations

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from cplc.language.words import (
    AGENT_ITEMS,
    CLAUSES,
    CONTEXTUAL,
    DECLARATIONS,
    EVENTS,
    FREE_AS_NAMES,
    LITERALS,
    MODALITIES,
    OPERATOR_WORDS,
    words_of,
)

__all__ = ["CplLexer", "IsplLexer"]

_DECLARING = sorted(DECLARATIONS | AGENT_ITEMS | FREE_AS_NAMES | {"var", *words_of("type")})
_CLAUSES = sorted(CLAUSES | (CONTEXTUAL - AGENT_ITEMS - FREE_AS_NAMES - {"var", "therefore"}))
_LITERALS = sorted(LITERALS)
_CALLED = (*MODALITIES, *EVENTS)


class CplLexer(RegexLexer):
    """Protocols."""

    name = "CPL"
    tokens = {  # noqa: RUF012 - the form that the highlighter asks for
        "root": [
            (r"//.*$", Comment.Single),
            (r"/\*(.|\n)*?\*/", Comment.Multiline),
            (r'"[^"\n]*"', String),
            (r"(->|<->|<<|>>|:=|\.\.|[!&|=<>+*%-]+)", Operator),
            (words(_DECLARING, prefix=r"\b", suffix=r"\b"), Keyword.Declaration),
            (words(_CLAUSES, prefix=r"\b", suffix=r"\b"), Keyword),
            (words(_LITERALS, prefix=r"\b", suffix=r"\b"), Keyword.Constant),
            (r"\b[a-z]+(?=\s+[A-Za-z_][\w.\[\]]*\s*(,|$|to\b|with\b|\)))", Name.Builtin),  # an operation
            (words(sorted(OPERATOR_WORDS), prefix=r"\b", suffix=r"\b"), Operator.Word),
            (words(_CALLED, prefix=r"\b", suffix=r"(?=\s*\()"), Operator.Word),
            (r"\d+(\.\d+)?", Number),
            (r"[A-Za-z_]\w*(?=\s*\()", Name.Function),
            (r"[A-Za-z_]\w*", Name),
            (r"[(){}\[\],:;.@{}]", Punctuation),
            (r"\s+", Text),
            (r".", Text),
        ]
    }


class IsplLexer(RegexLexer):
    """Models in ISPL."""

    name = "ISPL"
    tokens = {  # noqa: RUF012 - the form that the highlighter asks for
        "root": [
            (r"--.*$", Comment.Single),
            (r"\b(Agent|Semantics|Obsvars|Lobsvars|Vars|RedStates|Actions|Protocol|Evolution)\b", Keyword.Declaration),
            (r"\b(Evaluation|InitStates|Groups|Fairness|Formulae|Other|end)\b", Keyword.Declaration),
            (r"\b(if|and|or|boolean|LTL)\b|CTL\*", Keyword),
            (r"\b(true|false)\b", Keyword.Constant),
            (r"\b([AE]?[XFG]|[AEUO]|K|GK|GCK|DK|C|Fu)\b", Operator.Word),
            (r"\d+", Number),
            (r"[A-Za-z_]\w*", Name),
            (r"[!<>=+*/&|^~-]+", Operator),
            (r"\s+", Text),
            (r".", Punctuation),
        ]
    }
