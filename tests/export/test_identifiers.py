"""Names for other tools are legal, different where they were different, and always the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cplc.export.identifiers import IdentifierSyntax, sanitized, unique_identifiers

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
def test_names_remind_of_what_they_stand_for(original: str, name: str) -> None:
    assert sanitized(original) == name


@given(st.lists(_TEXTS, max_size=12), st.booleans())
def test_names_are_legal_and_distinct(originals: list[str], folds_case: bool) -> None:
    syntax = IdentifierSyntax(frozenset({"next", "A"}), folds_case)
    found = unique_identifiers(originals, syntax, taken=("b",))
    assert found == unique_identifiers(originals, syntax, taken=("b",))
    assert set(found) == set(originals)
    assert all(re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]*", name) for name in found.values())
    used = [syntax.key(name) for name in (*found.values(), "next", "A", "b")]
    assert len(set(used)) == len(used)


def test_what_is_reserved_gets_a_number() -> None:
    assert unique_identifiers(["next", "x"], IdentifierSyntax(frozenset({"next"}))) == {"next": "next_2", "x": "x"}
    assert unique_identifiers(["Next"], IdentifierSyntax(frozenset({"next"}), folds_case=True)) == {"Next": "Next_2"}
