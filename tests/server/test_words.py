"""Every word of the language has a meaning to show."""

from __future__ import annotations

from cplc.language.lifecycle import PREDICATES, VERBS
from cplc.language.lifecycle_texts import STATE_MEANINGS
from cplc.semantics.builtin_words import CHECKS, NO_USUAL_CHECKS, OPERATORS, OWN_STEPS
from cplc.server import hover_texts
from cplc.syntax.reserved_words import CLAUSES, CONTEXTUAL, DECLARATIONS


def test_every_word_means_something() -> None:
    assert set(hover_texts.CLAUSES) == CLAUSES
    assert set(hover_texts.DECLARATIONS) >= DECLARATIONS
    assert set(hover_texts.OPERATORS) == OPERATORS | {"forall", "exists"}
    assert set(STATE_MEANINGS) == PREDICATES
    assert all(hover_texts.check_meaning(name) for name in CHECKS)
    assert set(hover_texts.CONTEXTUAL) <= CONTEXTUAL | set(OWN_STEPS)
    assert "`deadlock_free`" in (hover_texts.meaning(NO_USUAL_CHECKS) or "")
    for word in (*CLAUSES, *OPERATORS, *PREDICATES, *VERBS, *CHECKS):
        assert hover_texts.meaning(word)
