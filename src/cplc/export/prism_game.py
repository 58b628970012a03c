"""Export of an explored game of two players and chance, as a stochastic game of PRISM-games (`smg`).

Each state is a number. The actions of the participant and of the world have different names, so a tool can let the
participant maximise against the world. Without the lines of the players the text is a Markov decision process, in which
one side makes all choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from cplc.export.request import Export, Request
from cplc.export.templating import header_lines
from cplc.records import dataclass

PARTICIPANT, WORLD = "participant", "world"
Distribution = Sequence[tuple[Fraction, int]]
"""Probabilities and the states that they lead to."""


@dataclass(frozen=True)
class StochasticGame:
    """States are numbers from 0 on, which is the initial one; one without a move is an end."""

    moves: Sequence[Sequence[Distribution]]
    """The distributions among which the owner of a state chooses."""
    owned: frozenset[int]
    """The states of the participant; all others are the world's."""
    labels: Mapping[str, Sequence[int]]
    """Sets of states, by name."""


def export(request: Request, game: StochasticGame, subject: str) -> Export:
    """Return the game, with the probabilities that the participant can ensure in a companion file."""
    remark = (
        f"Game of {subject} against the world, explored; its choices have the action `{PARTICIPANT}`. A run ends where "
        f"`over` holds. Delete the lines up to the module, and write `mdp`, to let one side make all choices."
    )
    lines = [f"// {line}" if line else "//" for line in header_lines(request, (remark,))]
    lines += ["", "smg", ""]
    for player in (PARTICIPANT, WORLD):
        lines += [f"player {player}", f"  [{player}]", "endplayer"]
    lines += ["", "module game", f"  s : [0..{max(1, len(game.moves) - 1)}] init 0;", ""]
    for state, moves in enumerate(game.moves):
        owner = PARTICIPANT if state in game.owned else WORLD
        lines += [f"  [{owner}] s = {state} -> {_updates(move)};" for move in moves or ([(Fraction(1), state)],)]
    lines += ["endmodule", ""]
    lines += [f'label "{name}" = {_one_of(states)};' for name, states in game.labels.items()]
    properties = [
        f'"{name}_guaranteed": <<{PARTICIPANT}>> Pmax=? [ F "{name}" ];' for name in game.labels if name != "over"
    ]
    return Export("\n".join(lines) + "\n", (), ((".props", "\n".join(properties) + "\n"),), "//")


def _updates(move: Distribution) -> str:
    shares: dict[int, Fraction] = {}
    for share, target in move:
        shares[target] = shares.get(target, Fraction(0)) + share
    parts = [f"{share.numerator}/{share.denominator} : (s' = {target})" for target, share in shares.items() if share]
    return f"(s' = {move[0][1]})" if len(parts) == 1 else " + ".join(parts)


def _one_of(states: Sequence[int]) -> str:
    """Return the condition that the state is one of these, as intervals."""
    intervals: list[tuple[int, int]] = []
    for state in sorted(states):
        if intervals and intervals[-1][1] == state - 1:
            intervals[-1] = intervals[-1][0], state
        else:
            intervals.append((state, state))
    return " | ".join(f"(s >= {low} & s <= {high})" for low, high in intervals) or "false"
