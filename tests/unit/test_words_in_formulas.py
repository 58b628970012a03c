"""Formulas in backquotes can be parsed again; formulas outside the language are plain words."""

from __future__ import annotations

import re

from cplc.compilation import CplCompilation
from cplc.logic.expressions import TRUE
from cplc.logic.formulas import And, Atom
from cplc.report.failure_explanation import closing_sentences
from cplc.report.path_explanation import claim_text
from cplc.source import Source
from cplc.system.printer import formula_text, quoted

TEXT = """cpl 2
protocol P {
  role A
  role B
  commitment c = C(A, B, true, G !does(leak))
  commitment d = C(A, B, true, F does(pay))
  A -> B : go   means create c, create d
  A -> B : leak after go
  A -> B : pay  after go
  property keeps: AG (go -> SC(A -> B, G !does(pay)))
  check deadlock_free
  check honourable
  check consistent
  check no_dangling
  check effective
  check fulfillable
  check -no_debt_forgotten
}
"""

PLAIN = Atom(TRUE, "active(c)")
WORDS = Atom(TRUE, "c is on course", in_words=True)


def test_words_not_in_backquotes() -> None:
    assert quoted(PLAIN) == "`active(c)`"
    assert quoted(WORDS) == '"c is on course"'
    assert quoted(And((PLAIN, WORDS))) == 'active(c) & "c is on course"'
    assert claim_text(And((PLAIN, WORDS)), True) == '`active(c)` holds, "c is on course" holds'


def test_atoms_of_checks_parse_or_are_words() -> None:
    compilation = CplCompilation(Source("words.cpl", TEXT))
    assert compilation.ok
    texts: list[str] = []
    for result in compilation.verify(compilation.questions(), "explicit"):
        texts += closing_sentences(result)
        texts += [remark.message for remark in result.remarks]
        if result.evidence is not None:
            texts += [formula_text(part.formula) for _, part in ((None, result.evidence), *result.evidence.parts)]
    assert any('"c is on course"' in text for text in texts)
    assert not re.search(r"`[^`]*(on course|in force|owed)[^`]*`", "\n".join(texts))
    for text in texts:
        bare = re.sub(r'"[^"]*"', "", text)
        assert "on course" not in bare
