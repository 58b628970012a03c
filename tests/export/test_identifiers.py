"""Identifiers for other tools are legal, injective and deterministic."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cplc.export.templating import IdentifierSyntax, sanitized, unique_identifiers

_TEXTS = st.text("ab_B1-[]@(),. Äß", max_size=6) | st.sampled_from(["next", "A", "NEXT", "a@b", "a_at_b", "pay[1]@Mer"])


@pytest.mark.parametrize(
    ("original", "name"),
    [
        ("pay[1]@Mer", "pay_1_at_Mer"),
        ("bid[2](3)", "bid_2_3"),
        ("bid(-3)", "bid_minus_3"),
        ("Käufer", "Kaufer"),
        ("中", "u4e2d"),
        ("__x", "x"),
        ("7up", "n_7up"),
        ("'", "n"),
        ("", "n"),
    ],
)
def test_sanitized_name_resembles_original(original: str, name: str) -> None:
    assert sanitized(original) == name


@given(st.lists(_TEXTS, max_size=12), st.booleans())
def test_identifiers_legal_and_distinct(originals: list[str], folds_case: bool) -> None:
    syntax = IdentifierSyntax(frozenset({"next", "A"}), folds_case)
    identifiers = unique_identifiers(originals, syntax, taken=("b",))
    assert identifiers == unique_identifiers(originals, syntax, taken=("b",))
    assert set(identifiers) == set(originals)
    assert all(re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]*", name) for name in identifiers.values())
    used = [syntax.key(name) for name in (*identifiers.values(), "next", "A", "b")]
    assert len(set(used)) == len(used)


def test_reserved_word_gets_number() -> None:
    assert unique_identifiers(["next", "x"], IdentifierSyntax(frozenset({"next"}))) == {"next": "next_2", "x": "x"}
    assert unique_identifiers(["Next"], IdentifierSyntax(frozenset({"next"}), folds_case=True)) == {"Next": "Next_2"}
