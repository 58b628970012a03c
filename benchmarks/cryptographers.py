"""Dining cryptographers in ISPL, in as many as you like: ``python -m benchmarks.cryptographers KIND N > model.ispl``.

* ``spoken``: as MCMAS ships them; the table hears whether an odd number say "different".
* ``noted``: the table notes what each says and adds it up a round later, each variable with an evolution of its own.
* ``iterated``: round after round with new coins; anybody may pay, and say the opposite of what is so.

The formulas of the first two: for every pair, whether one knows that the other paid; distributed knowledge; and whether
the first learns, on all runs, that nobody paid, or that somebody paid but not who. The formula of the third: a run on
which somebody lies infinitely often and nobody else ever knows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence


def spoken(n: int) -> str:
    odd = _parity([(f"{_name(i)}.Action = differ", f"{_name(i)}.Action = agree") for i in range(1, n + 1)])[0]
    spoke = f"numberofodd = none and !{_name(1)}.Action = none"
    heard = [f"    numberofodd = odd if {spoke} and {odd};", f"    numberofodd = even if {spoke} and !{odd};"]
    return "\n".join(
        [
            _table([f"coin{i} : {{head, tail}};" for i in range(1, n + 1)], heard),
            *(_cryptographer(i, n) for i in range(1, n + 1)),
            _evaluation(n),
            _start(n, []),
            _groups(n),
            _questions(n),
        ]
    )


def noted(n: int) -> str:
    says = [f"say{i}" for i in range(1, n + 1)]
    total = "+".join(says)
    lines = []
    for i, say in enumerate(says, 1):
        lines.append(f"    {say} = 0 if numberofodd = none and {_name(i)}.Action = agree;")
        lines.append(f"    {say} = 1 if numberofodd = none and {_name(i)}.Action = differ;")
    spoke = f"{_name(1)}.Action = agree or {_name(1)}.Action = differ"
    lines.append(f"    count = true if numberofodd = none and ({spoke});")
    for first, value in ((0, "even"), (1, "odd")):
        sums = " or ".join(f"{total} = {number}" for number in range(first, n + 1, 2))
        lines.append(f"    numberofodd = {value} if numberofodd = none and count = true and ({sums});")
    variables = [f"coin{i} : {{head, tail}};" for i in range(1, n + 1)] + [f"{say} : 0 .. 1;" for say in says]
    return "\n".join(
        [
            "Semantics = SingleAssignment;",
            _table([*variables, "count : boolean;"], lines),
            *(_cryptographer(i, n) for i in range(1, n + 1)),
            _evaluation(n),
            _start(n, [*(f"Environment.{say} = 0" for say in says), "Environment.count = false"]),
            _groups(n),
            _questions(n),
        ]
    )


def iterated(n: int) -> str:
    names = range(1, n + 1)
    odd = _parity([(f"{_name(i)}.Action = differ", f"{_name(i)}.Action = agree") for i in names])[0]
    lines = [
        "    phase = heard if phase = tossed;",
        "    phase = tossed if phase = heard;",
        f"    parity = odd if phase = tossed and {odd};",
        f"    parity = even if phase = tossed and !{odd};",
        *(f"    coin{i} = {side} if phase = heard;" for i in names for side in ("head", "tail")),
    ]
    lie = " or ".join(f"c{i}lied" for i in names)
    someone_known = " or ".join(f"K({_name(i)}, c{j}lied)" for i in names for j in names if i != j)
    return "\n".join(
        [
            "Semantics = SingleAssignment;",
            _table(
                [f"coin{i} : {{head, tail}};" for i in names],
                lines,
                "phase : {tossed, heard}; parity : {even, odd};",
            ),
            *(_liar(i, n) for i in names),
            "Evaluation",
            *(f"  c{i}lied if {_name(i)}.lied = true;" for i in names),
            "end Evaluation",
            "InitStates Environment.phase = tossed and Environment.parity = even",
            *(f"  and {_name(i)}.lied = false" for i in names),
            "; end InitStates",
            "Formulae",
            f"  CTL* E (G F ({lie}) and G !({someone_known}));",
            f"  CTL* A (G F ({lie}) -> F ({someone_known}));",
            "end Formulae",
        ]
    )


def _liar(i: int, n: int) -> str:
    """Return a cryptographer who chooses in every round again whether to pay and whether to lie."""
    predecessor = n if i == 1 else i - 1
    mine, other = f"Environment.coin{i}", f"Environment.coin{predecessor}"
    same = f"({mine} = head and {other} = head or {mine} = tail and {other} = tail)"
    equal = f"({same} and payer = false or !{same} and payer = true)"
    return f"""\
Agent {_name(i)}
  Lobsvars = {{coin{i}, coin{predecessor}}};
  Vars: payer : boolean; lied : boolean; end Vars
  Actions = {{agree, differ, pay, rest}};
  Protocol:
    Environment.phase = tossed : {{agree, differ}};
    Environment.phase = heard : {{pay, rest}};
  end Protocol
  Evolution:
    payer = true if Action = pay;
    payer = false if Action = rest;
    lied = true if Action = agree and !{equal} or Action = differ and {equal};
    lied = false if !Action = agree and !Action = differ or Action = agree and {equal}
      or Action = differ and !{equal};
  end Evolution
end Agent"""


KINDS: dict[str, Callable[[int], str]] = {"spoken": spoken, "noted": noted, "iterated": iterated}


def _name(number: int) -> str:
    return f"C{number}"


def _parity(parts: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return conditions that an odd, and that an even number of the parts are the first of the two."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    (odd, even), (also_odd, also_even) = _parity(parts[:half]), _parity(parts[half:])
    return (
        f"({odd} and {also_even} or {even} and {also_odd})",
        f"({even} and {also_even} or {odd} and {also_odd})",
    )


def _table(variables: Sequence[str], lines: Sequence[str], observed: str = "numberofodd : {none, even, odd};") -> str:
    declared = "\n".join(f"    {variable}" for variable in variables)
    return f"""\
Agent Environment
  Obsvars: {observed} end Obsvars
  Vars:
{declared}
  end Vars
  Actions = {{none}};
  Protocol: Other : {{none}}; end Protocol
  Evolution:
{chr(10).join(lines)}
  end Evolution
end Agent"""


def _cryptographer(i: int, n: int) -> str:
    mine, other = f"Environment.coin{i}", f"Environment.coin{n if i == 1 else i - 1}"
    same = f"({mine} = head and {other} = head or {mine} = tail and {other} = tail)"
    different = f"({mine} = head and {other} = tail or {mine} = tail and {other} = head)"
    return f"""\
Agent {_name(i)}
  Lobsvars = {{coin{i}, coin{n if i == 1 else i - 1}}};
  Vars:
    payer : {{yes, no}};
    seedifferent : {{empty, yes, no}};
  end Vars
  Actions = {{agree, differ, none}};
  Protocol:
    payer = no and seedifferent = yes : {{differ}};
    payer = no and seedifferent = no : {{agree}};
    payer = yes and seedifferent = yes : {{agree}};
    payer = yes and seedifferent = no : {{differ}};
    Other : {{none}};
  end Protocol
  Evolution:
    seedifferent = no if seedifferent = empty and {same};
    seedifferent = yes if seedifferent = empty and {different};
  end Evolution
end Agent"""


def _evaluation(n: int) -> str:
    paid = "\n".join(f"  c{i}paid if {_name(i)}.payer = yes;" for i in range(1, n + 1))
    return f"""\
Evaluation
{paid}
  odd if Environment.numberofodd = odd;
  even if Environment.numberofodd = even;
end Evaluation"""


def _start(n: int, more: Sequence[str]) -> str:
    def only(payer: int) -> str:
        return " and ".join(f"{_name(i)}.payer = {'yes' if i == payer else 'no'}" for i in range(1, n + 1))

    payers = " or\n  ".join(f"({only(payer)})" for payer in range(n + 1))
    rest = [f"{_name(i)}.seedifferent = empty" for i in range(1, n + 1)]
    conditions = " and ".join([*rest, *more])
    return f"InitStates\n  ({payers})\n  and Environment.numberofodd = none and {conditions};\nend InitStates"


def _groups(n: int) -> str:
    return f"Groups all = {{{', '.join(_name(i) for i in range(1, n + 1))}}}; end Groups"


def _questions(n: int) -> str:
    return "\n".join(["Formulae", *(f"  {formula};" for formula in _formulas(n)), "end Formulae"])


def _formulas(n: int) -> Iterator[str]:
    nobody = " and ".join(f"!c{i}paid" for i in range(1, n + 1))
    for me in range(1, n + 1):
        other_agents = [i for i in range(1, n + 1) if i != me]
        some = " or ".join(f"c{i}paid" for i in other_agents)
        not_who = " and ".join(f"!K({_name(me)}, c{i}paid)" for i in other_agents)
        if me == 1:
            yield f"AG ((odd and !c1paid) -> (K({_name(1)}, {some}) and {not_who}))"
            yield f"AG (even -> GCK(all, {nobody}))"
            yield f"CTL* A F (K({_name(1)}, {nobody}) or c1paid or (K({_name(1)}, {some}) and {not_who}))"
        else:
            yield f"AG ((odd and !c{me}paid) -> ({not_who}))"


if __name__ == "__main__":
    print(KINDS[sys.argv[1]](int(sys.argv[2])))
