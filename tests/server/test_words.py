"""Every word of the language has a meaning to show."""

from __future__ import annotations

from cplc.semantics.vocabulary import (
    CHECKS,
    CLAIM_STATES,
    CLAIM_VERBS,
    NO_USUAL_CHECKS,
    OPERATORS,
    OWN_STEPS,
    STANDINGS,
    STATES,
    VERBS,
)
from cplc.server import words
from cplc.syntax.words import CLAUSES, CONTEXTUAL, DECLARATIONS


def test_every_word_means_something() -> None:
    assert set(words.CLAUSES) == CLAUSES
    assert set(words.DECLARATIONS) >= DECLARATIONS
    assert set(words.OPERATORS) == OPERATORS | {"forall", "exists"}
    assert set(words.STATES) == {*STATES, *CLAIM_STATES, *STANDINGS}
    assert set(words.OPERATIONS) == set(VERBS)
    assert set(words.CLAIM_OPERATIONS) == set(CLAIM_VERBS)
    assert all(words.check_meaning(name) for name in CHECKS)
    assert set(words.CONTEXTUAL) <= CONTEXTUAL | set(OWN_STEPS)
    assert "`deadlock_free`" in (words.meaning(NO_USUAL_CHECKS) or "")
    for word in (*CLAUSES, *OPERATORS, *STATES, *VERBS, *CHECKS):
        assert words.meaning(word)
